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

// An agent whose time is up is told to stop. Whatever it does then, its task fails, unless the
// agent has ended it before.
func TestWallTime(t *testing.T) {
	for _, c := range []struct {
		name string
		run  func(ctx context.Context, t *agent.Turn) error
		end  string
		took time.Duration
	}{
		{"one that stops", func(ctx context.Context, t *agent.Turn) error {
			<-ctx.Done()
			return context.Cause(ctx)
		}, "failed at work for 1m0s", time.Minute},
		{"one that stops and says nothing", func(ctx context.Context, t *agent.Turn) error {
			<-ctx.Done()
			return nil
		}, "failed at work for 1m0s", time.Minute},
		{"one that is deaf", func(ctx context.Context, t *agent.Turn) error {
			time.Sleep(time.Hour)
			return nil
		}, "failed at work for 1m0s", time.Minute + 2*time.Second},
		{"one that hurries", func(ctx context.Context, t *agent.Turn) error {
			<-ctx.Done()
			time.Sleep(time.Second)
			return t.Complete("just in time")
		}, "completed just in time", time.Minute + time.Second},
		{"one that asks and is quick", func(ctx context.Context, t *agent.Turn) error {
			for range 5 {
				if err := wake.Pause(ctx, 11*time.Second); err != nil {
					return err
				}
				if _, err := t.Ask(ctx, "?"); err != nil {
					return err
				}
			}
			return t.Complete("done")
		}, "completed done", 55*time.Second + 5*time.Hour},
		{"one that asks and is slow", func(ctx context.Context, t *agent.Turn) error {
			for range 5 {
				if err := wake.Pause(ctx, 13*time.Second); err != nil {
					return err
				}
				if _, err := t.Authenticate(ctx, "?"); err != nil {
					return err
				}
			}
			return t.Complete("done")
		}, "failed at work for 1m0s", time.Minute + 4*time.Hour},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				told := make(chan error, 9)
				w := limited(t, nil, agent.Func(func(ctx context.Context, t *agent.Turn) error {
					err := c.run(ctx, t)
					told <- context.Cause(ctx)
					return err
				}), Limits{Wall: time.Minute, Running: 1})
				began := time.Now()
				task := w.mustSend(send("go"))
				for task.Status.State.Interrupted() {
					time.Sleep(time.Hour)
					task = w.mustSend(reply(task, "x"))
				}
				if got := short(task.Status.State) + " " + task.Status.Message.Text(); !strings.HasPrefix(got, c.end[:6]) || !strings.Contains(got, strings.SplitN(c.end, " ", 2)[1]) {
					t.Errorf("it ended with %q, want %q", got, c.end)
				}
				if took := time.Since(began); took != c.took {
					t.Errorf("it took %v, want %v", took, c.took)
				}
				if n := w.counted(); n != 0 {
					t.Errorf("%d are counted", n)
				}
				w.mustSend(sendNow("next")) // there is room
				if cause := <-told; strings.HasPrefix(c.end, "failed") && !errors.Is(cause, agent.ErrTimeout) {
					t.Errorf("the agent was told %v", cause)
				}
				time.Sleep(2 * time.Hour)
			})
		})
	}
}

// A cancellation about when the time is up cancels. An agent that ignores both has
// CancelWait from when it was first told.
func TestWallTimeAndCancel(t *testing.T) {
	for _, after := range []time.Duration{time.Minute - time.Second, time.Minute + time.Second} {
		synctest.Test(t, func(t *testing.T) {
			w := limited(t, nil, agent.Func(func(ctx context.Context, t *agent.Turn) error {
				time.Sleep(time.Hour)
				return nil
			}), Limits{Wall: time.Minute})
			began := time.Now()
			task := w.mustSend(sendNow("go"))
			time.Sleep(after)
			canceled := time.Now()
			task, err := w.CancelTask(t.Context(), &a2a.CancelTaskRequest{ID: task.ID})
			if err != nil {
				t.Fatal(err)
			}
			wantState(t, task, a2a.TaskStateCanceled)
			want := min(2*time.Second, time.Minute+2*time.Second-canceled.Sub(began))
			if took := time.Since(canceled); took != want {
				t.Errorf("canceled %v after it began, it took %v, want %v", after, took, want)
			}
			time.Sleep(2 * time.Hour)
		})
	}
}

