package serve

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/admin"
	"github.com/parley-a2a/parley/internal/wake"
	"github.com/parley-a2a/parley/store"
)

// feed is what happens on the server, for those who follow Events. It records
// nothing while nobody does.
//
// The id of an event is <time>.<feed>.<position>. Where the feed and the position are
// still here, a reader goes on exactly behind it. Everywhere else, behind a restart or
// at another server of the store, the time says what may have changed since: tasks are
// told again as they are now, which may repeat some and misses none; where these are
// too many the reader gets a reset.
type feed struct {
	// set at start, then constant
	a    *administration
	name string

	mu        sync.Mutex // protects the fields below
	readers   int
	quietAt   time.Time // when the last reader left; zero while there is one
	n         int64     // the position of the last event
	floor     int64     // events behind this position are here, or were
	tail      []*news   // the newest events, the last of them at n
	changed   chan struct{}
	told      map[store.Key]store.Row // what was said of tasks a moment ago
	readiness admin.Readiness
	nodes     map[string]string // states, by name
	begun     chan struct{}     // capacity one: there is a reader again
}

// news is one event as it is recorded. The fields needed to show it are read once,
// for its first reader.
type news struct {
	n    int64
	ev   admin.Event
	row  *store.Row    // of a task
	push *store.PushID // of a delivery
	once sync.Once
}

const (
	feedTail   = 4096             // events that a reader may be behind
	feedLinger = 30 * time.Second // events are recorded for a reader that comes back
	feedLook   = time.Second      // how often what nobody tells is looked at
	// feedMargin is how much later than its time a change may be seen: clocks of
	// processes that share a store differ by less, and commits take less.
	feedMargin = 10 * time.Second
	feedCatch  = 500 // tasks shown to a reader that comes from elsewhere
	// feedTenants is how many tenants a store may have whose changes are looked for: each
	// costs a look, again and again.
	feedTenants = 1000
)

// TaskChanged implements engine.Observer.
func (f *feed) TaskChanged(r *store.Row) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.recordsLocked() {
		f.taskLocked(*r)
	}
}

// TaskDeleted implements engine.Observer.
func (f *feed) TaskDeleted(r *store.Row) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.recordsLocked() {
		delete(f.told, r.Key) // another one of its id may follow
		f.addLocked(&news{ev: admin.Event{Type: admin.EventDeleted, Time: f.a.engine.Now()}, row: new(*r)})
	}
}

// Advanced implements engine.Observer.
func (f *feed) Advanced(all []store.Advance) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.recordsLocked() {
		return
	}
	for i := range all {
		f.addLocked(&news{ev: admin.Event{Type: admin.EventDelivery, Time: f.a.engine.Now()}, push: new(all[i].PushID)})
	}
}

// reloaded tells that the configuration was read again.
func (f *feed) reloaded(because, failure string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.recordsLocked() {
		f.addLocked(&news{ev: admin.Event{Type: admin.EventConfig, Time: f.a.engine.Now(), Config: &admin.Reload{Because: because, Error: failure}}})
	}
}

// recordsLocked reports whether anybody wants to know.
func (f *feed) recordsLocked() bool {
	if f.readers > 0 {
		return true
	}
	if f.quietAt.IsZero() {
		return false
	}
	if time.Since(f.quietAt) < feedLinger {
		return true
	}
	f.quietAt, f.tail = time.Time{}, nil
	clear(f.told)
	return false
}

// taskLocked tells a task, unless the same was said of it already.
func (f *feed) taskLocked(r store.Row) {
	if was, ok := f.told[r.Key]; ok && was.State == r.State && was.Created.Equal(r.Created) && !r.Updated.After(was.Updated) {
		return
	}
	f.told[r.Key] = r
	f.addLocked(&news{ev: admin.Event{Type: admin.EventTask, Time: r.Updated}, row: &r})
}

