package engine

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/wake"
	"github.com/parley-a2a/parley/store"
)

// browser waits for a login elsewhere. It says how it got in.
func browser(login <-chan error, ended chan<- error) agent.Agent {
	return agent.Func(func(ctx context.Context, t *agent.Turn) error {
		m, err := t.AuthenticateBy(ctx, "log in", func(ctx context.Context) error {
			select {
			case err := <-login:
				ended <- err
				return err
			case <-ctx.Done():
				time.Sleep(time.Second) // it takes its time
				ended <- ctx.Err()
				return ctx.Err()
			}
		})
		switch {
		case err != nil:
			return agent.Public("no login", err)
		case m != nil:
			return t.Complete("by message " + m.Text())
		}
		return t.Complete("by browser")
	})
}

func TestAuthorizationByAnotherWay(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(w *world, task *a2a.Task, login chan error)
		want string
		wait error // what the wait ended with
	}{
		{"the login comes", func(_ *world, _ *a2a.Task, login chan error) { login <- nil }, "completed by browser", nil},
		{"the login fails", func(_ *world, _ *a2a.Task, login chan error) { login <- context.DeadlineExceeded }, "failed no login", context.DeadlineExceeded},
		{"a message comes", func(w *world, task *a2a.Task, _ chan error) {
			w.mustSend(replyNow(task, "secret"))
		}, "completed by message secret", context.Canceled},
		{"it is cancelled", func(w *world, task *a2a.Task, _ chan error) {
			if _, err := w.CancelTask(w.t.Context(), &a2a.CancelTaskRequest{ID: task.ID}); err != nil {
				w.t.Error(err)
			}
		}, "canceled ", context.Canceled},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				login, ended := make(chan error), make(chan error, 1)
				w := newWorld(t, nil, browser(login, ended))
				task := w.mustSend(send("go"))
				wantState(t, task, a2a.TaskStateAuthRequired)
				stream := make(chan string)
				go func() {
					evs, err := collect(w.SubscribeToTask(t.Context(), &a2a.SubscribeToTaskRequest{ID: task.ID}))
					if err != nil {
						t.Error(err)
					}
					stream <- brief(evs)
				}()
				synctest.Wait()
				c.do(w, task, login)
				got := <-stream
				task = w.mustGet(task.ID)
				if s := short(task.Status.State) + " " + task.Status.Message.Text(); s != c.want {
					t.Errorf("the task is %q, want %q", s, c.want)
				}
				if want := "task:auth_required working completed"; strings.HasPrefix(c.want, "completed") && got != want {
					t.Errorf("the stream is %q, want %q", got, want)
				}
				select {
				case err := <-ended: // before the agent went on
					if !errors.Is(err, c.wait) {
						t.Errorf("the wait ended with %v, want %v", err, c.wait)
					}
				default:
					t.Error("the wait goes on")
				}
			})
		})
	}
}

// A task that waits for a login goes on after a restart, clean or not; the
// client need not say anything.
func TestAuthorizationSurvivesRestarts(t *testing.T) {
	for _, capacity := range []int{0, 1} {
		synctest.Test(t, func(t *testing.T) {
			st := store.NewMemory()
			defer st.Close()
			login, ended := make(chan error), make(chan error, 9)
			start := func() *world {
				return newWorldWith(t, st, browser(login, ended), testCard(), &Options{Capacity: capacity})
			}
			w := start()
			task := w.mustSend(send("go"))
			w.stop()
			_, kill := newMortal(t, st, browser(login, ended), &Options{Capacity: capacity})
			synctest.Wait()
			kill()
			w = start()
			synctest.Wait()
			wantState(t, w.mustGet(task.ID), a2a.TaskStateAuthRequired)
			select {
			case login <- nil:
			case <-time.After(time.Minute):
				t.Fatalf("with a capacity of %d nobody watches for the login", capacity)
			}
			task = w.eventually(task.ID, a2a.TaskStateCompleted)
			wantTexts(t, []*a2a.Message{task.Status.Message}, "by browser")
			w.stop()
		})
	}
}

// A task that began to wait for a login after it was found to be old is not retired: it would
// not be deleted, and the login would no longer be watched.
func TestRetireSparesATaskThatWaitsForALogin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		login, ended := make(chan error, 1), make(chan error, 1)
		w := newWorld(t, nil, browser(login, ended))
		task := w.mustSend(send("go"))
		if w.owners.Retire(store.Key{ID: task.ID}) {
			t.Error("the task was retired")
		}
		login <- nil
		w.eventually(task.ID, a2a.TaskStateCompleted)
	})
}

// A question that another goroutine of the agent asks meanwhile does not end the watch
// for a login: after a crash the task goes on without its client.
func TestAQuestionBesideAnAuthorizationSurvivesACrash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMemory()
		defer st.Close()
		login, ended := make(chan error), make(chan error, 9)
		wait := browser(login, ended)
		ag := agent.Func(func(ctx context.Context, t *agent.Turn) error {
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			go func() {
				if wake.Pause(ctx, time.Second) == nil {
					_, _ = t.Ask(ctx, "and your name?")
				}
			}()
			return wait.Run(ctx, t)
		})
		w, kill := newMortal(t, st, ag, nil)
		task := w.mustSend(send("go"))
		time.Sleep(time.Minute)
		wantState(t, w.mustGet(task.ID), a2a.TaskStateInputRequired)
		kill()
		w = newWorld(t, st, ag)
		synctest.Wait()
		select {
		case login <- nil:
		default:
			t.Fatal("nobody watches for the login")
		}
		w.eventually(task.ID, a2a.TaskStateCompleted)
		w.stop()
	})
}

