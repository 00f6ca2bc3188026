package engine

import (
	"context"
	"iter"
	"testing"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/engine/internal/stored"
	"github.com/parley-a2a/parley/store"
)

// An event that is announced to follow at once does so: the agent of this test goes on only
// when none is announced. All readers share what the log holds of an event.
func TestWhatFollowsAtOnce(t *testing.T) {
	mem := store.NewMemory()
	defer mem.Close()
	on := make(chan struct{})
	w := newWorld(t, mem, agent.Func(func(ctx context.Context, turn *agent.Turn) error {
		if err := turn.Status("begins"); err != nil {
			return err
		}
		out := turn.Artifact("a")
		for {
			select {
			case <-on:
				return out.Last(a2a.RawPart(make([]byte, stored.MinBlob), "image/png", ""))
			case on <- struct{}{}:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
			for range 10 {
				if _, err := out.WriteString("x"); err != nil {
					return err
				}
			}
		}
	}))
	task := w.mustSend(sendNow("go"))
	var pull [2]func() (*a2a.StreamResponse, error, bool)
	for i := range pull {
		next, stop := iter.Pull2(w.SubscribeToTask(t.Context(), &a2a.SubscribeToTaskRequest{ID: task.ID}))
		defer stop()
		pull[i] = next
		if ev, err, ok := next(); !ok || err != nil || ev.Task == nil || ev.More && ev.Task.Status.State == a2a.TaskStateWorking {
			t.Fatal(ev, err)
		}
	}
	<-on
	spilled, chunks := 0, 0
	for {
		ev, err, ok := pull[0]()
		if err != nil {
			t.Fatal(err)
		}
		other, _, _ := pull[1]()
		if !ok {
			break
		}
		if other == nil || other.Seq != ev.Seq || other.Shared == nil || other.Shared != ev.Shared {
			t.Fatalf("event %d is not shared: %v", ev.Seq, other)
		}
		stored := string(ev.Shared.Stored())
		if u := ev.ArtifactUpdate; u != nil && u.LastChunk && stored == "" {
			spilled++ // what the log holds is a reference
		} else if want := string(ev.AppendJSON(nil)); stored != want {
			t.Errorf("the log is said to hold %s, want %s", stored, want)
		}
		if ev.ArtifactUpdate != nil {
			chunks++
		}
		if chunks == 10 && !ev.More {
			on <- struct{}{} // the last one, and the end
		}
		if ev.State().Terminal() && !ev.More {
			t.Error("the end does not follow the last event at once")
		}
	}
	if spilled != 1 || chunks != 11 {
		t.Errorf("%d chunks, %d of them in blobs", chunks, spilled)
	}
}

// Also in a stream that may go through the ends of others' turns: what belongs
// together is one write.
func TestWhatFollowsAtOnceInATurn(t *testing.T) {
	mem := store.NewMemory()
	defer mem.Close()
	w := newWorld(t, mem, agent.Func(func(_ context.Context, turn *agent.Turn) error {
		out := turn.Artifact("a")
		for range 3 {
			if _, err := out.WriteString("x"); err != nil {
				return err
			}
		}
		return nil
	}))
	for _, text := range []string{"one", "two"} { // which opens the task again
		evs, err := collect(w.SendStreamingMessage(t.Context(), first01("mine", text)))
		if err != nil || len(evs) < 3 {
			t.Fatal(brief(evs), err)
		}
		for i, ev := range evs[1:] {
			// All that the agent says is one commit, or two.
			if last := i == len(evs)-2; ev.State().Terminal() != last || last && !ev.More {
				t.Errorf("%s: event %d of %s has More %v", text, i+1, brief(evs), ev.More)
			}
		}
	}
}
