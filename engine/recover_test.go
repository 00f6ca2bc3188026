package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/engine/internal/task"
	"github.com/parley-a2a/parley/store"
	"github.com/parley-a2a/parley/store/storetest"
)

// waiting is an agent that works until it is told to stop.
var waiting = agent.Func(func(ctx context.Context, t *agent.Turn) error {
	<-ctx.Done()
	return context.Cause(ctx)
})

// crashed leaves n tasks of a process that was killed at work.
func crashed(t *testing.T, st store.Store, n int) []*a2a.Task {
	t.Helper()
	w, kill := newMortal(t, st, waiting, nil)
	tasks := make([]*a2a.Task, n)
	for i := range tasks {
		tasks[i] = w.mustSend(sendNow(fmt.Sprint("task ", i)))
	}
	kill()
	return tasks
}

func row(t testing.TB, st store.Store, id string) *store.Row {
	t.Helper()
	rec, err := st.Get(t.Context(), store.Key{ID: id}, store.RowOnly)
	if err != nil {
		t.Fatal(err)
	}
	return &rec.Row
}

// Of many tasks that were left no more run at a time than there are slots, all
// run in the end, and those that wait are not lost once more by the next crash.
func TestTakeUpIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const tasks, slots = 500, 10
		st := store.NewMemory()
		defer st.Close()
		left := crashed(t, st, tasks)
		o := &Options{TakeUp: slots}

		w, kill := newMortal(t, st, waiting, o)
		synctest.Wait()
		owners := w.AtWork()
		if owners != slots {
			t.Errorf("%d tasks are held, want %d", owners, slots)
		}
		wantState(t, w.mustSend(sendNow("new")), a2a.TaskStateSubmitted) // has no part in it
		kill()
		again := 0
		for _, task := range left {
			switch lost := row(t, st, task.ID).Lost; lost {
			case 0:
			case 1:
				again++
			default:
				t.Errorf("a task was lost %d times", lost)
			}
		}
		if again != slots {
			t.Errorf("%d tasks were claimed, want %d", again, slots)
		}

		var now, most atomic.Int32
		ag := agent.Func(func(ctx context.Context, t *agent.Turn) error {
			most.Store(max(most.Load(), now.Add(1)))
			time.Sleep(task.SlotTime / 2)
			now.Add(-1)
			return nil
		})
		w = newWorldWith(t, st, ag, testCard(), o)
		time.Sleep(2 * time.Minute) // more than it takes: 50 batches, and some rest before
		for _, task := range left {
			wantState(t, w.mustGet(task.ID), a2a.TaskStateCompleted)
		}
		if n := most.Load(); n != slots {
			t.Errorf("%d ran at a time, want %d", n, slots)
		}
		w.stop()
	})
}

// A task that asks its client needs no slot any more, nor does one that goes on
// with the answer.
func TestQuestionsFreeSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMemory()
		defer st.Close()
		left := crashed(t, st, 5)
		w := newWorldWith(t, st, interview, testCard(), &Options{TakeUp: 1})
		synctest.Wait()
		for _, task := range left {
			wantState(t, w.mustGet(task.ID), a2a.TaskStateInputRequired)
		}
		for _, task := range left {
			w.mustSend(reply(task, "Ada"))
			wantState(t, w.mustSend(reply(task, "London")), a2a.TaskStateCompleted)
		}
		w.stop()
	})
}

// A task that waits for a slot takes messages and cancels at once. The canceled
// task's agent does not run.
func TestQueuedTasksAreInReach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMemory()
		defer st.Close()
		left := crashed(t, st, 3)
		var ran sync.Map
		w := newWorldWith(t, st, agent.Func(func(ctx context.Context, t *agent.Turn) error {
			ran.Store(t.Task().ID, true)
			m, err := t.Ask(ctx, "?")
			if err != nil {
				return err
			}
			if m.Text() == "stay" {
				return waiting(ctx, t)
			}
			return nil
		}), testCard(), &Options{TakeUp: 1})
		synctest.Wait() // all three ask
		for _, task := range left {
			w.SendMessage(t.Context(), &a2a.SendMessageRequest{
				Message:       reply(task, "stay").Message,
				Configuration: &a2a.SendMessageConfiguration{ReturnImmediately: true},
			})
		}
		w.stop()

		ran.Clear()
		stuck := newGated()
		var runs atomic.Int32
		w = newWorldWith(t, st, agent.Func(func(ctx context.Context, t *agent.Turn) error {
			ran.Store(t.Task().ID, true)
			said := runs.Add(1) // the second one has got two messages
			if err := stuck.Run(ctx, t); err != nil {
				return err
			}
			for range said {
				if _, err := t.Ask(ctx, "?"); err != nil {
					return err
				}
			}
			return nil
		}), testCard(), &Options{TakeUp: 1})
		first := (<-stuck.entered).Task().ID
		var queued []*a2a.Task
		for _, task := range left {
			if task.ID != first {
				queued = append(queued, task)
			}
		}
		canceled, err := w.CancelTask(t.Context(), &a2a.CancelTaskRequest{ID: queued[0].ID})
		if err != nil {
			t.Fatal(err)
		}
		wantState(t, canceled, a2a.TaskStateCanceled)
		if _, did := ran.Load(queued[0].ID); did {
			t.Error("the agent of the canceled task ran")
		}
		answered := w.posted(reply(queued[1], "hello"))
		<-stuck.entered // beside the slot
		stuck.leave <- nil
		stuck.leave <- nil
		if got := <-answered; got.err != nil {
			t.Error(got.err)
		} else {
			wantUsers(t, got.task, got.task.History[0].Text(), "stay", "hello")
		}
		w.eventually(first, a2a.TaskStateCompleted)
		w.stop()
	})
}

