package torture

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aclient"
)

var (
	takeovers = flag.Int("takeovers", 0, "replicas that TestTakeOver kills; 0 means the short form")
	silence   = flag.Duration("dead-after", deadAfter, "how long a replica may be silent in TestTakeOver")
)

// TestTakeOver measures how long a task stands still whose replica is killed: from
// the kill to the first sign of it, at another replica, that it runs elsewhere. It
// must be no more than twice the time a replica may be silent; the short form, which
// runs beside other tests, is content with less.
func TestTakeOver(t *testing.T) {
	kills, limit := 3, 10**silence
	if *takeovers > 0 {
		kills, limit = *takeovers, 2**silence
	}
	rng := rand.New(rand.NewPCG(*seed, 5))
	f := startFleet(t, "take-over", *silence, "")
	var took []time.Duration
	for n := range kills {
		d, err := f.takeOver(t.Context(), n, rng)
		if err != nil {
			t.Fatalf("kill %d: %v", n+1, err)
		}
		took = append(took, d)
		f.w.note("taken over after %v", d)
	}
	slices.Sort(took)
	longest := took[len(took)-1]
	t.Logf("%d replicas killed, others may be silent for %v: their tasks ran elsewhere after %v at the median, %v at p99, %v at most",
		kills, *silence, at(took, 0.5), at(took, 0.99), longest)
	if longest > limit {
		t.Errorf("a task stood still for %v, which is more than %v", longest, limit)
	}
}

// at is a quantile of what is sorted.
func at(sorted []time.Duration, q float64) time.Duration {
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)].Round(100 * time.Microsecond)
}

// startFleet starts three replicas of the real binary that end with the test.
// more is added to the address of their database.
func startFleet(t *testing.T, name string, dead time.Duration, more string) *fleet {
	t.Helper()
	d := newDatabase(t)
	d.more = more
	dir, log := logged(t, name)
	o := &FleetOptions{Database: d, DeadAfter: dead, Seed: *seed, Log: log}
	replicaBinary(t, o, d, dir)
	f := newFleet(o)
	t.Cleanup(f.close)
	if err := f.begin(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	return f
}

// call returns a client of one replica.
func (r *replica) call(ctx context.Context) (*a2aclient.Client, error) {
	return a2aclient.Dial(ctx, "http://"+r.o.Addr, &a2aclient.Options{Version: "1.0", Bindings: []string{a2a.BindingJSONRPC}, Retries: -1})
}

// begins sends a message that begins a task and returns its id.
func begins(ctx context.Context, cl *a2aclient.Client, id, text string) (string, error) {
	res, err := cl.SendMessage(ctx, &a2a.SendMessageRequest{
		Message:       &a2a.Message{MessageID: id, Role: a2a.RoleUser, Parts: []*a2a.Part{a2a.TextPart(text)}},
		Configuration: &a2a.SendMessageConfiguration{ReturnImmediately: true},
	})
	if err != nil {
		return "", err
	}
	return res.Task.ID, nil
}

// arrival is an element of a stream, and when it came.
type arrival struct {
	el  *a2a.StreamResponse
	at  time.Time
	err error
}

// arrivals subscribes to a task, from its beginning.
func arrivals(ctx context.Context, cl *a2aclient.Client, id string) <-chan arrival {
	all := make(chan arrival, 16)
	go func() {
		defer close(all)
		for el, err := range cl.SubscribeToTask(ctx, &a2a.SubscribeToTaskRequest{ID: id, After: 1}) {
			select {
			case all <- arrival{el, time.Now(), err}:
			case <-ctx.Done():
				return
			}
		}
	}()
	return all
}

// takeOver kills a replica at some moment of a task that streams, and returns how
// long it took until the task ran elsewhere.
func (f *fleet) takeOver(ctx context.Context, n int, rng *rand.Rand) (took time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, readyWithin+4*f.o.DeadAfter)
	defer cancel()
	victim, other := f.replicas[n%len(f.replicas)], f.replicas[(n+1)%len(f.replicas)]
	at, err := victim.call(ctx)
	if err != nil {
		return 0, err
	}
	reader, err := other.call(ctx)
	if err != nil {
		return 0, err
	}
	id, err := begins(ctx, at, fmt.Sprintf("take-over %d", n), "stream 100000 20")
	if err != nil {
		return 0, err
	}
	all := arrivals(ctx, reader, id)
	moment := time.NewTimer(ms(50) + time.Duration(rng.Int64N(int64(f.o.DeadAfter/2))))
	defer moment.Stop()
	var death time.Time
	runs := 0
	for runs < 2 {
		select {
		case <-moment.C:
			victim.end()
			death = time.Now()
		case a, ok := <-all:
			switch {
			case !ok:
				return 0, fmt.Errorf("the stream of task %s at replica %d ended", id, other.n)
			case a.err != nil:
				return 0, fmt.Errorf("task %s at replica %d: %w", id, other.n, a.err)
			case a.el.StatusUpdate != nil: // each run of the agent begins with one
				runs++
				took = a.at.Sub(death)
			}
		}
	}
	if death.IsZero() {
		return 0, fmt.Errorf("task %s ran twice before its replica was killed", id)
	}
	if _, err := reader.CancelTask(ctx, &a2a.CancelTaskRequest{ID: id}); err != nil {
		return 0, fmt.Errorf("cancel task %s: %w", id, err)
	}
	if err := victim.start(); err != nil {
		return 0, err
	}
	return took, f.await(ctx, len(f.replicas))
}
