package outbox

import (
	"container/list"
	"encoding/json"
	"time"

	"github.com/parley-a2a/parley/store"
)

// subscriber is a caller with webhooks, across all agents. Subscribers take turns, and within
// each its receivers do. But turns only decide which attempt begins next, and an attempt that
// hangs keeps its slot for attemptTime. So there is also a limit on the attempts of one
// subscriber while others want more, and a reserve for subscribers that have few. Protected by
// Outbox.mu.
type subscriber struct {
	key     store.Key
	hosts   map[string]*receiver
	running int
	probing int       // of running, to hosts that may be down
	debt    time.Time // the end of its debt: see charge
	hung    time.Time // when an attempt last took slowAttempt or longer

	rings  [2]list.List     // of *receiver with something to begin: those that are up, and those that may be down
	places [2]*list.Element // in each of Outbox.rings
}

// An attempt that takes slowAttempt or longer is charged to its subscriber, whose debt shrinks
// as time passes. A few dead receivers cost no more than one attempt that hangs all the time,
// and a few more at first; a debt beyond that is a burden.
const (
	slowAttempt = 2 * time.Second
	burden      = time.Minute
	remembered  = 5 * time.Minute // debt is never more, and a hang is remembered for as long
)

// subscriberOf returns the caller that a configuration belongs to. A caller whose credentials
// name no tenant may choose another tenant with each request, but counts as one subscriber. All
// anonymous callers count as one, too. Configurations stored by a version that did not keep the
// tenant of the credentials count as if there was none.
func subscriberOf(p *store.PushConfig) store.Key {
	var k kept
	_ = json.Unmarshal(p.Body, &k) // the delivery reports the error
	return store.Key{Tenant: k.Tenant, Owner: p.Owner}
}

// hostLocked returns the receiver that a configuration is delivered to.
func (o *Outbox) hostLocked(p *store.PushConfig) *receiver {
	k := subscriberOf(p)
	s := o.subscribers[k]
	if s == nil {
		s = &subscriber{key: k, hosts: map[string]*receiver{}}
		o.subscribers[k] = s
	}
	h := s.hosts[p.Host]
	if h == nil {
		h = &receiver{name: p.Host, of: s}
		s.hosts[p.Host] = h
	}
	return h
}

// tidyLocked forgets a receiver that is no longer needed. One that is down is kept until its
// pause is over.
func (o *Outbox) tidyLocked(h *receiver) {
	s := h.of
	if h.refs == 0 && h.running == 0 && !h.skipped && h.closedFor(o.e.Now()) <= 0 && s.hosts[h.name] == h {
		o.withdrawLocked(h)
		delete(s.hosts, h.name)
		o.partLocked(s)
	}
}

// partLocked forgets a subscriber that has no receivers and of which no attempt hung lately.
func (o *Outbox) partLocked(s *subscriber) {
	if len(s.hosts) == 0 && o.e.Now().Sub(s.hung) >= remembered {
		delete(o.subscribers, s.key)
	}
}

// charge notes that an attempt took so long.
func (s *subscriber) charge(took time.Duration, at time.Time) {
	if took < slowAttempt {
		return
	}
	s.hung = at
	if s.debt.Before(at) {
		s.debt = at
	}
	s.debt = s.debt.Add(took)
	if most := at.Add(remembered); s.debt.After(most) {
		s.debt = most
	}
}

// burdens reports whether attempts of the subscriber have hung for longer than a few dead
// receivers explain.
func (s *subscriber) burdens(at time.Time) bool { return s.debt.Sub(at) > burden }

// offerLocked puts a receiver and its subscriber in the ring where they belong, if a delivery
// might begin there.
func (o *Outbox) offerLocked(h *receiver) {
	if h.empty() || h.running >= h.most(o.e.Now()) {
		return
	}
	k, s := h.ring(), h.of
	if h.place != nil {
		if h.in == k {
			return
		}
		o.withdrawLocked(h)
	}
	h.place, h.in = s.rings[k].PushBack(h), k
	if s.places[k] == nil {
		s.places[k] = o.rings[k].PushBack(s)
	}
}

// withdrawLocked takes a receiver out of its ring, and its subscriber if that was the last
// receiver there.
func (o *Outbox) withdrawLocked(h *receiver) {
	if h.place == nil {
		return
	}
	k, s := h.in, h.of
	s.rings[k].Remove(h.place)
	h.place = nil
	if s.rings[k].Len() == 0 {
		o.rings[k].Remove(s.places[k])
		s.places[k] = nil
	}
}

// nextLocked takes the delivery whose turn it is; nil means that none can begin. No subscriber
// gets more than a quarter of all attempts while another one with fewer can begin one.
// Receivers that are up alternate with those that may be down.
func (o *Outbox) nextLocked(at time.Time) *delivery {
	for _, most := range [...]int{mostPosts / 4, mostPosts} {
		for range o.rings {
			o.turn = 1 - o.turn
			if d := o.takeLocked(o.turn, most, at); d != nil {
				return d
			}
		}
	}
	return nil
}

// takeLocked is nextLocked for one of the rings and subscribers that have less
// than most under way.
func (o *Outbox) takeLocked(k, most int, at time.Time) *delivery {
	for e := o.rings[k].Front(); e != nil; {
		s := e.Value.(*subscriber)
		next := e.Next() // e may be removed
		for s.places[k] != nil && o.mayLocked(s, k, most, at) {
			h := s.rings[k].Front().Value.(*receiver)
			o.rings[k].MoveToBack(e)
			o.withdrawLocked(h)
			if h.ring() != k {
				o.offerLocked(h) // the receiver went down, or up, meanwhile
			} else if d := h.next(at); d != nil {
				return d
			} else {
				o.alarmLocked(h, at)
			}
		}
		e = next
	}
	return nil
}

// mayLocked reports whether a subscriber may begin one more attempt. At most half of its
// attempts may be to hosts that may be down, which leaves room for those that are up. A
// subscriber that burdens others gets no more than a quarter of all even while no other waits,
// because others may come at any time.
func (o *Outbox) mayLocked(s *subscriber, k, most int, at time.Time) bool {
	if s.burdens(at) && len(o.subscribers) > 1 {
		most = min(most, mostPosts/4)
	}
	return s.running < most && s.admits(s.running, o.running, mostPosts, at) &&
		(k == 0 || s.probing < most/2 && s.admits(s.probing, o.probing, mostPosts/2, at))
}

// admits reports whether there is a slot for a subscriber that has some of the used slots. If
// all are in use, there is a reserve of a quarter more: one slot for each subscriber that has
// nothing under way and of which nothing hung lately. So it takes very many callers to leave
// another one without a slot.
func (s *subscriber) admits(has, used, of int, at time.Time) bool {
	return used < of || used < of+of/4 && has == 0 && at.Sub(s.hung) >= remembered
}
