package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/engine/internal/place"
	"github.com/parley-a2a/parley/engine/internal/stored"
	"github.com/parley-a2a/parley/store"
	"github.com/parley-a2a/parley/store/storetest"
)

// retaining starts an engine that keeps nothing longer than an hour, two for
// failures and a day for questions.
func retaining(t *testing.T, st store.Store, ag agent.Agent) *world {
	return newWorldWith(t, st, ag, testCard(), &Options{Retention: Retention{
		Completed: time.Hour, Failed: 2 * time.Hour, Waiting: 24 * time.Hour,
	}})
}

// several ends as its message says.
var several = agent.Func(func(ctx context.Context, t *agent.Turn) error {
	switch t.Text() {
	case "fail":
		return errors.New("no")
	case "reject":
		return t.Reject("no")
	case "ask":
		_, err := t.Ask(ctx, "Well?")
		return err
	case "work":
		if err := t.Status("at work"); err != nil {
			return err
		}
		<-ctx.Done()
		return context.Cause(ctx)
	}
	return parrot.Run(ctx, t)
})

func (w *world) wantGone(id string) {
	w.t.Helper()
	_, err := w.GetTask(w.t.Context(), &a2a.GetTaskRequest{ID: id})
	wantError(w.t, err, a2a.ErrTaskNotFound)
	_, err = w.CancelTask(w.t.Context(), &a2a.CancelTaskRequest{ID: id})
	wantError(w.t, err, a2a.ErrTaskNotFound)
	_, err = w.SendMessage(w.t.Context(), reply(&a2a.Task{ID: id}, "hello?"))
	wantError(w.t, err, a2a.ErrTaskNotFound)
	_, err = collect(w.SubscribeToTask(w.t.Context(), &a2a.SubscribeToTaskRequest{ID: id, After: 1}))
	wantError(w.t, err, a2a.ErrTaskNotFound)
}

// Each class goes at its age, and what is at work stays.
func TestRetentionByState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := retaining(t, nil, several)
		done, failed, rejected := w.mustSend(send("done")), w.mustSend(send("fail")), w.mustSend(send("reject"))
		asked, working := w.mustSend(send("ask")), w.mustSend(sendNow("work"))
		wantState(t, asked, a2a.TaskStateInputRequired)

		time.Sleep(59 * time.Minute)
		w.mustGet(done.ID)
		time.Sleep(12 * time.Minute) // the age and a tenth of it, with jitter
		w.wantGone(done.ID)
		w.mustGet(failed.ID)
		time.Sleep(time.Hour)
		w.wantGone(failed.ID)
		w.wantGone(rejected.ID)
		wantState(t, w.mustGet(asked.ID), a2a.TaskStateInputRequired)
		time.Sleep(22 * time.Hour)
		w.wantGone(asked.ID)
		wantState(t, w.mustGet(working.ID), a2a.TaskStateWorking)
		list, err := w.ListTasks(t.Context(), &a2a.ListTasksRequest{})
		if err != nil || len(list.Tasks) != 1 {
			t.Errorf("listed: %+v, %v; want the one at work", list, err)
		}
		synctest.Wait()
		if w.AtWork() != 1 || w.topics.LenLocked() != 1 {
			t.Errorf("%d owners and %d topics are left, want one each", w.AtWork(), w.topics.LenLocked())
		}
	})
}

// Without Retention nothing goes, however old.
func TestRetentionIsOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil, several)
		done, asked := w.mustSend(send("done")), w.mustSend(send("ask"))
		time.Sleep(10 * 365 * 24 * time.Hour)
		w.mustGet(done.ID)
		wantState(t, w.mustGet(asked.ID), a2a.TaskStateInputRequired)
	})
}

// A question that is answered in time starts its age anew with the next one.
func TestRetentionAnswerStartsAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := retaining(t, nil, agent.Func(interview))
		task := w.mustSend(send("ask"))
		time.Sleep(20 * time.Hour)
		w.mustSend(reply(task, "Ada"))
		time.Sleep(20 * time.Hour)
		task = w.mustSend(reply(task, "London"))
		wantState(t, task, a2a.TaskStateCompleted)
		time.Sleep(2 * time.Hour)
		w.wantGone(task.ID)
	})
}

// A subscriber of a task that goes is sent away, and its next try says why.
func TestRetentionEndsSubscriptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan error, 1)
		w := retaining(t, nil, agent.Func(func(ctx context.Context, t *agent.Turn) error {
			_, err := t.Ask(ctx, "Well?")
			ended <- err
			return err
		}))
		task := w.mustSend(send("ask"))
		var evs []*a2a.StreamResponse
		var err error
		left := make(chan struct{})
		go func() {
			evs, err = collect(w.SubscribeToTask(t.Context(), &a2a.SubscribeToTaskRequest{ID: task.ID}))
			close(left)
		}()
		synctest.Wait()
		time.Sleep(30 * time.Hour)
		<-left
		if got := brief(evs); got != "task:input_required" || err != nil && !errors.Is(err, a2a.ErrTaskNotFound) {
			t.Errorf("the subscriber got %q, %v", got, err)
		}
		wantError(t, <-ended, agent.ErrEnded) // the function that asked
		w.wantGone(task.ID)
	})
}

