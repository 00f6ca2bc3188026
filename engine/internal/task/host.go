package task

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"

	"github.com/google/uuid"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/engine/internal/stored"
	"github.com/parley-a2a/parley/internal/telemetry"
)

// host is an owner as its agent sees it.
type host Owner

var _ agent.Host = (*host)(nil)

func (h *host) first() *Post {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.turn.messages[0]
}

func (h *host) Message() *a2a.Message { return h.first().Message }
func (h *host) Accepted() []string    { return slices.Clone(h.first().From.Accepted) }
func (h *host) Metadata() a2a.JSON    { return h.first().From.Metadata }

// Caller has the tenant of the task, even if the request and not the credentials named it:
// after a restart nothing else is known.
func (h *host) Caller() a2a.Caller {
	h.mu.Lock()
	c, run := h.turn.messages[0].From.Caller, h.tracing.text
	h.mu.Unlock()
	if run.parent != "" {
		c.Trace, c.TraceState = run.parent, run.state
	}
	_, c.Tenant = AgentOf(h.key.Tenant)
	return c
}

func (h *host) Attempt() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return int(h.turn.attempt)
}

// Task returns the committed task plus what the agent has emitted since.
func (h *host) Task() *a2a.Task {
	o := (*Owner)(h)
	o.mu.Lock()
	defer o.mu.Unlock()
	task, last := o.topic.Snapshot()
	if task == nil { // lost to another owner, or to a store that fails
		task = &a2a.Task{}
	}
	for _, records := range o.out.unstored() {
		for _, r := range records {
			if seq := r.entry.Seq; seq == 0 || seq > last { // otherwise it is committed by now
				task.Apply(r.entry)
			}
		}
	}
	task.ID, task.ContextID = o.key.ID, o.contextID // after a direct answer there is nothing else
	return task
}

// Version is set before the agent runs, and constant.
func (h *host) Version() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.draft.version.String()
}

func (h *host) Status(state a2a.TaskState, message *a2a.Message) error {
	en := (*Owner)(h).status(state, message)
	if err := checkWords(en.Status.Status.Message); err != nil {
		return err
	}
	err := (*Owner)(h).emit(en)
	if err == nil && state == a2a.TaskStateFailed {
		(*Owner)(h).log().Info("agent failed the task") // its words are the client's
	}
	return err
}

// checkWords refuses a message that no client could read.
func checkWords(m *a2a.Message) error {
	if m == nil {
		return nil
	}
	err := m.Validate()
	if err == nil {
		err = checkParts(m.Parts)
	}
	if err != nil {
		return fmt.Errorf("engine: the agent's message is invalid: %w", err)
	}
	return nil
}

// MaxEmitted is the maximum size of one emission, in bytes: far more than is wise, but less
// than a store refuses, which would end the task.
const MaxEmitted = 32 << 20

func checkParts(parts []*a2a.Part) error {
	if n := stored.PartsSize(parts); n > MaxEmitted {
		return fmt.Errorf("%d bytes at once, the most is %d; write it in several chunks, or refer to it by a URL", n, MaxEmitted)
	}
	return stored.CheckScheme(parts, "parts")
}

func (h *host) Artifact(a *a2a.Artifact, add, last bool) error {
	err := a.Validate()
	if err == nil {
		err = checkParts(a.Parts)
	}
	if err != nil {
		return fmt.Errorf("engine: the agent's artifact is invalid: %w", err)
	}
	both := &struct { // one allocation
		entry    a2a.Entry
		artifact a2a.TaskArtifactUpdateEvent
	}{}
	both.artifact = a2a.TaskArtifactUpdateEvent{
		TaskID:    h.key.ID,
		ContextID: h.contextID,
		Artifact:  a,
		Append:    add,
		LastChunk: last,
	}
	both.entry = a2a.Entry{Kind: a2a.EntryArtifact, Artifact: &both.artifact}
	return (*Owner)(h).emit(&both.entry)
}

func (h *host) Reply(parts []*a2a.Part) error {
	o := (*Owner)(h)
	answer := &a2a.Message{MessageID: stored.NewID(), ContextID: o.contextID, Role: a2a.RoleAgent, Parts: parts}
	if err := checkWords(answer); err != nil {
		return err
	}
	o.mu.Lock()
	if o.out.exists || o.out.always || o.phase == phaseClosed || o.draft.state.Terminal() {
		o.mu.Unlock()
		return h.Status(a2a.TaskStateCompleted, &a2a.Message{Parts: parts})
	}
	defer o.mu.Unlock()
	// No task exists or ever will: anything else that the agent emits is too late.
	o.out.opening = nil
	if t := o.traceLocked(); t != nil {
		answer.Metadata = a2a.JSON(`{"` + a2a.TraceabilityKey + `":` + string(t.JSON()) + `}`)
		answer.Extensions = []string{a2a.TraceabilityURI}
	}
	o.draft.state = a2a.TaskStateCompleted
	o.overLocked()
	p := o.turn.messages[0]
	p.Reply = answer
	if p.Identity != nil {
		o.reply = p
		o.nudge()
		return nil
	}
	p.Settled.Give()
	return nil
}

func (h *host) Next(ctx context.Context, prompt []*a2a.Part) (*a2a.Message, error) {
	m, _, err := h.Elicit(ctx, prompt, nil)
	return m, err
}

var _ agent.Elicitor = (*host)(nil)

func (h *host) Elicited(changed []*a2a.Elicitation) error {
	en := (*Owner)(h).status(a2a.TaskStateWorking, nil)
	en.Status.Status.Elicitations = changed
	return (*Owner)(h).emit(en)
}

