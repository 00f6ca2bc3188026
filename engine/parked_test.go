package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/budget"
	"github.com/parley-a2a/parley/store"
	"github.com/parley-a2a/parley/store/storetest"
)

// surveyor asks two questions with a step between them, which it counts.
type surveyor struct{ steps, runs, drained atomic.Int32 }

func (s *surveyor) Run(ctx context.Context, t *agent.Turn) error {
	if t.Text() == "work" {
		<-ctx.Done()
		return context.Cause(ctx)
	}
	s.runs.Add(1)
	defer func() {
		if context.Cause(ctx) == agent.ErrDraining {
			s.drained.Add(1)
		}
	}()
	name, err := t.Ask(ctx, "Name?")
	if err != nil {
		return err
	}
	n, err := agent.Step(ctx, t, "count", func(context.Context) (int32, error) { return s.steps.Add(1), nil })
	if err != nil {
		return err
	}
	city, err := t.Ask(ctx, "City?")
	if err != nil {
		return err
	}
	return t.Artifact("a").Last(a2a.TextPart(fmt.Sprintf("%s %s %d attempt %d", name.Text(), city.Text(), n, t.Attempt())))
}

func (w *world) owned(id string) bool {
	return slices.ContainsFunc(w.Standings(), func(s Standing) bool { return s.ID == id })
}

// press makes the parked tasks of others give way, for a message of bob's.
func (w *world) press() {
	w.t.Helper()
	begun := time.Now()
	task, err := w.sendAs(as("bob", ""), heavy("work", 1000))
	if err != nil || time.Since(begun) > 5*time.Second {
		w.t.Fatalf("it got %v after %v", err, time.Since(begun))
	}
	synctest.Wait()
	if _, err := w.CancelTask(as("bob", ""), &a2a.CancelTaskRequest{ID: task.ID}); err != nil {
		w.t.Fatal(err)
	}
}

// A large task that waits for its client leaves memory when others need it, and
// goes on as if it had not, for its readers, too.
func TestParkedTaskGivesWay(t *testing.T) {
	for name, o := range map[string]*Options{"alone": oneMiB(), "shared": {Work: 1 << 20, DeadAfter: time.Minute}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				st := store.NewMemory()
				defer st.Close()
				ag := &surveyor{}
				w := newWorldWith(t, st, ag, testCard(), o)
				ann := as("ann", "")
				req := heavy("go", 500)
				req.Configuration = nil
				task, err := w.sendAs(ann, req)
				if err != nil {
					t.Fatal(err)
				}
				var evs []*a2a.StreamResponse
				read := make(chan error, 1)
				go func() {
					var err error
					evs, err = collect(w.SubscribeToTask(ann, &a2a.SubscribeToTaskRequest{ID: task.ID}))
					read <- err
				}()
				synctest.Wait()
				for _, answer := range []string{"Ada", "London"} {
					if !w.owned(task.ID) {
						t.Fatal("it left although nobody needed the memory")
					}
					w.press()
					if w.owned(task.ID) {
						t.Fatal("it is still in memory")
					}
					if got, err := w.GetTask(ann, &a2a.GetTaskRequest{ID: task.ID}); err != nil || got.Status.State != a2a.TaskStateInputRequired {
						t.Fatalf("it is read as %v, %v", got, err)
					}
					if task, err = w.sendAs(ann, reply(task, answer)); err != nil {
						t.Fatal(err)
					}
				}
				wantState(t, task, a2a.TaskStateCompleted)
				wantTexts(t, task.History, "go", "Name?", "Ada", "City?", "London")
				if got := task.Artifacts[0].Parts[0].Text; got != "Ada London 1 attempt 3" || ag.runs.Load() != 3 {
					t.Errorf("it made %q in %d runs", got, ag.runs.Load())
				}
				if n := ag.drained.Load(); n != 2 {
					t.Errorf("%d runs were told that there will be another, want 2", n)
				}
				if err := <-read; err != nil || brief(evs) != "task:input_required working input_required working artifact:Ada London 1 attempt 3. completed" {
					t.Errorf("the subscriber got %q, %v", brief(evs), err)
				}
				rec, err := st.Get(t.Context(), store.Key{Owner: "ann", ID: task.ID}, store.RowOnly)
				if err != nil || rec.Lost != 0 {
					t.Errorf("%d processes count as lost, %v", rec.Lost, err)
				}
				w.wantNothingHeld()
				w.stop()
				storetest.Check(t, st, rec.Key)
			})
		})
	}
}

