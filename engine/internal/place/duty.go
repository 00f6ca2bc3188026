package place

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"
)

// Duty is work that one process at a time does for all that share a store, such as to delete
// old tasks or to send dead letters again. If two do it for a moment, that does no harm. The
// process that has the duty writes into the store until when, by the store's clock. Another one
// takes the duty over after that time, or at once if it was given back.
//
// The zero Duty is always this process's.
type Duty struct {
	fleet *Fleet // nil: there are no other processes
	name  string
	term  time.Duration

	mu   sync.Mutex // protects the fields below
	held []byte     // what the store keeps while the duty is this process's; nil: it is not
	half time.Time  // when it is to be renewed
}

// MinTerm is the shortest term: a process needs that long to do anything.
const MinTerm = 30 * time.Second

// resignWait is how long it may take to give a duty back.
const resignWait = time.Second

// Serves takes d for another term, if it is this process's already or no other process has it.
// It reports whether it did.
func (d *Duty) Serves(ctx context.Context) (bool, error) {
	f := d.fleet
	if f == nil {
		return true, nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	at := f.Now()
	own := fmt.Appendf(nil, "%s %s", f.Node, at.Add(d.term).UTC().Format(time.RFC3339Nano))
	is, err := f.Store.Keep(ctx, d.name, d.held, own)
	if err == nil && !bytes.Equal(is, own) {
		d.held = nil
		who, until, _ := strings.Cut(string(is), " ")
		// An end that is further away than any term is of a clock that was set back since, or
		// of another primary's clock. A process that has died would keep the duty until then.
		if end, bad := time.Parse(time.RFC3339Nano, until); bad == nil && who != f.Node && at.Before(end) && end.Sub(at) < 2*d.term {
			return false, nil
		}
		if is, err = f.Store.Keep(ctx, d.name, is, own); err == nil && !bytes.Equal(is, own) {
			return false, nil
		}
	}
	if err != nil {
		return false, err
	}
	d.held, d.half = own, at.Add(d.term/2)
	return true, nil
}

// Renew is Serves during the work. It ignores errors, because the work itself notices a failing
// store.
func (d *Duty) Renew(ctx context.Context) {
	d.mu.Lock()
	due := d.held != nil && d.fleet.Now().After(d.half)
	d.mu.Unlock()
	if due {
		_, _ = d.Serves(ctx)
	}
}

// Resign gives d back, if it is this process's, so that another process can take it at once.
func (d *Duty) Resign() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.held == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), resignWait)
	defer cancel()
	_, _ = d.fleet.Store.Keep(ctx, d.name, d.held, nil) // otherwise its term runs out
	d.held = nil
}
