package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/parley-a2a/parley/store"
)

// Opener opens the same store again and again: data written before a Close is there after the
// next call. If it fails, it ends the test.
type Opener func(t testing.TB) store.Store

// Memory returns the Opener of a new memory store. While the store is open, further calls
// return the same one, as if to another process.
func Memory() Opener {
	m := store.NewMemory()
	return func(t testing.TB) store.Store {
		if _, err := m.Now(t.Context()); errors.Is(err, store.ErrClosed) {
			m = m.Reopen()
		}
		return m
	}
}

// Run runs the suite for a store that several processes may have open at once. fresh returns
// the Opener of an empty store that nothing else uses; it is called for each test.
func Run(t *testing.T, fresh func(t testing.TB) Opener) { run(t, fresh, true, nil) }

// RunAlone is Run for a store that only one process uses, so that there are no hints of other
// processes: Watch only waits for its end, and the Opener is not called while the store is
// open.
func RunAlone(t *testing.T, fresh func(t testing.TB) Opener) { run(t, fresh, false, nil) }

// RunAreas runs only the named parts of RunAlone.
func RunAreas(t *testing.T, fresh func(t testing.TB) Opener, names ...string) {
	run(t, fresh, false, names)
}

// Main runs the main part of RunAlone. It is for a driver that passes all of it, with another
// way to connect to the same store.
func Main(t *testing.T, fresh func(t testing.TB) Opener) {
	run(t, fresh, false, []string{"log", "owners", "take-over", "queues", "mail", "kept-values"})
}

func run(t *testing.T, fresh func(t testing.TB) Opener, several bool, of []string) {
	for _, a := range areas(several) {
		if len(of) > 0 && !slices.Contains(of, a.name) {
			continue
		}
		for _, b := range a.tests {
			t.Run(b.name, func(t *testing.T) { b.test(t, fresh(t)) })
		}
	}
	if len(of) > 0 {
		return
	}
	seed := uint64(time.Now().UnixNano())
	t.Run("random operations", func(t *testing.T) { Random(t, fresh(t), seed, operations()) })
}

// area is a part of the suite.
type area struct {
	name  string
	tests []behaviour
}

// areas returns the whole suite, except for the random operations whose seed changes each
// time.
func areas(several bool) []area {
	all := []area{
		{"log", logBehaviours}, {"sizes", sizeBehaviours}, {"values", valueBehaviours},
		{"concurrency", concurrencyBehaviours}, {"owners", ownerBehaviours},
		{"lists", queryBehaviours}, {"lists-of-all-owners", queryAllBehaviours}, {"receipts", receiptBehaviours},
		{"take-over", takeBehaviours}, {"retention", retainBehaviours}, {"webhooks", outboxBehaviours},
		{"dead-letters", letterBehaviours}, {"kept-values", keepBehaviours}, {"export-and-import", archiveBehaviours},
		{"queues", shareBehaviours}, {"mail", mailBehaviours}, {"watching", watchBehaviours},
	}
	if several {
		all = append(all, area{"hints", hintBehaviours})
	} else {
		all = append(all, area{"hints", aloneBehaviours})
	}
	same := area{name: "random-operations"} // with the same seeds each time, and so only a few
	for seed := range uint64(2) {
		same.tests = append(same.tests, behaviour{fmt.Sprintf("random operations %d", seed), func(t testing.TB, open Opener) { random(t, open, seed, min(400, operations())) }})
	}
	return append(all, area{"faults", faultBehaviours()}, same)
}

func operations() int {
	if !testing.Testing() || testing.Short() {
		return 200
	}
	return 800
}

// behaviour is one test of the suite.
type behaviour struct {
	name string
	test func(t testing.TB, open Opener)
}

// start opens a store that is closed with the test.
func start(t testing.TB, open Opener) store.Store {
	t.Helper()
	st := open(t)
	t.Cleanup(func() { st.Close() })
	return st
}

// restart closes st and opens it again.
func restart(t testing.TB, st store.Store, open Opener) store.Store {
	t.Helper()
	if err := st.Close(); err != nil {
		t.Fatalf("close: %v", err)
	}
	return start(t, open)
}

// began is when the tasks of tests begin.
var began = time.Date(2026, 11, 21, 9, 8, 7, 654e6, time.UTC)

func name(id string) store.Key { return store.Key{Tenant: "tenant", Owner: "owner", ID: id} }

