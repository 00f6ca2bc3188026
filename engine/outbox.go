package engine

import (
	"container/heap"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/parley-a2a/parley/store"
)

// outbox delivers the logs of tasks to their webhooks. A configuration is a
// reader of a log like any other, with a cursor that the store keeps: so nothing
// is queued here, and an agent, a stream or another configuration never waits
// for a receiver. What is in memory says which configurations have something
// to deliver, and when; if that is too much, some are left out and found again
// in the store later.
type outbox struct {
	e     *Engine
	limit outboxLimits
	hint  chan struct{} // capacity one: there is something to do

	watched atomic.Int64 // len of all tasks' deliveries, for those who only ask whether it is 0

	advances chan *advance

	mu      sync.Mutex // protects the fields below
	tasks   map[store.Key]map[string]*delivery
	hosts   map[string]*receiver
	waiting deliveries // those with a time, soonest first
	running int
	skipped bool // some live configurations are not in memory
	soon    bool // and there is room for some of them
	closed  bool
}

// outboxLimits are what operators may come to change.
type outboxLimits struct {
	running int           // attempts at a time
	perHost int           // of them to one host
	memory  int           // configurations of one host that are held in memory while they wait
	attempt time.Duration // how long one may take
	giveUp  time.Duration // how long an event is tried
	first   time.Duration // the pause after a failure doubles from here
	longest time.Duration
	look    time.Duration // how often the store is asked for what is not in memory
}

var defaultOutbox = outboxLimits{
	running: 64,
	perHost: 8,
	memory:  1000,
	attempt: 10 * time.Second,
	giveUp:  24 * time.Hour,
	first:   time.Second,
	longest: time.Hour,
	look:    30 * time.Second,
}

// delivery is a configuration that may have something to deliver.
type delivery struct {
	id      store.PushID
	created time.Time
	host    *receiver

	// protected by outbox.mu
	last   int64 // seq up to which the task's log is known to go
	cursor int64
	due    time.Time
	place  int // in waiting; -1: not there
	state  deliveryState
	stop   context.CancelFunc // while running
}

type deliveryState int

const (
	deliveryIdle    deliveryState = iota // all is delivered
	deliveryWaiting                      // for its time
	deliveryReady                        // in its host's queue
	deliveryRunning
	deliveryDropped
)

func newOutbox(e *Engine) *outbox {
	return &outbox{
		e:        e,
		limit:    defaultOutbox,
		hint:     make(chan struct{}, 1),
		advances: make(chan *advance),
		tasks:    map[store.Key]map[string]*delivery{},
		hosts:    map[string]*receiver{},
	}
}

func (o *outbox) nudge() {
	select {
	case o.hint <- struct{}{}:
	default:
	}
}

// watch makes the outbox know a configuration that was stored, or stored anew,
// for a task whose log ends at last.
func (o *outbox) watch(p *store.PushConfig, last int64) {
	if o == nil || p.Node != o.e.node {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return
	}
	o.watchLocked(p, last)
	o.nudge()
}

func (o *outbox) watchLocked(p *store.PushConfig, last int64) {
	id := p.PushID()
	if old := o.tasks[id.Key][id.ID]; old != nil {
		if old.created.Equal(p.Created) {
			o.newsLocked(old, last)
			return
		}
		o.forgetLocked(old)
	}
	h := o.hosts[p.Host]
	if h == nil {
		h = &receiver{name: p.Host}
		o.hosts[p.Host] = h
	}
	if last > p.Cursor && h.pending >= o.limit.memory {
		o.skipped = true
		return
	}
	d := &delivery{id: id, created: p.Created, host: h, cursor: p.Cursor, last: last, due: p.Due, place: -1}
	if o.tasks[id.Key] == nil {
		o.tasks[id.Key] = map[string]*delivery{}
	}
	o.tasks[id.Key][id.ID] = d
	o.watched.Add(1)
	h.refs++
	o.settleLocked(d)
}

// settleLocked puts a delivery that is not running where it belongs.
func (o *outbox) settleLocked(d *delivery) {
	if d.state != deliveryIdle {
		d.host.pending--
	}
	switch {
	case d.last <= d.cursor:
		d.state = deliveryIdle
		return
	case d.due.After(time.Now()):
		d.state = deliveryWaiting
		heap.Push(&o.waiting, d)
	default:
		d.state = deliveryReady
		d.host.ready = append(d.host.ready, d)
	}
	d.host.pending++
}

