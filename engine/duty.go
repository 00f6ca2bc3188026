package engine

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"
)

// duty is what one process at a time does for all that share a store: to delete
// what is old, to send dead letters again. Two at it for a moment do no harm. Who
// has it says until when, in the store and by its clock; another one takes it up
// when that is over, or at once if it was given back.
type duty struct {
	name string
	term time.Duration

	mu   sync.Mutex // protects the fields below
	held []byte     // what the store keeps while the duty is this process's; nil: it is not
	half time.Time  // when it is to be renewed
}

// minTerm is the shortest term: a process needs that long to do anything.
const minTerm = 30 * time.Second

// serves reports whether d is this process's for another term: it was already, or
// nobody else has it.
func (e *Engine) serves(ctx context.Context, d *duty) (bool, error) {
	if e.opts.deadAfter() <= 0 {
		return true, nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	at := e.clock.now()
	own := fmt.Appendf(nil, "%s %s", e.node, at.Add(d.term).UTC().Format(time.RFC3339Nano))
	is, err := e.store.Keep(ctx, d.name, d.held, own)
	if err == nil && !bytes.Equal(is, own) {
		d.held = nil
		who, until, _ := strings.Cut(string(is), " ")
		if end, bad := time.Parse(time.RFC3339Nano, until); bad == nil && who != e.node && at.Before(end) {
			return false, nil
		}
		if is, err = e.store.Keep(ctx, d.name, is, own); err == nil && !bytes.Equal(is, own) {
			return false, nil
		}
	}
	if err != nil {
		return false, err
	}
	d.held, d.half = own, at.Add(d.term/2)
	return true, nil
}

// renew is serves in the midst of the work. A store that fails is noticed by that.
func (e *Engine) renew(ctx context.Context, d *duty) {
	d.mu.Lock()
	due := d.held != nil && e.clock.now().After(d.half)
	d.mu.Unlock()
	if due {
		_, _ = e.serves(ctx, d)
	}
}

// resign gives d back, if it is this process's, so that another one has it at once.
func (e *Engine) resign(d *duty) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.held == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), byeWait/2)
	defer cancel()
	_, _ = e.store.Keep(ctx, d.name, d.held, nil) // it runs out otherwise
	d.held = nil
}
