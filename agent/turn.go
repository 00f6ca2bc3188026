package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"sync"

	"github.com/parley-a2a/parley/a2a"
)

// Turn is an author's side of one run: the message that came in, and the methods to
// answer it. They may be called from several goroutines, until Run returns.
type Turn struct {
	host Host

	mu        sync.Mutex // protects artifacts
	artifacts int        // begun so far
}

// NewTurn joins a turn to its host. Only engines call it; authors do not, even in
// tests.
func NewTurn(h Host) *Turn { return &Turn{host: h} }

// Message returns the message of this turn. It must not be changed.
func (t *Turn) Message() *a2a.Message { return t.host.Message() }

// Text returns the text of the message's first text part, or "". Message has all parts.
func (t *Turn) Text() string { return t.host.Message().Text() }

// Skill returns the skill that the message names by its id, with its arguments, or nil
// if it names none (docs/extensions/skills-v1.md). If the agent's card has a schema for
// the arguments, they are valid against it.
func (t *Turn) Skill() *a2a.SkillCall {
	call, err := t.host.Message().Skill()
	if err != nil {
		return nil // the card does not offer skills, so the call was not checked
	}
	return call
}

// Task returns a copy of the task so far. It has its id even before others can see it.
func (t *Turn) Task() *a2a.Task { return t.host.Task() }

// AcceptedOutputModes returns the media types that the client accepts; none means any.
func (t *Turn) AcceptedOutputModes() []string { return t.host.Accepted() }

// Metadata returns the metadata of the request that brought the message, an object or
// empty. The message has metadata of its own.
func (t *Turn) Metadata() a2a.JSON { return t.host.Metadata() }

// Caller returns who sent the message.
func (t *Turn) Caller() a2a.Caller { return t.host.Caller() }

// Version returns the protocol version in which the task was created: "0.1", "0.3"
// (which stands for 0.2, too) or "1.0". Few agents need it, because every client is
// answered in its own version.
func (t *Turn) Version() string { return t.host.Version() }

// Attempt is 1 on the first run of this turn, and one higher on each run after
// a crash or a drain.
func (t *Turn) Attempt() int { return t.host.Attempt() }

// References returns the caller's earlier tasks that the message refers to
// (referenceTaskIds). Ids that belong to no task of the caller are left out.
func (t *Turn) References(ctx context.Context) ([]*a2a.Task, error) { return t.host.References(ctx) }

// Siblings yields the caller's other tasks in the same context, newest first.
func (t *Turn) Siblings(ctx context.Context) iter.Seq2[*a2a.Task, error] {
	return t.host.Siblings(ctx)
}

// Status reports that the task is being worked on. text becomes its status message; ""
// means none.
func (t *Turn) Status(text string) error {
	return t.host.Status(a2a.TaskStateWorking, textMessage(text))
}

// StatusMessage is Status with a message of any parts and metadata, or nil. The turn
// sets the message's role and ids.
func (t *Turn) StatusMessage(m *a2a.Message) error {
	return t.host.Status(a2a.TaskStateWorking, fromAgent(m))
}

// Reply answers with a direct message of one text part and creates no task. If the task
// exists already, as it does 100 ms after the message came, Reply completes it with
// that status message. Return its result from Run.
func (t *Turn) Reply(text string) error { return t.host.Reply([]*a2a.Part{a2a.TextPart(text)}) }

// ReplyParts is Reply with any parts, at least one.
func (t *Turn) ReplyParts(parts ...*a2a.Part) error { return t.host.Reply(parts) }

// Complete ends the task as completed. text becomes its status message; "" means none.
// Unlike Reply it always makes a task. Return its result from Run.
func (t *Turn) Complete(text string) error {
	return t.host.Status(a2a.TaskStateCompleted, textMessage(text))
}

// Reject declines the task with a reason for the caller. Return its result
// from Run.
func (t *Turn) Reject(reason string) error {
	return t.host.Status(a2a.TaskStateRejected, textMessage(reason))
}

// Fail ends the task as failed with a reason for the caller. Return its result
// from Run.
func (t *Turn) Fail(reason string) error {
	return t.host.Status(a2a.TaskStateFailed, textMessage(reason))
}

// End ends the task in a terminal state, with a message as for StatusMessage, or nil.
// Complete, Reject and Fail do this with a text. A state that is not terminal is an
// error. Return its result from Run.
func (t *Turn) End(state a2a.TaskState, m *a2a.Message) error {
	if !state.Terminal() {
		return fmt.Errorf("agent: %s does not end a task", state)
	}
	return t.host.Status(state, fromAgent(m))
}

// Ask puts a question to the client and returns the client's next message. Until then
// the task is input-required, without a time limit. If the client has sent a message
// while the task was at work, Ask returns it at once, without asking. After a crash Run
// starts from the top and the n-th Ask returns the n-th recorded answer. The error is
// the cause of ctx, or ErrEnded: return it from Run.
func (t *Turn) Ask(ctx context.Context, question string) (*a2a.Message, error) {
	return t.AskParts(ctx, a2a.TextPart(question))
}

// AskParts is Ask with any parts, at least one.
func (t *Turn) AskParts(ctx context.Context, parts ...*a2a.Part) (*a2a.Message, error) {
	return t.host.Next(ctx, parts)
}

// Artifact begins an artifact with this name, which may be "". Nothing is emitted
// before the first write.
func (t *Turn) Artifact(name string) *Artifact {
	t.mu.Lock()
	n := t.artifacts
	t.artifacts++
	t.mu.Unlock()
	return &Artifact{host: t.host, id: t.host.NewArtifactID(n), name: name}
}

// Step runs fn once per task and returns its result; on a run after a crash it returns
// the recorded result without calling fn. If the process dies between fn's end and the
// record, fn runs again: make it idempotent if that matters. Results are stored as
// JSON; a result that cannot be is an error, after fn has run. An error of fn is
// returned and not recorded: Retry tries fn again.
//
// A step is identified by its name and by how often that name occurred before in the
// turn, so steps of different names may run side by side. Steps of one name must begin
// in the same order on every run.
func Step[T any](ctx context.Context, t *Turn, name string, fn func(context.Context) (T, error)) (T, error) {
	var out T
	raw, err := t.host.Step(ctx, name, func(ctx context.Context) (a2a.JSON, error) {
		v, err := fn(ctx)
		if err != nil {
			return nil, err
		}
		raw, err := json.Marshal(v)
		if err != nil {
			return nil, fmt.Errorf("step %q: its result cannot be recorded as JSON: %w", name, err)
		}
		return raw, nil
	})
	if err != nil {
		return out, err
	}
	if err := json.Unmarshal(raw, &out); err != nil {
		var zero T
		return zero, fmt.Errorf("step %q: its recorded result does not fit a %T, which must not change while tasks are under way: %w", name, out, err)
	}
	return out, nil
}

func fromAgent(m *a2a.Message) *a2a.Message {
	if m == nil {
		return nil
	}
	own := *m
	own.Role = a2a.RoleAgent
	return &own
}

func textMessage(text string) *a2a.Message {
	if text == "" {
		return nil
	}
	return &a2a.Message{Role: a2a.RoleAgent, Parts: []*a2a.Part{a2a.TextPart(text)}}
}
