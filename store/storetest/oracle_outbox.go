package storetest

import (
	"fmt"
	"time"

	"github.com/parley-a2a/parley/store"
)

// pushes lets an append bring push configs, and now and then dead letters.
func (o *oracle) pushes(a *store.Append) {
	for range 1 + o.rand.IntN(3) {
		a.Pushes = append(a.Pushes, o.push(a.Row.Key, a.After))
	}
	if o.rand.IntN(4) == 0 {
		a.Letters = append(a.Letters, o.letter(store.PushID{ID: o.config()}, a.After+1)) // now and then of none
	}
}

func (o *oracle) config() string { return pick(o.rand, "c", "d", "e", "f", "") }

// push makes one for a task that has at least last entries. Times are often the
// same, or missing. Now and then it has no name.
func (o *oracle) push(k store.Key, last int64) store.PushConfig {
	return store.PushConfig{
		Key: k, ID: o.config(), Host: pick(o.rand, "h1", "h2"), Body: make([]byte, o.rand.IntN(30)),
		Created: o.now, Node: o.node(), Live: o.rand.IntN(3) > 0, Progress: o.progress(last),
	}
}

func (o *oracle) progress(last int64) store.Progress {
	return store.Progress{
		Cursor: o.rand.Int64N(last + 1), Tries: int32(o.rand.IntN(3)),
		Since: pick(o.rand, time.Time{}, o.now), Due: pick(o.rand, time.Time{}, o.now.Add(12345)), Reason: pick(o.rand, "", "500"),
	}
}

func (o *oracle) letter(id store.PushID, last int64) store.DeadLetter {
	return store.DeadLetter{
		PushID: id, Seq: 1 + o.rand.Int64N(max(last, 1)), Time: o.now.Add(12345), Tries: int32(o.rand.IntN(3)), Reason: "404", Again: o.rand.IntN(3) == 0,
	}
}

// outbox does one thing to push configs, and reads them.
func (o *oracle) outbox() {
	ctx, k := o.t.Context(), o.key()
	last := int64(0)
	if r, err := o.memory.Get(ctx, k, false); err == nil {
		last = r.Last
	}
	id := store.PushID{Key: k, ID: o.config()}
	var what string
	var got, want any
	var gotErr, wantErr error
	switch o.rand.IntN(7) {
	case 0:
		p := o.push(k, last)
		what, gotErr, wantErr = fmt.Sprintf("set %+v", p), o.driver.SetPush(ctx, &p), o.memory.SetPush(ctx, &p)
	case 1:
		what, gotErr, wantErr = fmt.Sprintf("drop %+v", id), o.driver.DropPush(ctx, id), o.memory.DropPush(ctx, id)
	case 2, 3:
		all := o.advances()
		what, gotErr, wantErr = fmt.Sprintf("advance %+v", all), o.driver.Advance(ctx, all), o.memory.Advance(ctx, all)
	case 4: // which of them a smaller limit takes is not specified
		node, since := o.node(), o.now.Add(-time.Duration(o.rand.IntN(50))*time.Millisecond)
		what = fmt.Sprintf("claim push configs for %s from the dead before %v", node, since)
		got, gotErr = o.driver.ClaimPushes(ctx, node, since, 1000)
		want, wantErr = o.memory.ClaimPushes(ctx, node, since, 1000)
	case 5:
		all := []store.DeadLetter{o.letter(id, last), o.letter(store.PushID{Key: o.key(), ID: o.config()}, 3)}
		if known, err := o.memory.DeadLetters(ctx, store.LetterQuery{Limit: 1 + o.rand.IntN(9)}); err == nil && len(known) > 0 {
			l := known[o.rand.IntN(len(known))]
			l.Again, l.Time = !l.Again, o.now
			all = append(all, l)
		}
		gone := o.rand.IntN(3) == 0
		what, gotErr, wantErr = fmt.Sprintf("set letters %+v, gone %t", all, gone), o.driver.SetLetters(ctx, all, gone), o.memory.SetLetters(ctx, all, gone)
	default:
		o.keep()
	}
	o.agree(what, gotErr, wantErr, got, want)
	o.readPushes(k, id)
	o.readLetters(id)
}