// unreadable is a store that cannot read the log of one task.
type unreadable struct {
	store.Store
	key    store.Key
	broken atomic.Bool
	tries  atomic.Int32
}

func (u *unreadable) Entries(ctx context.Context, k store.Key, after int64, limit int) ([]store.Entry, error) {
	if k == u.key && u.broken.Load() {
		u.tries.Add(1)
		return nil, errors.New("a page is damaged")
	}
	return u.Store.Entries(ctx, k, after, limit)
}

// A task that cannot be loaded keeps no other from running, and runs when it
// can be.
func TestBrokenTaskIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := store.NewMemory()
		defer mem.Close()
		left := crashed(t, mem, 10)
		st := &unreadable{Store: mem, key: store.Key{ID: left[3].ID}}
		st.broken.Store(true)
		w := newWorldWith(t, st, parrot, testCard(), &Options{TakeUp: 2})
		synctest.Wait()
		for i, task := range left {
			if i != 3 {
				wantState(t, w.mustGet(task.ID), a2a.TaskStateCompleted)
			}
		}
		time.Sleep(time.Minute)
		if n := st.tries.Load(); n < 4 || n > 10 {
			t.Errorf("it was tried %d times in a minute", n)
		}
		st.broken.Store(false)
		time.Sleep(2 * time.Minute)
		wantState(t, w.mustGet(left[3].ID), a2a.TaskStateCompleted)
		w.stop()
	})
}

// Claims that fail, before or after they took effect, cost time and no task.
func TestClaimsThatFail(t *testing.T) {
	for _, fault := range []storetest.Fault{storetest.FailBefore, storetest.FailAfter} {
		for step := 1; step < 30; step++ { // 0 is the beat of the start
			synctest.Test(t, func(t *testing.T) {
				mem := store.NewMemory()
				defer mem.Close()
				left := crashed(t, mem, 20)
				w := newWorldWith(t, storetest.Faulty(mem, step, fault), parrot, testCard(), &Options{TakeUp: 3})
				time.Sleep(time.Minute)
				for _, task := range left {
					wantState(t, w.mustGet(task.ID), a2a.TaskStateCompleted)
				}
				if err := w.Trouble(); err != nil {
					t.Errorf("trouble is not over: %v", err)
				}
				w.stop()
			})
		}
	}
}

// Messages come for tasks in the moment in which they are claimed: each is taken
// once, and no process fences itself.
func TestMessagesMeetTheTakeUp(t *testing.T) {
	for round := range 30 {
		synctest.Test(t, func(t *testing.T) {
			const tasks = 40
			st := store.NewMemory()
			defer st.Close()
			left := crashed(t, st, tasks)
			w := newWorldWith(t, st, agent.Func(func(ctx context.Context, t *agent.Turn) error {
				m, err := t.Ask(ctx, "?")
				if err != nil {
					return err
				}
				return t.Complete(m.Text())
			}), testCard(), &Options{TakeUp: 1 + round%3})
			var all sync.WaitGroup
			for i := range tasks {
				all.Go(func() {
					task := left[(i+round)%tasks]
					resp, err := w.SendMessage(context.Background(), reply(task, "go on"))
					if err != nil {
						t.Error(err)
						return
					}
					// A message that comes before the question answers it.
					if s := resp.Task.Status.State; s != a2a.TaskStateCompleted {
						t.Errorf("the task is %s", s)
					}
				})
			}
			all.Wait()
			w.stop()
			for _, task := range left {
				if r := row(t, st, task.ID); r.Lost != 1 && r.Lost != 0 || r.Active {
					t.Errorf("the row is %+v", r)
				}
			}
		})
	}
}

// When the store does not take writes for long, the tasks at hand are given up;
// they run again when it does.
func TestTasksComeBackWithTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := store.NewMemory()
		defer mem.Close()
		st := &breaking{Store: mem}
		var attempts atomic.Int32
		w := newWorld(t, st, agent.Func(func(ctx context.Context, t *agent.Turn) error {
			attempts.Store(int32(t.Attempt()))
			time.Sleep(time.Second)
			return t.Status("more")
		}))
		task := w.mustSend(sendNow("x"))
		st.broken.Store(true)
		time.Sleep(3 * time.Minute)
		wantState(t, w.mustGet(task.ID), a2a.TaskStateSubmitted)
		st.broken.Store(false)
		time.Sleep(6 * time.Minute)
		end := w.mustGet(task.ID)
		if !end.Status.State.Terminal() {
			t.Errorf("the task is %s", end.Status.State)
		}
		w.stop()
	})
}

// Tasks that run for long, talking or silent, do not keep others from going on.
func TestLongRunsFreeSlots(t *testing.T) {
	for name, ag := range map[string]agent.Func{
		"silent": func(ctx context.Context, t *agent.Turn) error { return waiting(ctx, t) },
		"talking": func(ctx context.Context, t *agent.Turn) error {
			if err := t.Status("at it"); err != nil {
				return err
			}
			return waiting(ctx, t)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				st := store.NewMemory()
				defer st.Close()
				left := crashed(t, st, 20)
				w := newWorldWith(t, st, ag, testCard(), &Options{TakeUp: 2})
				wait := time.Millisecond
				if name == "silent" {
					wait = 10*task.SlotTime + time.Second
				}
				time.Sleep(wait)
				for _, task := range left {
					if r := row(t, st, task.ID); r.Node != w.node {
						t.Errorf("a task was not taken up after %v", wait)
					}
				}
				w.stop()
			})
		})
	}
}