func (f *feed) addLocked(x *news) {
	f.n++
	x.n = f.n
	x.ev.ID = fmt.Sprintf("%d.%s.%d", x.ev.Time.UnixMilli(), f.name, x.n)
	if f.tail = append(f.tail, x); len(f.tail) > feedTail {
		f.tail = append(f.tail[:0:0], f.tail[len(f.tail)-feedTail/2:]...)
	}
	close(f.changed)
	f.changed = make(chan struct{})
}

// join counts a reader.
func (f *feed) join() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.recordsLocked() { // what happened since somebody read last is not known
		f.n++
		f.floor = f.n
		f.readiness = *f.a.readiness()
	}
	f.readers++
	f.quietAt = time.Time{}
	wake.Nudge(f.begun)
}

func (f *feed) leave() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.readers--; f.readers == 0 {
		f.quietAt = time.Now()
	}
}

// run looks at what nobody tells, while somebody reads: readiness, nodes, and what
// other processes do.
func (f *feed) run(ctx context.Context) {
	tick := time.NewTicker(feedLook)
	defer tick.Stop()
	for {
		f.mu.Lock()
		reads := f.readers > 0
		f.mu.Unlock()
		if !reads {
			select {
			case <-ctx.Done():
				return
			case <-f.begun:
			}
		}
		f.look(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (f *feed) look(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 10*feedLook)
	defer cancel()
	ready := f.a.readiness()
	var nodes []admin.Node
	var rows []store.Row
	if f.a.h.location.Shared() { // errors pass; the next look is soon
		nodes, _ = f.a.nodes(ctx)
		rows, _, _ = f.a.since(ctx, f.a.engine.Now().Add(-feedMargin/2))
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.a.engine.Now()
	if was := f.readiness; was.Ready != ready.Ready || was.Reason != ready.Reason {
		f.readiness = *ready
		f.addLocked(&news{ev: admin.Event{Type: admin.EventReadiness, Time: now, Readiness: ready}})
	}
	first := len(f.nodes) == 0
	for i := range nodes {
		n := &nodes[i]
		if f.nodes[n.Name] != n.State {
			f.nodes[n.Name] = n.State
			if !first {
				f.addLocked(&news{ev: admin.Event{Type: admin.EventNode, Time: now, Node: n}})
			}
		}
	}
	for i := range rows {
		f.taskLocked(rows[i])
	}
	for k, r := range f.told {
		if now.Sub(r.Updated) > 2*feedMargin {
			delete(f.told, k)
		}
	}
}

// since returns the tasks that changed not before a time, those changed longest ago
// first; all says that these are all.
func (a *administration) since(ctx context.Context, t time.Time) (rows []store.Row, all bool, err error) {
	lists, n, err := a.lists(ctx, &admin.TaskQuery{Query: admin.Query{Limit: feedCatch}, Since: t}, feedTenants+1)
	if err != nil || len(lists) > feedTenants {
		return nil, false, err
	}
	rows, _, more, err := a.merge(ctx, lists, n)
	slices.SortFunc(rows, func(x, y store.Row) int { return cmp.Or(x.Updated.Compare(y.Updated), x.Key.Compare(y.Key)) })
	return rows, !more, err
}

// cursor is where a reader was.
type cursor struct {
	at   time.Time
	feed string
	n    int64
}

// parseCursor reads the id of an event.
func parseCursor(id string) (c cursor, err error) {
	parts := strings.Split(id, ".")
	if len(parts) == 3 && len(parts[1]) <= 16 {
		var ms int64
		if ms, err = strconv.ParseInt(parts[0], 10, 64); err == nil && ms >= 0 && ms < 1<<50 {
			if c.n, err = strconv.ParseInt(parts[2], 10, 64); err == nil && c.n >= 0 {
				c.at, c.feed = time.UnixMilli(ms).UTC(), parts[1]
				return c, nil
			}
		}
	}
	return c, admin.Invalid("Last-Event-ID", "must be the id of an event of this feed")
}

// Events implements admin.API.
func (a *administration) Events(ctx context.Context, after string) iter.Seq2[admin.Event, error] {
	return func(yield func(admin.Event, error) bool) {
		if err := admin.May(ctx, a2a.ScopeAdminRead); err != nil {
			yield(admin.Event{}, err)
			return
		}
		var from cursor
		if after != "" {
			var err error
			if from, err = parseCursor(after); err != nil {
				yield(admin.Event{}, err)
				return
			}
		}
		a.record(ctx, "events", nil)
		a.feed.join()
		defer a.feed.leave()
		a.feed.follow(ctx, from, after, yield)
	}
}

func (f *feed) follow(ctx context.Context, from cursor, after string, yield func(admin.Event, error) bool) {
	f.mu.Lock()
	at := f.n
	exact := from.feed == f.name && from.n >= f.floor && from.n <= f.n && from.n >= f.n-int64(len(f.tail))
	f.mu.Unlock()
	here := func() string { return fmt.Sprintf("%d.%s.%d", f.a.engine.Now().UnixMilli(), f.name, at) }
	start := admin.Event{ID: here(), Type: admin.EventReadiness, Time: f.a.engine.Now(), Readiness: f.a.readiness()}
	switch {
	case exact:
		at = from.n
		start.ID = after
		if !yield(start, nil) {
			return
		}
	case after == "":
		if !yield(start, nil) {
			return
		}
	default:
		rows, all, err := f.a.since(ctx, from.at.Add(-feedMargin))
		if err != nil {
			yield(admin.Event{}, err)
			return
		}
		if !all {
			if !yield(f.reset(here()), nil) {
				return
			}
			break
		}
		start.ID = "" // a reader that leaves before the rest comes back from where it was
		if !yield(start, nil) {
			return
		}
		for i := range rows {
			t := f.a.task(ctx, &rows[i])
			ev := admin.Event{Type: admin.EventTask, Time: t.Updated, Task: &t}
			if i == len(rows)-1 {
				ev.ID = here()
			}
			if !yield(ev, nil) {
				return
			}
		}
	}
	for {
		f.mu.Lock()
		behind, changed := f.n-at, f.changed
		var some []*news
		gap := behind > int64(len(f.tail))
		if behind > 0 && !gap {
			some = slices.Clone(f.tail[int64(len(f.tail))-behind:])
		}
		if gap {
			at = f.n
		}
		f.mu.Unlock()
		if gap {
			if !yield(f.reset(here()), nil) {
				return
			}
			continue
		}
		for _, x := range some {
			at = x.n
			f.complete(ctx, x)
			if x.ev.Delivery == nil && x.ev.Type == admin.EventDelivery || x.ev.Task == nil && x.ev.Type == admin.EventDeleted {
				continue // the one is not there any more, the other one still is
			}
			if !yield(x.ev, nil) {
				return
			}
		}
		if len(some) > 0 {
			continue
		}
		select {
		case <-changed:
		case <-ctx.Done():
			yield(admin.Event{}, context.Cause(ctx))
			return
		case <-f.a.draining:
			return
		}
	}
}

func (f *feed) reset(id string) admin.Event {
	return admin.Event{ID: id, Type: admin.EventReset, Time: f.a.engine.Now()}
}

// complete reads what an event shows, once for all its readers.
func (f *feed) complete(ctx context.Context, x *news) {
	x.once.Do(func() {
		ctx := context.WithoutCancel(ctx) // the one who reads first reads for all
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		switch {
		case x.row != nil:
			row := x.row
			now, err := f.a.row(ctx, row.Key)
			if x.ev.Type == admin.EventDeleted && err == nil && now.Created.Equal(row.Created) {
				return // it went on, and was not deleted
			}
			if x.ev.Type == admin.EventTask && err == nil { // it has been deleted otherwise
				row = now
			}
			t := f.a.task(ctx, row)
			x.ev.Task = &t
		case x.push != nil:
			p, err := f.a.store.Push(ctx, *x.push)
			if err != nil {
				return
			}
			rec, err := f.a.store.Get(ctx, p.Key, store.RowOnly)
			if err != nil {
				return
			}
			d := delivery(&store.PushState{PushConfig: *p, Last: rec.Last})
			x.ev.Delivery = &d
		}
	})
}
