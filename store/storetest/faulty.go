package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parley-a2a/parley/store"
)

// Fault is how a write fails.
type Fault int

const (
	// FailBefore lets a write fail without effect.
	FailBefore Fault = iota
	// FailAfter lets a write take effect and then reports that it failed.
	FailAfter
)

func (f Fault) String() string {
	if f == FailAfter {
		return "after"
	}
	return "before"
}

// ErrFault is what the failing write returns.
var ErrFault = errors.New("storetest: injected fault")

// Faulty returns st with one write failing: the one that step others came
// before. Writes are Append, Beat, Claim, Secret and Delete. All others pass.
func Faulty(st store.Store, step int, f Fault) store.Store {
	return &faulty{Store: st, step: int64(step), fault: f}
}

// Steps returns how many writes a scenario makes, on a memory store.
func Steps(scenario func(store.Store)) int {
	m := store.NewMemory()
	defer m.Close()
	counted := &faulty{Store: m, step: -1}
	scenario(counted)
	return int(counted.writes.Load())
}

// faulty embeds the store, so that reads pass.
type faulty struct {
	store.Store
	step   int64
	fault  Fault
	writes atomic.Int64
}

// due counts a write and reports whether it is the one to fail.
func (f *faulty) due() bool { return f.writes.Add(1)-1 == f.step }

func (f *faulty) Append(a *store.Append, done func(error)) {
	if f.due() {
		report := done
		done = func(error) { report(ErrFault) }
		if f.fault == FailBefore {
			// An append that every store refuses. So done is called when its
			// turn comes, by the store's goroutine, as the contract has it.
			a = &store.Append{Row: a.Row, After: a.After, Epoch: a.Epoch}
		}
	}
	f.Store.Append(a, done)
}

func (f *faulty) Beat(ctx context.Context, node string, now time.Time) error {
	if !f.due() {
		return f.Store.Beat(ctx, node, now)
	}
	if f.fault == FailAfter {
		_ = f.Store.Beat(ctx, node, now)
	}
	return ErrFault
}

func (f *faulty) Claim(ctx context.Context, node string, deadBefore time.Time, limit int) ([]store.Row, error) {
	if !f.due() {
		return f.Store.Claim(ctx, node, deadBefore, limit)
	}
	if f.fault == FailAfter {
		_, _ = f.Store.Claim(ctx, node, deadBefore, limit)
	}
	return nil, ErrFault
}

func (f *faulty) Secret(ctx context.Context, name string) ([]byte, error) {
	if !f.due() {
		return f.Store.Secret(ctx, name)
	}
	if f.fault == FailAfter {
		_, _ = f.Store.Secret(ctx, name)
	}
	return nil, ErrFault
}

func (f *faulty) Delete(ctx context.Context, rows []store.Row) (int, error) {
	if !f.due() {
		return f.Store.Delete(ctx, rows)
	}
	if f.fault == FailAfter {
		_, _ = f.Store.Delete(ctx, rows)
	}
	return 0, ErrFault
}

// testFaults runs a scenario with every write failing once, both ways. Its
// writer does what the contract tells it to after a failure: ask what is
// there, and go on from that.
func testFaults(t *testing.T, fresh func(t testing.TB) Opener) {
	keys := []store.Key{name("a"), name("b")}
	old := name("old")
	blobs := []store.Blob{{Hash: "shared", Data: []byte("1")}, {Hash: "own", Data: []byte("2")}}
	scenario := func(t testing.TB, st store.Store) {
		retry(t, "beat", func() error { return st.Beat(t.Context(), "node", began) })
		retry(t, "secret", func() error { _, err := st.Secret(t.Context(), "name"); return err })
		for _, k := range keys {
			a := create(k, 2)
			ensure(t, st, a)
			ensure(t, st, then(a, 3))
		}
		retry(t, "claim", func() error { _, err := st.Claim(t.Context(), "next", began.Add(time.Hour), 10); return err })
		for _, k := range keys {
			r := get(t, st, k, false)
			end := &store.Append{Row: r.Row, After: r.Last, Epoch: r.Epoch, Entries: entries(r.Last, 1)}
			end.Row.Active = false
			end.Seal = &store.Seal{Head: []byte("head"), Body: []byte("body")}
			end.Blobs = blobs[:1]
			ensure(t, st, end)
		}
		past := finished("old", 3, began)
		past.Blobs = blobs
		ensure(t, st, past)
		retry(t, "delete", func() error {
			rows, err := st.Idle(t.Context(), store.IdleQuery{State: 3, Before: began.Add(time.Hour), Limit: 10})
			if err == nil {
				_, err = st.Delete(t.Context(), rows)
			}
			return err
		})
	}
	steps := Steps(func(st store.Store) { scenario(t, st) })
	for _, f := range []Fault{FailBefore, FailAfter} {
		for step := range steps {
			t.Run(fmt.Sprintf("%s step %d", f, step), func(t *testing.T) {
				open := fresh(t)
				st := start(t, open)
				scenario(t, Faulty(st, step, f))
				st = restart(t, st, open)
				Check(t, st, append(keys, old)...)
				checkAbsent(t, st, old)
				if _, err := st.Blob(t.Context(), "own"); !errors.Is(err, store.ErrNotFound) {
					t.Errorf("the blob of the deleted task: %v", err)
				}
				if _, err := st.Blob(t.Context(), "shared"); err != nil {
					t.Errorf("the blob that others refer to: %v", err)
				}
				for _, k := range keys {
					r := get(t, st, k, true)
					if r.Last != 6 || r.Seal == nil || r.Active || r.Node != "next" || r.Epoch != 2 || r.Lost != 1 {
						t.Errorf("%s is not what the writer left: %+v", k.ID, r)
					}
				}
			})
		}
	}
}

// retry calls f until it succeeds, at most twice.
func retry(t testing.TB, what string, f func() error) {
	t.Helper()
	err := f()
	if errors.Is(err, ErrFault) {
		err = f()
	}
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// ensure appends; if the outcome is unknown it looks whether it happened.
func ensure(t testing.TB, st store.Store, a *store.Append) {
	t.Helper()
	err := store.Do(t.Context(), st, a)
	if errors.Is(err, ErrFault) {
		r, getErr := st.Get(t.Context(), a.Row.Key, false)
		if getErr == nil && r.Last == a.After+int64(len(a.Entries)) {
			return
		}
		err = store.Do(t.Context(), st, a)
	}
	if err != nil {
		t.Fatalf("append to %q after %d: %v", a.Row.ID, a.After, err)
	}
}
