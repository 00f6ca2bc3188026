package engine

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/store"
	"github.com/parley-a2a/parley/store/storetest"
)

// A process drains while another lives, as in a rolling upgrade. Callers that wait for a
// message, stream, or are new get an error that tells them to try again. At the other process
// they find the task, at work within a moment and not counted as lost.
func TestDrainWhileOthersLive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMemory()
		defer st.Close()
		words := make(chan string)
		ag := agent.Func(func(ctx context.Context, turn *agent.Turn) error {
			if turn.Attempt() > 1 {
				if err := turn.Status("again"); err != nil {
					return err
				}
			}
			return said(words).Run(ctx, turn)
		})
		options := func() *Options {
			o := shared(t)
			o.Retries.Anonymous = true
			return o
		}
		old := newWorldWith(t, st, ag, testCard(), options())
		next := newWorldWith(t, st, ag, testCard(), options())
		synctest.Wait()
		time.Sleep(time.Minute)

		type answer struct {
			task *a2a.Task
			err  error
		}
		blocking := send("blocking")
		first := make(chan answer, 1)
		go func() {
			resp, err := old.SendMessage(context.Background(), blocking)
			if err != nil {
				first <- answer{nil, err}
				return
			}
			first <- answer{resp.Task, nil}
		}()
		time.Sleep(time.Second) // it has a task
		words <- "at it"
		streaming := send("streaming")
		type stream struct {
			events []*a2a.StreamResponse
			err    error
		}
		cut := make(chan stream, 1)
		go func() {
			evs, err := collect(old.SendStreamingMessage(context.Background(), streaming))
			cut <- stream{evs, err}
		}()
		time.Sleep(time.Second)
		synctest.Wait()

		begun := time.Now()
		old.stop()
		if took := time.Since(begun); took > time.Second {
			t.Errorf("it drained for %v", took)
		}
		one, two := <-first, <-cut
		if !errors.Is(one.err, a2a.ErrUnavailable) {
			t.Errorf("who waited got %+v, %v", one.task, one.err)
		}
		if two.err != nil || len(two.events) == 0 || two.events[0].Task == nil {
			t.Fatalf("the stream was %s, %v", brief(two.events), two.err)
		}
		if _, err := old.SendMessage(t.Context(), send("new")); !errors.Is(err, a2a.ErrUnavailable) {
			t.Errorf("what is new got %v", err)
		}

		// Each comes again, with what it has.
		id, last := two.events[0].Task.ID, two.events[len(two.events)-1].Seq
		again := make(chan stream, 1)
		go func() {
			evs, err := collect(next.SubscribeToTask(context.Background(), &a2a.SubscribeToTaskRequest{ID: id, After: last}))
			again <- stream{evs, err}
		}()
		go func() {
			resp, err := next.SendMessage(context.Background(), blocking)
			if err != nil {
				first <- answer{nil, err}
				return
			}
			first <- answer{resp.Task, nil}
		}()
		time.Sleep(100 * time.Millisecond)
		if r := row(t, st, id); r.Node != next.node || r.Lost != 0 {
			t.Errorf("the row is %+v", r)
		}
		words <- "end"
		words <- "end"
		three, four := <-first, <-again
		if three.err != nil || three.task.Status.State != a2a.TaskStateCompleted || fmt.Sprint(users(three.task)) != "[blocking]" {
			t.Errorf("who came again got %+v, %v", three.task, three.err)
		}
		seq := last
		for _, ev := range four.events[1:] {
			if ev.Seq <= seq {
				t.Errorf("%d comes after %d", ev.Seq, seq)
			}
			seq = ev.Seq
		}
		if got := brief(four.events); four.err != nil || four.events[len(four.events)-1].State() != a2a.TaskStateCompleted {
			t.Errorf("the stream went on with %s, %v", got, four.err)
		}
		page, err := next.ListTasks(t.Context(), &a2a.ListTasksRequest{})
		if err != nil || len(page.Tasks) != 2 {
			t.Errorf("there are %d tasks, %v", len(page.Tasks), err)
		}
		next.stop()
		storetest.Check(t, st, store.Key{ID: id}, store.Key{ID: three.task.ID})
	})
}
