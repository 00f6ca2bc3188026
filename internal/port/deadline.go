package port

import (
	"os"
	"sync"
	"time"
)

// lateDeadline is the deadline of a connection's reads, which the connection is told
// only when something is about to wait for it. net/http says several for each
// request, most of which are replaced before anything reads; each would go to the
// timers of the poller. Deadlines of writes are peerConn's.
type lateDeadline struct {
	set func(time.Time) error // of the connection

	mu      sync.Mutex // protects the fields below
	at      time.Time
	untold  bool // the connection has another one
	waiting int  // reads under way
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

// begin is for what is about to read, and end for when it has. An error
// is what it comes to; then there is no end.
func (d *lateDeadline) begin() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.untold {
		// This is how net/http takes back a read that it has let begin, usually
		// before it has.
		if !d.at.IsZero() && d.at.Unix() < past {
			return os.ErrDeadlineExceeded
		}
		if err := d.tellLocked(); err != nil {
			return err
		}
	}
	d.waiting++
	return nil
}

// past is long ago wherever clocks are right, and also in tests.
const past = 1 << 20

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
