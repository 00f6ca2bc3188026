package outbox

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/engine/internal/outbox/outboxtest"
	"github.com/parley-a2a/parley/store"
)

// flaky is a store of which calls that concern webhooks fail: those that fails
// says, before or after they take effect.
type flaky struct {
	store.Store
	mu    sync.Mutex
	fails func() (before, after bool)
}

var errFlaky = errors.New("flaky")

func (f *flaky) fault(do func() error) error {
	f.mu.Lock()
	before, after := f.fails()
	f.mu.Unlock()
	if before {
		return errFlaky
	}
	if err := do(); err != nil || !after {
		return err
	}
	return errFlaky
}

func (f *flaky) Advance(ctx context.Context, all []store.Advance) error {
	return f.fault(func() error { return f.Store.Advance(ctx, all) })
}

func (f *flaky) SetLetters(ctx context.Context, all []store.DeadLetter, gone bool) error {
	return f.fault(func() error { return f.Store.SetLetters(ctx, all, gone) })
}

func (f *flaky) SetPush(ctx context.Context, p *store.PushConfig) error {
	return f.fault(func() error { return f.Store.SetPush(ctx, p) })
}

func (f *flaky) ClaimPushes(ctx context.Context, node string, dead time.Time, limit int) (n int, err error) {
	err = f.fault(func() error { n, err = f.Store.ClaimPushes(ctx, node, dead, limit); return err })
	return n, err
}

func (f *flaky) Push(ctx context.Context, id store.PushID) (p *store.PushConfig, err error) {
	err = f.fault(func() error { p, err = f.Store.Push(ctx, id); return err })
	return p, err
}

func (f *flaky) LivePushes(ctx context.Context, node string, after int64, limit int) (all []store.PushState, err error) {
	err = f.fault(func() error { all, err = f.Store.LivePushes(ctx, node, after, limit); return err })
	return all, err
}

func (f *flaky) DeadLetters(ctx context.Context, q store.LetterQuery) (all []store.DeadLetter, err error) {
	err = f.fault(func() error { all, err = f.Store.DeadLetters(ctx, q); return err })
	return all, err
}

// While the store does not take what was delivered, nothing comes twice for it.
func TestPushWhileTheStoreFails(t *testing.T) {
	pushTest(t, func(t *testing.T, st *store.Memory, r *receivers) {
		for i := range 100 {
			fill(t, st, fmt.Sprint(i), fmt.Sprint("h", i%20), "1.0", 3)
		}
		broken := false
		f := &flaky{Store: st, fails: func() (bool, bool) { return broken, false }}
		r.Answer = func(*a2a.Notification) a2a.Outcome {
			f.mu.Lock()
			broken = true
			f.mu.Unlock()
			return a2a.Outcome{}
		}
		w := newWorld(t, f, r)
		passes(10 * time.Minute)
		if n := len(r.All()); n > mostPosts {
			t.Errorf("%d attempts", n)
		}
		if w.lastWrite() == nil {
			t.Error("nobody is told of the trouble")
		}
		r.Mu.Lock()
		r.Answer = nil
		r.Mu.Unlock()
		f.mu.Lock()
		broken = false
		f.mu.Unlock()
		passes(10 * time.Minute)
		if n := len(r.All()); n != 300 {
			t.Errorf("%d attempts, want 300", n)
		}
		w.stop()
	})
}

// history is what a receiver with random failures got, by configuration.
type history struct {
	mu    sync.Mutex
	rng   *rand.Rand
	ids   map[string]string  // by configuration and seq
	first map[string][]int64 // delivered, in the order in which each came first
	had   map[string]bool
	life  int
	off   map[string]int // answered 410, in this life
	bad   []string
}

func newHistory(rng *rand.Rand) *history {
	return &history{rng: rng, ids: map[string]string{}, first: map[string][]int64{}, had: map[string]bool{}, off: map[string]int{}}
}