// giveWay has agents leave memory as soon as they wait for their clients.
func giveWay(e *Engine) { e.owners.MaxParked = 0 }

// With any fault of the store the task goes on as well.
func TestParkedTaskGivesWayWithFaults(t *testing.T) {
	faultsOf(t, func(t *testing.T, st store.Store) map[string]a2a.TaskState {
		e, stop := startWith(t, st, &surveyor{}, Options{Work: 1 << 20}, giveWay)
		defer stop()
		ctx := context.Background()
		given := func() {
			synctest.Wait()
			if e.AtWork() != 0 {
				t.Fatal("it does not give way")
			}
		}
		req := heavy("go", 500)
		req.Configuration = nil
		resp, err := e.SendMessage(ctx, req)
		if err != nil {
			t.Fatal(err)
		}
		for _, answer := range []string{"Ada", "London"} {
			given()
			if resp, err = e.SendMessage(ctx, reply(resp.Task, answer)); err != nil {
				t.Fatal(err)
			}
		}
		wantTexts(t, resp.Task.History, "go", "Name?", "Ada", "City?", "London")
		asked, err := e.SendMessage(ctx, send("go"))
		if err != nil {
			t.Fatal(err)
		}
		given()
		if _, err := e.CancelTask(ctx, &a2a.CancelTaskRequest{ID: asked.Task.ID}); err != nil {
			t.Fatal(err)
		}
		return map[string]a2a.TaskState{resp.Task.ID: a2a.TaskStateCompleted, asked.Task.ID: a2a.TaskStateCanceled}
	})
}

// Tasks of version 0.1 wait in a later turn, and go on in that.
func TestParkedTaskGivesWayInALaterTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorldSet(t, nil, agent.Func(func(ctx context.Context, t *agent.Turn) error {
			if t.Text() == "ask" {
				m, err := t.Ask(ctx, "Well?")
				if err != nil {
					return err
				}
				return t.Artifact("a").Last(a2a.TextPart(m.Text()))
			}
			return parrot.Run(ctx, t)
		}), testCard(), nil, giveWay)
		w.mustSend(first01("mine", "one"))
		wantState(t, w.mustSend(first01("mine", "ask")), a2a.TaskStateInputRequired)
		synctest.Wait()
		if w.owned("mine") {
			t.Fatal("it does not give way")
		}
		task := w.mustSend(first01("mine", "two"))
		wantState(t, task, a2a.TaskStateCompleted)
		wantTexts(t, task.History, "one", "ask", "Well?", "two")
		if n := len(task.Artifacts); n != 2 || task.Artifacts[1].Parts[0].Text != "two" {
			t.Errorf("it made %d artifacts", n)
		}
	})
}

