package engine

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/engine/internal/stored"
	"github.com/parley-a2a/parley/internal/budget"
	"github.com/parley-a2a/parley/store"
)

const kib = 1 << 10

// heavy is a message of so many KiB whose first word is for the agent.
func heavy(word string, n int) *a2a.SendMessageRequest {
	req := sendNow(word)
	req.Message.Metadata = a2a.JSON(`{"x":"` + strings.Repeat("x", n*kib) + `"}`)
	return req
}

// oneMiB are the options of engines with one MiB for tasks at work, of which a caller has 256 KiB.
func oneMiB() *Options { return &Options{Work: 1 << 20} }

func (w *world) sendAs(ctx context.Context, req *a2a.SendMessageRequest) (*a2a.Task, error) {
	resp, err := w.SendMessage(ctx, req)
	if err != nil {
		return nil, err
	}
	return resp.Task, nil
}

// untilTold works until a message comes that says so.
func untilTold(done chan struct{}) agent.Agent {
	return agent.Func(func(ctx context.Context, t *agent.Turn) error {
		switch t.Text() {
		case "work":
			select {
			case <-done:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		case "write":
			if err := t.Artifact("a").Last(a2a.TextPart(strings.Repeat("y", 3<<20))); err != nil {
				return err
			}
			<-done
		}
		return nil
	})
}

func (w *world) wantNothingHeld() {
	w.t.Helper()
	synctest.Wait()
	if n := w.owners.Weights.Used(); n != 0 {
		w.t.Errorf("%d bytes are held, want none", n)
	}
}

// A large message waits until tasks at work leave room for it, and then is refused
// before anything of it is stored. A small one does not wait.
func TestLargeMessageWaitsForRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		done := make(chan struct{})
		w := newWorldWith(t, nil, untilTold(done), testCard(), oneMiB())
		ann, bob, eve := as("ann", ""), as("bob", ""), as("eve", "")
		first, err := w.sendAs(ann, heavy("work", 700))
		if err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		_, err = w.sendAs(bob, heavy("work", 700))
		var e *a2a.Error
		if !errors.As(err, &e) || e.Code != a2a.CodeUnavailable || e.RetryAfter <= 0 || time.Since(begun) != budget.Wait {
			t.Errorf("it got %v after %v", err, time.Since(begun))
		}
		if list, err := w.ListTasks(bob, &a2a.ListTasksRequest{}); err != nil || len(list.Tasks) != 0 {
			t.Errorf("a message that was refused left %v, %v", list, err)
		}
		begun = time.Now()
		if _, err := w.sendAs(eve, sendNow("work")); err != nil || time.Since(begun) > time.Second {
			t.Errorf("a small message got %v after %v", err, time.Since(begun))
		}
		go func() {
			time.Sleep(10 * time.Second)
			close(done)
		}()
		second, err := w.sendAs(bob, heavy("done", 700))
		if err != nil || time.Since(begun) < 10*time.Second {
			t.Fatalf("it got %v after %v", err, time.Since(begun))
		}
		synctest.Wait()
		for ctx, id := range map[context.Context]string{ann: first.ID, bob: second.ID} {
			task, err := w.GetTask(ctx, &a2a.GetTaskRequest{ID: id})
			if err != nil {
				t.Fatal(err)
			}
			wantState(t, task, a2a.TaskStateCompleted)
		}
		w.wantNothingHeld()
	})
}

// A caller that has used its share waits, and others do not.
func TestOneCallerDoesNotTakeAllMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		done := make(chan struct{})
		w := newWorldWith(t, nil, untilTold(done), testCard(), oneMiB())
		ann := as("ann", "")
		if _, err := w.sendAs(ann, heavy("work", 140)); err != nil {
			t.Fatal(err)
		}
		got := make(chan error)
		go func() {
			_, err := w.sendAs(ann, heavy("work", 140))
			got <- err
		}()
		synctest.Wait()
		begun := time.Now()
		for _, name := range []string{"bob", "eve"} {
			if _, err := w.sendAs(as(name, ""), heavy("work", 140)); err != nil || time.Since(begun) > time.Second {
				t.Errorf("%s got %v after %v", name, err, time.Since(begun))
			}
		}
		if err := <-got; !errors.Is(err, a2a.ErrUnavailable) {
			t.Errorf("beyond its share a caller got %v", err)
		}
		close(done)
		w.wantNothingHeld()
	})
}

