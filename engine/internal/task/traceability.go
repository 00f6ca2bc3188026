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

// account collects the trace of a run for a client that asked for the traceability extension.
// The owner's lock protects it. The trace is an artifact in the same append as the task's end,
// so that a reader that sees the end has it, even after a crash. A direct answer has it in its
// metadata.
type account struct {
	began time.Time
	steps []a2a.TraceStep
	next  int // the last id
	more  int // number of steps that are left out
}

// maxAccount is how many steps a trace lists: more than people read and, at some 400 bytes
// each, no burden for the task.
const maxAccount = 500

// accountLocked begins the account of a run, if the client asked for one and the card
// offers it.
func (o *Owner) accountLocked() {
	o.turn.account = nil
	if a := o.all.Agent(o.key); a != nil && a.accounts && slices.Contains(o.turn.messages[0].From.Caller.Extensions, a2a.TraceabilityURI) {
		o.turn.account = &account{began: o.all.Now()}
	}
}

// accountStep begins a step, and the returned function ends it. Both do nothing if the client
// did not ask for a trace.
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

// traceLocked returns the trace so far; nil if the client did not ask for one.
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
	if is := o.titled(); is.kind == "proxy" { // a proxy's steps are bookkeeping: all it did was one call
		end := o.all.Now()
		t.Steps = []a2a.TraceStep{{
			StepID: "1", CallType: "AGENT", Action: a2a.TraceAction{Agent: &a2a.TracedAgent{Name: is.name}},
			Start: a.began, End: end, Latency: end.Sub(a.began).Milliseconds(),
		}}
	}
	slices.SortFunc(t.Steps, func(a, b a2a.TraceStep) int { // in the order in which they began
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

// accountForLocked emits the trace before the entry that ends the task.
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