// A parked agent stays in memory if it was given an authorization, must not run
// twice, waits for more than its client, or has a step under way.
func TestWhoStaysInMemory(t *testing.T) {
	hello := func(ctx context.Context, t *agent.Turn) error {
		if _, err := t.Ask(ctx, "Well?"); err != nil {
			return err
		}
		return nil
	}
	for name, c := range map[string]struct {
		ag   agent.Agent
		want a2a.TaskState
	}{
		"authorized": {agent.Func(func(ctx context.Context, t *agent.Turn) error {
			if _, err := t.Authenticate(ctx, "Log in."); err != nil {
				return err
			}
			return hello(ctx, t)
		}), a2a.TaskStateAuthRequired},
		"may not run again": {agent.OnLost(agent.Func(hello), agent.Lost{Fail: "lost"}), a2a.TaskStateInputRequired},
		"waits for more": {agent.Func(func(ctx context.Context, t *agent.Turn) error {
			_, err := t.AuthenticateBy(ctx, "Log in.", func(ctx context.Context) error {
				select {
				case <-time.After(time.Hour):
				case <-ctx.Done():
				}
				return context.Cause(ctx)
			})
			return err
		}), a2a.TaskStateAuthRequired},
		"asks, and waits for more": {agent.Func(func(ctx context.Context, t *agent.Turn) error {
			ctx, stop := context.WithCancel(ctx)
			var work sync.WaitGroup
			defer work.Wait()
			defer stop()
			work.Go(func() {
				_, _ = t.AuthenticateBy(ctx, "Log in.", func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
			})
			synctest.Wait()
			return hello(ctx, t)
		}), a2a.TaskStateAuthRequired},
		"has a step under way": {agent.Func(func(ctx context.Context, t *agent.Turn) error {
			asked, stepped := make(chan error, 1), make(chan error)
			go func() {
				_, err := agent.Step(ctx, t, "charge", func(ctx context.Context) (bool, error) {
					select {
					case err := <-asked:
						return true, err
					case <-ctx.Done():
						return false, context.Cause(ctx)
					}
				})
				stepped <- err
			}()
			synctest.Wait()
			asked <- hello(ctx, t)
			return <-stepped
		}), a2a.TaskStateInputRequired},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorldWith(t, nil, c.ag, testCard(), oneMiB())
				ann := as("ann", "")
				req := heavy("go", 900)
				req.Configuration = nil
				task, err := w.sendAs(ann, req)
				if err != nil {
					t.Fatal(err)
				}
				wantState(t, task, c.want)
				if name == "authorized" {
					if task, err = w.sendAs(ann, reply(task, "secret")); err != nil {
						t.Fatal(err)
					}
					wantState(t, task, a2a.TaskStateInputRequired)
				}
				time.Sleep(2 * time.Second)
				if _, err := w.sendAs(as("bob", ""), heavy("go", 900)); !errors.Is(err, a2a.ErrUnavailable) {
					t.Errorf("another one got %v", err)
				}
				if !w.owned(task.ID) {
					t.Error("it left")
				}
				if name == "has a step under way" && w.owners.Retire(store.Key{Owner: "ann", ID: task.ID}) {
					t.Error("it was retired")
				}
				if task, err = w.sendAs(ann, reply(task, "well")); err != nil {
					t.Fatal(err)
				}
				wantState(t, task, a2a.TaskStateCompleted)
				w.wantNothingHeld()
			})
		})
	}
}

// Before an agent has got its authorization it gives way, and asks again.
func TestParkedTaskWithoutAuthorizationGivesWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got atomic.Pointer[a2a.Message]
		w := newWorldWith(t, nil, agent.Func(func(ctx context.Context, t *agent.Turn) error {
			if t.Text() == "work" {
				<-ctx.Done()
				return context.Cause(ctx)
			}
			m, err := t.Authenticate(ctx, "Log in.")
			got.Store(m)
			return err
		}), testCard(), oneMiB())
		ann := as("ann", "")
		req := heavy("go", 500)
		req.Configuration = nil
		task, err := w.sendAs(ann, req)
		if err != nil {
			t.Fatal(err)
		}
		w.press()
		if w.owned(task.ID) {
			t.Error("it is still in memory")
		}
		if task, err = w.sendAs(ann, reply(task, "secret")); err != nil {
			t.Fatal(err)
		}
		wantState(t, task, a2a.TaskStateCompleted)
		if m := got.Load(); m == nil || m.Text() != "secret" {
			t.Errorf("the agent got %v", m)
		}
	})
}

// If a caller needs its own share, only its own tasks give way, the largest first.
func TestOwnTasksGiveWayForOwnShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorldWith(t, nil, &surveyor{}, testCard(), oneMiB())
		ids := map[string]string{}
		for _, name := range []string{"ann", "bob"} {
			for _, n := range []int{30, 60} {
				task, err := w.sendAs(as(name, ""), heavy("go", n))
				if err != nil {
					t.Fatal(err)
				}
				ids[fmt.Sprint(name, n)] = task.ID
			}
		}
		time.Sleep(time.Second)
		begun := time.Now()
		if _, err := w.sendAs(as("ann", ""), heavy("go", 60)); err != nil || time.Since(begun) > time.Second {
			t.Errorf("it got %v after %v", err, time.Since(begun))
		}
		for name, want := range map[string]bool{"ann30": true, "ann60": false, "bob30": true, "bob60": true} {
			if got := w.owned(ids[name]); got != want {
				t.Errorf("%s in memory: %t, want %t", name, got, want)
			}
		}
	})
}

