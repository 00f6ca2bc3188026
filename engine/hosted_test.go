package engine

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/store"
)

// newHouse starts an engine with several agents.
func newHouse(t testing.TB, st store.Store, o *Options, agents ...Hosted) *world {
	t.Helper()
	return startWorld(t, st, o, func(st store.Store, o *Options) *Engine {
		e, err := NewHost(st, agents, o)
		if err != nil {
			t.Fatal(err)
		}
		return e
	})
}

// says returns an agent that answers with a task that names the agent.
func says(who string) agent.Agent {
	return agent.Func(func(ctx context.Context, t *agent.Turn) error {
		if err := t.Artifact("who").Last(a2a.TextPart(who)); err != nil {
			return err
		}
		return t.Complete("")
	})
}

func sendTo(t *testing.T, w *world, name string, req *a2a.SendMessageRequest) *a2a.Task {
	t.Helper()
	resp, err := w.Agent(name).SendMessage(t.Context(), req)
	if err != nil || resp.Task == nil {
		t.Fatalf("agent %q: %+v, %v", name, resp, err)
	}
	return resp.Task
}

func whoSaid(task *a2a.Task) string {
	if len(task.Artifacts) == 0 {
		return ""
	}
	return task.Artifacts[0].Parts[0].Text
}

func TestAgentsAreApart(t *testing.T) {
	w := newHouse(t, nil, nil,
		Hosted{Agent: says("front"), Card: testCard()},
		Hosted{Name: "a", Agent: says("a"), Card: testCard()},
		Hosted{Name: "b", Agent: says("b"), Card: testCard()})
	ctx := t.Context()
	tasks := map[string]*a2a.Task{}
	for _, name := range []string{"", "a", "b"} {
		req := send("x")
		req.Message.MessageID = "the same" // which is known once at each
		tasks[name] = sendTo(t, w, name, req)
		if got := whoSaid(tasks[name]); got != name && got != name+"front" {
			t.Errorf("agent %q says %q", name, whoSaid(tasks[name]))
		}
	}
	for of, task := range tasks {
		for _, at := range []string{"", "a", "b", "nobody"} {
			s := w.Agent(at)
			_, err := s.GetTask(ctx, &a2a.GetTaskRequest{ID: task.ID})
			if (err == nil) != (of == at) || err != nil && !errors.Is(err, a2a.ErrTaskNotFound) {
				t.Errorf("task of %q at %q: %v", of, at, err)
			}
			list, err := s.ListTasks(ctx, &a2a.ListTasksRequest{})
			if err != nil {
				t.Fatal(err)
			}
			if has := slices.ContainsFunc(list.Tasks, func(l *a2a.Task) bool { return l.ID == task.ID }); has != (of == at) {
				t.Errorf("task of %q is in the list of %q: %v", of, at, has)
			}
			// No tenant in a request leads to another agent.
			for _, tenant := range []string{TenantOf(of, ""), "\x1f" + of, TenantOf(of, "") + "t", "t" + TenantOf(of, "")} {
				if of == "" {
					continue
				}
				_, err = s.GetTask(ctx, &a2a.GetTaskRequest{ID: task.ID, Tenant: tenant})
				if !errors.Is(err, a2a.ErrInvalidParams) {
					t.Errorf("tenant %q at %q: %v", tenant, at, err)
				}
				as := a2a.WithCaller(ctx, a2a.Caller{Tenant: tenant})
				if _, err = s.GetTask(as, &a2a.GetTaskRequest{ID: task.ID}); !errors.Is(err, a2a.ErrInvalidParams) {
					t.Errorf("credentials for tenant %q at %q: %v", tenant, at, err)
				}
			}
		}
	}
	if _, err := w.Agent("nobody").SendMessage(ctx, send("x")); !errors.Is(err, a2a.ErrUnavailable) {
		t.Errorf("a message for nobody: %v", err)
	}
}

