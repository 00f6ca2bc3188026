package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/store"
)

// At every cursor the stream resumes with the task as it stood there, followed
// by exactly the rest: while the task runs, when it is finished, and when the
// engine is another one.
func TestResumeAtEveryCursor(t *testing.T) {
	st := store.NewMemory()
	defer st.Close()
	w := newWorld(t, st, chunks)
	whole, err := collect(w.SendStreamingMessage(t.Context(), send("a b c d e")))
	if err != nil {
		t.Fatal(err)
	}
	id := whole[0].Task.ID
	want := w.mustGet(id)
	check := func(w *world) {
		t.Helper()
		for i, from := range whole {
			rest, err := collect(w.SubscribeToTask(t.Context(), &a2a.SubscribeToTaskRequest{ID: id, After: from.Seq}))
			if err != nil {
				t.Fatalf("after %d: %v", from.Seq, err)
			}
			if rest[0].Task == nil || rest[0].Seq != from.Seq {
				t.Fatalf("after %d: begins with %+v", from.Seq, rest[0])
			}
			sameTask(t, rest[0].Task, foldStream(whole[:i+1]))
			if got, want := brief(rest[1:]), brief(whole[i+1:]); got != want {
				t.Fatalf("after %d: %q, want %q", from.Seq, got, want)
			}
			sameTask(t, foldStream(rest), want)
		}
	}
	check(w)
	w.stop()
	w = newWorld(t, st, chunks)
	check(w)

	_, err = collect(w.SubscribeToTask(t.Context(), &a2a.SubscribeToTaskRequest{ID: id}))
	wantError(t, err, a2a.ErrUnsupportedOperation)
	_, err = collect(w.SubscribeToTask(t.Context(), &a2a.SubscribeToTaskRequest{ID: id, After: 999}))
	wantError(t, err, a2a.ErrInvalidParams)
	_, err = collect(w.SubscribeToTask(t.Context(), &a2a.SubscribeToTaskRequest{ID: "no-such"}))
	wantError(t, err, a2a.ErrTaskNotFound)
}

func TestSubscribersSeeTheSame(t *testing.T) {
	g := newGated()
	w := newWorld(t, nil, agent.Func(func(ctx context.Context, t *agent.Turn) error {
		if err := g.Run(ctx, t); err != nil {
			return err
		}
		return chunks(ctx, t)
	}))
	go func() { <-g.entered }()
	task := w.mustSend(sendNow(wordsOf(5000))) // more than a tail holds
	var wg sync.WaitGroup
	var attached sync.WaitGroup
	streams := make([][]*a2a.StreamResponse, 8)
	for i := range streams {
		attached.Add(1)
		wg.Go(func() {
			for ev, err := range w.SubscribeToTask(t.Context(), &a2a.SubscribeToTaskRequest{ID: task.ID}) {
				if err != nil {
					t.Error(err)
					return
				}
				if ev.Task != nil {
					attached.Done()
				}
				streams[i] = append(streams[i], ev)
				if i == 0 && len(streams[i]) == 10 {
					return // leaves early and disturbs nobody
				}
			}
		})
	}
	attached.Wait()
	g.leave <- nil
	wg.Wait()
	want := brief(streams[1])
	if !strings.HasSuffix(want, "completed") || strings.Count(want, " ") != 5001 {
		t.Fatalf("a stream has %d elements", len(streams[1]))
	}
	for i := range streams {
		if i > 0 && brief(streams[i]) != want {
			t.Errorf("stream %d differs", i)
		}
	}
	sameTask(t, foldStream(streams[1]), w.mustGet(task.ID))
}

// A reader that stops reading holds up neither the agent, nor other readers,
// nor other tasks.
func TestStalledReaderBlocksNobody(t *testing.T) {
	w := newWorld(t, nil, chunks)
	stalled := make(chan struct{})
	resume := make(chan struct{})
	var wg sync.WaitGroup
	var seen []*a2a.StreamResponse
	wg.Go(func() {
		for ev, err := range w.SendStreamingMessage(t.Context(), send(wordsOf(20000))) {
			if err != nil {
				t.Error(err)
				return
			}
			seen = append(seen, ev)
			if len(seen) == 1 {
				close(stalled)
				<-resume
			}
		}
	})
	<-stalled
	task := w.eventually(seen[0].Task.ID, a2a.TaskStateCompleted) // the agent went on to the end
	if n := len(task.Artifacts[0].Parts); n != 20000 {
		t.Errorf("the task has %d chunks", n)
	}
	for range 10 {
		wantState(t, w.mustSend(send("quick")), a2a.TaskStateCompleted)
	}
	close(resume)
	wg.Wait()
	sameTask(t, foldStream(seen), task) // and it missed nothing
}

