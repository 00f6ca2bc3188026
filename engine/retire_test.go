package engine

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/store"
)

// patient ends where it is asked for its end too often.
type patient struct {
	context.Context
	asked  int
	cancel context.CancelFunc
}

func (p *patient) Done() <-chan struct{} {
	if p.asked++; p.asked == 1000 {
		p.cancel()
	}
	return p.Context.Done()
}

// A task that is retired sends readers of its log away, like subscribers, whether the
// store is shared or not: they neither spin nor read on in a later task of the same id.
func TestLogOfARetiredTaskEnds(t *testing.T) {
	for name, o := range map[string]*Options{"alone": nil, "shared": {DeadAfter: 10 * time.Second}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				st := store.NewMemory()
				defer st.Close()
				w := newWorldWith(t, st, interview, testCard(), o)
				task := w.mustSend(send("x"))
				ctx := &patient{}
				ctx.Context, ctx.cancel = context.WithCancel(t.Context())
				defer ctx.cancel()
				done := make(chan error, 1)
				go func() {
					for _, err := range w.Log(ctx, "", task.ID, 0, true) {
						if err != nil {
							done <- err
							return
						}
					}
					done <- nil
				}()
				synctest.Wait()
				if !w.owners.Retire(store.Key{ID: task.ID}) {
					t.Fatal("the task is at work")
				}
				synctest.Wait()
				select {
				case err := <-done:
					if err != nil {
						t.Errorf("after %d turns: %v", ctx.asked, err)
					}
				default:
					t.Error("the reader is still there")
				}
				ctx.cancel()
				w.stop()
			})
		})
	}
}

// reluctant is an agent that works until it is canceled, and takes its time to leave.
func reluctant(ctx context.Context, _ *agent.Turn) error {
	<-ctx.Done()
	time.Sleep(time.Second)
	return context.Cause(ctx)
}

// A caller that waits for the end of a task at another process is told of it, even if this
// process was about to delete the task and did not.
func TestCancelOfATaskThatWasToBeDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMemory()
		defer st.Close()
		works := newWorldWith(t, st, agent.Func(reluctant), testCard(), shared(t))
		other := newWorldWith(t, st, parrot, testCard(), shared(t))
		task := works.mustSend(sendNow("x"))
		done := make(chan error, 1)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		go func() {
			got, err := other.CancelTask(ctx, &a2a.CancelTaskRequest{ID: task.ID})
			if err == nil {
				wantState(t, got, a2a.TaskStateCanceled)
			}
			done <- err
		}()
		synctest.Wait()
		if !other.owners.Retire(store.Key{ID: task.ID}) {
			t.Fatal("the task is at work here")
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
		wantState(t, works.mustGet(task.ID), a2a.TaskStateCanceled)
		works.stop()
		other.stop()
	})
}

// A cancellation at another process is answered when the task is canceled, even if a message
// after it reopens the task at the same moment.
func TestCancelElsewhereOfATaskThatBeginsAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMemory()
		defer st.Close()
		works := newWorldWith(t, st, agent.Func(reluctant), testCard(), shared(t))
		other := newWorldWith(t, st, parrot, testCard(), shared(t))
		now := func(text string) *a2a.SendMessageRequest {
			req := first01("mine", text)
			req.Configuration = &a2a.SendMessageConfiguration{ReturnImmediately: true}
			return req
		}
		works.mustSend(now("one"))
		done := make(chan error, 1)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		go func() {
			got, err := other.CancelTask(ctx, &a2a.CancelTaskRequest{ID: "mine"})
			if err == nil {
				wantState(t, got, a2a.TaskStateCanceled)
			}
			done <- err
		}()
		synctest.Wait()
		works.mustSend(now("two"))
		if err := <-done; err != nil {
			t.Error(err)
		}
		if task := works.mustGet("mine"); task.Status.State.Terminal() {
			t.Errorf("the task did not begin anew: it is %s", task.Status.State)
		}
		works.stop()
		other.stop()
	})
}

// A message that was forwarded is answered when its turn has stopped, though the process
// that was asked was about to delete the task, and did not.
func TestForwardedMessageForATaskThatWasToBeDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := pair(t, agent.Func(func(ctx context.Context, t *agent.Turn) error {
			time.Sleep(time.Minute)
			_, err := t.Ask(ctx, "and now?")
			return err
		}))
		task := here.mustSend(sendNow("x"))
		sent := there.posted(reply(task, "stop"))
		synctest.Wait()
		if !there.owners.Retire(store.Key{ID: task.ID}) {
			t.Fatal("the task is at work here")
		}
		got := <-sent
		if got.err != nil {
			t.Fatal(got.err)
		}
		wantState(t, got.task, a2a.TaskStateCompleted)
		here.stop()
		there.stop()
	})
}