// What agents, clients and webhooks are told of tenants has no agent in it.
func TestTenantsOfAgents(t *testing.T) {
	callers := make(chan [2]string, 1)
	ag := agent.Func(func(ctx context.Context, t *agent.Turn) error {
		callers <- [2]string{t.Caller().Tenant, a2a.CallerFrom(ctx).Tenant}
		return t.Complete("")
	})
	w := newHouse(t, nil, &Options{Push: &receivers{}}, Hosted{Name: "a", Agent: ag, Card: pushCard()})
	req := send("x")
	req.Tenant = "t"
	req.Configuration = &a2a.SendMessageConfiguration{TaskPushNotificationConfig: &a2a.TaskPushNotificationConfig{ID: "p", URL: "https://example.com/"}}
	task := sendTo(t, w, "a", req)
	if got := <-callers; got != [2]string{"t", "t"} {
		t.Errorf("the agent's callers have the tenants %q", got)
	}
	c, err := w.Agent("a").GetTaskPushNotificationConfig(t.Context(), &a2a.GetTaskPushNotificationConfigRequest{Tenant: "t", TaskID: task.ID, ID: "p"})
	if err != nil || c.Tenant != "t" {
		t.Errorf("the webhook is %+v, %v", c, err)
	}
	if name, tenant := AgentOf(TenantOf("a", "t")); name != "a" || tenant != "t" {
		t.Errorf("%q of %q", tenant, name)
	}
	if name, tenant := AgentOf(TenantOf("", "t")); name != "" || tenant != "t" {
		t.Errorf("%q of %q", tenant, name)
	}
}

// lockable is an agent that is compared, and counts how often it was closed.
type lockable struct {
	agent.Agent
	closed atomic.Int32
}

func (l *lockable) hosted(name string) Hosted {
	return Hosted{Name: name, Agent: l, Card: testCard(), Close: func() error {
		l.closed.Add(1)
		return errors.New("it creaks")
	}}
}

// A turn keeps its agent, which is closed after the last one.
func TestAgentsAreReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := newGated()
		old, young, other := &lockable{Agent: gate}, &lockable{Agent: says("young")}, &lockable{Agent: says("other")}
		st := store.NewMemory()
		defer st.Close()
		w := newHouse(t, st, nil, old.hosted("a"), other.hosted("b"))
		task := sendTo(t, w, "a", sendNow("x"))
		turn := <-gate.entered
		if err := w.Replace([]Hosted{young.hosted("a"), other.hosted("b"), other.hosted("b")}, nil); err == nil {
			t.Error("there are two agents of one name")
		}
		if err := w.Replace([]Hosted{young.hosted("a"), other.hosted("b")}, nil); err != nil {
			t.Fatal(err)
		}
		if got := whoSaid(sendTo(t, w, "a", send("y"))); got != "young" {
			t.Errorf("the new agent says %q", got)
		}
		synctest.Wait()
		if n := old.closed.Load(); n != 0 {
			t.Errorf("the old agent is closed %d times while it runs", n)
		}
		if err := turn.Artifact("who").Last(a2a.TextPart("old")); err != nil {
			t.Fatal(err)
		}
		gate.leave <- nil
		synctest.Wait()
		got, err := w.Agent("a").GetTask(t.Context(), &a2a.GetTaskRequest{ID: task.ID})
		if err != nil || whoSaid(got) != "old" || got.Status.State != a2a.TaskStateCompleted {
			t.Errorf("the old agent's task is %+v, %v", got, err)
		}
		if o, y, b := old.closed.Load(), young.closed.Load(), other.closed.Load(); o != 1 || y != 0 || b != 0 {
			t.Errorf("closed: old %d, young %d, other %d", o, y, b)
		}
		w.stop()
		if o, y, b := old.closed.Load(), young.closed.Load(), other.closed.Load(); o != 1 || y != 1 || b != 1 {
			t.Errorf("closed at the end: old %d, young %d, other %d", o, y, b)
		}
		if err := w.Replace(nil, nil); err == nil {
			t.Error("agents come after the end")
		}
	})
}

