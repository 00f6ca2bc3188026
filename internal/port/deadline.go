package port

import (
	"os"
	"sync"
	"time"
)

// lateDeadline is the deadline of a connection's reads. The connection gets it only
// when a read is about to wait. net/http sets several for each request, most of which
// are replaced before anything reads, and each would go to the timers of the poller.
type lateDeadline struct {
	set func(time.Time) error // of the connection

	mu      sync.Mutex // protects the fields below
	at      time.Time
	pending bool // the connection has an older one
	waiting int  // reads under way
}

// to sets the deadline. A read under way gets it at once.
func (d *lateDeadline) to(t time.Time) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.at, d.pending = t, true; d.waiting == 0 {
		return nil
	}
	return d.tellLocked()
}

func (d *lateDeadline) tellLocked() error {
	d.pending = false
	return d.set(d.at)
}

// begin is called before a read, and end after it. An error of begin is the result of
// the read; end is not called then.
func (d *lateDeadline) begin() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.pending {
		// This is how net/http aborts a read that it has started, usually before the
		// read begins.
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

// past, a Unix time, is long ago wherever clocks are right, and also in tests.
const past = 1 << 20

func (d *lateDeadline) end() {
	d.mu.Lock()
	d.waiting--
	d.mu.Unlock()
}