// A wait that panics or ends its goroutine is the agent's failure.
func TestAuthorizationPanics(t *testing.T) {
	w := newWorld(t, nil, agent.Func(func(ctx context.Context, t *agent.Turn) error {
		_, err := t.AuthenticateBy(ctx, "log in", func(context.Context) error { panic("at the disco") })
		return err
	}))
	task := w.mustSend(sendNow("go"))
	task = w.eventually(task.ID, a2a.TaskStateFailed)
	wantTexts(t, []*a2a.Message{task.Status.Message}, "the agent failed")
}

// A message that comes while the task needs authorization is credentials, even
// if it crosses another answer; one that came before, or comes when the agent
// has said more, is not; and neither is taken for the other.
func TestWhichMessagesAreCredentials(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		next := make(chan bool)
		heard := make(chan string, 9)
		hear := func(m *a2a.Message, err error) error {
			if err == nil {
				heard <- m.Text()
			}
			return err
		}
		w := newWorld(t, nil, agent.Func(func(ctx context.Context, t *agent.Turn) error {
			if err := t.Status("begun"); err != nil {
				return err
			}
			<-next
			if err := hear(t.Authenticate(ctx, "token")); err != nil {
				return err
			}
			<-next
			if err := t.Status("thank you"); err != nil {
				return err
			}
			<-next
			for range 2 {
				if err := hear(t.Ask(ctx, "more?")); err != nil {
					return err
				}
			}
			if err := hear(t.Authenticate(ctx, "token")); err != nil {
				return err
			}
			return t.Complete("done")
		}))
		task := w.mustSend(sendNow("go"))
		w.mustSend(replyNow(task, "before"))
		next <- true
		wantState(t, w.eventually(task.ID, a2a.TaskStateAuthRequired), a2a.TaskStateAuthRequired)
		w.mustSend(replyNow(task, "secret 1"))
		synctest.Wait()
		w.mustSend(replyNow(task, "secret 2"))
		next <- true
		synctest.Wait()
		w.mustSend(replyNow(task, "after"))
		next <- true
		task = w.eventually(task.ID, a2a.TaskStateCompleted)
		close(heard)
		var got []string
		for s := range heard {
			got = append(got, s)
		}
		if s := strings.Join(got, ", "); s != "secret 1, before, after, secret 2" {
			t.Errorf("the agent heard %s", s)
		}
		wantTexts(t, task.History, "go", "before", "begun", "token", notKept, notKept, "after", "thank you")
	})
}

// Credentials that are never taken are dropped with the task, and their sender is told.
func TestCredentialsInVain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		next := make(chan bool)
		w := newWorld(t, nil, agent.Func(func(ctx context.Context, t *agent.Turn) error {
			if _, err := t.Authenticate(ctx, "token"); err != nil {
				return err
			}
			<-next
			return t.Complete("done")
		}))
		task := w.mustSend(send("go"))
		w.mustSend(replyNow(task, "secret 1"))
		synctest.Wait()
		failed := make(chan error)
		go func() {
			_, err := w.SendMessage(t.Context(), reply(task, "secret 2"))
			failed <- err
		}()
		synctest.Wait()
		next <- true
		wantError(t, <-failed, a2a.ErrUnsupportedOperation)
	})
}

// A server that an agent calls knows the number of hops, and nothing that would
// let it act as the caller; a run after a crash passes the same number on.
func TestRunsCarryTheirCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMemory()
		defer st.Close()
		callers := make(chan a2a.Caller, 2)
		ag := agent.Func(func(ctx context.Context, t *agent.Turn) error {
			if a, b := a2a.CallerFrom(ctx), t.Caller(); a.Subject != b.Subject || a.Hops != b.Hops {
				return agent.Public("the context and the turn differ", nil)
			}
			callers <- a2a.CallerFrom(ctx)
			<-ctx.Done()
			return context.Cause(ctx)
		})
		w, kill := newMortal(t, st, ag, nil)
		ctx := a2a.WithCaller(t.Context(), a2a.Caller{Subject: "ann", Tenant: "t", Hops: 3, Extensions: []string{"urn:x"}, Scopes: a2a.OwnScopes})
		if _, err := w.SendMessage(ctx, sendNow("go")); err != nil {
			t.Fatal(err)
		}
		kill()
		w = newWorld(t, st, ag)
		for range 2 {
			c := <-callers
			if c.Subject != "ann" || c.Tenant != "t" || c.Hops != 3 || len(c.Extensions) != 1 {
				t.Errorf("the run has the caller %+v", c)
			}
		}
		w.stop()
	})
}

// Webhooks learn of credentials only that they came, also in the Task that
// versions before 1.0 are sent.
func TestWebhooksGetNoCredentials(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &receivers{}
		w := pushWorld(t, nil, keeper, r)
		task := w.mustSend(send("go"))
		for _, legacy := range []*a2a.Legacy{nil, {Version: "0.3"}} {
			if _, err := w.CreateTaskPushNotificationConfig(t.Context(), &a2a.TaskPushNotificationConfig{TaskID: task.ID, URL: "h", Legacy: legacy}); err != nil {
				t.Fatal(err)
			}
		}
		for _, answer := range []string{"Ada", "s3cret 1", "s3cret 2"} {
			w.mustSend(marked(task, answer))
		}
		passes(time.Minute)
		old := 0
		for _, n := range r.All() {
			said := string(must(n.Event.MarshalJSON()))
			if n.Task != nil {
				old++
				said += string(n.Task.AppendJSON(nil))
			}
			if strings.Contains(said, "s3cret") {
				t.Errorf("a webhook got %s", said)
			}
		}
		if len(r.All()) < 10 || old == 0 {
			t.Errorf("%d deliveries, %d of them with a task", len(r.All()), old)
		}
	})
}