// create returns the append that begins a task with n entries.
func create(k store.Key, n int) *store.Append {
	a := &store.Append{Row: store.Row{
		Key: k, Context: "context", State: 1, Updated: began, Created: began,
		Active: true, Node: "node", Epoch: 1, Turn: 1, Attempt: 1,
	}}
	a.Entries = entries(0, n)
	return a
}

// then returns the append that continues after a with n entries.
func then(a *store.Append, n int) *store.Append {
	after := a.After + int64(len(a.Entries))
	return &store.Append{Row: a.Row, After: after, Epoch: a.Row.Epoch, Entries: entries(after, n)}
}

func entries(after int64, n int) []store.Entry {
	es := make([]store.Entry, n)
	for i := range es {
		seq := after + 1 + int64(i)
		es[i] = store.Entry{
			Seq:  seq,
			Time: began.Add(time.Duration(seq) * time.Millisecond),
			Kind: uint8(1 + seq%6),
			Body: fmt.Appendf(nil, `{"entry":%d}`, seq),
		}
	}
	return es
}

// must appends and ends the test if that fails.
func must(t testing.TB, st store.Store, appends ...*store.Append) {
	t.Helper()
	for _, a := range appends {
		if err := store.Do(t.Context(), st, a); err != nil {
			t.Fatalf("append to %q after %d: %v", a.Row.ID, a.After, err)
		}
	}
}

// refuse appends and checks for an error.
func refuse(t testing.TB, st store.Store, a *store.Append, want error) {
	t.Helper()
	if err := store.Do(t.Context(), st, a); !errors.Is(err, want) {
		t.Errorf("append to %q after %d with epoch %d: got %v, want %v", a.Row.ID, a.After, a.Epoch, err, want)
	}
}

// queue appends all without waiting in between and returns their outcomes.
func queue(st store.Store, appends []*store.Append) []error {
	type outcome struct {
		i   int
		err error
	}
	done := make(chan outcome, len(appends))
	for i, a := range appends {
		st.Append(a, func(err error) { done <- outcome{i, err} })
	}
	errs := make([]error, len(appends))
	for range appends {
		o := <-done
		errs[o.i] = o.err
	}
	return errs
}

// mustAll queues appends and ends the test unless all succeed.
func mustAll(t testing.TB, st store.Store, appends []*store.Append) {
	t.Helper()
	for i, err := range queue(st, appends) {
		if err != nil {
			t.Fatalf("append %d, to %q after %d: %v", i, appends[i].Row.Key, appends[i].After, err)
		}
	}
}

// get reads a record: the whole or only the row.
func get(t testing.TB, st store.Store, k store.Key, whole bool) *store.Record {
	t.Helper()
	most := int64(store.RowOnly)
	if whole {
		most = store.Whole
	}
	r, err := st.Get(t.Context(), k, most)
	if err != nil {
		t.Fatalf("get %q: %v", k.ID, err)
	}
	return r
}

func list(t testing.TB, st store.Store, q store.Query) *store.Page {
	t.Helper()
	p, err := st.List(t.Context(), q)
	if err != nil {
		t.Fatalf("list %+v: %v", q, err)
	}
	return p
}

// log reads a page of a log.
func log(t testing.TB, st store.Store, k store.Key, after int64, limit int) []store.Entry {
	t.Helper()
	es, err := st.Entries(t.Context(), k, after, limit)
	if err != nil {
		t.Fatalf("entries of %q after %d: %v", k.ID, after, err)
	}
	return es
}

// wholeLog reads a log page by page.
func wholeLog(t testing.TB, st store.Store, k store.Key) (all []store.Entry) {
	t.Helper()
	for e, err := range store.EachEntry(t.Context(), st, k, 0, store.Whole) {
		if err != nil {
			t.Fatalf("entries of %q: %v", k.ID, err)
		}
		all = append(all, e)
	}
	return all
}

// alike treats empty and nil bytes as equal, because stores need not tell them apart. It
// compares other bytes directly, because cmp takes seconds for megabytes.
var alike = cmp.Options{cmpopts.EquateEmpty(), cmp.FilterValues(func(a, b []byte) bool { return len(a)+len(b) > 0 }, cmp.Comparer(bytes.Equal))}

// same compares values.
func same(t testing.TB, what string, got, want any) {
	t.Helper()
	if reflect.DeepEqual(got, want) || cmp.Equal(want, got, alike) { // equal times may have different locations
		return
	}
	if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

// wantError checks that an error is the one that a caller would test for.
func wantError(t testing.TB, what string, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Errorf("%s: got error %v, want %v", what, got, want)
	}
}

// ended returns a context that has ended.
func ended(t testing.TB) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}
