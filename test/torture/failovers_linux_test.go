package torture

import (
	"flag"
	"math/rand/v2"
	"net"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/parley-a2a/parley/internal/pgtest"
)

var (
	failovers    = flag.Int("failovers", 0, "primaries that fail in TestFailover; 0 skips it")
	asynchronous = flag.Bool("async", false, "no commit waits for a standby in TestFailover, which must find what that loses")
	skew         = flag.Duration("skew", 0, "how far the clocks of the PostgreSQL servers of TestFailover differ from one to the next, with libfaketime")
	hooked       = flag.Bool("hooks", false, "the clients of TestFailover have webhooks, and what failed or was canceled is soon deleted")
	patroni      = flag.Bool("patroni", false, "Patroni and etcd choose the primary of TestFailover")
	fronted      = flag.Bool("fronted", false, "the servers of TestFailover reach the primary through PgBouncer and HAProxy, which are restarted")
)

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
	f := newFailing(t, *failovers)
	rounds := f.rounds
	if f.governed != nil {
		rounds = f.roundsOfPatroni
	}
	report, err := f.run(t.Context(), *seed, rounds)
	t.Logf("primaries that fail:\n%s", f)
	if err != nil {
		t.Fatalf("seed %d: %v", *seed, err)
	}
	table := Table([]string{"failovers"}, []*Report{report})
	if f.lazy {
		if report.Broken[Acknowledged]+report.Broken[Seen] == 0 {
			t.Errorf("seed %d: nothing that was acknowledged or seen is lost, although no standby had it", *seed)
		}
		for _, v := range report.Violations[:min(5, len(report.Violations))] {
			t.Logf("lost: %.600s", v)
		}
		t.Logf("what is lost where no commit waits for a standby:\n%s", table)
		return
	}
	judgeFleet(t, report)
	if f.governed != nil {
		whole(t, f.governed.url())
	} else {
		whole(t, f.ha.primary.Via(f.ha.primary.Address(), f.ha.name))
	}
	t.Logf("what nothing was lost in:\n%s", table)
}

// newFailing makes the hosts, the servers and what watches over them.
func newFailing(t *testing.T, rounds int) *failing {
	t.Helper()
	pgtest.Require(t)
	const servers, replicas = 3, 3
	n, err := newNetwork(servers + replicas + 2) // of which one judges, and one is the front
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.close)
	a, g := &ha{}, (*governed)(nil)
	var url func() string
	if *patroni {
		g = newGoverned(t, n, n.hosts[:servers])
		url = g.url
	} else {
		a = newHA(t, n.hosts[:servers], !*asynchronous, *skew)
		url = a.url
	}
	if *fronted {
		a.front = newFront(t, n, n.hosts[servers+replicas+1], a)
	}
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
	if *silence != deadAfter { // it was given
		o.DeadAfter = *silence
	}
	command := func(program, listen string, more ...string) *exec.Cmd {
		args := []string{"serve", "--listen", listen, "--allow-anonymous", "--store", url(), "--dead-after", o.DeadAfter.String(), "--retry-anonymous"}
		for _, limit := range []string{"rate", "burst", "max-streams", "max-running", "max-running-per-caller", "max-connections", "max-connections-per-address"} {
			args = append(args, "--"+limit, "0") // which are there by default where others than this machine's users call
		}
		if o.Hooks != nil {
			args = append(args, "--retain-failed", retain.String(), "--egress-allow", "http://"+n.address)
		}
		return of[listen].command(program, append(args, more...)...)
	}
	if *hooked {
		o.Hooks = &WebhookOptions{Clients: min(o.Clients, 16), Retain: retain, Receivers: n.address}
		o.Clients = 0
	}
	o.Replica = func(listen, _ string) *exec.Cmd {
		if *asynchronous {
			return command(program, listen, "--allow-async-commit")
		}
		return command(program, listen)
	}
	if *older != "" {
		o.Old = func(listen, _ string) *exec.Cmd { return command(*older, listen) }
	}
	if *asynchronous {
		listen, _ := o.Listen(0)
		if text, err := command(program, listen).CombinedOutput(); err == nil || !strings.Contains(string(text), "standbys stream while synchronous_standby_names is empty") {
			t.Fatalf("a start that is to be refused: %v: %s", err, text)
		}
	}
	fl := newFleet(o)
	fl.w.hasty, fl.w.lossy = true, *asynchronous
	return &failing{fleet: fl, ha: a, governed: g, wide: n.hosts[0].space != "", lazy: *asynchronous}
}