// news says that the log of a task goes up to last now.
func (o *outbox) news(key store.Key, last int64) {
	if o == nil || o.watched.Load() == 0 {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, d := range o.tasks[key] {
		o.newsLocked(d, last)
	}
}

func (o *outbox) newsLocked(d *delivery, last int64) {
	if last <= d.last {
		return
	}
	d.last = last
	if d.state == deliveryIdle {
		o.settleLocked(d)
		o.nudge()
	}
}

// drop makes the outbox forget a configuration that was deleted. An attempt
// that is under way is broken off.
func (o *outbox) drop(id store.PushID) {
	if o == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if d := o.tasks[id.Key][id.ID]; d != nil {
		o.forgetLocked(d)
	}
}

// forgetLocked removes a delivery from memory.
func (o *outbox) forgetLocked(d *delivery) {
	if of := o.tasks[d.id.Key]; of[d.id.ID] == d {
		delete(of, d.id.ID)
		o.watched.Add(-1)
		if d.host.refs--; d.host.refs == 0 && d.host.failures == 0 {
			delete(o.hosts, d.host.name)
		}
		if len(of) == 0 {
			delete(o.tasks, d.id.Key)
		}
	}
	if d.place >= 0 {
		heap.Remove(&o.waiting, d.place)
	}
	if d.state != deliveryIdle && d.state != deliveryDropped {
		d.host.pending--
	}
	if d.stop != nil {
		d.stop()
	}
	d.state = deliveryDropped // its host's queue passes over it
}

// run delivers until ctx ends, and returns when no attempt is under way.
func (o *outbox) run(ctx context.Context) {
	var work sync.WaitGroup
	defer work.Wait()
	work.Go(func() { o.write(ctx) })
	defer func() {
		o.mu.Lock()
		o.closed = true
		o.mu.Unlock()
	}()
	look := time.NewTimer(0)
	defer look.Stop()
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	first := true
	for {
		select {
		case <-ctx.Done():
			return
		case <-o.hint:
		case <-timer.C:
		case <-look.C:
			o.mu.Lock()
			again := first || o.skipped
			o.mu.Unlock()
			if again {
				err := o.look(ctx)
				if err != nil && ctx.Err() == nil {
					o.e.log.Error("webhooks could not be looked up; it is tried again", "error", err)
				}
				first = first && err != nil
			}
			look.Reset(o.limit.look)
		}
		timer.Reset(o.start(ctx, &work))
		o.mu.Lock()
		if o.soon {
			o.soon = false
			look.Reset(min(time.Second, o.limit.look))
		}
		o.mu.Unlock()
	}
}

// look finds the configurations that this process has to deliver and does not
// know: those of processes that are gone, and those that were too many.
func (o *outbox) look(ctx context.Context) error {
	const batch = 500
	for {
		n, err := o.e.store.ClaimPushes(ctx, o.e.node, o.e.deadBefore(), batch)
		if err != nil {
			return err
		}
		if n < batch {
			break
		}
	}
	o.mu.Lock()
	o.skipped = false
	o.mu.Unlock()
	for after := int64(0); ; {
		page, err := o.e.store.LivePushes(ctx, o.e.node, after, batch)
		if err != nil {
			o.mu.Lock()
			o.skipped = true
			o.mu.Unlock()
			return err
		}
		o.mu.Lock()
		for i := range page {
			p := &page[i]
			o.watchLocked(&p.PushConfig, p.Last)
			after = p.At
		}
		o.mu.Unlock()
		if len(page) < batch {
			return nil
		}
	}
}

// start begins what can begin, and returns how long nothing else can.
func (o *outbox) start(ctx context.Context, work *sync.WaitGroup) time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	at := time.Now()
	for len(o.waiting) > 0 && !o.waiting[0].due.After(at) {
		d := heap.Pop(&o.waiting).(*delivery)
		o.settleLocked(d)
	}
	pause := time.Hour
	if len(o.waiting) > 0 {
		pause = time.Until(o.waiting[0].due)
	}
	// One of each host at a time, so that a long queue does not take all.
	for again := true; again; {
		again = false
		for _, h := range o.hosts {
			if o.running >= o.limit.running {
				return pause
			}
			closed := h.closedFor(at)
			if closed > 0 && h.queued() {
				pause = min(pause, closed)
			}
			if closed > 0 || !h.room(o.limit.perHost) {
				continue
			}
			d := h.next()
			if d == nil {
				continue
			}
			again = true
			o.beginLocked(ctx, work, d)
		}
	}
	return pause
}

func (o *outbox) beginLocked(ctx context.Context, work *sync.WaitGroup, d *delivery) {
	ctx, d.stop = context.WithCancel(ctx)
	d.state = deliveryRunning
	d.host.running++
	o.running++
	last := d.last
	work.Go(func() {
		defer d.stop()
		r := o.deliver(ctx, d, last)
		o.mu.Lock()
		defer o.mu.Unlock()
		d.stop = nil
		d.host.running--
		o.running--
		switch {
		case d.state == deliveryDropped:
		case r.gone:
			o.forgetLocked(d)
		default:
			d.cursor, d.due = r.cursor, r.due
			d.last = max(d.last, r.cursor)
			o.settleLocked(d)
		}
		if o.skipped && d.host.pending < o.limit.memory/2 {
			o.soon = true
		}
		o.nudge()
	})
}

// deliveries is a heap by time.
type deliveries []*delivery

func (q deliveries) Len() int           { return len(q) }
func (q deliveries) Less(i, j int) bool { return q[i].due.Before(q[j].due) }
func (q deliveries) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].place, q[j].place = i, j
}
func (q *deliveries) Push(x any) {
	d := x.(*delivery)
	d.place = len(*q)
	*q = append(*q, d)
}
func (q *deliveries) Pop() any {
	old := *q
	d := old[len(old)-1]
	old[len(old)-1] = nil
	d.place = -1
	*q = old[:len(old)-1]
	return d
}
