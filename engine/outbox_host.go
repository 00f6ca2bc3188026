package engine

import (
	"math/rand/v2"
	"time"
)

// receiver is a host that webhooks are on. Its circuit keeps a dead one from
// costing much: after some failures in a row nothing is tried for a while, then
// one delivery finds out whether it is back. Protected by outbox.mu.
type receiver struct {
	name    string
	refs    int         // deliveries in memory that are to it
	pending int         // of them, those that are not idle
	ready   []*delivery // oldest first; those that were dropped are passed over
	running int

	failures int       // in a row, of the kind that says that the host is down
	closed   time.Time // nothing is tried before this
}

// The circuit opens after maxFailures in a row, for minClosed at first, twice as
// long after each attempt that fails then, up to maxClosed.
const (
	maxFailures = 5
	minClosed   = time.Second
	maxClosed   = time.Minute
)

// closedFor returns for how long nothing is tried.
func (h *receiver) closedFor(at time.Time) time.Duration {
	if h.failures < maxFailures {
		return 0
	}
	return h.closed.Sub(at)
}

// room reports whether one more may run: while the host may be down, one finds
// out for all.
func (h *receiver) room(most int) bool {
	if h.failures >= maxFailures {
		most = 1
	}
	return h.running < most
}

// queued reports whether somebody waits for the host.
func (h *receiver) queued() bool {
	for len(h.ready) > 0 && h.ready[0].state != deliveryReady {
		h.ready = h.ready[1:]
	}
	return len(h.ready) > 0
}

// next takes the delivery that has waited longest.
func (h *receiver) next() *delivery {
	if !h.queued() {
		return nil
	}
	d := h.ready[0]
	h.ready[0] = nil
	h.ready = h.ready[1:]
	return d
}

// report says what an attempt told of the host.
func (h *receiver) report(down bool, at time.Time) {
	if !down {
		h.failures = 0
		return
	}
	if h.failures++; h.failures < maxFailures {
		return
	}
	pause := maxClosed
	if n := h.failures - maxFailures; n < 6 {
		pause = min(minClosed<<n, maxClosed)
	}
	h.closed = at.Add(pause/2 + rand.N(pause/2+1))
}
