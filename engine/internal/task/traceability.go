package task

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/telemetry"
)

// account is what a run tells a client that asked for the traceability extension. The
// owner's lock protects it. The trace is an artifact beside the end of the task, in the
// same append, so a reader that sees the end has it, also after a crash; a direct answer
// has it in its metadata.
type account struct {
	began time.Time
	steps []a2a.TraceStep
	next  int // ids
	more  int // steps that are left out
}

// maxAccount is how many steps a client is told of: more than people read, and at some
// 400 bytes each no burden for the task.
const maxAccount = 500

// accountLocked begins the account of a run, if the client asked for one and the card
// offers it.
func (o *Owner) accountLocked() {
	o.turn.account = nil
	if a := o.all.Agent(o.key); a != nil && a.accounts && slices.Contains(o.turn.messages[0].From.Caller.Extensions, a2a.TraceabilityURI) {
		o.turn.account = &account{began: o.all.Now()}
	}
}

// accountStep begins a step. The function ends it; both do nothing if nobody asked.
func (o *Owner) accountStep(ctx context.Context, name string, replayed bool) (context.Context, func(error)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	a := o.turn.account
	if a == nil {
		return ctx, func(error) {}
	}
	a.next++
	is := &telemetry.Doing{ID: strconv.Itoa(a.next), Tool: name}
	step := a2a.TraceStep{StepID: is.ID, Start: o.all.Now(), CallType: "TOOL"}
	if around := telemetry.DoingIn(ctx); around != nil {
		step.ParentStepID = around.ID
	}
	return telemetry.WithDoing(ctx, is), func(err error) {
		o.mu.Lock()
		defer o.mu.Unlock()
		if len(a.steps) == maxAccount {
			a.more++
			return
		}
		step.End = o.all.Now()
		step.Latency = step.End.Sub(step.Start).Milliseconds()
		step.TotalTokens = is.Tokens
		step.Action.Tool = &a2a.TracedTool{Name: telemetry.Text("", is.Tool).Value.AsString()}
		switch {
		case replayed:
			step.Attributes = map[string]string{"replayed": "true"}
		case err != nil:
			step.Attributes = map[string]string{"recorded": "false"}
		}
		a.steps = append(a.steps, step)
	}
}

// traceLocked is the account as it stands; nil if nobody asked.
func (o *Owner) traceLocked() *a2a.ResponseTrace {
	a := o.turn.account
	if a == nil {
		return nil
	}
	t := &a2a.ResponseTrace{TraceID: o.key.ID, Steps: append([]a2a.TraceStep{}, a.steps...)}
	if caller := o.turn.messages[0].From.Caller; caller.Trace != "" {
		if c := textOf(&caller).context(); c.IsValid() {
			t.TraceID = c.TraceID().String()
		}
	}
	if is := o.titled(); is.kind == "proxy" { // its steps are bookkeeping: what it did was one call
		end := o.all.Now()
		t.Steps = []a2a.TraceStep{{
			StepID: "1", CallType: "AGENT", Action: a2a.TraceAction{Agent: &a2a.TracedAgent{Name: is.name}},
			Start: a.began, End: end, Latency: end.Sub(a.began).Milliseconds(),
		}}
	}
	slices.SortFunc(t.Steps, func(a, b a2a.TraceStep) int { // as they began
		return cmp.Or(cmp.Compare(len(a.StepID), len(b.StepID)), cmp.Compare(a.StepID, b.StepID))
	})
	for i := range t.Steps {
		t.Steps[i].TraceID = t.TraceID
	}
	if a.more > 0 && len(t.Steps) == maxAccount {
		t.Steps[len(t.Steps)-1].Attributes = map[string]string{"steps_left_out": strconv.Itoa(a.more)}
	}
	return t
}

// accountForLocked puts the account before the entry that ends the task.
func (o *Owner) accountForLocked(end *a2a.Entry) error {
	if o.turn.account == nil || end.Kind != a2a.EntryStatus || !end.Status.Status.State.Terminal() || o.draft.state.Terminal() {
		return nil
	}
	t := o.traceLocked()
	o.turn.account = nil
	err := o.emitLocked(&a2a.Entry{Kind: a2a.EntryArtifact, Artifact: &a2a.TaskArtifactUpdateEvent{
		TaskID: o.key.ID, ContextID: o.contextID, LastChunk: true,
		Artifact: &a2a.Artifact{
			ArtifactID: a2a.TraceabilityKey, Name: "traceability", Extensions: []string{a2a.TraceabilityURI},
			Parts: []*a2a.Part{a2a.DataPart(t.JSON())},
		},
	}})
	if err == nil {
		o.out.pending[len(o.out.pending)-1].tied = true
	}
	return err
}
