package engine

import (
	"context"
	"regexp"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/store"
)

func generationOf(ev *a2a.StreamResponse) int64 {
	switch {
	case ev.Task != nil:
		return ev.Task.Generation
	case ev.StatusUpdate != nil:
		return ev.StatusUpdate.Generation
	}
	if ev.MessageUpdate != nil {
		return ev.MessageUpdate.Generation
	}
	return ev.ArtifactUpdate.Generation
}

func expecting(req *a2a.SendMessageRequest, generation int64) *a2a.SendMessageRequest {
	if req.Configuration == nil {
		req.Configuration = &a2a.SendMessageConfiguration{}
	}
	req.Configuration.IfGenerationMatch = &generation
	return req
}

// Of several messages with one expectation exactly one is taken, whether the
// task waits for its client or is at work; the loser is told the truth.
func TestIfGenerationMatch(t *testing.T) {
	t.Run("interrupted", func(t *testing.T) {
		w := newWorld(t, nil, interview)
		task := w.mustSend(expecting(send("go"), 77)) // ignored where a task begins
		oneWins(t, w, task)
	})
	t.Run("working", func(t *testing.T) {
		g := newGated()
		w := newWorld(t, nil, g)
		go func() { (<-g.entered).Status("at it") }()
		task := w.mustSend(sendNow("go"))
		task = w.eventually(task.ID, a2a.TaskStateWorking)
		oneWins(t, w, task)
		if got := w.mustGet(task.ID).Status.Message.Text(); got != "at it" {
			t.Errorf("the agent's words are now %q", got)
		}
	})
}

func oneWins(t *testing.T, w *world, task *a2a.Task) {
	t.Helper()
	var all sync.WaitGroup
	errs := make(chan error, 8)
	for range cap(errs) {
		all.Go(func() {
			req := expecting(reply(task, "me"), task.Generation)
			req.Configuration.ReturnImmediately = true
			_, err := w.SendMessage(t.Context(), req)
			errs <- err
		})
	}
	all.Wait()
	close(errs)
	won := 0
	for err := range errs {
		if err == nil {
			won++
			continue
		}
		wantError(t, err, &a2a.Error{Code: a2a.CodeTaskGenerationMismatch})
		meta := err.(*a2a.Error).Meta
		current, _ := strconv.ParseInt(meta["currentGeneration"], 10, 64)
		if meta["taskId"] != task.ID || meta["expectedGeneration"] != strconv.FormatInt(task.Generation, 10) || current <= task.Generation {
			t.Errorf("told %v", meta)
		}
	}
	if won != 1 {
		t.Errorf("%d won", won)
	}
	now := w.mustGet(task.ID)
	if now.Generation <= task.Generation {
		t.Errorf("generation %d after %d", now.Generation, task.Generation)
	}
	_, err := w.SendMessage(t.Context(), expecting(reply(task, "me"), now.Generation+1000))
	wantError(t, err, &a2a.Error{Code: a2a.CodeTaskGenerationMismatch})
}

func TestLongPoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMemory()
		defer st.Close()
		w := newWorld(t, st, interview)
		task := w.mustSend(send("go"))
		get := func(e *Engine, current int64) (*a2a.Task, time.Duration) {
			t.Helper()
			start := time.Now()
			got, err := e.GetTask(t.Context(), &a2a.GetTaskRequest{ID: task.ID, CurrentGeneration: &current})
			if err != nil {
				t.Fatal(err)
			}
			return got, time.Since(start)
		}
		if _, took := get(w.Engine, task.Generation-1); took != 0 {
			t.Errorf("waited %s for what is there", took)
		}
		if got, took := get(w.Engine, task.Generation); took != 30*time.Second || got.Generation != task.Generation {
			t.Errorf("generation %d after %s", got.Generation, took)
		}

		// Another process sees it when it looks again.
		other := New(st, interview, testCard(), nil)
		for name, e := range map[string]*Engine{"here": w.Engine, "elsewhere": other} {
			before := w.mustGet(task.ID)
			done := make(chan time.Duration)
			go func() {
				got, took := get(e, before.Generation)
				if got.Generation <= before.Generation {
					t.Errorf("%s: generation %d", name, got.Generation)
				}
				done <- took
			}()
			time.Sleep(time.Second)
			w.mustSend(reply(task, "an answer"))
			if took := <-done; took < time.Second || took > 6*time.Second {
				t.Errorf("%s: took %s", name, took)
			}
		}
		ended := w.mustGet(task.ID)
		wantState(t, ended, a2a.TaskStateCompleted)
		if _, took := get(w.Engine, ended.Generation+5); took != 0 {
			t.Errorf("waited %s for news of a finished task", took)
		}

		asked := w.mustSend(send("go"))
		within, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		current := int64(1000)
		_, err := w.GetTask(within, &a2a.GetTaskRequest{ID: asked.ID, CurrentGeneration: &current})
		wantError(t, err, context.DeadlineExceeded)
		done := make(chan error)
		go func() {
			_, err := w.GetTask(t.Context(), &a2a.GetTaskRequest{ID: asked.ID, CurrentGeneration: &current})
			done <- err
		}()
		synctest.Wait()
		start := time.Now()
		w.stop()
		if err := <-done; err != nil || time.Since(start) > time.Second {
			t.Errorf("a drain ends the wait with %v after %s", err, time.Since(start))
		}
		if w.topics.LenLocked() != 0 {
			t.Errorf("%d topics are left", w.topics.LenLocked())
		}
		_, err = w.GetTask(t.Context(), &a2a.GetTaskRequest{ID: "none", CurrentGeneration: &current})
		wantError(t, err, a2a.ErrTaskNotFound)
	})
}

// Logs and seals of releases that did not write generations have generations nevertheless.
func TestGenerationsOfOldLogs(t *testing.T) {
	st := store.NewMemory()
	defer st.Close()
	w := newWorld(t, st, chunks)
	evs, err := collect(w.SendStreamingMessage(t.Context(), send("a b c")))
	if err != nil {
		t.Fatal(err)
	}
	w.stop()
	key := store.Key{ID: evs[0].Task.ID}
	rec, err := st.Get(t.Context(), key, store.Whole)
	if err != nil {
		t.Fatal(err)
	}
	entries, err := st.Entries(t.Context(), key, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	strip := func(b []byte) []byte { return regexp.MustCompile(`,"generation":"?\d+"?`).ReplaceAll(b, nil) }
	for i := range entries {
		entries[i].Body = strip(entries[i].Body)
	}
	sealed := oldSeal(t, rec.Seal)
	sealed.Head = strip(sealed.Head)
	for name, seal := range map[string]*store.Seal{"sealed": sealed, "folded": nil} {
		t.Run(name, func(t *testing.T) {
			old := store.NewMemory()
			t.Cleanup(func() { old.Close() })
			if err := store.Do(t.Context(), old, &store.Append{Row: rec.Row, Entries: entries, Seal: seal}); err != nil {
				t.Fatal(err)
			}
			w := newWorld(t, old, chunks)
			want := int64(len(evs))
			list, err := w.ListTasks(t.Context(), &a2a.ListTasksRequest{})
			if err != nil {
				t.Fatal(err)
			}
			if a, b := w.mustGet(key.ID).Generation, list.Tasks[0].Generation; a != want || b != want {
				t.Errorf("generations %d and %d, want %d", a, b, want)
			}
			rest, err := collect(w.SubscribeToTask(t.Context(), &a2a.SubscribeToTaskRequest{ID: key.ID, After: evs[1].Seq}))
			if err != nil {
				t.Fatal(err)
			}
			for i, ev := range rest {
				if got := generationOf(ev); got != int64(i+2) {
					t.Errorf("element %d has generation %d", i, got)
				}
			}
		})
	}
}
