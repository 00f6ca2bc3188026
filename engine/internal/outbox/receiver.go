package outbox

import (
	"container/list"
	"math/rand/v2"
	"time"
)

// receiver is a host on which a subscriber has webhooks. Its circuit breaker limits what a dead
// host costs: after some failures in a row, of several configurations, nothing is tried for a
// while; then one delivery finds out whether the host is back. Each subscriber has its own
// circuit breaker for a host, because many may use the host and what fails for one says nothing
// about the others. Protected by Outbox.mu.
type receiver struct {
	name    string
	of      *subscriber
	refs    int           // deliveries in memory to this host
	pending int           // of them, those that are not idle
	lanes   [2]list.List  // of *delivery, ready: those that did not fail when last tried, and those that did
	turn    int8          // see next
	place   *list.Element // in a ring of its subscriber; nil: in none
	in      int           // the ring that place is in
	skipped bool          // some of its configurations are not in memory
	alarm   *delivery     // in Outbox.waiting, if a delivery waits for the circuit
	running int

	failures int       // in a row, of the kind that means that the host is down
	blamed   *delivery // the delivery that failed last
	since    time.Time // when the failures began
	closed   time.Time // nothing is tried before this

	told     bool // the log says that the host is down
	downs    murmur
	givenUp  murmur
	disabled murmur
}

// failing returns the lane in which a delivery waits.
func (d *delivery) failing() int {
	if d.since.IsZero() {
		return 0
	}
	return 1
}

// The circuit opens after maxFailures in a row: for minClosed at first, then for twice as long
// after each attempt that fails, up to maxClosed. For a host that fails quickly the limit is
// maxQuick, because it costs less and may serve others well.
const (
	maxFailures = 5
	minClosed   = time.Second
	maxClosed   = time.Minute
	maxQuick    = 5 * time.Second
)

func (h *receiver) empty() bool { return h.lanes[0].Len()+h.lanes[1].Len() == 0 }

// down reports whether the host is assumed to be down.
func (h *receiver) down() bool { return h.failures >= maxFailures }

// ring returns the ring in which the host waits for its turn.
func (h *receiver) ring() int {
	if h.down() {
		return 1
	}
	return 0
}

// hopeless reports whether the host has been down for so long that deliveries that have waited
// since then are given up after one attempt. They do not wait for the circuit, or there would
// be no end to it.
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

// most returns how many attempts may run at a time: one, which finds out for all, while the
// host may be down.
func (h *receiver) most(at time.Time) int {
	if h.down() && !h.hopeless(at) {
		return 1
	}
	return postsPerHost
}

// next takes the delivery whose turn it is, or returns nil. The lanes take turns, so that
// failed deliveries do not keep others waiting. Nor do many untried ones that would fail: while
// the host may be down, the one that waited longest alternates with the one that waited least.
// The first success opens the host for all.
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

// report notes what an attempt for d says about the host. It returns whether to tell operators
// that the host is down or up again.
func (h *receiver) report(d *delivery, down bool, begun, at time.Time) (turned bool) {
	if !down {
		turned, h.told = h.told, false
		h.failures, h.blamed, h.since, h.closed = 0, nil, time.Time{}, time.Time{}
		return turned
	}
	switch {
	case h.down() && begun.Before(h.closed):
		return false // no news: the attempt began before the pause
	case !h.down() && h.blamed == d:
		return false // one configuration that fails by itself says nothing about others
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

// murmur keeps a failure of many deliveries from filling the log.
type murmur struct {
	last time.Time
	more int // failures that were not logged
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