// Beyond a limit, the agents that have waited longest leave, even if their tasks are small.
func TestFewAgentsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorldSet(t, nil, agent.Func(interview), testCard(), nil, func(e *Engine) { e.owners.MaxParked = 5 })
		var tasks []*a2a.Task
		for range 8 {
			tasks = append(tasks, w.mustSend(send("ask")))
			time.Sleep(time.Second)
		}
		for i, task := range tasks {
			if got, want := w.owned(task.ID), i >= 3; got != want {
				t.Errorf("task %d is in memory: %t, want %t", i, got, want)
			}
		}
		for _, answer := range []string{"Ada", "London"} {
			for i, task := range tasks {
				tasks[i] = w.mustSend(reply(task, answer))
			}
		}
		for _, task := range tasks {
			wantState(t, task, a2a.TaskStateCompleted)
		}
	})
}

// A caller whose agents wait in great number makes those of its own tasks leave, and none of
// another caller's.
func TestFewAgentsOfACallerWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorldSet(t, nil, agent.Func(interview), testCard(), nil, func(e *Engine) { e.owners.MaxParkedOf = 3 })
		ids := map[string]string{}
		for _, name := range []string{"ann0", "bob0", "bob1", "bob2", "bob3", "ann1", "bob4"} {
			task, err := w.sendAs(as(name[:3], ""), send("ask"))
			if err != nil {
				t.Fatal(err)
			}
			ids[name] = task.ID
			time.Sleep(time.Second)
		}
		for name, id := range ids {
			if got, want := w.owned(id), name != "bob0" && name != "bob1"; got != want {
				t.Errorf("%s is in memory: %t, want %t", name, got, want)
			}
		}
	})
}

// Many callers with large tasks in little memory all get to their ends.
func TestManyLargeTasksInLittleMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMemory()
		defer st.Close()
		w := newWorldWith(t, st, agent.Func(interview), testCard(), oneMiB())
		begun := time.Now()
		var all sync.WaitGroup
		var keys sync.Map
		for i := range 8 {
			ctx := as(fmt.Sprint("caller-", i), "")
			for range 3 {
				all.Go(func() {
					again := func(req *a2a.SendMessageRequest) *a2a.Task {
						for {
							task, err := w.sendAs(ctx, req)
							if err == nil {
								return task
							}
							if !errors.Is(err, a2a.ErrUnavailable) {
								t.Error(err)
								return &a2a.Task{}
							}
							if time.Since(begun) > time.Hour {
								t.Error("it is refused for an hour:", err)
								return &a2a.Task{}
							}
							time.Sleep(5*time.Second + rand.N(5*time.Second))
						}
					}
					req := heavy("ask", 40+100*i)
					req.Configuration = nil
					task := again(req)
					time.Sleep(time.Duration(i) * time.Second)
					task = again(reply(task, "Ada"))
					last := reply(task, "London")
					last.Message.Metadata = a2a.JSON(`{"x":"` + strings.Repeat("x", 50*kib) + `"}`)
					task = again(last)
					wantState(t, task, a2a.TaskStateCompleted)
					wantTexts(t, task.History, "ask", "Name?", "Ada", "City?", "London")
					keys.Store(store.Key{Owner: fmt.Sprint("caller-", i), ID: task.ID}, true)
				})
			}
		}
		all.Wait()
		w.wantNothingHeld()
		w.stop()
		keys.Range(func(k, _ any) bool {
			storetest.Check(t, st, k.(store.Key))
			return true
		})
	})
}

// A large task that left is loaded when there is room for it.
func TestTaskIsLoadedAsThereIsMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorldWith(t, nil, &surveyor{}, testCard(), oneMiB())
		ann, bob := as("ann", ""), as("bob", "")
		req := heavy("go", 700)
		req.Configuration = nil
		task, err := w.sendAs(ann, req)
		if err != nil {
			t.Fatal(err)
		}
		other, err := w.sendAs(bob, heavy("work", 700))
		if err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		if _, err = w.sendAs(ann, reply(task, "Ada")); !errors.Is(err, a2a.ErrUnavailable) || time.Since(begun) < budget.Wait {
			t.Errorf("it got %v after %v", err, time.Since(begun))
		}
		if _, err := w.CancelTask(bob, &a2a.CancelTaskRequest{ID: other.ID}); err != nil {
			t.Fatal(err)
		}
		for _, answer := range []string{"Ada", "London"} {
			if task, err = w.sendAs(ann, reply(task, answer)); err != nil {
				t.Fatal(err)
			}
		}
		wantState(t, task, a2a.TaskStateCompleted)
		w.wantNothingHeld()
	})
}