// What an agent says does not wait. Messages do, until its task is over.
func TestAgentsDoNotWaitForMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		done := make(chan struct{})
		w := newWorldWith(t, nil, untilTold(done), testCard(), oneMiB())
		ann := as("ann", "")
		var ids []string
		for range 3 {
			task, err := w.sendAs(ann, sendNow("write"))
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, task.ID)
		}
		synctest.Wait()
		if n := w.owners.Weights.Used(); n < 9<<20 {
			t.Errorf("%d bytes are held, want at least what was written", n)
		}
		if _, err := w.sendAs(as("bob", ""), heavy("done", 100)); !errors.Is(err, a2a.ErrUnavailable) {
			t.Errorf("got %v", err)
		}
		close(done)
		synctest.Wait()
		for _, id := range ids {
			task, err := w.GetTask(ann, &a2a.GetTaskRequest{ID: id})
			if err != nil || len(task.Artifacts) != 1 || len(task.Artifacts[0].Parts[0].Text) != 3<<20 {
				t.Errorf("task %s is not whole: %v", id, err)
			}
		}
		w.wantNothingHeld()
	})
}

// An agent that waits for another task while its own takes all memory gets an
// answer, and goes on.
func TestTasksThatWaitForTasksGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w *world
		w = newWorldWith(t, nil, agent.Func(func(ctx context.Context, t *agent.Turn) error {
			if t.Text() != "nest" {
				return nil
			}
			_, err := w.SendMessage(ctx, heavy("leaf", 200))
			if !errors.Is(err, a2a.ErrUnavailable) {
				return errors.New("want it to be refused")
			}
			_, err = w.SendMessage(ctx, send("leaf"))
			return err
		}), testCard(), oneMiB())
		var ids []string
		for range 2 {
			task, err := w.sendAs(as("ann", ""), heavy("nest", 120))
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, task.ID)
		}
		time.Sleep(2 * budget.Wait)
		for _, id := range ids {
			task, err := w.GetTask(as("ann", ""), &a2a.GetTaskRequest{ID: id})
			if err != nil {
				t.Fatal(err)
			}
			wantState(t, task, a2a.TaskStateCompleted)
		}
		w.wantNothingHeld()
	})
}

// The engine drains although messages wait for memory.
func TestDrainDoesNotWaitForMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorldWith(t, nil, untilTold(nil), testCard(), oneMiB())
		if _, err := w.sendAs(as("ann", ""), heavy("work", 900)); err != nil {
			t.Fatal(err)
		}
		got := make(chan error)
		go func() {
			_, err := w.sendAs(as("bob", ""), heavy("work", 900))
			got <- err
		}()
		synctest.Wait()
		begun := time.Now()
		w.stop()
		if err := <-got; !errors.Is(err, a2a.ErrUnavailable) || time.Since(begun) > time.Second {
			t.Errorf("it got %v after %v", err, time.Since(begun))
		}
	})
}

// After a crash a large task waits for memory before it resumes. Other tasks resume
// meanwhile.
func TestTakenUpAsThereIsMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMemory()
		defer st.Close()
		w := newWorldWith(t, st, untilTold(nil), testCard(), &Options{Work: -1})
		ids := map[string]string{}
		for _, name := range []string{"al", "ann", "bob", "eve"} {
			n := 700
			if name == "al" || name == "eve" {
				n = 1
			}
			task, err := w.sendAs(as(name, ""), heavy("work", n))
			if err != nil {
				t.Fatal(err)
			}
			ids[name] = task.ID
		}
		w.stop()
		done := make(chan struct{})
		w = newWorldWith(t, st, untilTold(done), testCard(), oneMiB())
		time.Sleep(3 * time.Second)
		for name, want := range map[string]int{"al": 1, "eve": 1, "ann": 1} {
			got := 0
			if w.owned(ids[name]) {
				got = 1
			}
			if name == "ann" { // or bob, whoever was first
				if w.owned(ids["bob"]) {
					got++
				}
			}
			if got != want {
				t.Errorf("%d of the tasks like %s's were taken up, want %d", got, name, want)
			}
		}
		close(done)
		time.Sleep(10 * time.Minute)
		for name, id := range ids {
			task, err := w.GetTask(as(name, ""), &a2a.GetTaskRequest{ID: id})
			if err != nil {
				t.Fatal(err)
			}
			wantState(t, task, a2a.TaskStateCompleted)
		}
		w.wantNothingHeld()
	})
}

