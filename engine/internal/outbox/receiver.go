package outbox

import (
	"container/list"
	"math/rand/v2"
	"time"
)

// receiver is a host that a subscriber has webhooks on. Its circuit keeps a dead
// one from costing much: after some failures in a row, of several configurations,
// nothing is tried for a while, then one delivery finds out whether it is back.
// What fails for one subscriber says nothing of the others: each has a circuit of
// its own, for many may be on one host.
// Protected by Outbox.mu.
type receiver struct {
	name    string
	of      *subscriber
	refs    int           // deliveries in memory that are to it
	pending int           // of them, those that are not idle
	lanes   [2]list.List  // of *delivery, ready: those that did not fail when last tried, and those that did
	turn    int8          // see next
	place   *list.Element // in a ring of its subscriber; nil: in none
	in      int           // which one
	skipped bool          // some of its configurations are not in memory
	alarm   *delivery     // in Outbox.waiting, if anybody waits for the circuit
	running int

	failures int       // in a row, of the kind that says that the host is down
	blamed   *delivery // whose the last one was
	since    time.Time // when they began
	closed   time.Time // nothing is tried before this

	told     bool // that it is down is in the log
	downs    murmur
	givenUp  murmur
	disabled murmur
}

// failing says in which lane a delivery waits.
func (d *delivery) failing() int {
	if d.since.IsZero() {
		return 0
	}
	return 1
}

// The circuit opens after maxFailures in a row, for minClosed at first, twice as
// long after each attempt that fails then, up to maxClosed. A host that fails
// quickly costs less, and may serve others well: for that it is maxQuick.
const (
	maxFailures = 5
	minClosed   = time.Second
	maxClosed   = time.Minute
	maxQuick    = 5 * time.Second
)

func (h *receiver) empty() bool { return h.lanes[0].Len()+h.lanes[1].Len() == 0 }

// down reports whether the host is taken to be down.
func (h *receiver) down() bool { return h.failures >= maxFailures }

// ring says in which of the rings the host waits for its turn.
func (h *receiver) ring() int {
	if h.down() {
		return 1
	}
	return 0
}

// hopeless reports whether it has been for so long that what waits for it since
// then is given up after one attempt. That needs not wait for the circuit, or
// there would be no end to it.
func (h *receiver) hopeless(at time.Time) bool {
	return h.down() && at.Sub(h.since) >= giveUpAfter
}

// closedFor returns for how long nothing is tried.
func (h *receiver) closedFor(at time.Time) time.Duration {
	if !h.down() {
		return 0
	}
	return h.closed.Sub(at)
}

// most returns how many may run at a time: while the host may be down, one
// finds out for all.
func (h *receiver) most(at time.Time) int {
	if h.down() && !h.hopeless(at) {
		return 1
	}
	return postsPerHost
}

// next takes the delivery whose turn it is, or returns nil. Those that failed
// do not keep others waiting: both lanes have their turns. Nor do many that
// would fail and were not tried yet: of them it is in turn the one that waited
// longest and, while the host may be down, the one that waited least. The first
// one that succeeds opens it for all.
func (h *receiver) next(at time.Time) *delivery {
	if h.empty() || h.running >= h.most(at) {
		return nil
	}
	if h.closedFor(at) <= 0 {
		h.turn = (h.turn + 1) % 4
		l := &h.lanes[h.turn%2]
		if l.Len() == 0 {
			l = &h.lanes[1-h.turn%2]
		}
		if h.turn >= 2 && h.down() {
			return l.Back().Value.(*delivery).leave()
		}
		return l.Front().Value.(*delivery).leave()
	}
	if !h.hopeless(at) {
		return nil
	}
	if l := &h.lanes[0]; l.Len() > 0 {
		return l.Front().Value.(*delivery).leave()
	}
	if d := h.lanes[1].Front().Value.(*delivery); at.Sub(d.since) >= giveUpAfter {
		return d.leave()
	}
	return nil
}

// report says what an attempt for d told of the host. It returns whether an
// operator should hear that the host is down now, or up, as it was not before.
func (h *receiver) report(d *delivery, down bool, begun, at time.Time) (turned bool) {
	if !down {
		turned, h.told = h.told, false
		h.failures, h.blamed, h.since, h.closed = 0, nil, time.Time{}, time.Time{}
		return turned
	}
	switch {
	case h.down() && begun.Before(h.closed):
		return false // no news: it began before
	case !h.down() && h.blamed == d:
		return false // one that fails by itself says nothing of others
	}
	if h.failures == 0 {
		h.since = begun
	}
	h.blamed = d
	if h.failures++; !h.down() {
		return false
	}
	pause := maxClosed
	if at.Sub(begun) < time.Second {
		pause = maxQuick
	}
	if n := h.failures - maxFailures; n < 6 {
		pause = min(minClosed<<n, pause)
	}
	h.closed = at.Add(pause/2 + rand.N(pause/2+1))
	if h.failures == maxFailures {
		_, h.told = h.downs.say(at)
		return h.told
	}
	return false
}

// leave takes a delivery out of its lane.
func (d *delivery) leave() *delivery {
	d.lane.Remove(d.at)
	d.lane, d.at = nil, nil
	return d
}

// murmur keeps a trouble of many from being as many lines in the log.
type murmur struct {
	last time.Time
	more int // that were not logged
}

const murmurEvery = time.Minute

// say reports whether to log, and how many were not logged before.
func (m *murmur) say(at time.Time) (more int, ok bool) {
	if !m.last.IsZero() && at.Sub(m.last) < murmurEvery {
		m.more++
		return 0, false
	}
	more = m.more
	m.last, m.more = at, 0
	return more, true
}