// advances makes some, most of them of configs that there are, as they are.
func (o *oracle) advances() (all []store.Advance) {
	for range o.rand.IntN(4) {
		k := o.key()
		a := store.Advance{PushID: store.PushID{Key: k, ID: o.config()}, Created: o.now, Live: o.rand.IntN(3) > 0}
		last := int64(0)
		if r, err := o.memory.Get(o.t.Context(), k, false); err == nil {
			last = r.Last
		}
		if p, err := o.memory.Push(o.t.Context(), a.PushID); err == nil && o.rand.IntN(5) > 0 {
			a.Created, a.Node = p.Created, pick(o.rand, "", "", p.Node, "n1")
		}
		a.Progress = o.progress(last)
		if last > 0 && o.rand.IntN(2) == 0 {
			a.Dead = []store.DeadLetter{o.letter(store.PushID{}, last), o.letter(store.PushID{}, last)}
		}
		all = append(all, a)
	}
	return all
}

func (o *oracle) keep() {
	ctx, name := o.t.Context(), pick(o.rand, "k1", "k2")
	values := [][]byte{nil, {}, []byte("a"), []byte("b")}
	was, is := pick(o.rand, values...), pick(o.rand, values...)
	got, gotErr := o.driver.Keep(ctx, name, was, is)
	want, wantErr := o.memory.Keep(ctx, name, was, is)
	o.agree(fmt.Sprintf("keep %q for %q under %s", is, was, name), gotErr, wantErr, shown(got), shown(want))
	gotAll, gotErr := o.driver.Kept(ctx)
	wantAll, wantErr := o.memory.Kept(ctx)
	o.agree("what is kept", gotErr, wantErr, gotAll, wantAll)
}

func (o *oracle) readPushes(k store.Key, id store.PushID) {
	ctx, limit := o.t.Context(), 1+o.rand.IntN(4)
	got, gotErr := o.driver.Pushes(ctx, k, id.ID, limit)
	want, wantErr := o.memory.Pushes(ctx, k, id.ID, limit)
	o.agree(fmt.Sprintf("push configs of %q behind %q, limit %d", k, id.ID, limit), gotErr, wantErr, got, want)
	gotOne, gotErr := o.driver.Push(ctx, id)
	wantOne, wantErr := o.memory.Push(ctx, id)
	o.agree(fmt.Sprintf("push config %q", id), gotErr, wantErr, gotOne, wantOne)

	// Places are the driver's own; the order is not.
	node := o.node()
	var after, wantAfter int64
	for range 1 + o.rand.IntN(3) {
		got, gotErr := o.driver.LivePushes(ctx, node, after, limit)
		want, wantErr := o.memory.LivePushes(ctx, node, wantAfter, limit)
		if n := len(got); n > 0 && len(want) == n {
			after, wantAfter = got[n-1].At, want[n-1].At
			for i := range got {
				got[i].At, want[i].At = 0, 0
			}
		}
		o.agree("live push configs of "+node, gotErr, wantErr, got, want)
	}
}

func (o *oracle) readLetters(id store.PushID) {
	q := store.LetterQuery{Again: o.rand.IntN(2) == 0, Limit: 1 + o.rand.IntN(5)}
	if o.rand.IntN(3) == 0 {
		q.Of = &id
	}
	wantQ := q
	for range 1 + o.rand.IntN(4) {
		got, gotErr := o.driver.DeadLetters(o.t.Context(), q)
		want, wantErr := o.memory.DeadLetters(o.t.Context(), wantQ)
		if n := len(got); n > 0 && len(want) == n {
			q.After, wantQ.After = new(got[n-1]), new(want[n-1])
			withoutPlace(got)
			withoutPlace(want)
		}
		o.agree(fmt.Sprintf("dead letters %+v", q), gotErr, wantErr, got, want)
	}
}