// A task that rests between two runs begins when that is over, although messages for it
// wait for memory.
func TestTasksDoNotRestForMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMemory()
		defer st.Close()
		id := crashed(t, st, 1)[0].ID
		_, kill := newMortal(t, st, waiting, nil)
		synctest.Wait()
		kill() // so that it rests for a second
		done := make(chan struct{})
		defer close(done)
		var begun atomic.Bool
		w := newWorldWith(t, st, agent.Func(func(ctx context.Context, t *agent.Turn) error {
			if t.Text() != "work" {
				begun.Store(true)
			}
			<-done
			return nil
		}), testCard(), oneMiB())
		if _, err := w.sendAs(as("bob", ""), heavy("work", 900)); err != nil {
			t.Fatal(err)
		}
		var sent sync.WaitGroup
		defer sent.Wait()
		for range 5 {
			sent.Go(func() {
				req := heavy("more", 200)
				req.Message.TaskID = id
				if _, err := w.SendMessage(context.Background(), req); !errors.Is(err, a2a.ErrUnavailable) {
					t.Errorf("a message got %v, want no memory", err)
				}
			})
			time.Sleep(budget.Wait / 2)
		}
		if !begun.Load() {
			t.Errorf("the task rests for %v", 5*budget.Wait/2)
		}
	})
}

// The memory of a request is given back when the task has its message, and not
// before.
func TestRequestHoldsMemoryUntilItsMessageIsTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		done := make(chan struct{})
		w := newWorldWith(t, nil, untilTold(done), testCard(), oneMiB())
		if _, err := w.sendAs(as("ann", ""), heavy("work", 900)); err != nil {
			t.Fatal(err)
		}
		transit := budget.New(16 << 20)
		hold := transit.Open("bob")
		hold.Set(900 * kib)
		got := make(chan error)
		go func() {
			req := heavy("work", 900)
			req.Configuration = nil // it waits for the end
			_, err := w.sendAs(budget.With(as("bob", ""), hold), req)
			got <- err
		}()
		synctest.Wait()
		if n := transit.Used(); n != 900*kib {
			t.Errorf("%d bytes are held while the message waits", n)
		}
		done <- struct{}{}
		time.Sleep(time.Second) // until the task is there
		if n := transit.Used(); n != 0 {
			t.Errorf("%d bytes are held while the task is at work", n)
		}
		done <- struct{}{}
		if err := <-got; err != nil {
			t.Error(err)
		}
	})
}

// Lists in a message weigh as much as its text would.
func TestListsWeigh(t *testing.T) {
	m := message("x")
	m.Extensions = []string{strings.Repeat("e", 1000)}
	m.ReferenceTaskIDs = make([]string, 1000)
	en := &a2a.Entry{Message: m, Received: &a2a.Received{AcceptedOutputModes: make([]string, 1000)}}
	if n := stored.Weight(en); n < 1000+2*1000*16 {
		t.Errorf("it weighs %d bytes", n)
	}
}

// A message that would begin a task of a chosen id, and is refused or given up while it
// waits for memory, says nothing of others for that task, which came meanwhile.
func TestOthersDoNotGetTheRefusalOfALargeMessage(t *testing.T) {
	for name, wait := range map[string]time.Duration{"given up": time.Second, "refused": time.Hour} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorldWith(t, nil, untilTold(nil), testCard(), oneMiB())
				if _, err := w.sendAs(as("ann", ""), heavy("work", 700)); err != nil {
					t.Fatal(err)
				}
				large := make(chan error, 1)
				go func() {
					ctx, cancel := context.WithTimeout(as("bob", ""), wait)
					defer cancel()
					req := first01("chosen", "done")
					req.Message.Metadata = heavy("", 700).Message.Metadata
					_, err := w.sendAs(ctx, req)
					large <- err
				}()
				synctest.Wait()
				task, err := w.sendAs(as("bob", ""), first01("chosen", "done"))
				if err != nil {
					t.Fatalf("a small message got %v", err)
				}
				wantState(t, task, a2a.TaskStateCompleted)
				if err := <-large; err == nil {
					t.Error("there was no room for a large message, and it was taken")
				}
			})
		})
	}
}
