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

// feed holds the events of the server for those who follow Events. It records nothing
// while nobody does.
//
// The id of an event is <time>.<feed>.<position>. If the feed and the position are
// still here, a reader continues directly after it. Otherwise, after a restart or at
// another server of the store, the time says what may have changed since: tasks are
// sent again in their present state, which may repeat some and misses none; if there
// are too many, the reader gets a reset.
type feed struct {
	// set at start, then constant
	a    *administration
	name string

	mu        sync.Mutex // protects the fields below
	readers   int
	quietAt   time.Time // when the last reader left; zero while there is one
	n         int64     // the position of the last event
	floor     int64     // events after this position are or were recorded here
	tail      []*news   // the newest events, the last of them at n
	changed   wake.Bell
	told      map[store.Key]store.Row // last reported states of tasks
	readiness admin.Readiness
	nodes     map[string]string // states, by name
}

// news is one event as recorded. The fields that show it are read only once, for its
// first reader.
type news struct {
	n    int64
	ev   admin.Event
	row  *store.Row    // of a task
	push *store.PushID // of a delivery
	once sync.Once
}

const (
	feedTail   = 4096             // how many events a reader may be behind
	feedLinger = 30 * time.Second // how long events are recorded for a reader that may come back
	feedLook   = time.Second      // poll interval for changes that are not reported
	// feedMargin is how much later than its time a change may be seen: clocks of
	// processes that share a store differ by less, and commits take less.
	feedMargin = 10 * time.Second
	feedCatch  = 500 // tasks shown to a reader that comes from another feed
	// feedTenants is how many tenants a store may have for its changes to be polled:
	// each costs one look-up per poll.
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
		delete(f.told, r.Key) // another task with its id may follow
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

// reloaded reports that the configuration was reloaded.
func (f *feed) reloaded(because, failure string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.recordsLocked() {
		f.addLocked(&news{ev: admin.Event{Type: admin.EventConfig, Time: f.a.engine.Now(), Config: &admin.Reload{Because: because, Error: failure}}})
	}
}

// recordsLocked reports whether events are to be recorded.
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

// taskLocked reports a task, unless the same state was reported already.
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
	x.ev.ID = f.id(x.ev.Time, x.n)
	if f.tail = append(f.tail, x); len(f.tail) > feedTail {
		f.tail = append(f.tail[:0:0], f.tail[len(f.tail)-feedTail/2:]...)
	}
	f.changed.Ring()
}

// join adds a reader.
func (f *feed) join() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.recordsLocked() { // what happened since the last reader left is not known
		f.n++
		f.floor = f.n
		f.readiness = *f.a.readiness()
	}
	f.readers++
	f.quietAt = time.Time{}
}

func (f *feed) leave() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.readers--; f.readers == 0 {
		f.quietAt = time.Now()
	}
}

// run polls, while there are readers, for changes that are not reported: readiness,
// nodes, and the work of other processes.
func (f *feed) run(ctx context.Context) {
	tick := time.NewTicker(feedLook)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			f.look(ctx)
		}
	}
}

func (f *feed) look(ctx context.Context) {
	f.mu.Lock()
	idle := f.readers == 0
	f.mu.Unlock()
	if idle {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 10*feedLook)
	defer cancel()
	ready := f.a.readiness()
	var nodes []admin.Node
	var rows []store.Row
	if f.a.h.location.Shared() { // errors are ignored; the next poll is soon
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

// since returns the tasks that changed at or after a time, oldest change first; all
// says that none are missing.
func (a *administration) since(ctx context.Context, t time.Time) (rows []store.Row, all bool, err error) {
	lists, n, err := a.lists(ctx, &admin.TaskQuery{Query: admin.Query{Limit: feedCatch}, Since: t}, feedTenants+1)
	if err != nil || len(lists) > feedTenants {
		return nil, false, err
	}
	rows, _, more, err := a.merge(ctx, lists, n)
	slices.SortFunc(rows, func(x, y store.Row) int { return cmp.Or(x.Updated.Compare(y.Updated), x.Key.Compare(y.Key)) })
	return rows, !more, err
}

// cursor is the position of a reader.
type cursor struct {
	at   time.Time
	feed string
	n    int64
}

// parseCursor parses the id of an event.
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
		start, at, err := a.feed.start(ctx, from, after)
		if err != nil {
			yield(admin.Event{}, err)
			return
		}
		for i := range start {
			if !yield(start[i], nil) {
				return
			}
		}
		a.feed.follow(ctx, at, yield)
	}
}

// start returns the events with which a reader begins, and its position after them.
func (f *feed) start(ctx context.Context, from cursor, after string) (list []admin.Event, at int64, err error) {
	f.mu.Lock()
	at = f.n
	exact := from.feed == f.name && from.n >= f.floor && from.n <= f.n && from.n >= f.n-int64(len(f.tail))
	f.mu.Unlock()
	here := f.event(admin.EventReadiness, at)
	here.Readiness = f.a.readiness()
	if exact {
		here.ID = after
		return []admin.Event{here}, from.n, nil
	}
	if after == "" {
		return []admin.Event{here}, at, nil
	}
	rows, all, err := f.a.since(ctx, from.at.Add(-feedMargin))
	switch {
	case err != nil:
		return nil, 0, err
	case !all:
		return []admin.Event{f.event(admin.EventReset, at)}, at, nil
	}
	list = []admin.Event{here}
	for i := range rows {
		t := f.a.task(ctx, &rows[i])
		list = append(list, admin.Event{Type: admin.EventTask, Time: t.Updated, Task: &t})
	}
	// A reader that leaves before the last of them keeps its earlier position.
	list[0].ID, list[len(list)-1].ID = "", here.ID
	return list, at, nil
}

// follow yields the events after a position.
func (f *feed) follow(ctx context.Context, at int64, yield func(admin.Event, error) bool) {
	for {
		some, changed := f.after(at)
		for _, x := range some {
			at = x.n
			f.complete(ctx, x)
			if x.ev.Delivery == nil && x.ev.Type == admin.EventDelivery || x.ev.Task == nil && x.ev.Type == admin.EventDeleted {
				continue // the delivery no longer exists, or the task still exists
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

// after returns the events after a position, or a reset if some of them are no longer here,
// and a channel that is closed when there is another one.
func (f *feed) after(at int64) (some []*news, changed <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch behind := f.n - at; {
	case behind > int64(len(f.tail)):
		some = []*news{{n: f.n, ev: f.event(admin.EventReset, f.n)}}
	case behind > 0:
		some = slices.Clone(f.tail[int64(len(f.tail))-behind:])
	}
	return some, f.changed.Wait()
}

// event returns an event of now at a position.
func (f *feed) event(kind string, n int64) admin.Event {
	now := f.a.engine.Now()
	return admin.Event{ID: f.id(now, n), Type: kind, Time: now}
}

func (f *feed) id(at time.Time, n int64) string {
	return fmt.Sprintf("%d.%s.%d", at.UnixMilli(), f.name, n)
}

// complete reads the fields that show an event, once for all its readers.
func (f *feed) complete(ctx context.Context, x *news) {
	x.once.Do(func() {
		ctx := context.WithoutCancel(ctx) // the first reader reads for all
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		switch {
		case x.row != nil:
			row := x.row
			now, err := f.a.row(ctx, row.Key)
			if x.ev.Type == admin.EventDeleted && err == nil && now.Created.Equal(row.Created) {
				return // it was not deleted after all
			}
			if x.ev.Type == admin.EventTask && err == nil { // otherwise it has been deleted
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
