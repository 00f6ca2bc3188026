package storetest

import (
	"fmt"
	"time"

	"github.com/parley-a2a/parley/store"
)

// pushes adds push configs to an append, and sometimes dead letters.
func (o *oracle) pushes(a *store.Append) {
	for range 1 + o.rand.IntN(3) {
		a.Pushes = append(a.Pushes, o.push(a.Row.Key, a.After))
	}
	if o.rand.IntN(4) == 0 {
		a.Letters = append(a.Letters, o.letter(store.PushID{ID: o.config()}, a.After+1)) // sometimes of no config
	}
}

func (o *oracle) config() string { return pick(o.rand, "c", "d", "e", "f", "") }

// push returns a push config for a task that has at least last entries. Times are often the
// same, or missing. Sometimes it has no ID.
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

// outbox makes one change of push configs, and reads them.
func (o *oracle) outbox() {
	ctx, k := o.t.Context(), o.key()
	last := int64(0)
	if r, err := o.memory.Get(ctx, k, store.RowOnly); err == nil {
		last = r.Last
	}
	id := store.PushID{Key: k, ID: o.config()}
	switch o.rand.IntN(7) {
	case 0:
		p := o.push(k, last)
		bothDo(o, fmt.Sprintf("set %+v", p), func(st store.Store) error { return st.SetPush(ctx, &p) })
	case 1:
		bothDo(o, fmt.Sprintf("drop %+v", id), func(st store.Store) error { return st.DropPush(ctx, id) })
	case 2, 3:
		all := o.advances()
		bothDo(o, fmt.Sprintf("advance %+v", all), func(st store.Store) error { return st.Advance(ctx, all) })
	case 4: // it is not specified which configs a smaller limit takes
		node, since := o.node(), o.now.Add(-time.Duration(o.rand.IntN(50))*time.Millisecond)
		both(o, fmt.Sprintf("claim push configs for %s from the dead before %v", node, since), func(st store.Store) (int, error) {
			return st.ClaimPushes(ctx, node, since, 1000)
		})
	case 5:
		all := []store.DeadLetter{o.letter(id, last), o.letter(store.PushID{Key: o.key(), ID: o.config()}, 3)}
		if known, err := o.memory.DeadLetters(ctx, store.LetterQuery{Limit: 1 + o.rand.IntN(9)}); err == nil && len(known) > 0 {
			l := known[o.rand.IntN(len(known))]
			l.Again, l.Time = !l.Again, o.now
			all = append(all, l)
		}
		gone := o.rand.IntN(3) == 0
		bothDo(o, fmt.Sprintf("set letters %+v, gone %t", all, gone), func(st store.Store) error { return st.SetLetters(ctx, all, gone) })
	default:
		o.keep()
	}
	o.readPushes(k, id)
	o.readLetters(id)
}

// advances returns some, most of them for configs that exist.
func (o *oracle) advances() (all []store.Advance) {
	for range o.rand.IntN(4) {
		k := o.key()
		a := store.Advance{PushID: store.PushID{Key: k, ID: o.config()}, Created: o.now, Live: o.rand.IntN(3) > 0}
		last := int64(0)
		if r, err := o.memory.Get(o.t.Context(), k, store.RowOnly); err == nil {
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
	both(o, fmt.Sprintf("keep %q for %q under %s", is, was, name), func(st store.Store) (string, error) {
		b, err := st.Keep(ctx, name, was, is)
		return shown(b), err
	})
	both(o, "what is kept", func(st store.Store) (map[string][]byte, error) { return st.Kept(ctx) })
}

func (o *oracle) readPushes(k store.Key, id store.PushID) {
	ctx, limit := o.t.Context(), 1+o.rand.IntN(4)
	both(o, fmt.Sprintf("push configs of %q behind %q, limit %d", k, id.ID, limit), func(st store.Store) ([]store.PushConfig, error) {
		return st.Pushes(ctx, k, id.ID, limit)
	})
	both(o, fmt.Sprintf("push config %q", id), func(st store.Store) (*store.PushConfig, error) { return st.Push(ctx, id) })

	// Values of At differ between drivers; the order does not.
	node := o.node()
	after := map[store.Store]int64{}
	for range 1 + o.rand.IntN(3) {
		both(o, "live push configs of "+node, func(st store.Store) ([]store.PushState, error) {
			page, err := st.LivePushes(ctx, node, after[st], limit)
			for i := range page {
				after[st], page[i].At = page[i].At, 0
			}
			return page, err
		})
	}
}

func (o *oracle) readLetters(id store.PushID) {
	q := store.LetterQuery{Again: o.rand.IntN(2) == 0, Limit: 1 + o.rand.IntN(5)}
	if o.rand.IntN(3) == 0 {
		q.Of = &id
	}
	after := map[store.Store]*store.DeadLetter{}
	for range 1 + o.rand.IntN(4) {
		both(o, fmt.Sprintf("dead letters %+v", q), func(st store.Store) ([]store.DeadLetter, error) {
			q := q
			q.After = after[st]
			page, err := st.DeadLetters(o.t.Context(), q)
			if len(page) > 0 {
				after[st] = new(page[len(page)-1])
			}
			return withoutPlace(page), err
		})
	}
}