func (h *host) Elicit(ctx context.Context, prompt []*a2a.Part, changed []*a2a.Elicitation) (_ *a2a.Message, asked bool, _ error) {
	o := (*Owner)(h)
	question := o.status(a2a.TaskStateInputRequired, &a2a.Message{Parts: prompt})
	question.Status.Status.Elicitations = changed
	if err := checkWords(question.Status.Status.Message); err != nil {
		return nil, false, err
	}
	o.count(&o.parking.asking, 1)
	defer o.count(&o.parking.asking, -1)
	var wait asking
	for {
		o.mu.Lock()
		if err := o.endedLocked(); err != nil {
			o.mu.Unlock()
			return nil, asked, err // even if messages are left: their senders are told
		}
		if o.turn.taken < len(o.turn.messages) && !o.turn.messages[o.turn.taken].held {
			p := o.turn.messages[o.turn.taken]
			o.turn.taken++
			p.decided()
			o.mu.Unlock()
			wait.answered(p)
			return p.Message, asked, nil
		}
		if !asked && o.turn.taken >= len(o.turn.messages) { // otherwise the answer is on its way to the store
			asked = true
			if err := o.sayLocked(question); err != nil {
				o.mu.Unlock()
				return nil, asked, err
			}
		}
		wake := o.wake.Wait()
		o.mu.Unlock()
		if wait.at.IsZero() {
			wait = o.asks(telemetry.EventAsk)
		}
		select {
		case <-wake:
		case <-ctx.Done():
			return nil, asked, context.Cause(ctx)
		}
	}
}

func (o *Owner) count(waits *int, n int) {
	o.mu.Lock()
	*waits += n
	o.mu.Unlock()
}

func (h *host) Step(ctx context.Context, name string, fn func(context.Context) (a2a.JSON, error)) (a2a.JSON, error) {
	o := (*Owner)(h)
	o.mu.Lock()
	of := o.turn.steps.of(name)
	i, result := of.take()
	o.mu.Unlock()
	if i >= maxSteps {
		return nil, fmt.Errorf("engine: more than %d steps have the name %q", maxSteps, name)
	}
	ctx, traced := o.traceStep(ctx, name, i, result != nil)
	ctx, told := o.accountStep(ctx, name, result != nil)
	if result != nil {
		traced(nil)
		told(nil)
		o.all.Meters.step(ctx, o, "replayed")
		return result, nil
	}
	o.count(&o.parking.steps, 1)
	result, err := o.step(ctx, name, fn)
	traced(err)
	told(err)
	if err == nil {
		o.all.Meters.step(ctx, o, "done")
	} else {
		o.all.Meters.step(ctx, o, "failed")
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.parking.steps--
	if err == nil {
		s := of.entry(name, i, result)
		if err = o.sayLocked(&a2a.Entry{Kind: a2a.EntryStep, Step: s}); err == nil {
			o.turn.steps.replay(s) // for later runs here
			return result, nil
		}
	}
	of.release(i)
	o.parkLocked()
	return nil, err
}

// step runs fn and checks its result.
func (o *Owner) step(ctx context.Context, name string, fn func(context.Context) (a2a.JSON, error)) (a2a.JSON, error) {
	result, err := fn(ctx)
	if err != nil {
		return nil, err
	}
	if len(result) > MaxEmitted {
		return nil, fmt.Errorf("engine: the result of step %q has %d bytes, the most is %d", name, len(result), MaxEmitted)
	}
	if err := (&a2a.Artifact{ArtifactID: "step", Parts: []*a2a.Part{a2a.DataPart(result)}}).Validate(); err != nil {
		return nil, fmt.Errorf("engine: the result of step %q could not be read again: %w", name, err)
	}
	return result, nil
}

// NewArtifactID derives the id from what is the same on every attempt: the task, the message
// that began the turn, the artifact's place in the turn, and how often the task was reopened,
// because clients reuse message ids.
func (h *host) NewArtifactID(n int) string {
	from := append(make([]byte, 0, 128), h.key.ID...) // this stays on the stack
	from = append(append(append(from, 0), h.Message().MessageID...), 0)
	from = strconv.AppendInt(from, int64(n), 10)
	h.mu.Lock()
	again := h.draft.reopened
	h.mu.Unlock()
	if again > 0 {
		from = strconv.AppendInt(append(from, 0), int64(again), 10)
	}
	sum := sha256.Sum256(from)
	id := uuid.UUID(sum[:16])
	id[6] = id[6]&0x0f | 0x80 // version 8: made by a rule of our own
	id[8] = id[8]&0x3f | 0x80
	return id.String()
}

func (h *host) References(ctx context.Context) ([]*a2a.Task, error) {
	var out []*a2a.Task
	ids := h.Message().ReferenceTaskIDs
	for i, id := range ids {
		if slices.Contains(ids[:i], id) {
			continue // return each task once: it may be large
		}
		key := h.key
		key.ID = id
		var task *a2a.Task
		err := h.all.Topics.Lasting(ctx, func() (err error) {
			task, _, err = h.all.Topics.Load(ctx, key)
			return err
		})
		switch {
		case errors.Is(err, a2a.ErrTaskNotFound):
			continue // not specified; other implementations go on, too
		case err != nil:
			return nil, err
		}
		out = append(out, task)
	}
	return out, nil
}

func (h *host) Siblings(ctx context.Context) iter.Seq2[*a2a.Task, error] {
	return h.all.Topics.Siblings(ctx, h.key, h.contextID)
}
