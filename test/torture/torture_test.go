package torture

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

var (
	rounds  = flag.Int("rounds", 0, "rounds of each kind; 0 means the short form")
	seed    = flag.Uint64("seed", 0, "seed of plans and moments; 0 takes a new one")
	clients = flag.Int("clients", 50, "concurrent clients")
	binary  = flag.String("parley", "", "the binary to torture; empty builds it")
	logs    = flag.String("logs", "", "directory for the servers' logs and databases; empty keeps nothing")
)

func TestMain(m *testing.M) {
	for prefix, serve := range map[string]func(string) error{serveArg: serveFaulty, leakArg: serveLeaky, replicaArg: serveReplica} {
		if len(os.Args) != 2 || !strings.HasPrefix(os.Args[1], prefix) {
			continue
		}
		if err := serve(strings.TrimPrefix(os.Args[1], prefix)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	code := m.Run()
	if err := endCluster(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	if builtIn != "" {
		if err := os.RemoveAll(builtIn); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// TestTorture is the promise that nothing is lost, held against kill -9, a
// store that fails, and a network that does. make torture is its long form.
func TestTorture(t *testing.T) {
	if *seed == 0 {
		*seed = rand.Uint64N(1_000_000) + 1
	}
	var names []string
	var reports []*Report
	for _, kind := range []struct {
		name  string
		short int // rounds
		setup func(t *testing.T, o *Options, dir string)
	}{
		{"kill -9", 10, serveBinary},
		{"failing store", 3, serveFaults},
		{"bad network", 3, func(t *testing.T, o *Options, dir string) {
			serveBinary(t, o, dir)
			o.Network = true
		}},
	} {
		t.Run(kind.name, func(t *testing.T) {
			dir, log := logged(t, kind.name)
			addr, err := FreePort(*seed)
			if err != nil {
				t.Fatal(err)
			}
			o := &Options{Addr: addr, Rounds: kind.short, Clients: *clients, Seed: *seed, Log: log, Life: 450 * time.Millisecond}
			if *rounds > 0 {
				o.Rounds, o.Life = *rounds, 0
			}
			kind.setup(t, o, dir)
			report, err := Run(t.Context(), o)
			if err != nil {
				t.Fatalf("seed %d: %v", *seed, err)
			}
			names, reports = append(names, kind.name), append(reports, report)
			judge(t, *seed, report.Violations, report.Tasks > 0 && report.Events > 0 && report.Resumes > 0 && (o.Metrics == "" || report.Counted > 0))
		})
	}
	t.Logf("what nothing was lost in:\n%s", Table(names, reports))
}

// logged returns a directory for what a test writes, which -logs keeps, and a log in it.
func logged(t *testing.T, name string) (dir string, log *os.File) {
	t.Helper()
	dir = t.TempDir()
	if *logs != "" {
		var err error
		if dir, err = os.MkdirTemp(*logs, strings.ReplaceAll(name, " ", "-")+"-"); err != nil {
			t.Fatal(err)
		}
	}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { log.Close() })
	return dir, log
}

// judge fails the test for each promise that a run saw broken, and for a run that
// put too little to the test to see any.
func judge(t *testing.T, seed uint64, violations []string, tested bool) {
	t.Helper()
	for _, v := range violations {
		t.Errorf("seed %d: %s", seed, v)
	}
	if !tested {
		t.Errorf("seed %d: too little was put to the test", seed)
	}
}

// serveBinary tortures the real binary.
func serveBinary(t *testing.T, o *Options, dir string) {
	program := built(t)
	o.Retries = true
	var err error
	if o.Metrics, err = FreePort(o.Seed + 1); err != nil {
		t.Fatal(err)
	}
	o.Server = func(int) *exec.Cmd {
		return exec.Command(program, "serve", "--listen", o.Addr, "--data", filepath.Join(dir, "data"), "--retry-anonymous", "--metrics-listen", o.Metrics)
	}
}

// serveFaults tortures this test's own server, whose store fails now and then.
func serveFaults(t *testing.T, o *Options, dir string) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	o.Dies, o.Retries = true, true
	o.Effects = filepath.Join(dir, "effects")
	data := filepath.Join(dir, "parley.db")
	o.Server = func(life int) *exec.Cmd {
		cmd := exec.Command(self, serveArg+strings.Join([]string{o.Addr, data, o.Effects, strconv.FormatUint(o.Seed+uint64(life), 10)}, ","))
		cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0")
		return cmd
	}
}
