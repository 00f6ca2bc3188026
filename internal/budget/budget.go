// Package budget limits the memory that callers' data takes at a time: bodies of requests on
// their way in, answers, events and webhooks on their way out.
//
//	hold := all.Open(caller)
//	defer hold.Close()
//	if err := hold.Ensure(ctx, size); err != nil {
//		return err // ErrFull, or ctx ended
//	}
//
// A Budget counts bytes; it does not allocate them. Code holds bytes before it allocates them,
// and gives back those that it no longer needs. Small data is not counted: see Small.
package budget

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Small is the size, in bytes, up to which data is not counted. The number of connections
// limits such data.
const Small = 256 << 10

// Wait is how long Ensure waits for bytes that others hold.
const Wait = 30 * time.Second

// ErrFull is the cause of an Ensure that waited too long.
var ErrFull = errors.New("budget: the data of other calls takes all the memory that there is for it")

// Budget is a number of bytes that callers share. A caller has at most a
// quarter of it, or one piece of data that is larger than that. A piece that is
// larger than the whole budget is let in when nothing else is held. A Budget is
// safe for concurrent use; nil has no limit.
type Budget struct {
	small int64         // constant: what is not counted
	short chan struct{} // capacity one: see Short

	mu       sync.Mutex // protects the fields below and those of accounts and holds
	total    int64
	used     int64
	accounts map[any]*account // of callers that hold or wait for bytes
	waiting  atomic.Int32     // requests; changed with mu held
	asked    int64            // requests so far
}

// account is what one caller holds and waits for.
type account struct {
	used  int64
	queue []*request
}

// request is an Ensure that waits.
type request struct {
	h       *Hold
	n       int64 // how many bytes h is to hold
	nth     int64 // its number among all requests
	granted chan struct{}
}

// begun reports whether r's hold has bytes already. Such a request comes first if it fits.
// Otherwise the bytes that others give back would go to calls that begin, each of which then
// waits for the rest of what it needs, and no call would finish.
func (r *request) begun() bool { return r.h.n.Load() > 0 }

// New returns a budget of total bytes, or nil, which has no limit, if total is 0
// or less.
func New(total int64) *Budget { return NewFine(total, Small) }

// NewFine is New for data of which there is more, so that data is counted from a smaller size.
func NewFine(total, small int64) *Budget {
	if total <= 0 {
		return nil
	}
	return &Budget{small: small, short: make(chan struct{}, 1), total: total, accounts: map[any]*account{}}
}

// Part returns a separate budget of an nth of b, for data that may be held for long and must
// not make b's callers wait.
func (b *Budget) Part(n int64) *Budget {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return New(max(b.total/n, 1))
}

// Hold is the bytes that one call holds. It is safe for concurrent use. A nil Hold, and the
// zero Hold, count nothing.
type Hold struct {
	b   *Budget
	key any          // key of the caller, or a Caller that knows it
	n   atomic.Int64 // changed with Budget.mu held
}

// Caller knows the key of a hold's caller. It is asked when there is something to count, which
// for most calls is never.
type Caller interface {
	// BudgetKey tells callers apart; it must be comparable.
	BudgetKey() any
}

// Open returns a hold of no bytes for a caller. key tells callers apart and must
// be comparable, or it is a Caller.
func (b *Budget) Open(key any) *Hold {
	h := new(Hold)
	b.Init(h, key)
	return h
}

// Init is Open for a hold that is a field of another value.
func (b *Budget) Init(h *Hold, key any) { h.b, h.key = b, key }

// ignores reports whether n bytes are too few to be counted.
func (h *Hold) ignores(n int64) bool { return h == nil || h.b == nil || n <= h.b.small }

// knowLocked finds out the key of h's caller.
func (h *Hold) knowLocked() {
	if c, ok := h.key.(Caller); ok {
		h.key = c.BudgetKey()
	}
}

