package store_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/parley-a2a/parley/store"
)

// The hash of a task in hints stays the same, because replicas of other releases use it too.
func TestHashIsTheSameInAllVersions(t *testing.T) {
	for _, c := range []struct {
		key  store.Key
		want uint64
	}{
		{store.Key{}, 0xf998341be47bae14},
		{store.Key{ID: "a"}, 0x974376653c6c7bfb},
		{store.Key{Owner: "a"}, 0x328ca462bfc1f87b},
		{store.Key{Tenant: "a"}, 0xd48b71819428aa47},
		{store.Key{Tenant: "tenant", Owner: "owner", ID: "3f6c1f0e-6f1a-4f57-9d0e-0a4c9d1c2b3a"}, 0xaee667e544b17cfa},
		{store.Key{Tenant: "\xff", Owner: "\x00", ID: "日本"}, 0xceb0012a57353dc3},
		{store.Key{Tenant: strings.Repeat("long ", 1000), ID: "a"}, 0xc3a638cf52a8a1fb},
	} {
		if got := c.key.Hash(); got != c.want {
			t.Errorf("%.60q: %#x, want %#x", c.key, got, c.want)
		}
	}
}

// told watches a hub until the test ends and sends each hint on a channel.
func told(t *testing.T, h *store.Hub, hints chan<- store.Hint) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- h.Watch(ctx, nil, func(hint store.Hint) { hints <- hint }) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("watch: %v", err)
		}
	})
	synctest.Wait()
}

func TestHubTellsAllInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h store.Hub
		h.Tell(store.Hint{Task: 1}) // no watcher yet
		a, b := make(chan store.Hint, 9), make(chan store.Hint, 9)
		told(t, &h, a)
		told(t, &h, b)
		h.Tell(store.Hint{Task: 2}, store.Hint{Node: "n"})
		h.Tell()
		h.Tell(store.Hint{Work: true})
		synctest.Wait()
		for _, hints := range []chan store.Hint{a, b} {
			for _, want := range []store.Hint{{Task: 2}, {Node: "n"}, {Work: true}} {
				if got := <-hints; got != want {
					t.Errorf("got %+v, want %+v", got, want)
				}
			}
			if len(hints) > 0 {
				t.Errorf("and then %+v", <-hints)
			}
		}
	})
}

// Hints for a slow watcher do not pile up: one hint that some are lost replaces them. Other
// watchers get them all.
func TestHubLosesHintsOfWhoIsSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h store.Hub
		slow, fast := make(chan store.Hint), make(chan store.Hint, 20_000)
		told(t, &h, slow)
		told(t, &h, fast)
		h.Tell(store.Hint{Task: 1}) // the slow one is at work on this
		synctest.Wait()
		for i := range 5000 {
			h.Tell(store.Hint{Task: uint64(2 + i)})
			if i%100 == 0 {
				synctest.Wait()
			}
		}
		synctest.Wait()
		if len(fast) != 5001 {
			t.Errorf("the fast one got %d hints", len(fast))
		}
		n, lost := 0, false
		last := store.Hint{}
		for more := true; more; {
			select {
			case last = <-slow:
				n++
				lost = lost || last.Lost
				synctest.Wait()
			default:
				more = false
			}
		}
		if !lost || last.Task != 5001 || n > 4098 {
			t.Errorf("the slow one got %d hints, lost: %t, the last %+v", n, lost, last)
		}
		h.Tell(make([]store.Hint, 5000)...)
		if got := <-slow; got != (store.Hint{Lost: true}) {
			t.Errorf("of too many at once: %+v", got)
		}
	})
}

func TestHubEndsWithWhatIsClosed(t *testing.T) {
	var h store.Hub
	closed := make(chan struct{})
	close(closed)
	if err := h.Watch(t.Context(), closed, nil); !errors.Is(err, store.ErrClosed) {
		t.Errorf("watch: %v", err)
	}
}
