package storetest

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/parley-a2a/parley/store"
)

// Random runs ops random operations on a driver and on the memory store and ends the test at
// the first answer that differs. The seed determines everything; the name of a failed test
// and its log show it, so that it can be repeated.
func Random(t *testing.T, open Opener, seed uint64, ops int) { random(t, open, seed, ops) }

func random(t testing.TB, open Opener, seed uint64, ops int) {
	o := &oracle{
		t:      t,
		open:   open,
		driver: start(t, open),
		memory: store.NewMemory(),
		rand:   rand.New(rand.NewPCG(seed, 0)),
		now:    began,
	}
	defer func() { o.memory.Close() }()
	defer func() {
		if t.Failed() {
			t.Logf("seed %d, operation %d of %d", seed, o.op, ops)
		}
	}()
	for o.op = range ops {
		o.step()
	}
	var all []store.Key
	for k := range o.known {
		all = append(all, k)
	}
	Check(t, o.driver, all...)
	for _, k := range all {
		o.read(k)
	}
}

// oracle has the driver and the memory store, which defines the right answers.
type oracle struct {
	t      testing.TB
	open   Opener
	driver store.Store
	memory *store.Memory
	rand   *rand.Rand
	now    time.Time
	known  map[store.Key]bool // tasks ever appended to
	op     int
}

func (o *oracle) step() {
	o.now = o.now.Add(time.Duration(o.rand.IntN(3)) * time.Millisecond) // often the same time again
	switch n := o.rand.IntN(100); {
	case n < 45:
		o.appends(1)
	case n < 55:
		o.appends(2 + o.rand.IntN(20))
	case n < 75:
		o.list()
	case n < 80:
		o.read(o.key())
	case n < 88:
		o.outbox()
	case n < 89:
		o.claim()
	case n < 90:
		o.draw()
	case n < 91:
		o.take()
	case n < 92:
		o.forget()
	case n < 93:
		o.beat()
	case n < 97:
		o.retain()
	case n < 99:
		o.blob()
	default:
		o.driver = restart(o.t, o.driver, o.open)
		o.memory = o.memory.Reopen()
	}
}

// pick returns one of vs.
func pick[T any](r *rand.Rand, vs ...T) T { return vs[r.IntN(len(vs))] }

func (o *oracle) key() store.Key {
	return store.Key{
		Tenant: pick(o.rand, "", "t"),
		Owner:  pick(o.rand, "o", "p"),
		ID:     fmt.Sprint("task ", o.rand.IntN(8)),
	}
}

func (o *oracle) node() string { return pick(o.rand, "n1", "n2", "n3", "") }

// appends queues n appends at once on both sides. Most of them are valid, at random.
func (o *oracle) appends(n int) {
	var batch []*store.Append
	row := map[store.Key]store.Row{} // as the batch leaves it
	for range n {
		k := o.key()
		if _, ok := row[k]; !ok {
			if r, err := o.memory.Get(o.t.Context(), k, store.RowOnly); err == nil {
				row[k] = r.Row
			}
		}
		if o.rand.IntN(10) == 0 {
			batch = append(batch, o.alone(k))
			continue
		}
		a := o.append(k, row[k])
		row[k] = a.Row
		batch = append(batch, a)
		if o.known == nil {
			o.known = map[store.Key]bool{}
		}
		o.known[k] = true
	}
	got, want := queue(o.driver, batch), queue(o.memory, batch)
	for i := range batch {
		o.agree(fmt.Sprintf("append %d of %d: %+v", i, n, batch[i]), got[i], want[i], nil, nil)
	}
}

// append returns an append that continues from was, or nearly does.
func (o *oracle) append(k store.Key, was store.Row) *store.Append {
	r := o.rand
	a := &store.Append{After: was.Last, Epoch: was.Epoch}
	switch r.IntN(20) {
	case 0:
		a.After = max(0, a.After+int64(r.IntN(3)-1))
	case 1:
		a.Epoch += int64(r.IntN(3) - 1)
	case 2:
		a.After = 0
	}
	a.Entries = entries(a.After, r.IntN(4))
	if len(a.Entries) == 0 && r.IntN(4) > 0 { // an append without entries is refused; not too often
		a.Entries = entries(a.After, 1)
	}
	for i := range a.Entries {
		a.Entries[i].Body = make([]byte, r.IntN(200))
	}
	a.Row = store.Row{
		Key:     k,
		Context: cmp.Or(pick(r, was.Context, was.Context, was.Context, "c1"), pick(r, "c1", "c2", "c3")),
		State:   pick(r, was.State, int32(1+r.IntN(4))),
		Updated: pick(r, was.Updated, o.now),
		Created: o.now,
		Active:  r.IntN(2) == 0,
		Node:    o.node(),
		Epoch:   max(was.Epoch, 1),
		Lost:    int32(r.IntN(3)),
		Turn:    int64(r.IntN(2)),
		Attempt: int32(r.IntN(4)),
		Last:    a.After + int64(len(a.Entries)),
	}
	if !a.Row.Active && r.IntN(2) == 0 {
		a.Seal = &store.Seal{Head: fmt.Append(nil, "head ", r.IntN(100)), Body: fmt.Append(nil, "body ", r.IntN(100))}
	}
	if r.IntN(5) == 0 {
		n := r.IntN(10)
		a.Blobs = []store.Blob{{Hash: fmt.Sprint("hash ", n), Data: fmt.Append(nil, "data ", n)}}
	}
	if r.IntN(3) == 0 {
		a.Receipts = o.receipts(a.After + 1)
	}
	if r.IntN(4) == 0 {
		o.pushes(a)
	}
	return a
}

