package engine

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/store"
)

// The sender of a task's first message is in its owner's loop. If it leaves, the
// task does not: neither before it came into being nor with an append under way.
func TestSenderLeavesTheLoop(t *testing.T) {
	for name, after := range map[string]time.Duration{
		"before the task is there": 50 * time.Millisecond,
		"when it is":               150 * time.Millisecond,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, nil, agent.Func(func(ctx context.Context, turn *agent.Turn) error {
					time.Sleep(time.Second)
					return parrot.Run(ctx, turn)
				}))
				ctx, cancel := context.WithTimeout(t.Context(), after)
				defer cancel()
				begun := time.Now()
				_, err := w.SendMessage(ctx, send("x"))
				wantError(t, err, context.DeadlineExceeded)
				if took := time.Since(begun); took != after {
					t.Errorf("left after %v, want %v", took, after)
				}
				time.Sleep(2 * time.Second)
				list, err := w.ListTasks(t.Context(), &a2a.ListTasksRequest{})
				if err != nil || len(list.Tasks) != 1 {
					t.Fatalf("listed %+v, %v", list, err)
				}
				wantState(t, list.Tasks[0], a2a.TaskStateCompleted)
				w.stop()
				if w.AtWork() != 0 || w.topics.LenLocked() != 0 {
					t.Errorf("%d owners and %d topics are left", w.AtWork(), w.topics.LenLocked())
				}
			})
		})
	}
}

// An append that failed is tried again for long. The sender may leave before, and
// the task comes into being when the store works.
func TestSenderLeavesAStoreThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := store.NewMemory()
		defer mem.Close()
		st := &ill{Store: mem}
		w := newWorld(t, st, parrot)
		synctest.Wait()
		st.set(errors.New("disk I/O error"))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begun := time.Now()
		_, err := w.SendMessage(ctx, send("x"))
		wantError(t, err, context.DeadlineExceeded)
		if took := time.Since(begun); took != time.Second {
			t.Errorf("left after %v", took)
		}
		st.set(nil)
		time.Sleep(5 * time.Second)
		list, err := w.ListTasks(t.Context(), &a2a.ListTasksRequest{})
		if err != nil || len(list.Tasks) != 1 {
			t.Fatalf("listed %+v, %v", list, err)
		}
		wantState(t, list.Tasks[0], a2a.TaskStateCompleted)
		w.stop()
	})
}

// An agent may do with its goroutine what it likes: the sender in the loop is in
// another one.
func TestAgentOfAnAttendedTaskMisbehaves(t *testing.T) {
	for name, ag := range map[string]agent.Func{
		"panics": func(context.Context, *agent.Turn) error { panic("no") },
		"ends its goroutine": func(context.Context, *agent.Turn) error {
			runtime.Goexit()
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil, ag)
			wantState(t, w.mustSend(send("x")), a2a.TaskStateFailed)
		})
	}
}
