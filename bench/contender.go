package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/parley-a2a/parley/internal/pgtest"
)

// contender is a server that is measured.
type contender struct {
	name    string
	note    string // what it is, for the report
	version string
	dialect *dialect
	program string   // a folder of servers, or "" for one at addr
	from    string   // the checkout that the program is built from; "" is this one
	args    []string // of the program, besides where to listen
	data    bool     // it keeps tasks on disk and has to be told where
	traced  bool     // it sends its telemetry to the bench's collector
	nodes   int      // as many processes of it share a PostgreSQL database; 0: none
	dir     string   // where it runs
	addr    string   // of one that runs already
	lacks   map[string]string
	only    string   // letters of the scenarios that it is there for; "" is all
	argv    []string // how it is started, once it is built
	env     []string // besides that of the bench
	banner  string   // how its line with the address begins; "" means ready
}

const (
	parleyDisk   = "parley"
	parleyMemory = "parley-memory"
	parleySilent = "parley-no-console"
	parleyTraced = "parley-telemetry"
	parleyShared = "parley-postgres"
	parleyTwo    = "parley-postgres-2"
	parleyBefore = "parley-before"
)

// known are the contenders that this program can start.
func known() []*contender {
	return []*contender{
		{name: parleyDisk, note: "parley serve, tasks in SQLite, synchronous=FULL", dialect: rpc10, program: "parley", data: true},
		{
			name: "parley-uncached", note: "the same without the cache of finished tasks, as parley serve --cache 0", dialect: rpc10,
			program: "parley", args: []string{"--cache", "0"}, data: true, only: "b",
		},
		{
			name: parleySilent, note: "the same without the console, and so without metrics", dialect: rpc10,
			program: "parley", args: []string{"--no-console"}, data: true, only: "ac",
		},
		{
			name: parleyTraced, note: "the same with metrics on, sent every second, and one trace in a hundred kept", dialect: rpc10,
			program: "parley", args: []string{"--no-console"}, data: true, traced: true, only: "ac",
			env: []string{"OTEL_METRIC_EXPORT_INTERVAL=1000", "OTEL_TRACES_SAMPLER=traceidratio", "OTEL_TRACES_SAMPLER_ARG=0.01"},
		},
		{name: parleyMemory, note: "the same with its tasks in memory, as parley serve --ephemeral", dialect: rpc10, program: "parley"},
		{
			name: parleyShared, note: "tasks in PostgreSQL, fsync on, which has all processors", dialect: rpc10,
			program: "parley", data: true, nodes: 1, only: "ag",
		},
		{
			name: parleyTwo, note: "two of them on one database, each with half of the connections", dialect: rpc10,
			program: "parley", data: true, nodes: 2, only: "a",
		},
		{
			name: "bare", note: "net/http and encoding/json, no tasks: the limit", dialect: rpc10, program: "bare",
			lacks: map[string]string{"g": "it has no tasks to list", "h": "it has nothing to read at a start", "j": "it speaks 1.0 JSON-RPC only"},
		},
		{
			name: "a2a-go", note: "the SDK for Go, in memory", dialect: rpc10, program: "a2ago",
			lacks: map[string]string{"h": "it keeps nothing over a restart", "j": "the scenario compares one server's dialects"},
		},
		{
			name: "trpc-a2a-go", note: "in memory, speaks 0.3", dialect: rpc03, program: "trpc",
			lacks: map[string]string{"g": "its version of the protocol has no list", "h": "it keeps nothing over a restart", "j": "it speaks one dialect only"},
		},
		{
			name: "a2a-js", note: "the SDK for JavaScript on express, in memory", dialect: rpc10, program: "js",
			lacks: map[string]string{"h": "it keeps nothing over a restart", "j": "the scenario compares one server's dialects"},
		},
	}
}

// before is Parley as another checkout has it.
func before(checkout string) *contender {
	return &contender{
		name: parleyBefore, note: "the same of another commit", dialect: rpc10, program: "parley", from: checkout, data: true,
	}
}

