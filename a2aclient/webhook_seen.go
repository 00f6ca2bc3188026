package a2aclient

import (
	"net/http"
	"slices"
	"sync"
	"time"
)

// deliveries remembers the latest ids, in bounded memory: max of them, or more if more
// are being processed. It keeps the time of the newest id that it dropped. An unknown
// id that is not newer may be a dropped one, so it is refused until its sender tries
// again with a new time.
type deliveries struct {
	max int

	mu    sync.Mutex // protects the fields below
	known map[string]*remembered
	order []*remembered // oldest first
	floor time.Time     // the newest time that was dropped
}

type remembered struct {
	id   string
	at   time.Time // of the newest attempt
	busy bool      // being processed
}

// add remembers an id, with busy as being processed, or returns the earlier entry for
// it.
func (d *deliveries) add(id string, at time.Time, busy bool) (*remembered, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if r := d.known[id]; r != nil {
		if r.at.Before(at) {
			r.at = at
		}
		known := *r
		return &known, nil
	}
	if !d.floor.IsZero() && !at.After(d.floor) {
		return nil, &WebhookError{Status: http.StatusTooEarly, Reason: "the delivery is older than what is remembered"}
	}
	if d.known == nil {
		d.known = map[string]*remembered{}
	}
	for len(d.order) >= d.max {
		i := slices.IndexFunc(d.order, func(r *remembered) bool { return !r.busy }) // otherwise its next attempt would be processed at the same time
		if i < 0 {
			break
		}
		r := d.order[i]
		d.order = slices.Delete(d.order, i, i+1)
		delete(d.known, r.id)
		if r.at.After(d.floor) { // even if it is too old by now: clocks are set back
			d.floor = r.at
		}
	}
	r := &remembered{id: id, at: at, busy: busy}
	d.known[id] = r
	d.order = append(d.order, r)
	return nil, nil
}

// end notes the result of processing.
func (d *deliveries) end(id string, ok bool) {
	if !ok {
		d.forget(id)
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if r := d.known[id]; r != nil {
		r.busy = false
	}
}

func (d *deliveries) forget(id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.known, id)
	d.order = slices.DeleteFunc(d.order, func(r *remembered) bool { return r.id == id })
}
