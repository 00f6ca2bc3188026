package task

import (
	"fmt"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/engine/internal/place"
	"github.com/parley-a2a/parley/internal/telemetry/metrics"
)

// Limits bound what tasks may use. Zero or negative fields mean no limit.
type Limits struct {
	// Running is how many tasks may be at work at a time, and RunningPerOwner how many of one
	// caller. The latter counts the tasks in the tenant that the caller's credentials name, or
	// in all tenants if they name none, because such a caller may name any tenant. A message
	// for one more is refused with RateLimited. A task that waits for its client does not
	// count. Tasks that are taken up after a restart count, but are never refused.
	Running, RunningPerOwner int
	// Messages is how many messages a task takes from its client; one more is refused with
	// UnsupportedOperation.
	Messages int
	// TaskBytes bounds the log of a task, and ArtifactBytes each of its artifacts, in bytes.
	// Parts, metadata and the results of steps count, and in the log 64 bytes for each entry.
	// If an agent goes beyond, its task fails. A message that would is refused with TooLarge,
	// unless it is the task's first. What a run before a crash wrote is in the log, too.
	TaskBytes, ArtifactBytes int64
	// Wall is how long a task may be at work over all its turns, not counting the time for
	// which it waits for its client. After that its agent is told to stop (agent.ErrTimeout),
	// has CancelWait to do so, and the task fails. After a restart the time is computed from
	// the log, from its first entry to its last. If the task may have waited for a process
	// (Capacity), the time from a client's message to the agent's next entry is left out.
	Wall time.Duration
}

// retryRunning is when a refused sender should try again: nobody knows when a task will be
// over.
const retryRunning = time.Second

func errBusy(cause error, format string, most int) error {
	return &a2a.Error{Code: a2a.CodeRateLimited, Message: fmt.Sprintf(format, most), RetryAfter: retryRunning, Cause: cause}
}

// askLocked asks whether the task may be at work here because of p. must means that only this
// process can go on with it. If here is false, the task waits in the store. Unlocking gives
// back a place that is not used.
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