// alone returns an append of receipts without a task. Sometimes it is malformed.
func (o *oracle) alone(k store.Key) *store.Append {
	a := &store.Append{Row: store.Row{Key: k.Scope(), Context: pick(o.rand, "c1", "c2", "c3")}, Receipts: o.receipts(0)}
	if o.rand.IntN(10) == 0 {
		a.Row.ID = k.ID
	}
	return a
}

// receipts returns one or two receipts that are valid for a short time. Sometimes they have
// the same name.
func (o *oracle) receipts(seq int64) (rs []store.Receipt) {
	for range 1 + o.rand.IntN(2) {
		rs = append(rs, store.Receipt{
			Name: o.signature(), Time: o.now, Until: o.now.Add(time.Duration(o.rand.IntN(40)-2) * time.Millisecond),
			Digest: make([]byte, o.rand.IntN(40)), Seq: seq, Answer: make([]byte, o.rand.IntN(40)),
		})
	}
	return rs
}

func (o *oracle) signature() string { return fmt.Sprint("receipt ", o.rand.IntN(9)) }

func (o *oracle) read(k store.Key) {
	ctx := o.t.Context()
	most := pick(o.rand, store.RowOnly, 1, o.rand.Int64N(400), store.Whole)
	both(o, fmt.Sprintf("get %q, at most %d bytes", k, most), func(st store.Store) (*store.Record, error) { return st.Get(ctx, k, most) })

	after, limit := int64(o.rand.IntN(30)-1), o.rand.IntN(12)
	both(o, fmt.Sprintf("entries of %q after %d, limit %d", k, after, limit), func(st store.Store) ([]store.Entry, error) { return st.Entries(ctx, k, after, limit) })

	both(o, fmt.Sprintf("receipts of %q", k), func(st store.Store) ([]store.Receipt, error) { return st.Receipts(ctx, k) })
	n := o.signature()
	both(o, fmt.Sprintf("%s of %q", n, k), func(st store.Store) (*store.Receipt, error) { return st.Receipt(ctx, k, n) })
}

func (o *oracle) list() {
	r, k := o.rand, o.key()
	q := store.Query{Tenant: k.Tenant, Owner: k.Owner, Limit: 1 + r.IntN(6), Body: r.IntN(2) == 0}
	if r.IntN(2) == 0 {
		q.Context = pick(r, "c1", "c2", "c3", "c4")
	}
	if r.IntN(2) == 0 {
		q.State = int32(r.IntN(6))
	}
	if r.IntN(3) == 0 {
		q.Since = began.Add(time.Duration(r.Int64N(int64(o.now.Sub(began)) + 1)))
	}
	if r.IntN(2) == 0 {
		at := began.Add(time.Duration(r.Int64N(int64(o.now.Sub(began)) + 1)))
		q.Before = &store.Position{Updated: at, ID: k.ID, Owner: o.key().Owner}
	}
	q.AnyOwner = r.IntN(3) == 0
	if r.IntN(2) == 0 {
		q.MaxBytes = 1 + r.Int64N(1000)
	}
	both(o, fmt.Sprintf("list %+v before %+v", q, q.Before), func(st store.Store) (*store.Page, error) { return st.List(o.t.Context(), q) })

	limit := 1 + r.IntN(3)
	both(o, fmt.Sprintf("%d owners of %q in %q", limit, k.ID, k.Tenant), func(st store.Store) ([]string, error) {
		return st.Owners(o.t.Context(), k.Tenant, k.ID, limit)
	})
}

// claim takes everything, because it is not specified which tasks a smaller limit takes.
func (o *oracle) claim() {
	node, since := pick(o.rand, "n1", "n2", "n3"), o.now.Add(-time.Duration(o.rand.IntN(50))*time.Millisecond)
	both(o, fmt.Sprintf("claim for %s from the dead before %v", node, since), func(st store.Store) ([]store.Row, error) {
		return sorted(st.Claim(o.t.Context(), node, since, 1000))
	})
}

// sorted sorts rows that come in any order.
func sorted(rows []store.Row, err error) ([]store.Row, error) {
	slices.SortFunc(rows, func(a, b store.Row) int { return a.Key.Compare(b.Key) })
	return rows, err
}