// A reader half way through a long stream of a task that is deleted gets the
// rest, an end or a not found; never another task's words, though one of the
// same id begins at once.
func TestRetentionBeneathAReader(t *testing.T) {
	st := store.NewMemory()
	t.Cleanup(func() { st.Close() })
	w := newWorld(t, st, chunks)
	key := store.Key{ID: "chosen"}
	begin := func(generation int) {
		t.Helper()
		text := strings.ReplaceAll(wordsOf(3000), "w", fmt.Sprint("g", generation, "w")) // more than a page of the store
		req := send(text)
		req.Message.TaskID = "chosen"
		req.Legacy = &a2a.Legacy{Version: "0.1", CreateByID: true, TaskOnly: true}
		w.mustSend(req)
		for !w.owners.Retire(key) { // readers have the whole log from an owner that is on the way out
			runtime.Gosched()
		}
	}
	begin(0)
	for generation, stopAt := range []int{0, 1, 511, 700} {
		n := 0
		for ev, err := range w.SubscribeToTask(t.Context(), &a2a.SubscribeToTaskRequest{ID: "chosen", After: 2}) {
			if err != nil {
				wantError(t, err, a2a.ErrTaskNotFound)
				break
			}
			if u := ev.ArtifactUpdate; u != nil {
				if got, want := u.Artifact.Parts[0].Text, fmt.Sprint("g", generation, "w", n-1); got != want {
					t.Fatalf("word %d is %q, want %q", n, got, want)
				}
			}
			if n == stopAt {
				rec, getErr := st.Get(t.Context(), key, store.RowOnly)
				if getErr != nil {
					t.Fatal(getErr)
				}
				for !w.owners.Retire(key) { // as retention does before it deletes
					runtime.Gosched()
				}
				if _, err := st.Delete(t.Context(), []store.Row{rec.Row}); err != nil {
					t.Fatal(err)
				}
				begin(generation + 1)
			}
			n++
		}
		if n <= stopAt || n >= 3000 {
			t.Errorf("the reader who was disturbed at %d got %d events", stopAt, n)
		}
	}
}

// A task that another process deletes is deleted here, too, even for callers that wait.
func TestDeletedByOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMemory()
		t.Cleanup(func() { st.Close() })
		w := newWorld(t, st, several)
		task := w.mustSend(send("ask"))
		w.stop()
		w = newWorld(t, st, several) // nobody owns it here
		got := make(chan error, 1)
		go func() {
			_, err := collect(w.SubscribeToTask(t.Context(), &a2a.SubscribeToTaskRequest{ID: task.ID}))
			got <- err
		}()
		synctest.Wait()
		rec, err := st.Get(t.Context(), store.Key{ID: task.ID}, store.RowOnly)
		if err == nil {
			_, err = st.Delete(t.Context(), []store.Row{rec.Row})
		}
		if err != nil {
			t.Fatal(err)
		}
		wantError(t, <-got, a2a.ErrTaskNotFound)
		w.wantGone(task.ID)

		// With its function parked here: the answer finds no task.
		task = w.mustSend(send("ask"))
		rec, err = st.Get(t.Context(), store.Key{ID: task.ID}, store.RowOnly)
		if err == nil {
			_, err = st.Delete(t.Context(), []store.Row{rec.Row})
		}
		if err != nil {
			t.Fatal(err)
		}
		_, err = w.SendMessage(t.Context(), reply(task, "late"))
		wantError(t, err, a2a.ErrTaskNotFound)
		w.wantGone(task.ID)
	})
}

// slowReads calls a hook between the reads of one task.
type slowReads struct {
	store.Store
	before func(what string)
}

func (s *slowReads) Entries(ctx context.Context, k store.Key, after int64, limit int) ([]store.Entry, error) {
	s.before("entries")
	return s.Store.Entries(ctx, k, after, limit)
}

func (s *slowReads) Blob(ctx context.Context, hash string) ([]byte, error) {
	s.before("blob")
	return s.Store.Blob(ctx, hash)
}

