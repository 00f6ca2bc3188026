package task

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/engine/internal/place"
	"github.com/parley-a2a/parley/engine/internal/stored"
	"github.com/parley-a2a/parley/engine/internal/topic"
	"github.com/parley-a2a/parley/store"
)

// newOwnersOf returns the owners of a process over st, with one agent, and what ends it.
func newOwnersOf(t *testing.T, st store.Store, ag agent.Agent) (_ *Owners, stop func()) {
	t.Helper()
	draining, works := make(chan struct{}), make(chan struct{})
	close(works)
	read, cached := stored.New(st, -1)
	topics := topic.New(cached, read, time.Second, draining)
	topics.Lapsed, topics.Wrote, topics.Recovered = func() bool { return false }, func(error) {}, func() <-chan struct{} { return works }
	is := NewAgent(ag, nil, &a2a.AgentCard{Name: "test"}, nil)
	os := NewOwners(Needs{
		Store: cached, Read: read, Topics: topics, Node: "here", Nodes: &place.Alone{Node: "here", Store: cached, Wrote: func(error) {}},
		Admission: &place.Admission{TakeUp: 8, Log: slog.New(slog.DiscardHandler)}, Log: slog.New(slog.DiscardHandler),
		CancelWait: time.Second, StoreWait: time.Second, MaxLost: 3,
		Agent: func(store.Key) *Agent { return is }, Draining: draining, Wrote: func(error) {},
		Healthy: func(ctx context.Context) bool { return ctx.Err() == nil },
	})
	os.SetLimits(&Limits{})
	return os, func() {
		os.Refuse()
		close(draining)
		topics.WakeAll()
		os.Stop()
		os.Wait()
	}
}

func postOf(key store.Key, text string) *Post {
	return &Post{Message: &a2a.Message{MessageID: text, TaskID: key.ID, Role: a2a.RoleUser, Parts: []*a2a.Part{a2a.TextPart(text)}}}
}

// stands waits until a task is in a state, here.
func stands(t *testing.T, os *Owners, key store.Key, want a2a.TaskState) {
	t.Helper()
	tp := os.Topics.Join(key)
	defer os.Topics.Leave(tp)
	if _, err := os.Topics.Await(t.Context(), tp, 0, func(s a2a.TaskState) bool { return s == want || s.Terminal() }); err != nil {
		t.Fatal(err)
	}
	if task, _, err := os.Topics.LoadAt(t.Context(), tp); err != nil || task.Status.State != want {
		t.Fatalf("the task is %v, %v", task, err)
	}
}

// An owner that has nothing to do, and leaves only when the task has another one, takes
// nothing along.
func TestLateLeaverLeavesItsSuccessorAlone(t *testing.T) {
	st := store.NewMemory()
	defer st.Close()
	ask := agent.Func(func(ctx context.Context, turn *agent.Turn) error {
		m, err := turn.Ask(ctx, "who?")
		if err != nil {
			return err
		}
		return turn.Complete(m.Text())
	})
	key := store.Key{ID: "t"}
	os, stop := newOwnersOf(t, st, ask)
	b := &Birth{Post: postOf(store.Key{}, "go"), ContextID: "c", TaskOnly: true, Create: time.Millisecond}
	o, err := os.Begin(t.Context(), key, b)
	if err != nil {
		t.Fatal(err)
	}
	o.Attend(t.Context(), b.Post)
	stands(t, os, key, a2a.TaskStateInputRequired)
	stop()

	os, stop = newOwnersOf(t, st, ask)
	defer stop()
	first := os.newOwner(key, "")
	first.topic = os.Topics.Join(key)
	os.work.Add(1)
	defer os.work.Done()
	if err := first.load(t.Context(), false, time.Second); err != nil {
		t.Fatal(err)
	}
	if !first.quiet() {
		t.Fatal("an owner with nothing to do stays")
	}
	second, err := os.Acquire(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	first.leave()
	if task, _ := second.topic.Snapshot(); task == nil {
		t.Error("the task of the second owner is gone")
	}
	if err := second.Take(t.Context(), postOf(key, "Ada")); err != nil {
		t.Error(err)
	}
	second.Release()
	stands(t, os, key, a2a.TaskStateCompleted)
}