// draw takes some of the waiting tasks, and compares the rows.
func (o *oracle) draw() {
	node, after, limit := pick(o.rand, "n1", "n2", "n3"), pick(o.rand, "", "a", "t", "z"), 1+o.rand.IntN(6)
	both(o, fmt.Sprintf("draw %d for %s behind %q", limit, node, after), func(st store.Store) ([]store.Row, error) {
		return st.Draw(o.t.Context(), node, after, limit)
	})

	keys := make([]store.Key, o.rand.IntN(12))
	for i := range keys {
		keys[i] = o.key()
	}
	both(o, fmt.Sprintf("rows of %q", keys), func(st store.Store) ([]store.Row, error) { return sorted(st.Rows(o.t.Context(), keys)) })
}

func (o *oracle) take() {
	node, since, k := pick(o.rand, "n1", "n2", "n3"), o.now.Add(-time.Duration(o.rand.IntN(50))*time.Millisecond), o.key()
	both(o, fmt.Sprintf("take %q for %s from the dead before %v", k, node, since), func(st store.Store) (*store.Row, error) {
		return st.Take(o.t.Context(), node, since, k)
	})
}

// forget removes everything, because it is not specified which receipts a smaller limit
// removes.
func (o *oracle) forget() {
	k := o.key()
	q := store.ForgetQuery{Before: o.now.Add(time.Duration(o.rand.IntN(40)-20) * time.Millisecond), Limit: 1000}
	if o.rand.IntN(2) == 0 {
		q.Tenant, q.Owner, q.Context = k.Tenant, k.Owner, pick(o.rand, "c1", "c2", "c3", "c4")
	}
	both(o, fmt.Sprintf("forget %+v", q), func(st store.Store) (int, error) { return st.Forget(o.t.Context(), q) })
}

func (o *oracle) beat() {
	node := pick(o.rand, "n1", "n2", "n3")
	if o.rand.IntN(3) == 0 {
		bothDo(o, "leave of "+node, func(st store.Store) error { return st.Leave(o.t.Context(), node) })
		return
	}
	bothDo(o, "beat of "+node, func(st store.Store) error { return st.Beat(o.t.Context(), node, o.now) })
}

func (o *oracle) blob() {
	hash := fmt.Sprint("hash ", o.rand.IntN(11))
	both(o, "blob "+hash, func(st store.Store) ([]byte, error) { return st.Blob(o.t.Context(), hash) })
}

// retain deletes tasks that Idle finds, or by outdated rows.
func (o *oracle) retain() {
	ctx := o.t.Context()
	q := store.IdleQuery{State: int32(1 + o.rand.IntN(4)), Before: began.Add(time.Duration(o.rand.Int64N(int64(o.now.Sub(began)) + 2))), Limit: 1 + o.rand.IntN(4)}
	idle := func() []store.Row {
		return both(o, fmt.Sprintf("idle %+v behind %+v", q, q.After), func(st store.Store) ([]store.Row, error) { return st.Idle(ctx, q) })
	}
	want := idle()
	if len(want) > 0 && o.rand.IntN(3) == 0 {
		q.After = &want[0]
		want = idle()
	}
	if o.rand.IntN(3) == 0 {
		for i := range want {
			want[i].Last += int64(o.rand.IntN(3) - 1)
		}
	}
	both(o, fmt.Sprintf("delete %+v", want), func(st store.Store) (int, error) { return st.Delete(ctx, want) })

	limit := 1 + o.rand.IntN(10)
	k := o.key()
	both(o, fmt.Sprintf("tasks behind %q", k), func(st store.Store) ([]store.Row, error) { return st.Tasks(ctx, &k, limit) })
	both(o, fmt.Sprintf("blobs of %q", k), func(st store.Store) ([]string, error) { return st.Blobs(ctx, k) })
}

// both makes the same call on the driver and on the memory store, ends the test if their
// answers differ, and returns the right one.
func both[T any](o *oracle, what string, ask func(st store.Store) (T, error)) T {
	o.t.Helper()
	got, gotErr := ask(o.driver)
	want, wantErr := ask(o.memory)
	o.agree(what, gotErr, wantErr, got, want)
	return want
}

// bothDo is both for calls that return only an error.
func bothDo(o *oracle, what string, do func(st store.Store) error) {
	o.t.Helper()
	both(o, what, func(st store.Store) (any, error) { return nil, do(st) })
}

// agree ends the test if the answers differ. Errors are compared only as far as callers can
// tell them apart.
func (o *oracle) agree(what string, gotErr, wantErr error, got, want any) {
	o.t.Helper()
	if outcome(gotErr) != outcome(wantErr) {
		o.t.Fatalf("%s: error %v, memory says %v", what, gotErr, wantErr)
	}
	if gotErr != nil {
		return
	}
	if reflect.DeepEqual(got, want) || gocmp.Equal(want, got, alike) {
		return
	}
	if d := gocmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
		o.t.Fatalf("%s (-memory +driver):\n%s", what, d)
	}
}

func outcome(err error) string {
	for _, known := range []error{store.ErrNotFound, store.ErrConflict, store.ErrLeaseLost, store.ErrDuplicate, store.ErrClosed} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	if err != nil {
		return "another error"
	}
	return "none"
}
