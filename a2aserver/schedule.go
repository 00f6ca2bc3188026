package a2aserver

import (
	"container/heap"
	"sync"
	"time"
)

// schedule calls a server's long calls back at set times, with one timer for all of
// them. Times are since the server's start.
type schedule struct {
	started time.Time

	mu    sync.Mutex // protects the fields below
	queue alarms
	timer *time.Timer
	next  time.Duration // when the timer goes off; 0 if it is not set
}

// alarm is the next time at which a call is called back.
type alarm struct {
	at    time.Duration
	place int // in the queue, from 1; 0: not in it
	over  bool
	who   alarmed
}

// alarmed is called back at its time, and returns the next time: 0 means never. The
// schedule waits for it, so it must not block.
type alarmed interface {
	due(now time.Duration) (again time.Duration)
}

func (s *schedule) now() time.Duration { return time.Since(s.started) }

// set replaces the time of an alarm. It does nothing after end.
func (s *schedule) set(a *alarm, at time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.setLocked(a, at)
	s.wakeLocked()
}

func (s *schedule) setLocked(a *alarm, at time.Duration) {
	switch {
	case a.over || at <= 0:
		s.removeLocked(a)
	case a.place == 0:
		a.at = at
		heap.Push(&s.queue, a)
	default:
		a.at = at
		heap.Fix(&s.queue, a.place-1)
	}
}

func (s *schedule) removeLocked(a *alarm) {
	if a.place > 0 {
		heap.Remove(&s.queue, a.place-1)
	}
}

// end removes an alarm for good.
func (s *schedule) end(a *alarm) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a.over = true
	s.removeLocked(a)
	if len(s.queue) == 0 && s.next != 0 {
		s.timer.Stop()
		s.next = 0
	}
}

// run is called when the timer goes off.
func (s *schedule) run() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next = 0
	now := s.now()
	for len(s.queue) > 0 && s.queue[0].at <= now {
		a := s.queue[0]
		again := a.who.due(now)
		if again > 0 {
			again = max(again, now+time.Millisecond) // even if the options ask for less
		}
		s.setLocked(a, again)
	}
	s.wakeLocked()
}

// wakeLocked sets the timer to the first alarm, unless it goes off before.
func (s *schedule) wakeLocked() {
	if len(s.queue) == 0 || s.next != 0 && s.next <= s.queue[0].at {
		return
	}
	s.next = s.queue[0].at
	if wait := s.next - s.now(); s.timer == nil {
		s.timer = time.AfterFunc(wait, s.run)
	} else {
		s.timer.Reset(wait)
	}
}

// alarms is a heap of alarms that know their places in it.
type alarms []*alarm

func (q alarms) Len() int           { return len(q) }
func (q alarms) Less(i, j int) bool { return q[i].at < q[j].at }

func (q alarms) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].place, q[j].place = i+1, j+1
}

func (q *alarms) Push(a any) {
	*q = append(*q, a.(*alarm))
	(*q)[len(*q)-1].place = len(*q)
}

func (q *alarms) Pop() any {
	last := len(*q) - 1
	a := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	a.place = 0
	return a
}