// A limit that is lifted, as when a configuration is read again, does not end the tasks
// that are at work.
func TestWallTimeIsLifted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ag := agent.Func(func(ctx context.Context, t *agent.Turn) error { return wake.Pause(ctx, time.Hour) })
		w := limited(t, nil, ag, Limits{Wall: time.Minute})
		task := w.mustSend(sendNow("go"))
		time.Sleep(time.Second)
		if err := w.Replace([]Hosted{{Agent: ag, Card: testCard()}}, &Limits{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Hour)
		wantState(t, w.mustGet(task.ID), a2a.TaskStateCompleted)
	})
}

// A limit that is set while an agent hangs, as when a configuration is read again, ends
// its task, though nothing else happens to it.
func TestWallTimeIsSetMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ag := agent.Func(func(ctx context.Context, t *agent.Turn) error { return wake.Pause(ctx, 100*time.Hour) })
		w := limited(t, nil, ag, Limits{})
		task := w.mustSend(sendNow("go"))
		time.Sleep(time.Second)
		for _, most := range []time.Duration{10 * time.Hour, time.Hour} {
			if err := w.Replace([]Hosted{{Agent: ag, Card: testCard()}}, &Limits{Wall: most}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
			wantState(t, w.mustGet(task.ID), a2a.TaskStateSubmitted)
		}
		time.Sleep(time.Hour)
		wantState(t, w.mustGet(task.ID), a2a.TaskStateFailed)
	})
}

// The time at work is known after a restart, and that for which a task waited
// does not count then either.
func TestWallTimeSurvivesRestarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMemory()
		defer st.Close()
		ag := agent.Func(func(ctx context.Context, t *agent.Turn) error {
			for _, question := range []string{"1", "2"} {
				if t.Attempt() == 1 {
					if err := wake.Pause(ctx, 20*time.Second); err != nil {
						return err
					}
				}
				if _, err := t.Ask(ctx, question); err != nil {
					return err
				}
			}
			for {
				if err := wake.Pause(ctx, 10*time.Second); err != nil {
					return err
				}
				if err := t.Status("on it"); err != nil {
					return err
				}
			}
		})
		limits := Limits{Wall: time.Minute}
		w := limited(t, st, ag, limits)
		task := w.mustSend(send("go")) // 20 s
		time.Sleep(time.Hour)
		w.mustSend(reply(task, "x")) // 40 s
		w.stop()
		time.Sleep(time.Hour)
		m := &mortal{Store: st}
		w = limited(t, m, ag, limits)
		w.mustSend(replyNow(task, "x"))
		time.Sleep(15 * time.Second)
		wantState(t, w.mustGet(task.ID), a2a.TaskStateWorking)
		m.dead.Store(true) // 50 s by the log
		w.stop()
		w = limited(t, st, ag, limits)
		began := time.Now()
		w.eventually(task.ID, a2a.TaskStateFailed)
		if took := time.Since(began); took > 10*time.Second+100*time.Millisecond || took < 9*time.Second {
			t.Errorf("it failed after another %v, want 10s", took)
		}
		w.stop()

		// One whose time was up when the process died fails without a run.
		mem := store.NewMemory()
		defer mem.Close()
		w, kill := newMortal(t, mem, ag, nil)
		task = w.mustSend(send("go"))
		w.mustSend(reply(task, "x"))
		w.mustSend(replyNow(task, "x"))
		time.Sleep(time.Hour)
		kill()
		w = limited(t, mem, agent.Func(func(context.Context, *agent.Turn) error {
			t.Error("it runs again")
			return nil
		}), limits)
		wantState(t, w.eventually(task.ID, a2a.TaskStateFailed), a2a.TaskStateFailed)
		w.stop()
	})
}
