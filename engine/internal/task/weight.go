package task

import (
	"fmt"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/engine/internal/stored"
)

// sayLocked is emitLocked for events of the agent. If the event exceeds a limit, the task
// fails; otherwise the authorization is told of it.
func (o *Owner) sayLocked(en *a2a.Entry) error {
	if o.phase == phaseYielding {
		return agent.ErrEnded // it runs again elsewhere
	}
	if err := o.exceedsLocked(en); err != nil {
		if err := o.emitLocked(o.failure(err.Reason)); err != nil {
			return err
		}
		o.log().Info("task failed", "reason", err.Reason)
		o.ctx.end(err)
		return err
	}
	if err := o.emitLocked(en); err != nil {
		return err
	}
	o.auth.spoke(en)
	return nil
}

// exceedsLocked returns an error if the task would be too large with en, an entry of its
// agent's.
func (o *Owner) exceedsLocked(en *a2a.Entry) *agent.PublicError {
	l := o.all.limits.Load()
	if o.phase == phaseClosed || o.draft.state.Terminal() {
		return nil
	}
	if most := l.TaskBytes; most > 0 && o.mem.weight+stored.Weight(en) > most {
		return tooLarge("the task", most)
	}
	if most := l.ArtifactBytes; most > 0 && en.Kind == a2a.EntryArtifact {
		a := en.Artifact.Artifact
		size := int64(a.Size())
		if en.Artifact.Append {
			was, _ := o.draft.artifacts.get(a.ArtifactID)
			size += was.size
		}
		if size > most {
			return tooLarge("an artifact of the task", most)
		}
	}
	return nil
}

func tooLarge(what string, most int64) *agent.PublicError {
	return &agent.PublicError{Reason: fmt.Sprintf("%s grew beyond the limit of %d bytes", what, most), Cause: agent.ErrTooLarge}
}
