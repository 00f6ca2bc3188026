package proxy

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aclient"
	"github.com/parley-a2a/parley/agent"
)

// run is one run of a turn: it sends the message (begin), follows the agent's task until
// this side must act (follow), asks the caller and sends the answer (ask), and so on. It
// belongs to the goroutine of Run; while that waits for an authorization, to the
// goroutine that watches the agent's task.
type run struct {
	a     *Agent
	t     *agent.Turn
	log   *slog.Logger
	who   a2a.Caller
	hooks *hooks        // nil without webhooks, or when the agent has refused one
	hint  chan struct{} // nil, or gets a value when the agent posts

	// What is known of the agent and its task.
	c        *a2aclient.Client // as last dialed
	task     string            // id of the agent's task; "" until it is known
	context  string
	ours     string         // the key of the agent's context in contexts
	invented bool           // context is the one asked for, not yet the agent's
	status   a2a.TaskStatus // of the agent's task
	reply    *a2a.Message   // the agent's answer, if it is a message instead of a task
	noSubs   bool           // the agent's task cannot be subscribed to
	unsure   bool           // events may be missing or repeated: only the agent's task itself tells
	failing  time.Time      // since when the agent has been unreachable; zero if it is not
	told     time.Time      // the value of failing that a status reported

	// What was sent to it.
	doubt bool          // the agent may have taken a message without confirming it
	spoke bool          // it answered the last message with a message, within a task
	known chan struct{} // closed when the agent's task is known; may be nil

	// What the caller was told.
	asked     string          // digest of the question that was answered, or is being asked
	asking    bool            // this task waits for an authorization, which any emission would end
	seen      map[string]bool // ids of the agent's messages that were passed on
	before    map[string]bool // the previous content of seen, when that was full
	artifacts map[string]bool // ids of the agent's artifacts

	// What was received in this run.
	bytes  int64
	events int
}

// Kind is for agent.KindOf.
func (a *Agent) Kind() string { return "proxy" }

// Run implements agent.Agent.
func (a *Agent) Run(ctx context.Context, t *agent.Turn) error {
	r := &run{a: a, t: t, who: t.Caller(), seen: map[string]bool{}, artifacts: map[string]bool{}}
	r.log = t.Log(a.opts.logger())
	if r.hooks = a.hooks; r.hooks != nil {
		hint, leave := a.hooks.join(r.hookID())
		defer leave()
		r.hint = hint
	}
	err := r.run(ctx)
	if ctx.Err() != nil && err != nil && !errors.Is(err, agent.ErrEnded) {
		return r.stop(ctx, context.Cause(ctx))
	}
	return r.explain(ctx, err)
}

func (r *run) run(ctx context.Context) error {
	last, err := r.replay(ctx)
	if err != nil {
		return err
	}
	switch {
	case last == nil:
		err = r.begin(ctx)
	case last.Message != "":
		err = r.regain(ctx, last)
	}
	for err == nil {
		if err = r.follow(ctx); err != nil {
			break
		}
		switch state := r.status.State; {
		case r.reply != nil:
			return r.t.ReplyParts(r.reply.Parts...)
		case state.Terminal():
			return r.t.End(state, r.words(r.status.Message))
		}
		err = r.ask(ctx)
	}
	return err
}

// settled reports whether the agent's task is in a state in which this side must act.
func (r *run) settled() bool {
	s := &r.status
	return r.reply != nil || s.State.Terminal() || s.State.Interrupted() && question(s) != r.asked
}

// question returns a digest of what a task waits for. It differs each time if the agent
// gives its messages ids or its states timestamps.
func question(s *a2a.TaskStatus) string {
	h := sha256.New()
	h.Write([]byte(s.State.String()))
	switch m := s.Message; {
	case m != nil && m.MessageID != "":
		h.Write([]byte(m.MessageID))
	case m != nil:
		h.Write(m.AppendJSON(nil))
		fallthrough
	default:
		h.Write([]byte(s.Timestamp.UTC().Format(time.RFC3339)))
	}
	return hex.EncodeToString(h.Sum(nil)[:12])
}

// ask asks the caller the agent's question, or for the authorization that the agent
// needs, and passes the answer on. There is none if the agent goes on without it.
func (r *run) ask(ctx context.Context) error {
	r.asked = question(&r.status)
	r.saw(r.status.Message)
	secret := r.status.State != a2a.TaskStateInputRequired
	var answer *a2a.Message
	var err error
	if secret {
		answer, err = r.t.AuthenticatePartsBy(ctx, r.moved, prompt(&r.status, "The agent needs an authorization.")...)
	} else {
		answer, err = r.t.AskParts(ctx, prompt(&r.status, "The agent asks for input.")...)
	}
	if err != nil || answer == nil {
		return err
	}
	return r.answer(ctx, answer, secret)
}

func prompt(s *a2a.TaskStatus, otherwise string) []*a2a.Part {
	if s.Message == nil || len(s.Message.Parts) == 0 {
		return []*a2a.Part{a2a.TextPart(otherwise)}
	}
	return s.Message.Parts
}

// words converts a message of the agent; the turn sets ids and role.
func (r *run) words(m *a2a.Message) *a2a.Message {
	if m == nil || len(m.Parts) == 0 {
		return nil
	}
	return &a2a.Message{
		Parts: m.Parts, Extensions: m.Extensions,
		Metadata: mark(m.Metadata, Origin{r.task, r.context, m.MessageID}),
	}
}

// maxSeen is how many messages are recognized when they come again: many more than a
// look at a task returns.
const maxSeen = 1000

func (r *run) saw(m *a2a.Message) {
	if m == nil || m.MessageID == "" {
		return
	}
	if len(r.seen) >= maxSeen {
		r.before, r.seen = r.seen, map[string]bool{}
	}
	r.seen[m.MessageID] = true
}

// passedOn reports whether the agent's message with this id is known to be passed on.
func (r *run) passedOn(id string) bool { return r.seen[id] || r.before[id] }
