package torture

import (
	"flag"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
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
	dir := logDir(t, "rolling")
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	// Who waits for a replica to be taken for dead is noticed: clients are patient
	// for less.
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
	for _, v := range report.Violations {
		t.Errorf("seed %d: %s", s, v)
	}
	if report.Tasks == 0 || report.Elsewhere == 0 {
		t.Errorf("seed %d: nothing was put to the test", s)
	}
	if report.Stalls > 0 {
		t.Errorf("seed %d: nothing came for long %d times", s, report.Stalls)
	}
	t.Logf("replicas that are replaced, with %d requests refused by 503:\n%s", report.Refused, Table([]string{"replaced"}, []*Report{report}))
	d.whole(t)
}
