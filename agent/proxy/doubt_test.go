package proxy_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"testing"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/agent/proxy"
)

// halted is the host of a second run that the server stops while it looks up the tasks
// that its message refers to.
type halted struct {
	agent.Host
	stop  context.CancelCauseFunc
	steps []string
}

func (h *halted) Message() *a2a.Message {
	return &a2a.Message{MessageID: "m", Role: a2a.RoleUser, Parts: []*a2a.Part{a2a.TextPart("hello")}, ReferenceTaskIDs: []string{"other"}}
}
func (h *halted) Task() *a2a.Task    { return &a2a.Task{ID: "t", ContextID: "c"} }
func (h *halted) Caller() a2a.Caller { return a2a.Caller{} }
func (h *halted) Attempt() int       { return 2 }
func (h *halted) Siblings(context.Context) iter.Seq2[*a2a.Task, error] {
	return func(func(*a2a.Task, error) bool) {}
}

func (h *halted) References(ctx context.Context) ([]*a2a.Task, error) {
	h.stop(agent.ErrDraining)
	return nil, context.Cause(ctx)
}

func (h *halted) Step(ctx context.Context, _ string, fn func(context.Context) (a2a.JSON, error)) (a2a.JSON, error) {
	doc, err := fn(ctx)
	if err == nil {
		h.steps = append(h.steps, string(doc))
	}
	return doc, err
}

// A run after a crash that is stopped before it has looked for the agent's task does not
// record that nothing was sent: the run before it may have sent the message.
func TestStoppedSecondRunKeepsTheDoubt(t *testing.T) {
	p, err := proxy.New("http://127.0.0.1:9", nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancelCause(t.Context())
	defer stop(nil)
	h := &halted{stop: stop}
	if err := p.Run(ctx, agent.NewTurn(h)); !errors.Is(err, agent.ErrDraining) {
		t.Errorf("Run = %v, want ErrDraining", err)
	}
	if slices.Contains(h.steps, `{"unsent":2}`) {
		t.Errorf("recorded %s", h.steps)
	}
}
