package outbox

import (
	"container/list"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/budget"
	"github.com/parley-a2a/parley/internal/wake"
	"github.com/parley-a2a/parley/store"
)

// Engine is what an outbox needs from the engine whose webhooks it serves. All fields are
// required unless they say otherwise. The functions may be called concurrently. Only Now is
// called with a lock of the outbox held.
type Engine struct {
	Store     store.Store
	Node      string        // names this process in the store
	DeadAfter time.Duration // how long another process is silent before its webhooks are taken over; zero: there is no other process
	Notifier  a2a.Notifier
	Log       *slog.Logger
	Tracer    trace.Tracer   // makes a span of each attempt; nil: nothing is traced
	Memory    *budget.Budget // limits what is read to be delivered; nil: no limit

	// Now is the store's time, by which deliveries are due in every process.
	Now func() time.Time
	// Caller returns the caller whose task it is, as a key without an ID and an agent's name.
	Caller func(store.Key) store.Key
	// Entry decodes an entry, with the content that is stored apart from it.
	Entry func(context.Context, *store.Entry) (*a2a.Entry, error)
	// FoldTo returns a task as of an entry of its log. The error is
	// a2a.ErrTaskNotFound if the task was deleted.
	FoldTo func(ctx context.Context, task store.Key, seq int64) (*a2a.Task, error)
	// MakeRoom waits until the hold of ctx has the memory that a task takes.
	MakeRoom func(ctx context.Context, task store.Key) error
	// Claim takes over at most limit configurations of dead processes, and returns how many.
	Claim func(ctx context.Context, limit int) (int, error)
	// SendsLetters reports whether this is the process that sends dead letters again. It is
	// asked before each look at them.
	SendsLetters func(context.Context) (bool, error)
	// Wrote is told the outcome of each write of progress, and Advanced what was written.
	Wrote    func(error)
	Advanced func([]store.Advance)
	// Notified is told the outcome of each attempt.
	Notified func(context.Context, a2a.Verdict)
}

// Outbox delivers the logs of tasks to their webhooks. It has in memory which configurations
// have something to deliver, and when. If there are too many, some are left out and found in
// the store later.
type Outbox struct {
	e        *Engine
	hint     chan struct{} // capacity one: there is something to start
	looks    chan struct{} // capacity one: the store may know more
	leavings chan struct{} // capacity one: a process may have left configurations
	again    chan struct{} // capacity one: there may be dead letters to send again

	writer *store.Queue[store.Advance] // of progress; set by Run

	watched atomic.Int64 // deliveries in tasks; tells without the lock whether there are any
	clock   atomic.Int64 // see stamp

	mu          sync.Mutex                 // protects the fields below
	tasks       map[uint64][]*delivery     // by the hash of the task's key, by which hints name it
	letters     map[store.PushID]*delivery // those of dead letters
	subscribers map[store.Key]*subscriber
	waiting     deliveries   // those with a time, soonest first
	rings       [2]list.List // of *subscriber with something to begin, in turn: see subscriber.rings
	turn        int          // the ring that had the last turn
	running     int
	probing     int // of running, to hosts that may be down
	closed      bool
	troubled    murmur
	looked      int64 // counts looks at the store

	// While a look at the store is under way, the news of tasks: the look may find deliveries
	// as they were before. Otherwise nil.
	missed map[store.Key]int64
}

// Limits that may become options.
const (
	mostPosts    = 64               // attempts at a time; half as many to hosts that may be down; admits allows a quarter more
	postsPerHost = 8                // of them to one host of one subscriber
	mostWaiting  = 1000             // configurations of such a host that are held in memory while they wait
	attemptTime  = 10 * time.Second // how long one attempt may take
	giveUpAfter  = 24 * time.Hour   // how long an event is tried
	firstPause   = time.Second      // the pause after a failure doubles from here
	longestPause = time.Hour
	dueEvery     = 5 * time.Minute // how often the store is asked, in case a hint was lost
	pollEvery    = 2 * time.Second // the same, if other processes write to it, too
	lettersEvery = time.Minute     // how often the store is asked for dead letters to send again
)