// Ensure makes h hold at least n bytes, and waits while others hold too many. The error is
// ErrFull after Wait, or ctx's cause; h then holds what it did before. It returns at once if n
// is too small to be counted (see Small and NewFine), or h holds that much.
func (h *Hold) Ensure(ctx context.Context, n int64) error {
	if h.ignores(n) {
		return nil
	}
	r := h.ask(n, true)
	if r == nil {
		return nil
	}
	limited, cancel := context.WithTimeoutCause(ctx, Wait, ErrFull)
	defer cancel()
	select {
	case <-r.granted:
		return nil
	case <-limited.Done():
	}
	b := h.b
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case <-r.granted: // at the last moment
		return nil
	default:
	}
	b.dropLocked(r)
	b.grantLocked() // r may have kept others waiting
	return context.Cause(limited)
}

// Try is Ensure for callers that cannot wait. It reports whether h holds n bytes.
func (h *Hold) Try(n int64) bool {
	return h.ignores(n) || h.ask(n, false) == nil
}

// ask grants n bytes, or returns the request that waits for them. Without wait it
// does not stay in the queue.
func (h *Hold) ask(n int64, wait bool) *request {
	b := h.b
	b.mu.Lock()
	defer b.mu.Unlock()
	if n <= h.n.Load() {
		return nil
	}
	h.knowLocked()
	r := &request{h: h, n: n}
	a := b.accountLocked(h.key)
	// A caller that cannot wait does not queue behind requests of other callers.
	if b.fitsLocked(a, r) && (b.waiting.Load() == 0 || !wait && len(a.queue) == 0) {
		b.setLocked(h, n)
		return nil
	}
	if !wait {
		b.tidyLocked(h.key, a)
		return r
	}
	b.asked++
	r.nth, r.granted = b.asked, make(chan struct{})
	at := len(a.queue)
	for r.begun() && at > 0 && !a.queue[at-1].begun() {
		at--
	}
	a.queue = slices.Insert(a.queue, at, r)
	b.waiting.Add(1)
	b.grantLocked()
	select {
	case <-r.granted:
		return nil
	default:
		b.shortLocked()
		return r
	}
}

