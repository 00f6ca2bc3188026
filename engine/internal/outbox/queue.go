package outbox

import (
	"container/heap"
	"context"
	"sync"
	"time"

	"github.com/parley-a2a/parley/internal/wake"
)

// Run delivers until ctx ends, and returns when no attempt is under way.
func (o *Outbox) Run(ctx context.Context) {
	o.writer = o.newWriter(ctx)
	var work, side sync.WaitGroup
	side.Go(func() { o.lookOut(ctx) })
	side.Go(func() { o.readLetters(ctx) })

	for ctx.Err() == nil {
		select {
		case <-time.After(o.start(ctx, &work)):
		case <-ctx.Done():
		case <-o.hint:
		}
	}
	o.mu.Lock()
	o.closed = true
	o.mu.Unlock()
	work.Wait()
	side.Wait()
	o.writer.Close() // after everything that may write
}

// settleLocked puts a delivery that is neither running nor in a queue where it belongs.
func (o *Outbox) settleLocked(d *delivery) {
	h, was := d.host, d.state
	if was != deliveryIdle {
		o.lessLocked(h)
	}
	d.state = deliveryIdle
	if d.last <= d.cursor && !d.letters {
		return
	}
	if was == deliveryIdle || d.waitsAt != d.cursor {
		d.waits, d.waitsAt = o.e.Now(), d.cursor
	}
	if was != deliveryWaiting && h.pending >= mostWaiting {
		h.skipped = true
		o.forgetLocked(d)
		return
	}
	h.pending++
	if d.due.After(o.e.Now()) {
		d.state = deliveryWaiting
		heap.Push(&o.waiting, d)
		return
	}
	d.state = deliveryReady
	d.lane = &h.lanes[d.failing()]
	d.at = d.lane.PushBack(d)
	o.offerLocked(h)
}

// lessLocked notes that one delivery less waits for a host.
func (o *Outbox) lessLocked(h *receiver) {
	h.pending--
	if h.skipped && h.pending <= mostWaiting/2 {
		wake.Nudge(o.looks)
	}
}

// start begins the deliveries that can begin, and returns the time until another one may.
func (o *Outbox) start(ctx context.Context, work *sync.WaitGroup) time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	at := o.e.Now()
	for len(o.waiting) > 0 && !o.waiting[0].due.After(at) {
		d := heap.Pop(&o.waiting).(*delivery)
		if d.state == deliveryAlarm {
			d.host.alarm = nil
			o.offerLocked(d.host)
			continue
		}
		o.settleLocked(d)
	}
	for d := o.nextLocked(at); d != nil; d = o.nextLocked(at) {
		o.beginLocked(ctx, work, d)
		o.offerLocked(d.host)
	}
	if len(o.waiting) > 0 {
		return o.waiting[0].due.Sub(at)
	}
	return time.Hour
}

// alarmLocked makes sure that a host for which deliveries wait is offered when it may be tried
// again.
func (o *Outbox) alarmLocked(h *receiver, at time.Time) {
	if h.alarm != nil || h.empty() || h.closedFor(at) <= 0 {
		return // in the last case the host has no free slot, and an attempt that ends offers it
	}
	h.alarm = &delivery{host: h, due: h.closed, state: deliveryAlarm}
	heap.Push(&o.waiting, h.alarm)
}

func (o *Outbox) beginLocked(ctx context.Context, work *sync.WaitGroup, d *delivery) {
	h, probe := d.host, d.host.down()
	ctx, d.stop = context.WithCancelCause(ctx)
	stop, done, last := d.stop, make(chan struct{}), d.last
	d.done, d.state, d.doubted = done, deliveryRunning, false
	o.countLocked(h, probe, 1)
	work.Go(func() {
		r := o.deliver(ctx, d)
		stop(nil)
		o.mu.Lock()
		defer o.mu.Unlock()
		close(done)
		d.stop, d.done = nil, nil
		o.countLocked(h, probe, -1)
		switch {
		case d.state == deliveryDropped:
			o.tidyLocked(h)
		case r.gone && d.last > max(last, r.cursor):
			// There is news of more than the delivery saw: the task was reopened.
			d.cursor, d.due = 0, time.Time{}
			o.settleLocked(d)
		case r.gone:
			o.forgetLocked(d)
		default:
			d.cursor, d.due, d.since = r.cursor, r.due, r.since
			if r.ended && d.last == last {
				d.last = 0 // the run before only guessed that there was more
			}
			d.last = max(d.last, r.cursor, r.seen)
			if d.doubted {
				d.cursor = 0
			}
			o.settleLocked(d)
		}
		o.offerLocked(h)
		wake.Nudge(o.hint)
	})
}

// countLocked counts one more attempt under way or, with -1, one less.
func (o *Outbox) countLocked(h *receiver, probe bool, n int) {
	h.running += n
	h.of.running += n
	o.running += n
	if probe {
		h.of.probing += n
		o.probing += n
	}
}

// deliveries is a heap by time.
type deliveries []*delivery

func (q *deliveries) remove(d *delivery) { heap.Remove(q, d.place) }

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