// outsider is a contender that runs already: name=host:port, name=host:port/0.3.
func outsider(flag string) (*contender, error) {
	name, addr, ok := strings.Cut(flag, "=")
	if !ok || name == "" {
		return nil, fmt.Errorf("-peer %s: say name=host:port, or name=host:port/0.3 for one that speaks 0.3", flag)
	}
	c := &contender{name: name, note: "by its address", version: "unknown", dialect: rpc10}
	c.addr = strings.TrimSuffix(strings.TrimPrefix(addr, "http://"), "/")
	if a, is := strings.CutSuffix(c.addr, "/0.3"); is {
		c.addr, c.dialect = a, rpc03
	}
	const ours = "it has to be started and stopped for this"
	c.lacks = map[string]string{"e": "its memory is not ours to read", "f": "its processor time is not ours to read", "h": ours, "j": ours}
	return c, nil
}

func (c *contender) says() string {
	if c.banner != "" {
		return c.banner
	}
	return ready
}

// build makes the contender's program and finds its version. It fails with lacks
// where what it takes is missing.
func (c *contender) build(ctx context.Context, b *bench) error {
	switch {
	case c.program == "":
		return nil
	case c.program == "js":
		return c.buildJS(ctx, b)
	case c.nodes > 0:
		if err := pgtest.Available(); err != nil {
			return lacks(err.Error())
		}
	}
	exe := filepath.Join(b.dir, c.name)
	if err := command(ctx, filepath.Join(cmp.Or(c.from, ".."), "bench"), "go", "build", "-o", exe, "./servers/"+c.program); err != nil {
		return err
	}
	c.argv = append([]string{exe}, c.args...)
	if c.traced {
		c.env = append(c.env, "OTEL_EXPORTER_OTLP_ENDPOINT="+b.collect())
	}
	modules := map[string]string{"a2ago": "github.com/a2aproject/a2a-go/v2", "trpc": "trpc.group/trpc-go/trpc-a2a-go"}
	if m := modules[c.program]; m != "" {
		out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Version}}", m).Output()
		if err != nil {
			return err
		}
		c.version = strings.TrimSpace(string(out))
		return nil
	}
	c.version = revision(ctx, c.from)
	return nil
}

func (c *contender) buildJS(ctx context.Context, b *bench) error {
	for _, need := range []string{"node", "npm"} {
		if _, err := exec.LookPath(need); err != nil {
			return lacks(need + " is not here")
		}
	}
	c.dir = filepath.Join("servers", "js")
	if !installed(c.dir) {
		if err := command(ctx, c.dir, "npm", "ci", "--no-audit", "--no-fund"); err != nil {
			return lacks("npm could not fetch it: " + err.Error())
		}
	}
	c.argv, c.env = []string{"node", "server.js"}, []string{"NODE_ENV=production"}
	out, err := exec.CommandContext(ctx, "node", "-p",
		"require('./"+filepath.ToSlash(c.dir)+"/node_modules/@a2a-js/sdk/package.json').version + ', Node ' + process.versions.node").Output()
	c.version = strings.TrimSpace(string(out))
	return err
}

// installed says whether npm has been there since its list was changed.
func installed(dir string) bool {
	want, err := os.Stat(filepath.Join(dir, "package-lock.json"))
	if err != nil {
		return false
	}
	have, err := os.Stat(filepath.Join(dir, "node_modules", ".package-lock.json"))
	return err == nil && have.ModTime().After(want.ModTime())
}

// start runs the contender with no tasks.
func (c *contender) start(ctx context.Context, b *bench) (*server, error) {
	if c.addr != "" {
		return &server{of: c, addr: c.addr}, nil
	}
	switch {
	case !c.data:
		return start(ctx, c, c.argv...)
	case c.nodes > 0:
		url, err := b.database()
		if err != nil {
			return nil, err
		}
		return c.startNodes(ctx, b, url)
	}
	dir, err := os.MkdirTemp(b.dir, "data")
	if err != nil {
		return nil, err
	}
	srv, err := c.startOn(ctx, dir)
	if err != nil {
		return nil, err
	}
	srv.data = dir
	return srv, nil
}

// startOn runs the contender on a database that is there.
func (c *contender) startOn(ctx context.Context, dir string) (*server, error) {
	if !c.data {
		return nil, lacks("it keeps nothing on disk")
	}
	return start(ctx, c, append(c.argv[:len(c.argv):len(c.argv)], "--data", dir)...)
}

func command(ctx context.Context, dir string, argv ...string) error {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		return errors.Join(fmt.Errorf("%s: %w", strings.Join(argv, " "), err), errors.New(strings.TrimSpace(string(out))))
	}
	return nil
}