// Set makes h hold n bytes without waiting: fewer when the data shrank, or more
// when it has grown already.
func (h *Hold) Set(n int64) {
	if h == nil || h.b == nil {
		return
	}
	b := h.b
	if n <= b.small {
		n = 0
	}
	if n == h.n.Load() {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	h.knowLocked()
	b.setLocked(h, n)
	b.grantLocked()
	if b.used > b.total {
		b.shortLocked()
	}
}

// Close gives everything back. It may be called twice.
func (h *Hold) Close() { h.Set(0) }

// Held returns how many bytes h holds.
func (h *Hold) Held() int64 {
	if h == nil {
		return 0
	}
	return h.n.Load()
}

// Stalls reports whether a request waits for bytes that h holds: a request of h's own caller,
// or any that waits for the total. Other callers' requests that wait for their own share would
// not get them.
func (h *Hold) Stalls() bool {
	if h.Held() == 0 || h.b.waiting.Load() == 0 {
		return false
	}
	b := h.b
	b.mu.Lock()
	defer b.mu.Unlock()
	a := b.accounts[h.key] // h.key is known, because h holds something
	return a != nil && len(a.queue) > 0 || b.exhaustedLocked()
}

// Resize changes the total to what New would take. Holds keep what they have. 0 or less changes
// nothing, so a budget that has a limit keeps one.
func (b *Budget) Resize(total int64) {
	if b == nil || total <= 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.total = total
	b.grantLocked()
}

// Used returns how many bytes all holds have together.
func (b *Budget) Used() int64 {
	if b == nil {
		return 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}

// Short returns a channel of hints: one comes when a request begins to wait, and when holds
// were set to more than the total. Code that can give bytes back then looks at Pressed.
func (b *Budget) Short() <-chan struct{} {
	if b == nil {
		return nil
	}
	return b.short
}

func (b *Budget) shortLocked() {
	select {
	case b.short <- struct{}{}:
	default:
	}
}

// Pressed returns the keys of callers that should give bytes back, the one that holds most
// first: callers that wait for their own share, and all callers if a request waits for the
// total or the total is exceeded.
func (b *Budget) Pressed() (keys []any) {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	all := b.used > b.total || b.exhaustedLocked()
	for key, a := range b.accounts {
		if a.used > 0 && (all || len(a.queue) > 0) {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, func(x, y any) int { return cmp.Compare(b.accounts[y].used, b.accounts[x].used) })
	return keys
}

// Total returns how many bytes there are; 0 means that there is no limit.
func (b *Budget) Total() int64 {
	if b == nil {
		return 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.total
}

// fitsLocked reports whether r can be granted: within the total and the caller's
// share, or alone.
func (b *Budget) fitsLocked(a *account, r *request) bool {
	held := r.h.n.Load()
	return (b.used == held || b.used+r.n-held <= b.total) && b.withinShareLocked(a, r)
}

// withinShareLocked reports whether only the total can keep r waiting.
func (b *Budget) withinShareLocked(a *account, r *request) bool {
	return a.used == r.h.n.Load() || a.used+r.n-r.h.n.Load() <= b.total/4
}

// firstLocked returns the first request of a, if only the total can keep it waiting. A request
// that has begun passes those of its caller that do not fit, because they may wait for it.
func (b *Budget) firstLocked(a *account) (first *request) {
	for i, r := range a.queue {
		switch {
		case i > 0 && !r.begun() || !b.withinShareLocked(a, r):
		case b.fitsLocked(a, r):
			return r
		case first == nil:
			first = r
		}
	}
	return first
}

// exhaustedLocked reports whether a request waits only because the total is too small.
func (b *Budget) exhaustedLocked() bool {
	for _, a := range b.accounts {
		if b.firstLocked(a) != nil {
			return true
		}
	}
	return false
}

// grantLocked grants what fits. Requests that have begun come first if they fit, then those of
// the callers that hold least, among these the oldest; each caller's requests keep their order.
// If the first of them does not fit into the total, no other passes it, or large requests would
// wait for ever.
func (b *Budget) grantLocked() {
	for b.waiting.Load() > 0 {
		var next *request
		for _, a := range b.accounts {
			if r := b.firstLocked(a); r != nil && (next == nil || b.beforeLocked(r, next)) {
				next = r
			}
		}
		if next == nil || !b.fitsLocked(b.accounts[next.h.key], next) {
			return
		}
		b.dropLocked(next)
		b.setLocked(next.h, max(next.n, next.h.n.Load()))
		close(next.granted)
	}
}

// beforeLocked reports whether r comes before a request of another caller.
func (b *Budget) beforeLocked(r, other *request) bool {
	x, y := b.accounts[r.h.key], b.accounts[other.h.key]
	first, second := r.begun() && b.fitsLocked(x, r), other.begun() && b.fitsLocked(y, other)
	switch {
	case first != second:
		return first
	case x.used != y.used:
		return x.used < y.used
	}
	return r.nth < other.nth
}

func (b *Budget) dropLocked(r *request) {
	a := b.accounts[r.h.key]
	if i := slices.Index(a.queue, r); i >= 0 {
		a.queue = slices.Delete(a.queue, i, i+1)
		b.waiting.Add(-1)
	}
	b.tidyLocked(r.h.key, a)
}

func (b *Budget) setLocked(h *Hold, n int64) {
	a := b.accountLocked(h.key)
	b.used += n - h.n.Load()
	a.used += n - h.n.Load()
	h.n.Store(n)
	b.tidyLocked(h.key, a)
}

func (b *Budget) accountLocked(key any) *account {
	a := b.accounts[key]
	if a == nil {
		a = &account{}
		b.accounts[key] = a
	}
	return a
}

// tidyLocked forgets a caller that holds nothing and waits for nothing.
func (b *Budget) tidyLocked(key any, a *account) {
	if a.used == 0 && len(a.queue) == 0 {
		delete(b.accounts, key)
	}
}