func (h *history) serve(ctx context.Context, n *a2a.Notification) a2a.Outcome {
	h.mu.Lock()
	name := n.Config.TaskID + "/" + n.Config.ID
	one := fmt.Sprint(name, " ", n.Seq)
	if was, ok := h.ids[one]; ok && was != n.ID {
		h.bad = append(h.bad, one+" has two ids")
	}
	h.ids[one] = n.ID
	if life, off := h.off[name]; off && life == h.life { // in another it may be forgotten
		h.bad = append(h.bad, one+" came after 410")
	}
	wait := time.Duration(h.rng.IntN(2000)) * time.Millisecond
	dice := h.rng.IntN(100)
	h.mu.Unlock()
	if dice < 5 {
		wait = time.Minute
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	taken := func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if !h.had[one] {
			h.had[one] = true
			h.first[name] = append(h.first[name], n.Seq)
		}
	}
	select {
	case <-timer.C:
	case <-ctx.Done():
		if dice < 3 { // it has it, and nobody knows
			taken()
		}
		return outboxtest.Failing5xx
	}
	switch {
	case dice < 20:
		return outboxtest.Failing5xx
	case dice < 30:
		taken() // the answer was lost
		return outboxtest.Failing5xx
	case n.Config.ID == "off" && dice > 90:
		h.mu.Lock()
		h.off[name] = h.life
		h.mu.Unlock()
		return outboxtest.Gone410
	}
	taken()
	return a2a.Outcome{}
}

// Under random failures and losses of the process, each configuration gets every event, first
// in order, and always under one id.
func TestPushProperty(t *testing.T) {
	for seed := range uint64(25) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { pushProperty(t, seed) })
		})
	}
}

func pushProperty(t *testing.T, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 5))
	h := newHistory(rand.New(rand.NewPCG(seed, 6)))
	r := &receivers{Serve: h.serve}
	mem := store.NewMemory()
	defer func() { mem.Close() }()
	want := map[string][]int64{}
	for i := range 12 {
		id := fmt.Sprint("t", i)
		version, events := "1.0", 1+rng.IntN(100)
		fill(t, mem, id, fmt.Sprint("host", i%3), version, events)
		body := mustPush(t, mem, id).Body
		names := []string{"c", "b", "off"}[:1+i%3]
		for _, name := range names[1:] {
			p := &store.PushConfig{Key: store.Key{ID: id}, ID: name, Host: "host0", Body: body, Created: outboxtest.Now(), Live: true, Progress: store.Progress{Cursor: 2}}
			if err := mem.SetPush(t.Context(), p); err != nil {
				t.Fatal(err)
			}
		}
		for seq := range int64(events) {
			for _, name := range names {
				want[id+"/"+name] = append(want[id+"/"+name], seq+3)
			}
		}
	}
	for life := range 6 {
		f := &flaky{Store: mem}
		dice := rand.New(rand.NewPCG(seed, uint64(life)))
		f.fails = func() (bool, bool) {
			if life == 5 {
				return false, false
			}
			d := dice.IntN(40)
			return d == 0, d == 1
		}
		h.life = life
		w := newWorld(t, f, r)
		if life == 5 {
			passes(23 * time.Hour)
			w.stop()
			break
		}
		passes(time.Duration(rng.IntN(60)) * time.Second)
		if rng.IntN(2) == 0 {
			w.stop()
			continue
		}
		// The process is lost: what it still writes is refused.
		next := mem.Reopen()
		mem.Close()
		w.stop()
		mem = next
	}
	for name, seqs := range want {
		if _, off := h.off[name]; !off && !slices.Equal(h.first[name], seqs) || off && !slices.Equal(h.first[name], seqs[:len(h.first[name])]) {
			t.Errorf("%s got %v, want %v", name, h.first[name], seqs)
		}
	}
	for _, bad := range h.bad {
		t.Error(bad)
	}
}

func mustPush(t *testing.T, st store.Store, task string) *store.PushConfig {
	t.Helper()
	p, err := st.Push(t.Context(), store.PushID{Key: store.Key{ID: task}, ID: "c"})
	if err != nil {
		t.Fatal(err)
	}
	return p
}
