package a2aserver

import (
	"sync"
	"time"
)

// agenda knows what is due next for the calls of a server that take long, with
// one timer for all of them. Times are since the server's start.
type agenda struct {
	started time.Time

	mu    sync.Mutex // protects the fields below
	items []*item    // a heap
	timer *time.Timer
	next  time.Duration // when the timer goes off; 0 if it is not set
}

// item is an appointment of a call.
type item struct {
	at    time.Duration
	place int // in the heap, from 1; 0 is none
	over  bool
	who   appointed
}

// appointed is asked when its time has come, and says when to ask again: 0 is
// never. It holds the agenda up, so that it must not wait for anything.
type appointed interface {
	due(now time.Duration) (again time.Duration)
}

func (a *agenda) now() time.Duration { return time.Since(a.started) }

// set makes an appointment, in place of the one that it has. It does nothing
// after end.
func (a *agenda) set(it *item, at time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.setLocked(it, at)
	a.wakeLocked()
}

func (a *agenda) setLocked(it *item, at time.Duration) {
	if it.over || at <= 0 {
		a.removeLocked(it)
		return
	}
	it.at = at
	if it.place == 0 {
		a.items = append(a.items, it)
		it.place = len(a.items)
	}
	a.up(it.place)
	a.down(it.place)
}

// end takes an item out for good. Nobody is asked any more.
func (a *agenda) end(it *item) {
	a.mu.Lock()
	defer a.mu.Unlock()
	it.over = true
	a.removeLocked(it)
	if len(a.items) == 0 && a.next != 0 {
		a.timer.Stop()
		a.next = 0
	}
}

// run is when the timer goes off.
func (a *agenda) run() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.next = 0
	now := a.now()
	for len(a.items) > 0 && a.items[0].at <= now {
		it := a.items[0]
		again := it.who.due(now)
		if again > 0 {
			again = max(again, now+time.Millisecond) // whatever the options say
		}
		a.setLocked(it, again)
	}
	a.wakeLocked()
}

// wakeLocked sets the timer to the first item, if it is not due before.
func (a *agenda) wakeLocked() {
	if len(a.items) == 0 || a.next != 0 && a.next <= a.items[0].at {
		return
	}
	a.next = a.items[0].at
	if wait := a.next - a.now(); a.timer == nil {
		a.timer = time.AfterFunc(wait, a.run)
	} else {
		a.timer.Reset(wait)
	}
}

func (a *agenda) removeLocked(it *item) {
	i := it.place
	if i == 0 {
		return
	}
	last := len(a.items)
	a.swap(i, last)
	a.items[last-1] = nil
	a.items = a.items[:last-1]
	it.place = 0
	if i < last {
		a.up(i)
		a.down(i)
	}
}

func (a *agenda) swap(i, j int) {
	a.items[i-1], a.items[j-1] = a.items[j-1], a.items[i-1]
	a.items[i-1].place, a.items[j-1].place = i, j
}

func (a *agenda) less(i, j int) bool { return a.items[i-1].at < a.items[j-1].at }

func (a *agenda) up(i int) {
	for ; i > 1 && a.less(i, i/2); i /= 2 {
		a.swap(i, i/2)
	}
}

func (a *agenda) down(i int) {
	for {
		least := i
		for child := 2 * i; child <= min(2*i+1, len(a.items)); child++ {
			if a.less(child, least) {
				least = child
			}
		}
		if least == i {
			return
		}
		a.swap(i, least)
		i = least
	}
}