// A task that is deleted between two reads of it is not found, rather than
// half or an internal error.
func TestDeletedBetweenReads(t *testing.T) {
	for _, c := range [][2]string{{"entries", "ask"}, {"blob", "ask"}, {"blob", "done"}} { // a sealed task has no use for its log
		what, state := c[0], c[1]
		t.Run(what+" "+state, func(t *testing.T) {
			st := store.NewMemory()
			t.Cleanup(func() { st.Close() })
			var armed atomic.Bool
			hooked := &slowReads{Store: st}
			w := newWorld(t, hooked, agent.Func(func(ctx context.Context, t *agent.Turn) error {
				if err := t.Artifact("file").Last(a2a.RawPart(make([]byte, stored.MinBlob), "application/octet-stream", "f")); err != nil {
					return err
				}
				return several.Run(ctx, t)
			}))
			hooked.before = func(string) {}
			task := w.mustSend(send(state))
			w.stop()
			hooked.before = func(read string) {
				if read != what || !armed.CompareAndSwap(true, false) {
					return
				}
				rec, err := st.Get(context.Background(), store.Key{ID: task.ID}, store.RowOnly)
				if err == nil {
					_, err = st.Delete(context.Background(), []store.Row{rec.Row})
				}
				if err != nil {
					t.Error(err)
				}
			}
			w = newWorld(t, hooked, several)
			armed.Store(true)
			_, err := w.GetTask(t.Context(), &a2a.GetTaskRequest{ID: task.ID})
			wantError(t, err, a2a.ErrTaskNotFound)
			if armed.Load() {
				t.Error("it was not read this way")
			}
		})
	}
}

// A sweep whose writes fail is made good by the next one, and a task whose
// owner was sent away for nothing goes on as after a restart.
func TestRetentionFaults(t *testing.T) {
	for _, f := range []storetest.Fault{storetest.FailBefore, storetest.FailAfter} {
		t.Run(f.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := store.NewMemory()
				t.Cleanup(func() { m.Close() })
				st := &failingDeletes{Store: m, fault: f}
				w := retaining(t, st, agent.Func(interview))
				task := w.mustSend(send("ask"))
				st.fail.Store(true)
				time.Sleep(30 * time.Hour)
				if f == storetest.FailAfter {
					w.wantGone(task.ID)
					return
				}
				task = w.mustSend(reply(task, "Ada")) // it is there, and its function runs again
				task = w.mustSend(reply(task, "London"))
				wantState(t, task, a2a.TaskStateCompleted)
				wantTexts(t, task.History, "ask", "Name?", "Ada", "City?", "London")
				st.fail.Store(false)
				time.Sleep(2 * time.Hour)
				w.wantGone(task.ID)
			})
		})
	}
}

type failingDeletes struct {
	store.Store
	fault storetest.Fault
	fail  atomic.Bool
}

func (s *failingDeletes) Delete(ctx context.Context, rows []store.Row) (int, error) {
	if !s.fail.Load() {
		return s.Store.Delete(ctx, rows)
	}
	if s.fault == storetest.FailAfter {
		_, _ = s.Store.Delete(ctx, rows)
	}
	return 0, storetest.ErrFault
}

// An answer and the end of the age, at the same moment, again and again: the
// task is there with its answer, or it is not found.
func TestRetentionRacesAnAnswer(t *testing.T) {
	st := store.NewMemory()
	t.Cleanup(func() { st.Close() })
	w := newWorld(t, st, several)
	gone, answered := 0, 0
	for i := range 200 {
		task := w.mustSend(send("ask"))
		key := store.Key{ID: task.ID}
		swept := make(chan struct{})
		go func() {
			defer close(swept)
			w.sweep(t.Context(), map[a2a.TaskState]time.Duration{a2a.TaskStateInputRequired: -time.Hour}, &place.Duty{})
		}()
		for range i % 5 {
			runtime.Gosched()
		}
		resp, err := w.SendMessage(t.Context(), reply(task, "yes"))
		<-swept
		_, getErr := st.Get(t.Context(), key, store.RowOnly)
		switch {
		case err == nil && getErr == nil && resp.Task.Status.State == a2a.TaskStateCompleted:
			answered++
		case errors.Is(err, a2a.ErrTaskNotFound) && errors.Is(getErr, store.ErrNotFound):
			gone++
		default:
			t.Fatalf("answer: %v, the store: %v", err, getErr)
		}
	}
	t.Logf("%d answered, %d gone", answered, gone)
}

// A task that waits for its client in one process, and is deleted by another one, is deleted in
// both: for its caller, its readers, and its agent.
func TestDeletedByAnotherProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMemory()
		defer st.Close()
		here := newWorldWith(t, st, lingering, testCard(), shared(t))
		there := newWorldWith(t, st, lingering, testCard(), shared(t))
		remove := func(id string) {
			t.Helper()
			if err := there.Delete(t.Context(), store.Key{ID: id}); err != nil {
				t.Fatal(err)
			}
		}
		asked := here.mustSend(send("ask"))
		remove(asked.ID)
		_, err := here.GetTask(t.Context(), &a2a.GetTaskRequest{ID: asked.ID})
		wantError(t, err, a2a.ErrTaskNotFound)
		read := here.mustSend(send("ask"))
		readers := subscribe(here, read.ID, 2)
		synctest.Wait()
		remove(read.ID)
		readers.work.Wait()
		if n := readers.errs["task not found"]; n != 2 {
			t.Errorf("the readers of a task that is gone heard %v", readers.errs)
		}
		if n := here.AtWork(); n != 0 {
			t.Errorf("%d agents wait for the clients of tasks that are gone", n)
		}
	})
}