// delivery is a configuration that may have something to deliver.
type delivery struct {
	id      store.PushID
	host    *receiver
	letters bool // its dead letters are delivered, not its log

	// owned by the goroutine that runs it
	troubles int                // failures of our own, in a row
	begun    time.Time          // of letters: when the current one first failed
	tries    int32              // of letters: how often the current one failed
	origin   *trace.SpanContext // see courier.origin; nil: not looked up; always nil if nothing is traced
	ended    *store.Advance     // recorded as the last one, before it was known whether the task went on

	// protected by Outbox.mu
	created time.Time // as the store has it
	last    int64     // seq up to which the task's log is known to go
	cursor  int64     // 0: the store has to be asked
	due     time.Time
	since   time.Time // when it began to fail; zero if it does not
	waits   time.Time // since when there is something to deliver after waitsAt
	waitsAt int64     // the cursor then
	place   int       // in waiting; -1: not there
	state   deliveryState
	doubted bool  // the store may know better than what the run under way returns
	look    int64 // the newest look at the store that found it, or during which it was added
	lane    *list.List
	at      *list.Element           // in lane
	stop    context.CancelCauseFunc // while running
	done    chan struct{}           // while running: closed when it is over
}

type deliveryState int8

const (
	deliveryIdle    deliveryState = iota // all is delivered
	deliveryWaiting                      // until it is due
	deliveryReady                        // in one of its host's lanes
	deliveryRunning
	deliveryDropped
	deliveryAlarm // no delivery: the time at which a host may be tried again
)

// errDropped ends attempts for configurations that were deleted or replaced.
var errDropped = errors.New("engine: the push config is gone")

// New makes an outbox, which does nothing until Run is called.
func New(e *Engine) *Outbox {
	return &Outbox{
		e:           e,
		hint:        make(chan struct{}, 1),
		looks:       make(chan struct{}, 1),
		leavings:    make(chan struct{}, 1),
		again:       make(chan struct{}, 1),
		tasks:       map[uint64][]*delivery{},
		letters:     map[store.PushID]*delivery{},
		subscribers: map[store.Key]*subscriber{},
	}
}

// LookSoon makes the outbox ask the store for configurations, after a write whose effect is
// unknown.
func (o *Outbox) LookSoon() {
	if o != nil {
		wake.Nudge(o.looks)
	}
}

// ClaimSoon makes the outbox look for configurations that a process has left.
func (o *Outbox) ClaimSoon() {
	if o != nil {
		wake.Nudge(o.leavings)
	}
}

// Again makes the outbox look for what an operator wants to be sent again: dead letters, and
// configurations whose progress was set back in the store. Those of ids that wait here for
// another try are tried at once.
func (o *Outbox) Again(ids []store.PushID) {
	if o == nil {
		return
	}
	o.mu.Lock()
	for _, id := range ids {
		for _, d := range []*delivery{o.findLocked(id), o.letters[id]} {
			if d != nil && d.state == deliveryWaiting {
				o.waiting.remove(d)
				d.due, d.since = time.Time{}, time.Time{}
				d.doubt()
				o.settleLocked(d)
			}
		}
	}
	o.mu.Unlock()
	wake.Nudge(o.hint)
	wake.Nudge(o.again)
	wake.Nudge(o.leavings)
	wake.Nudge(o.looks)
}

// Watch tells the outbox of a configuration that was stored, perhaps again, for a task whose
// log ends at last. If it replaces another one, done are closed once no attempt for that one is
// under way; if done is empty, there was no such attempt.
func (o *Outbox) Watch(p *store.PushConfig, last int64) (done []<-chan struct{}) {
	if o == nil || p.Node != o.e.Node {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return nil
	}
	id, cursor := p.PushID(), p.Cursor
	if l := o.letters[id]; l != nil && !l.created.Equal(p.Created) {
		done = o.forgetLocked(l)
		wake.Nudge(o.again) // the letters go to the new receiver
	}
	if old := o.findLocked(id); old != nil {
		if old.created.Equal(p.Created) {
			o.newsLocked(old, last)
			return done
		}
		done = append(done, o.forgetLocked(old)...)
		cursor = 0 // if two were stored at about the same time, this one may be the replaced one
	}
	if p.Live {
		o.addLocked(p, cursor, last)
	}
	return done
}

// foundLocked is Watch for a configuration that was found in the store a moment ago.
func (o *Outbox) foundLocked(p *store.PushConfig, last int64) {
	old := o.findLocked(p.PushID())
	if old == nil {
		o.addLocked(p, p.Cursor, last)
		return
	}
	old.look = o.looked
	if !old.created.Equal(p.Created) {
		old.doubt()
	}
	o.newsLocked(old, last)
}

// unfoundLocked marks the deliveries that a whole look did not find, so that the store is asked
// for them: their tasks may be deleted.
func (o *Outbox) unfoundLocked() {
	for _, all := range o.tasks {
		for _, d := range slices.Backward(all) { // d may be forgotten
			if d.look != o.looked {
				d.doubt()
				o.newsLocked(d, d.last)
			}
		}
	}
}

