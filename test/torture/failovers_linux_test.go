package torture

import (
	"flag"
	"math/rand/v2"
	"net"
	"os/exec"
	"testing"
	"time"

	"github.com/parley-a2a/parley/internal/pgtest"
)

var failovers = flag.Int("failovers", 0, "primaries that fail in TestFailover; 0 skips it")

// failoverDead is what replicas are told of each other's silence. Clocks of a machine
// with many processes are not always prompt.
const failoverDead = 2 * time.Second

// TestFailover is the promise that nothing is lost, held against the end of the primary
// of PostgreSQL servers that replicate synchronously. make torture STORE=failover is
// its form; there is no short one, for it takes longer than all other tests.
func TestFailover(t *testing.T) {
	if *failovers == 0 {
		t.Skip("make torture STORE=failover runs it")
	}
	if *seed == 0 {
		*seed = rand.Uint64N(1_000_000) + 1
	}
	f := newFailing(t, true, *failovers)
	report, err := f.run(t.Context(), *seed, f.rounds)
	t.Logf("primaries that fail:\n%s", f)
	if err != nil {
		t.Fatalf("seed %d: %v", *seed, err)
	}
	judge(t, *seed, report.Violations, report.Tasks > 0 && report.Events > 0 && report.Elsewhere > 0)
	t.Logf("what nothing was lost in:\n%s", Table([]string{"failovers"}, []*Report{report}))
}

// newFailing makes the hosts, the servers and what watches over them.
func newFailing(t *testing.T, synchronous bool, rounds int) *failing {
	t.Helper()
	pgtest.Require(t)
	const servers, replicas = 3, 3
	n, err := newNetwork(servers + replicas + 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.close)
	a := newHA(t, n.hosts[:servers], synchronous)
	_, log := logged(t, "failover")
	program := built(t)
	of := map[string]*host{} // whose address it is
	o := &FleetOptions{
		DeadAfter: failoverDead, Rounds: rounds, Clients: *clients, Seed: *seed, Log: log, Replicas: replicas,
		Listen: func(n2 int) (string, error) {
			h := n.hosts[servers+n2]
			addr := net.JoinHostPort(h.address, "7275")
			of[addr] = h
			return addr, nil
		},
	}
	o.Replica = func(listen, _ string) *exec.Cmd {
		args := []string{"serve", "--listen", listen, "--allow-anonymous", "--store", a.url(), "--dead-after", o.DeadAfter.String(), "--retry-anonymous"}
		for _, limit := range []string{"rate", "burst", "max-streams", "max-running", "max-running-per-caller", "max-connections", "max-connections-per-address"} {
			args = append(args, "--"+limit, "0") // which are there by default where others than this machine's users call
		}
		if !synchronous {
			args = append(args, "--allow-async-commit")
		}
		return of[listen].command(program, args...)
	}
	fl := newFleet(o)
	fl.w.hasty = true
	return &failing{fleet: fl, ha: a, wide: n.hosts[0].space != ""}
}
