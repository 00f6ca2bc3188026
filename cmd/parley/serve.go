package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"github.com/ncruces/go-sqlite3"
	"github.com/spf13/cobra"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/engine"
	"github.com/parley-a2a/parley/store"
	"github.com/parley-a2a/parley/store/sqlite"
)

// serveFlags are the options of serve.
type serveFlags struct {
	listen    string
	data      string
	ephemeral bool
	publicURL string
	proxies   prefixes
	tls       tlsFiles
	agent     string
	profile   string
	logLevel  string
	retention engine.Retention
}

func newServe(a *app) *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "serve [flags] [-- command arguments...]",
		Short: "Run an agent: a built-in one, or a command",
		Long: `Run an agent until interrupted. Without a command it is a built-in one: the demo
agent, or with --agent conformance the one that conformance kits drive. With one,
each message runs the command: the message's text is its standard input, what it
prints is streamed as the answer, line by line, and exit status 0 completes the
task. Tasks are kept in --data, and what was running goes on at the next start.

The first interrupt drains the server, a second one ends it at once.`,
		Example: `  parley serve
  parley serve -- tr a-z A-Z
  parley serve --listen 127.0.0.1:8080 --data /var/lib/parley -- ./answer.sh
  parley serve --ephemeral --agent conformance --card-profile bare`,
		Args: func(cmd *cobra.Command, args []string) error {
			dash := cmd.ArgsLenAtDash()
			if len(args) > 0 && dash != 0 {
				return usagef("unexpected argument %q", args[0]).withHint("put the agent's command behind --: parley serve -- %s", quoteAll(args))
			}
			if dash == 0 && (len(args) == 0 || args[0] == "") {
				return usagef("there is no command behind --").withHint("name one, as in parley serve -- tr a-z A-Z, or leave -- out for the demo agent")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.ephemeral && cmd.Flags().Changed("data") {
				return usagef("--ephemeral keeps nothing, --data says where to keep it: leave one out")
			}
			if len(args) > 0 && cmd.Flags().Changed("agent") {
				return usagef("--agent and a command exclude each other")
			}
			if r := &f.retention; r.Completed < 0 || r.Failed < 0 || r.Waiting < 0 {
				return usagef("--retain-completed, --retain-failed and --retain-waiting cannot be negative").withHint("0 keeps tasks for ever")
			}
			return a.serve(cmd.Context(), &f, args)
		},
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.SetInterspersed(false) // so that "serve sh -c x" is told about --, not about -c
	fs.StringVar(&f.listen, "listen", "127.0.0.1:7275", "`address` to listen on; port 0 takes a free one")
	fs.StringVar(&f.data, "data", ".parley", "`directory` of the database, made if it is not there")
	fs.BoolVar(&f.ephemeral, "ephemeral", false, "keep tasks in memory only: they are gone when the server ends")
	fs.StringVar(&f.publicURL, "public-url", "", "`URL` that cards advertise (default: the one a request came to)")
	fs.Var(&f.proxies, "trusted-proxy", "`CIDR` of proxies whose Forwarded and X-Forwarded headers say what a request came to; may be repeated")
	fs.StringVar(&f.tls.cert, "tls-cert", "", "PEM `file` of a certificate and its chain: the port then speaks TLS, gRPC included")
	fs.StringVar(&f.tls.key, "tls-key", "", "PEM `file` of the certificate's private key")
	f.agent = "demo"
	fs.Var(&choice{&f.agent, []string{"demo", "conformance"}}, "agent", "built-in `agent` to run: demo or conformance")
	f.profile = profiles[0]
	fs.Var(&choice{&f.profile, profiles}, "card-profile", "what the card says and the server does: all (for clients of every version), v1 (advertises 1.0 only), bare (no streaming) or extended (with an extended card that needs no credentials)")
	const ever = "; 0 keeps them for ever"
	fs.DurationVar(&f.retention.Completed, "retain-completed", 0, "delete completed tasks after this `long`, such as 720h"+ever)
	fs.DurationVar(&f.retention.Failed, "retain-failed", 0, "delete failed, rejected and canceled tasks after this `long`"+ever)
	fs.DurationVar(&f.retention.Waiting, "retain-waiting", 0, "delete tasks whose question has gone unanswered for this `long`"+ever)
	f.logLevel = "info"
	fs.Var(&choice{&f.logLevel, []string{"debug", "info", "warn", "error"}}, "log-level", "what is logged to standard error: debug, info, warn or error")
	return cmd
}

// damaged is the hint for a database with damage inside.
const damaged = "%s is damaged inside: restore it from a backup, or name another directory with --data"