func (o *Outbox) findLocked(id store.PushID) *delivery {
	for _, d := range o.tasks[id.Hash()] {
		if d.id == id {
			return d
		}
	}
	return nil
}

func (o *Outbox) addLocked(p *store.PushConfig, cursor, last int64) {
	h := o.hostLocked(p)
	if last > cursor && h.pending >= mostWaiting {
		h.skipped = true
		return
	}
	d := &delivery{id: p.PushID(), created: p.Created, host: h, cursor: cursor, last: last, due: p.Due, since: p.Since, place: -1, look: o.looked}
	hash := d.id.Hash()
	o.tasks[hash] = append(o.tasks[hash], d)
	o.watched.Add(1)
	h.refs++
	o.settleLocked(d)
	wake.Nudge(o.hint)
}

// News tells the outbox that the log of a task now goes up to last.
func (o *Outbox) News(key store.Key, last int64) {
	if o == nil || o.watched.Load() == 0 {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, d := range slices.Backward(o.tasks[key.Hash()]) { // d may be forgotten
		if d.id.Key == key {
			o.newsLocked(d, last)
		}
	}
	if o.missed != nil {
		o.missed[key] = last
	}
}

// doubt notes that the store may know better how much is delivered: the next run asks it.
func (d *delivery) doubt() { d.cursor, d.doubted = 0, true }

// newsLocked notes how far a log goes. If last is less than was known, the news is old, or a
// failover took back the end of the log: then the store has to be asked how much is delivered.
func (o *Outbox) newsLocked(d *delivery, last int64) {
	if last < d.last {
		d.doubt()
	}
	d.last = max(d.last, last)
	if d.state == deliveryIdle && d.last > d.cursor {
		o.settleLocked(d)
		wake.Nudge(o.hint)
	}
}

// Hear tells the outbox that another process may have written to a task or changed its
// configurations: the store is then asked. Tasks that are owned here are skipped, because their
// owners report to News.
func (o *Outbox) Hear(hash uint64, owned func(store.Key) bool) {
	if o == nil || o.watched.Load() == 0 {
		return
	}
	o.mu.Lock()
	all := slices.Clone(o.tasks[hash])
	o.mu.Unlock()
	all = slices.DeleteFunc(all, func(d *delivery) bool { return owned(d.id.Key) })
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, d := range all {
		d.doubt()
		o.newsLocked(d, d.last)
	}
}

// Drop makes the outbox forget a configuration that was deleted. It returns channels that are
// closed when the attempts under way are aborted; nil if there were none.
func (o *Outbox) Drop(id store.PushID) (done []<-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, d := range []*delivery{o.findLocked(id), o.letters[id]} {
		if d != nil {
			done = append(done, o.forgetLocked(d)...)
		}
	}
	return done
}

// Backlog returns how many configurations in memory have something to deliver, and for how long
// the oldest has waited.
func (o *Outbox) Backlog() (pending int, oldest time.Duration) {
	at := o.e.Now()
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, all := range o.tasks {
		for _, d := range all {
			if d.state == deliveryIdle {
				continue
			}
			pending++
			since := d.waits
			if !d.since.IsZero() && d.since.Before(since) {
				since = d.since
			}
			oldest = max(oldest, at.Sub(since))
		}
	}
	return pending, oldest
}

// forgetLocked removes a delivery from memory. If an attempt for it is under way, done is
// closed when the attempt is over.
func (o *Outbox) forgetLocked(d *delivery) (done []<-chan struct{}) {
	if d.letters {
		delete(o.letters, d.id)
	} else {
		hash := d.id.Hash()
		o.tasks[hash] = slices.DeleteFunc(o.tasks[hash], func(other *delivery) bool { return other == d })
		if len(o.tasks[hash]) == 0 {
			delete(o.tasks, hash)
		}
		o.watched.Add(-1)
	}
	switch d.state {
	case deliveryWaiting:
		o.waiting.remove(d)
	case deliveryReady:
		d.leave()
	case deliveryRunning:
		if d.stop != nil { // otherwise it is about to end by itself
			d.stop(errDropped)
			done = append(done, d.done)
		}
	}
	if d.state != deliveryIdle {
		o.lessLocked(d.host)
	}
	d.state = deliveryDropped
	d.host.refs--
	o.tidyLocked(d.host)
	return done
}
