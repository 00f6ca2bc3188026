package task

import (
	"fmt"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/engine/internal/place"
	"github.com/parley-a2a/parley/engine/internal/stored"
	"github.com/parley-a2a/parley/internal/telemetry/metrics"
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

// retryRunning is when it makes sense to ask for room again: nobody knows when a
// task will be over.
const retryRunning = time.Second

func errBusy(cause error, format string, most int) error {
	return &a2a.Error{Code: a2a.CodeRateLimited, Message: fmt.Sprintf(format, most), RetryAfter: retryRunning, Cause: cause}
}

// askLocked asks whether the task may be at work here because of a message. must is
// for what only this process can go on with. If it may not it waits in the store, or
// the message is refused. Places that come to nothing are given back with the lock.
func (o *Owner) askLocked(p *Post, must bool) (here bool, _ error) {
	if o.phase == phaseYielding {
		return false, nil
	}
	o.adm.asked = true
	switch o.all.Admission.Ask(&o.adm.ticket, ScopeOf(o.key), p.From.Caller.Tenant == "", must) {
	case place.Yes:
		return true, nil
	case place.Wait:
		return false, nil
	case place.OwnerFull:
		return false, errBusy(metrics.LimitRunningPerCaller, "you have %d tasks at work, the most that one caller may have; wait until one is over, or cancel it", o.all.limits.Load().RunningPerOwner)
	default:
		return false, errBusy(metrics.LimitRunning, "this agent has %d tasks at work, the most that it takes; try again later", o.all.limits.Load().Running)
	}
}

// errMessages refuses a message because of Limits.Messages.
func errMessages(id string, most int) error {
	return stored.About(id, a2a.CodeUnsupportedOperation, "the task has taken %d messages, the most that one takes; start a new one in the same context", most)
}
