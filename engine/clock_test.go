package engine

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/store"
)

// ahead is a store that was written before the clock was set back: all times in
// it are later than they seem.
type ahead struct {
	store.Store
	by time.Duration
}

func (c *ahead) Append(a *store.Append, done func(error)) {
	later := *a
	later.Row.Updated = a.Row.Updated.Add(c.by)
	later.Row.Created = a.Row.Created.Add(c.by)
	later.Entries = append([]store.Entry(nil), a.Entries...)
	for i := range later.Entries {
		later.Entries[i].Time = later.Entries[i].Time.Add(c.by)
	}
	c.Store.Append(&later, done)
}

// After the clock was set back, tasks of the time before it go on: their times
// never go back, lists show them, questions are answered, and nothing waits for
// the clock to catch up.
func TestClockSetBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := store.NewMemory()
		defer mem.Close()
		const by = 4 * time.Hour // far more than the hour for which tasks are kept; each hour is full of beats
		future := &ahead{mem, by}
		w, kill := newMortal(t, future, waiting, nil)
		var work []*a2a.Task
		for range 5 {
			work = append(work, w.mustSend(sendNow("work")))
		}
		kill()
		w = newWorld(t, future, interview)
		synctest.Wait() // they ask
		asked := w.mustSend(send("ask"))
		w.stop()
		w, kill = newMortal(t, future, waiting, nil)
		w.mustSend(replyNow(asked, "Ada"))
		synctest.Wait()
		kill()

		start := time.Now()
		w = newWorldWith(t, mem, interview, testCard(), &Options{
			Retention: Retention{Completed: time.Hour, Waiting: time.Hour},
			DeadAfter: 10 * time.Second,
		})
		time.Sleep(13 * time.Second) // the beats of the dead are not from the future
		for _, task := range append(work, asked) {
			got := w.mustGet(task.ID)
			if got.Status.State != a2a.TaskStateInputRequired {
				t.Fatalf("the task is %s", got.Status.State)
			}
		}
		var tokens []string
		seen := map[string]bool{}
		size := int32(2)
		for token := ""; ; {
			page, err := w.ListTasks(t.Context(), &a2a.ListTasksRequest{PageSize: &size, PageToken: token})
			if err != nil {
				t.Fatal(err)
			}
			for _, task := range page.Tasks {
				seen[task.ID] = true
			}
			if token = page.NextPageToken; token == "" {
				break
			}
			tokens = append(tokens, token)
		}
		if len(seen) != 6 || len(tokens) != 2 {
			t.Errorf("the list has %d tasks and %d more pages", len(seen), len(tokens))
		}
		poll := make(chan *a2a.Task, 1)
		before := w.mustGet(asked.ID)
		go func() {
			task, err := w.GetTask(t.Context(), &a2a.GetTaskRequest{ID: asked.ID, CurrentGeneration: &before.Generation})
			if err != nil {
				t.Error(err)
			}
			poll <- task
		}()
		synctest.Wait()
		end := w.mustSend(reply(asked, "London"))
		wantState(t, end, a2a.TaskStateCompleted)
		if got := <-poll; got == nil || got.Generation <= before.Generation {
			t.Error("the long poll got nothing new")
		}
		if d := time.Since(start); d > 14*time.Second {
			t.Errorf("it took %v", d)
		}
		if got := end.Status.Timestamp; got.Before(before.Status.Timestamp) {
			t.Errorf("the end is at %v, the question at %v", got, before.Status.Timestamp)
		}
		entries, err := mem.Entries(t.Context(), store.Key{ID: asked.ID}, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		for i := 1; i < len(entries); i++ {
			if entries[i].Time.Before(entries[i-1].Time) {
				t.Errorf("entry %d is before the one before it", entries[i].Seq)
			}
		}
		// Retention counts from the times that were written: longer, never shorter.
		time.Sleep(by / 2)
		wantState(t, w.mustGet(asked.ID), a2a.TaskStateCompleted)
		time.Sleep(5 * by) // each time it was written it was put off
		if _, err := w.GetTask(t.Context(), &a2a.GetTaskRequest{ID: asked.ID}); err == nil {
			t.Error("the task is still there")
		}
		w.stop()
	})
}

func replyNow(task *a2a.Task, text string) *a2a.SendMessageRequest {
	req := reply(task, text)
	req.Configuration = &a2a.SendMessageConfiguration{ReturnImmediately: true}
	return req
}
