package engine

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/store"
)

// However a call ends, it leaves neither a topic, nor an owner, nor a
// goroutine.
func TestNothingIsLeftBehind(t *testing.T) {
	ag := agent.Func(func(ctx context.Context, t *agent.Turn) error {
		switch t.Text() {
		case "reply":
			return t.Reply("x")
		case "late reply":
			if err := t.Reply("x"); err != nil {
				return err
			}
			time.Sleep(time.Minute)
			t.Status("too late")
			return nil
		case "panic":
			panic("x")
		case "goexit":
			runtime.Goexit()
		case "ask":
			_, err := t.Ask(ctx, "?")
			return err
		case "deaf":
			time.Sleep(time.Minute)
		}
		return chunks(ctx, t)
	})
	paths := map[string]func(w *world){
		"a direct answer":      func(w *world) { w.SendMessage(context.Background(), send("reply")) },
		"a long direct answer": func(w *world) { w.SendMessage(context.Background(), send("late reply")) },
		"a task":               func(w *world) { w.mustSend(send("a b")) },
		"a stream":             func(w *world) { collect(w.SendStreamingMessage(context.Background(), send("a b"))) },
		"a panic":              func(w *world) { w.mustSend(send("panic")) },
		"an agent that exits":  func(w *world) { w.mustSend(send("goexit")) },
		"an unknown task":      func(w *world) { w.SendMessage(context.Background(), reply(&a2a.Task{ID: "no-such"}, "x")) },
		"an unknown stream": func(w *world) {
			collect(w.SubscribeToTask(context.Background(), &a2a.SubscribeToTaskRequest{ID: "no"}))
		},
		"an invalid message":      func(w *world) { w.SendMessage(context.Background(), &a2a.SendMessageRequest{}) },
		"a follow-up to a finish": func(w *world) { w.SendMessage(context.Background(), reply(w.mustSend(send("a")), "x")) },
		"a follow-up elsewhere": func(w *world) {
			task := w.mustSend(send("ask"))
			req := reply(task, "x")
			req.Message.ContextID = "elsewhere"
			if _, err := w.SendMessage(context.Background(), req); err == nil {
				w.t.Error("a message of another context was taken")
			}
			w.CancelTask(context.Background(), &a2a.CancelTaskRequest{ID: task.ID})
		},
		"a caller that leaves": func(w *world) {
			ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
			defer cancel()
			w.SendMessage(ctx, send("deaf"))
		},
		"a reader that leaves": func(w *world) {
			for range w.SendStreamingMessage(context.Background(), send("a b")) {
				break
			}
		},
		"a canceled deaf agent": func(w *world) {
			task := w.mustSend(sendNow("deaf"))
			w.CancelTask(context.Background(), &a2a.CancelTaskRequest{ID: task.ID})
		},
		"a canceler that leaves": func(w *world) {
			task := w.mustSend(sendNow("deaf"))
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			_, err := w.CancelTask(ctx, &a2a.CancelTaskRequest{ID: task.ID})
			wantError(w.t, err, context.DeadlineExceeded)
			w.eventually(task.ID, a2a.TaskStateCanceled)
		},
		"two answers at once": func(w *world) {
			task := w.mustSend(send("ask"))
			done := make(chan bool)
			for range 2 {
				go func() {
					w.SendMessage(context.Background(), reply(task, "x"))
					done <- true
				}()
			}
			<-done
			<-done
		},
		"reads": func(w *world) {
			task := w.mustSend(send("a"))
			w.mustGet(task.ID)
			w.ListTasks(context.Background(), &a2a.ListTasksRequest{IncludeArtifacts: true})
			collect(w.SubscribeToTask(context.Background(), &a2a.SubscribeToTaskRequest{ID: task.ID, After: 1}))
		},
	}
	for name, path := range paths {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				st := store.NewMemory()
				w := newWorld(t, st, ag)
				for range 3 {
					path(w)
				}
				time.Sleep(2 * time.Minute)
				synctest.Wait()
				if w.AtWork() != 0 || w.topics.LenLocked() != 0 {
					t.Errorf("%d owners and %d topics are left", w.AtWork(), w.topics.LenLocked())
				}
				if left := atWork(); left != "" {
					t.Errorf("goroutines are left:\n%s", left)
				}
				w.stop()
				st.Close()
			})
		})
	}
}

// atWork returns the stacks of owners and of agents they run, in a bubble of
// synctest. Others come and go as the runtime likes, and those of an earlier
// test may still be on their way out.
func atWork() string {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	var left []string
	for _, s := range strings.Split(string(stacks), "\n\n") {
		if strings.Contains(s, "engine.(*owner).") && strings.Contains(s, "synctest bubble") {
			left = append(left, s)
		}
	}
	return strings.Join(left, "\n\n")
}

// While the store does not take a task's entries, its agent is held up, and
// can still be told to stop; other tasks go on.
func TestStalledStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := store.NewMemory()
		stall := make(chan struct{})
		st := &stalling{mem, stall}
		stopped := make(chan error, 1)
		w := newWorldWith(t, st, agent.Func(func(ctx context.Context, t *agent.Turn) error {
			if t.Text() != "much" {
				return chunks(ctx, t)
			}
			for i := 0; ; i++ {
				if err := t.Status(fmt.Sprint(i)); err != nil {
					stopped <- err
					return err
				}
			}
		}), testCard(), &Options{DrainWait: time.Minute})
		go w.SendMessage(context.Background(), sendNow("much"))
		synctest.Wait() // the agent waits for room
		wantState(t, w.mustSend(send("a b")), a2a.TaskStateCompleted)
		go func() {
			time.Sleep(time.Second)
			close(stall)
		}()
		w.stop()
		if err := <-stopped; err != agent.ErrDraining && err != agent.ErrEnded {
			t.Errorf("the agent got %v", err)
		}
		mem.Close()
	})
}

// stalling holds back the appends of a task that has many entries.
type stalling struct {
	store.Store
	stall chan struct{}
}

func (s *stalling) Append(a *store.Append, done func(error)) {
	if len(a.Entries) > 100 {
		<-s.stall
	}
	s.Store.Append(a, done)
}
