package torture

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/parley-a2a/parley/a2aclient"
)

var latencyEvents = flag.Int("events", 0, "events that TestEventLatency follows, each way; 0 means the short form")

// TestEventLatency measures how much later than at the replica that has a task its
// events reach a subscriber at another one: with hints of the database, and
// without, when the replica looks for itself now and then.
func TestEventLatency(t *testing.T) {
	n, pause := 60, 20
	if *latencyEvents > 0 {
		n = *latencyEvents
	}
	for _, way := range []struct {
		name, more  string
		median, p99 time.Duration // bounds of the short form, for machines that are busy
	}{
		{"with hints", "", 100 * time.Millisecond, time.Second},
		{"without hints", "&listen=off", 2 * time.Second, 4 * time.Second},
	} {
		t.Run(way.name, func(t *testing.T) {
			f := startFleet(t, "latency", 15*time.Second, way.more)
			late, err := f.latency(t.Context(), n, pause)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%d events, one every %d ms, came to a subscriber at another replica later by %v at the median, %v at p99, %v at most",
				n, pause, at(late, 0.5), at(late, 0.99), late[len(late)-1].Round(100*time.Microsecond))
			if at(late, 0.5) > way.median || at(late, 0.99) > way.p99 {
				t.Errorf("that is more than %v at the median or %v at p99", way.median, way.p99)
			}
		})
	}
}

// latency returns how much later than at a task's own replica its events come at
// another one, sorted.
func (f *fleet) latency(ctx context.Context, n, pause int) ([]time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(n)*ms(pause)+2*readyWithin)
	defer cancel()
	var clients [2]*a2aclient.Client
	for i := range clients {
		var err error
		if clients[i], err = f.replicas[i].call(ctx); err != nil {
			return nil, err
		}
	}
	// Both readers have to be there before the events are.
	id, err := begins(ctx, clients[0], "latency", fmt.Sprintf("stream %d %d", n+warm, pause))
	if err != nil {
		return nil, err
	}
	var came [2]map[int64]time.Time
	errs := make(chan error, 2)
	for i := range came {
		came[i] = map[int64]time.Time{}
		all := arrivals(ctx, clients[i], id)
		go func() {
			for a := range all {
				if a.err != nil {
					errs <- fmt.Errorf("replica %d: %w", i, a.err)
					return
				}
				came[i][a.el.Seq] = a.at
			}
			errs <- nil
		}()
	}
	if err := errors.Join(<-errs, <-errs); err != nil {
		return nil, err
	}
	if len(came[0]) < n || len(came[0]) != len(came[1]) {
		return nil, fmt.Errorf("%d events at its own replica, %d at the other", len(came[0]), len(came[1]))
	}
	var late []time.Duration
	for seq, at := range came[0] {
		if seq > 3+warm {
			late = append(late, came[1][seq].Sub(at))
		}
	}
	slices.Sort(late)
	return late, nil
}

// warm is how many events go by before they are measured.
const warm = 5
