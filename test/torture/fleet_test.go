package torture

import (
	"flag"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

var replicaRounds = flag.Int("replica-rounds", 0, "rounds of each kind with several servers at one PostgreSQL; 0 means the short form")

// deadAfter is what replicas are told that are tortured: short, so that there
// are many take-overs.
const deadAfter = time.Second

// TestReplicas is the promise that nothing is lost, held against several servers
// at one PostgreSQL, of which any may be killed, stopped in its tracks or cut
// off, and against what happens to PostgreSQL. make torture STORE=postgres is its
// long form.
func TestReplicas(t *testing.T) {
	if *seed == 0 {
		*seed = rand.Uint64N(1_000_000) + 1
	}
	var names []string
	var reports []*Report
	for _, kind := range []struct {
		name  string
		short int // rounds
		setup func(t *testing.T, o *FleetOptions, d *database, dir string)
	}{
		{"three replicas", 6, replicaBinary},
		{"whose agent has steps", 0, replicaSteps},
		{"webhooks and retention", 0, replicaHooks},
	} {
		rounds := kind.short
		if *replicaRounds > 0 {
			rounds = *replicaRounds
		}
		if rounds == 0 {
			continue
		}
		t.Run(kind.name, func(t *testing.T) {
			d := newDatabase(t)
			dir, log := logged(t, kind.name)
			o := &FleetOptions{Database: d, DeadAfter: deadAfter, Rounds: rounds, Clients: *clients, Seed: *seed, Log: log}
			kind.setup(t, o, d, dir)
			report, err := RunFleet(t.Context(), o)
			if err != nil {
				t.Fatalf("seed %d: %v", *seed, err)
			}
			names, reports = append(names, kind.name), append(reports, report)
			judgeFleet(t, report)
			whole(t, d.URL(d.name))
		})
	}
	t.Logf("what nothing was lost in:\n%s", Table(names, reports))
}

// replicaBinary tortures the real binary.
func replicaBinary(t *testing.T, o *FleetOptions, d *database, dir string) {
	program := built(t)
	o.Replica = func(listen, at string) *exec.Cmd {
		return replicaOf(program, o, listen, d.by(at))
	}
}

// replicaHooks has clients with webhooks alone.
func replicaHooks(t *testing.T, o *FleetOptions, d *database, dir string) {
	program := built(t)
	o.Hooks = &WebhookOptions{Clients: min(o.Clients, 16), Retain: retain}
	o.Clients = 0
	o.Replica = func(listen, at string) *exec.Cmd {
		cmd := replicaOf(program, o, listen, d.by(at))
		cmd.Args = append(cmd.Args, "--retain-failed", retain.String())
		return cmd
	}
}

// retain is how long tasks are kept that failed or were canceled, where some are not
// kept for ever.
const retain = 10 * time.Second

// judgeFleet is judge for one of several servers.
func judgeFleet(t *testing.T, r *Report) {
	t.Helper()
	tested := r.Tasks > 0 && r.Events > 0 && r.Elsewhere > 0
	if h := r.Hooks; h != nil {
		judge(t, *seed, h.Violations, h.Tasks > 0 && h.Repeats > 0 && h.Deleted > 0 && h.Forgotten > 0)
		t.Logf("webhooks to receivers that fail:\n%s", h)
		tested = r.Tasks > 0
	}
	judge(t, *seed, r.Violations, tested)
}

func replicaOf(program string, o *FleetOptions, listen, url string) *exec.Cmd {
	// On a busy machine agents and connections do not end within the 10 s that are the default.
	return exec.Command(program, "serve", "--listen", listen, "--store", url, "--dead-after", o.DeadAfter.String(), "--retry-anonymous", "--drain-timeout", (readyWithin - 5*time.Second).String())
}

// replicaSteps tortures this test's own server, whose agent has steps.
func replicaSteps(t *testing.T, o *FleetOptions, d *database, dir string) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	o.Effects = filepath.Join(dir, "effects")
	o.Replica = func(listen, at string) *exec.Cmd {
		return replicaCommand(self, listen, d.by(at), o.DeadAfter, o.Effects)
	}
}

func replicaCommand(self, listen, url string, dead time.Duration, effects string) *exec.Cmd {
	cmd := exec.Command(self, replicaArg+strings.Join([]string{listen, url, strconv.FormatInt(dead.Milliseconds(), 10), effects}, ","))
	cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0")
	return cmd
}