func TestSubscriptionOutlivesInterruptions(t *testing.T) {
	st := store.NewMemory()
	defer st.Close()
	w := newWorld(t, st, interview)
	task := w.mustSend(send("go"))
	w.stop()
	w = newWorld(t, st, interview) // nobody owns the task
	var got []*a2a.StreamResponse
	for ev, err := range w.SubscribeToTask(t.Context(), &a2a.SubscribeToTaskRequest{ID: task.ID}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, ev)
		if ev.State() == a2a.TaskStateInputRequired {
			go w.SendMessage(context.Background(), reply(task, "x"))
		}
	}
	if b, want := brief(got), "task:input_required working input_required working artifact:x of x. completed"; b != want {
		t.Errorf("stream is %q, want %q", b, want)
	}
}

// A drain ends streams and leaves running work for the next start, which runs
// it again and replaces what the lost attempt had begun.
func TestDrainLeavesWorkResumable(t *testing.T) {
	st := store.NewMemory()
	defer st.Close()
	var attempts []int
	g := newGated()
	ag := agent.Func(func(ctx context.Context, t *agent.Turn) error {
		attempts = append(attempts, t.Attempt())
		out := t.Artifact("out")
		if err := out.Add(a2a.TextPart(fmt.Sprint("part of attempt ", t.Attempt()))); err != nil {
			return err
		}
		if t.Attempt() == 1 {
			if err := g.Run(ctx, t); err != nil {
				return err
			}
		}
		return out.Last(a2a.TextPart(" end"))
	})
	w := newWorld(t, st, ag)
	streamed := make(chan error)
	go func() {
		_, err := collect(w.SendStreamingMessage(t.Context(), send("x")))
		streamed <- err
	}()
	<-g.entered
	w.stop()
	if err := <-streamed; err != nil && !errors.Is(err, a2a.ErrUnavailable) {
		t.Fatalf("the stream ended with %v", err)
	}
	_, err := w.SendMessage(t.Context(), send("x"))
	wantError(t, err, a2a.ErrUnavailable)

	w = newWorld(t, st, ag)
	list, err := w.ListTasks(t.Context(), &a2a.ListTasksRequest{})
	if err != nil || len(list.Tasks) != 1 {
		t.Fatalf("list: %+v, %v", list, err)
	}
	task := w.eventually(list.Tasks[0].ID, a2a.TaskStateCompleted)
	if !slices.Equal(attempts, []int{1, 2}) {
		t.Errorf("attempts are %v", attempts)
	}
	if len(task.Artifacts) != 1 {
		t.Fatalf("%d artifacts, want one that was begun anew", len(task.Artifacts))
	}
	var text string
	for _, p := range task.Artifacts[0].Parts {
		text += p.Text
	}
	if text != "part of attempt 2 end" {
		t.Errorf("artifact is %q", text)
	}
}

func TestTooManyLossesFailTheTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMemory()
		defer st.Close()
		g := newGated()
		w, kill := newMortal(t, st, g, nil)
		go func() { <-g.entered }()
		task := w.mustSend(sendNow("x"))
		for i := range 3 {
			kill()
			w, kill = newMortal(t, st, g, nil)
			if i < 2 {
				<-g.entered // taken up once more
			}
		}
		end := w.eventually(task.ID, a2a.TaskStateFailed)
		if got, want := end.Status.Message.Text(), "the work was interrupted 3 times and was given up"; got != want {
			t.Errorf("the reason is %q, want %q", got, want)
		}
		w.stop()
	})
}

// A process whose task was taken over cannot write any more.
func TestLostOwnerIsFenced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMemory()
		g := newGated()
		old := newWorld(t, st, g)
		var turn *agent.Turn
		go func() { turn = <-g.entered }()
		task := old.mustSend(sendNow("x"))
		synctest.Wait()

		taker := newWorld(t, st, parrot) // claims what is not its own
		end := taker.eventually(task.ID, a2a.TaskStateCompleted)
		if err := turn.Status("I am still here"); err != nil && !errors.Is(err, agent.ErrEnded) {
			t.Fatal(err)
		}
		synctest.Wait()
		wantError(t, turn.Status("again"), agent.ErrEnded)
		sameTask(t, old.mustGet(task.ID), end)
		old.stop()
		taker.stop()
		st.Close()
	})
}