func (a *app) serve(ctx context.Context, f *serveFlags, argv []string) error {
	if runtime.GOMAXPROCS(0) < 2 {
		runtime.GOMAXPROCS(2) // on one, every fsync would stop the network, too
	}
	public, err := publicURL(f.publicURL)
	if err != nil {
		return err
	}
	var level slog.Level
	if err := level.UnmarshalText([]byte(f.logLevel)); err != nil {
		return usagef("--log-level: %v", err)
	}
	log := slog.New(slog.NewTextHandler(a.stderr, &slog.HandlerOptions{Level: level}))
	if len(argv) > 0 {
		if err := commandFailure(argv[0]); err != nil {
			return err
		}
	}

	l, err := net.Listen(network(f.listen), f.listen)
	if err != nil {
		return listenFailure(f.listen, err)
	}
	defer l.Close() // Serve closes it, too
	if l, err = f.tls.listen(l); err != nil {
		return err
	}
	var st store.Store
	kept := "in memory, gone when the server ends"
	if !f.ephemeral {
		path := filepath.Join(f.data, "parley.db")
		db, err := sqlite.Open(path, &sqlite.Options{Logger: log})
		if err != nil {
			f := newFailure(codeServe, err.Error(), err)
			if errors.Is(err, sqlite3.CORRUPT) {
				return f.withHint(damaged, quote(path))
			}
			return f.withHint("--data names another directory, --ephemeral keeps tasks in memory")
		}
		defer db.Close() // for the ways out below; once closed it stays so
		st, kept = db, path
	}
	card, ag, what := serveAgent(f.agent, argv, log)
	card, extended := profile(f.profile, card)
	s, err := parley.New(card, ag, &parley.Options{
		Store: st, PublicURL: public, TrustedProxies: f.proxies, CardProfile: cardFor(f.profile), ExtendedCard: extended, Logger: log, Retention: f.retention,
	})
	if err != nil {
		return newFailure(codeServe, err.Error(), err)
	}
	b := banner{addr: l.Addr(), tls: f.tls.given(), public: public, agent: what, tasks: kept, keeps: st != nil, demo: len(argv) == 0 && f.agent == "demo"}
	if err := b.print(a.stdout); err != nil {
		return newFailure(codeServe, "print: "+err.Error(), err)
	}
	if !b.loopback() {
		a.note("Warning", "everybody who can reach %s may call this agent: callers are not authenticated", l.Addr())
	}
	err = s.Serve(ctx, l)
	if st != nil {
		err = errors.Join(err, st.Close())
	}
	if err != nil {
		f := newFailure(codeServe, err.Error(), err)
		if errors.Is(err, sqlite3.CORRUPT) {
			return f.withHint(damaged, quote(kept))
		}
		return f
	}
	return nil
}

// commandFailure says why a command cannot run, so that a misspelt one is known
// at the start and not with the first message.
func commandFailure(name string) error {
	_, err := exec.LookPath(name)
	if err == nil {
		return nil
	}
	f := newFailure(codeServe, "the command "+quote(name)+" was not found", err)
	switch {
	case errors.Is(err, exec.ErrDot):
		return f.withHint("it is in the working directory only: parley serve -- .%c%s", filepath.Separator, name)
	case errors.Is(err, fs.ErrPermission):
		f.Message = "the command " + quote(name) + " is not executable"
		return f.withHint("chmod +x %s, or name its interpreter: parley serve -- sh %[1]s", quote(name))
	case strings.ContainsAny(name, " \t"):
		return f.withHint("give the command and its arguments as separate words, or a shell line as: parley serve -- sh -c %s", quote(name))
	}
	if st, statErr := os.Stat(name); statErr == nil && !st.IsDir() {
		return f.withHint("a file in the working directory is named with ./ in front: parley serve -- ./%s", quote(name))
	}
	return f.withHint("check its name, and that its directory is in PATH")
}

// serveAgent returns the agent to run, and how the banner calls it.
func serveAgent(name string, argv []string, log *slog.Logger) (a2a.AgentCard, agent.Agent, string) {
	switch {
	case len(argv) > 0: // below
	case name == "conformance":
		return agent.ConformanceCard(), agent.Conformance(), name
	default:
		return agent.DemoCard(), agent.Demo(), "demo"
	}
	return agent.ExecCard(argv), agent.Exec(argv, &agent.ExecOptions{Logger: log}), quoteAll(argv)
}

// quoteAll is a command as one types it.
func quoteAll(argv []string) string {
	words := make([]string, len(argv))
	for i, w := range argv {
		words[i] = quote(w)
	}
	return strings.Join(words, " ")
}

func publicURL(s string) (string, error) {
	if s == "" {
		return "", nil
	}
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", usagef("--public-url %s: must be an http or https URL such as https://agents.example.org", quote(s))
	}
	return strings.TrimRight(s, "/"), nil
}

// prefixes is a repeatable flag of networks or single addresses.
type prefixes []netip.Prefix

func (p *prefixes) String() string { return "" }
func (p *prefixes) Type() string   { return "CIDR" }
func (p *prefixes) Set(s string) error {
	prefix, err := netip.ParsePrefix(s)
	if addr, addrErr := netip.ParseAddr(s); addrErr == nil && addr.Zone() == "" {
		prefix, err = netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	if err != nil || prefix.Addr().Is4In6() {
		return errors.New("must be a network such as 10.0.0.0/8 or an address such as ::1")
	}
	*p = append(*p, prefix.Masked())
	return nil
}

// network keeps an IPv4 address to IPv4: to package net, "tcp" and 0.0.0.0 mean
// every IPv6 address, too, which is more than was asked for.
func network(addr string) string {
	if a, err := netip.ParseAddrPort(addr); err == nil && a.Addr().Is4() {
		return "tcp4"
	}
	return "tcp"
}

// listenFailure says plainly why there is no listening, and what to do.
func listenFailure(addr string, err error) error {
	var op *net.OpError
	if errors.As(err, &op) {
		err = op.Err
	}
	f := newFailure(codeServe, fmt.Sprintf("cannot listen on %s: %v", addr, err), err)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		f.Message = addr + " is taken: another program listens there, perhaps another parley serve"
		return f.withHint("stop that program, or choose another port: parley serve --listen 127.0.0.1:0 takes a free one")
	case errors.Is(err, syscall.EACCES):
		return f.withHint("ports below 1024 need privileges: choose another with --listen")
	}
	return f.withHint("--listen takes an address of this machine and a port, such as 127.0.0.1:7275")
}
