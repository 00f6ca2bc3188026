package torture

import (
	"flag"
	"math/rand/v2"
	"os/exec"
	"testing"
	"time"
)

var older = flag.String("old", "", "an older binary that the replicas of TestRolling begin with; empty is the same one")

// TestRolling is the promise that replicas can be replaced while clients work:
// they see answers that ask them to try again, and nothing else.
func TestRolling(t *testing.T) {
	s := *seed
	if s == 0 {
		s = rand.Uint64N(1_000_000) + 1
	}
	d := newDatabase(t)
	dir, log := logged(t, "rolling")
	// A wait for a replica to be taken for dead is noticed: clients are patient for
	// less.
	o := &FleetOptions{Database: d, DeadAfter: time.Minute, Rounds: 1, Clients: *clients, Seed: s, Log: log}
	if *replicaRounds > 0 {
		o.Rounds = max(2, *replicaRounds/10)
	}
	replicaBinary(t, o, d, dir)
	if *older != "" {
		o.Old = func(listen, at string) *exec.Cmd { return replicaOf(*older, o, listen, d.by(at)) }
	}
	report, err := RunRolling(t.Context(), o)
	if err != nil {
		t.Fatalf("seed %d: %v", s, err)
	}
	judge(t, s, report.Violations, report.Tasks > 0 && report.Elsewhere > 0)
	if report.Stalls > 0 {
		t.Errorf("seed %d: nothing came for long %d times", s, report.Stalls)
	}
	t.Logf("replicas that are replaced, with %d requests refused by 503:\n%s", report.Refused, Table([]string{"replaced"}, []*Report{report}))
	whole(t, d.URL(d.name))
}