// Tasks of an agent that is not there wait for it, and can be cancelled.
func TestTasksWaitForTheirAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMemory()
		defer st.Close()
		gate := newGated()
		w := newHouse(t, st, nil, Hosted{Name: "a", Agent: gate, Card: testCard()})
		waits, cancelled := sendTo(t, w, "a", sendNow("x")), sendTo(t, w, "a", sendNow("y"))
		<-gate.entered
		<-gate.entered
		w.stop()

		w = newHouse(t, st, nil, Hosted{Agent: says("front"), Card: testCard()})
		time.Sleep(time.Hour)
		ctx := t.Context()
		for _, task := range []*a2a.Task{waits, cancelled} {
			got, err := w.Agent("a").GetTask(ctx, &a2a.GetTaskRequest{ID: task.ID})
			if err != nil || got.Status.State.Terminal() {
				t.Errorf("without its agent the task is %+v, %v", got, err)
			}
		}
		got, err := w.Agent("a").CancelTask(ctx, &a2a.CancelTaskRequest{ID: cancelled.ID})
		if err != nil || got.Status.State != a2a.TaskStateCanceled {
			t.Errorf("without its agent the task is cancelled as %+v, %v", got, err)
		}
		_, err = w.Agent("a").SendMessage(ctx, reply(waits, "z"))
		wantError(t, err, a2a.ErrUnavailable)
		synctest.Wait() // the owner that refused it leaves
		if n := w.AtWork(); n != 0 {
			t.Errorf("%d tasks that wait are held in memory", n)
		}
		w.stop()

		w = newHouse(t, st, nil)
		synctest.Wait()
		if err := w.Replace([]Hosted{{Name: "a", Agent: says("back"), Card: testCard()}}, nil); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		got, err = w.Agent("a").GetTask(ctx, &a2a.GetTaskRequest{ID: waits.ID})
		if err != nil || got.Status.State != a2a.TaskStateCompleted || whoSaid(got) != "back" {
			t.Errorf("with its agent back the task is %+v, %v", got, err)
		}
	})
}

// A task that begins while its agent goes away is not lost.
func TestAgentGoesAsATaskBegins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asks := agent.Func(func(ctx context.Context, t *agent.Turn) error {
			m, err := t.Ask(ctx, "?")
			if err != nil {
				return err
			}
			return t.Artifact("who").Last(a2a.TextPart(m.Parts[0].Text))
		})
		st := store.NewMemory()
		defer st.Close()
		w := newHouse(t, st, nil, Hosted{Name: "a", Agent: asks, Card: testCard()})
		task := sendTo(t, w, "a", send("x"))
		w.stop() // so that nobody runs while the task waits for its client

		w = newHouse(t, st, nil, Hosted{Name: "a", Agent: asks, Card: testCard()})
		a, err := w.Agent("a").(*service).enter(t.Context(), "", a2a.ScopeTasksWrite)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Replace(nil, nil); err != nil {
			t.Fatal(err)
		}
		// It was let in before.
		if _, err := w.deliver(t.Context(), a, reply(task, "y"), false); err != nil {
			t.Fatal(err)
		}
		if _, err := w.deliver(t.Context(), a, send("z"), false); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if err := w.Replace([]Hosted{{Name: "a", Agent: asks, Card: testCard()}}, nil); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		list, err := w.Agent("a").ListTasks(t.Context(), &a2a.ListTasksRequest{IncludeArtifacts: true})
		if err != nil || len(list.Tasks) != 2 {
			t.Fatal(list, err)
		}
		var states []string
		for _, l := range list.Tasks {
			states = append(states, l.Status.State.String()+whoSaid(l))
		}
		slices.Sort(states)
		if got := strings.Join(states, " "); got != "TASK_STATE_COMPLETEDy TASK_STATE_INPUT_REQUIRED" {
			t.Errorf("the tasks are %s", got)
		}
	})
}

// A caller's limit of tasks at work holds over all agents together, and can
// change.
func TestLimitsOfAllAgents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := newGated(), newGated()
		agents := []Hosted{{Name: "a", Agent: a, Card: testCard()}, {Name: "b", Agent: b, Card: testCard()}}
		st := store.NewMemory()
		defer st.Close()
		w := newHouse(t, st, nil, agents...)
		ctx := a2a.WithCaller(t.Context(), a2a.Caller{Subject: "ann", Tenant: "t"})
		for _, name := range []string{"a", "b"} {
			if _, err := w.Agent(name).SendMessage(ctx, sendNow("x")); err != nil {
				t.Fatal(err)
			}
		}
		<-a.entered
		<-b.entered
		if err := w.Replace(agents, &Limits{RunningPerOwner: 3}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Agent("a").SendMessage(ctx, sendNow("third")); err != nil {
			t.Fatal(err)
		}
		<-a.entered
		_, err := w.Agent("b").SendMessage(ctx, sendNow("fourth"))
		wantError(t, err, a2a.ErrRateLimited)
		if err := w.Replace(agents, &Limits{}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Agent("b").SendMessage(ctx, sendNow("fifth")); err != nil {
			t.Fatal(err)
		}
	})
}
