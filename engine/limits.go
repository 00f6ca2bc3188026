package engine

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/store"
)

// Limits bound what tasks may take. Zero fields mean their default, negative
// ones no limit.
type Limits struct {
	// Running is how many tasks may be at work at a time, and RunningPerOwner
	// how many of one owner: in the tenant that its credentials name, or in all of
	// them where they name none, for then it names any it likes. A message for one more is refused with
	// RateLimited; one that waits for its client does not count. Tasks that are
	// taken up after a restart count, and are never refused. Zero means no limit.
	Running, RunningPerOwner int
	// Messages is how many messages of its client a task takes; one more is
	// refused with UnsupportedOperation. Zero means no limit.
	Messages int
	// TaskBytes is how large the log of a task may grow, and ArtifactBytes one of
	// its artifacts, in bytes: what its parts, metadata and steps hold, and in the
	// log 64 for each entry. An agent that goes beyond fails its task; a message
	// that does is refused with TooLarge, unless it is the task's first. What a
	// run before a crash wrote is in the log, too. Zero means no limit.
	TaskBytes, ArtifactBytes int64
	// Wall is how long a task may be at work, over all its turns, without the
	// time for which it waits for its client. Then its agent is told to stop
	// (agent.ErrTimeout) and has CancelWait to do so, and the task fails. After a
	// restart the log tells how long it was, from its first entry to its last; where
	// it may have waited for a process (Capacity), without the time from a message
	// of its client to what the agent says next.
	// Zero means no limit.
	Wall time.Duration
}

func (o *Options) limits() *Limits {
	if o == nil {
		return &Limits{}
	}
	return &o.Limits
}

// retryRunning is when it makes sense to ask for room again: nobody knows when a
// task will be over.
const retryRunning = time.Second

// tally counts the tasks at work, where that is limited.
type tally struct {
	limits *atomic.Pointer[Limits]
	always bool // constant: limits may be set later

	mu  sync.Mutex // protects the fields below
	all int
	of  map[store.Key]int // a Key without ID → how many
	by  map[string]int    // an owner → how many in all tenants
}

func newTally(l *atomic.Pointer[Limits], always bool) *tally {
	return &tally{limits: l, always: always, of: map[store.Key]int{}, by: map[string]int{}}
}

func (t *tally) off(l *Limits) bool {
	return !t.always && l.Running <= 0 && l.RunningPerOwner <= 0
}

// scopeOf returns where the tasks of an owner are counted: whichever agent's they
// are.
func scopeOf(k store.Key) store.Key {
	k = k.Scope()
	_, k.Tenant = AgentOf(k.Tenant)
	return k
}

// reserve counts one more task of a caller, if there is room.
func (t *tally) reserve(k store.Key, c *a2a.Caller) error {
	l := t.limits.Load()
	if t.off(l) {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	has := t.of[scopeOf(k)]
	if c.Tenant == "" {
		has = t.by[k.Owner]
	}
	switch {
	case l.RunningPerOwner > 0 && has >= l.RunningPerOwner:
		return errBusy("you have %d tasks at work, the most that one caller may have; wait until one is over, or cancel it", l.RunningPerOwner)
	case l.Running > 0 && t.all >= l.Running:
		return errBusy("this agent has %d tasks at work, the most that it takes; try again later", l.Running)
	}
	t.addLocked(k, 1)
	return nil
}

// add counts one more task or, with -1, one less.
func (t *tally) add(k store.Key, n int) {
	if t.off(t.limits.Load()) {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.addLocked(k, n)
}

func (t *tally) addLocked(k store.Key, n int) {
	t.all += n
	if t.limits.Load().RunningPerOwner <= 0 && !t.always {
		return
	}
	k = scopeOf(k)
	if t.of[k] += n; t.of[k] == 0 {
		delete(t.of, k)
	}
	if t.by[k.Owner] += n; t.by[k.Owner] == 0 {
		delete(t.by, k.Owner)
	}
}

func errBusy(format string, most int) error {
	return &a2a.Error{Code: a2a.CodeRateLimited, Message: fmt.Sprintf(format, most), RetryAfter: retryRunning}
}

// reserveLocked counts the task because of a message that may let it be at work, or
// says why not. What nothing comes of is given back when the lock is.
func (o *owner) reserveLocked(p *post) error {
	if o.phase == phaseYielding || o.adm.counted { // it will not be at work here, or is
		return nil
	}
	err := o.e.tally.reserve(o.key, &p.from.caller)
	o.adm.counted = err == nil
	return err
}

// errMessages refuses a message because of Limits.Messages.
func errMessages(id string, most int) error {
	return &a2a.Error{
		Code:    a2a.CodeUnsupportedOperation,
		Message: fmt.Sprintf("the task has taken %d messages, the most that one takes; start a new one in the same context", most),
		Meta:    map[string]string{"taskId": id},
	}
}
