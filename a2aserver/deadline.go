package a2aserver

import (
	"sync"
	"time"
)

// lateDeadline is the deadline of a connection's reads, or of its writes, which the
// connection is told only when something is about to wait for it. net/http and
// our handlers say nine for each request, most of which are replaced before
// anything reads or writes; each would go to the timers of the poller.
type lateDeadline struct {
	set func(time.Time) error // of the connection

	mu      sync.Mutex // protects the fields below
	at      time.Time
	untold  bool // the connection has another one
	waiting int  // reads or writes under way
}

// to is what the connection's method would be: what waits hears of it at once.
func (d *lateDeadline) to(t time.Time) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.at, d.untold = t, true; d.waiting == 0 {
		return nil
	}
	return d.tellLocked()
}

func (d *lateDeadline) tellLocked() error {
	d.untold = false
	return d.set(d.at)
}

// begin is for what is about to read or write, and end for when it has.
func (d *lateDeadline) begin() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.waiting++
	if d.untold {
		return d.tellLocked()
	}
	return nil
}

func (d *lateDeadline) end() {
	d.mu.Lock()
	d.waiting--
	d.mu.Unlock()
}

// forget drops what the connection has not been told, for from now on somebody
// else tells it.
func (d *lateDeadline) forget() {
	d.mu.Lock()
	d.untold = false
	d.mu.Unlock()
}
