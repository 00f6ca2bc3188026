package engine

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/store"
)

// timelineText is a timeline in one line.
func timelineText(task *a2a.Task) string {
	var all []string
	for _, e := range task.Timeline {
		switch {
		case e.Message != nil:
			all = append(all, fmt.Sprintf("%d:%q", e.Generation, e.Message.Text()))
		case e.Status != nil:
			all = append(all, fmt.Sprintf("%d:%s", e.Generation, strings.ToLower(strings.TrimPrefix(e.Status.State.String(), "TASK_STATE_"))))
		}
	}
	return strings.Join(all, " ")
}

// The timeline has the client's messages and the statuses, each with the generation after it,
// whether the task is at work, finished, or read by another process. Each reader of the stream
// with messages sees every generation.
func TestTimeline(t *testing.T) {
	st := store.NewMemory()
	defer st.Close()
	w := newWorld(t, st, interview)
	all := new(int32(100))
	task := w.mustSend(send("go"))
	get := func(n *int32) *a2a.Task {
		t.Helper()
		got, err := w.GetTask(t.Context(), &a2a.GetTaskRequest{ID: task.ID, TimelineLength: n})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	asked := get(all)
	if got := timelineText(asked); !strings.HasPrefix(got, `1:"go" 2:`) || !strings.HasSuffix(got, ":input_required") {
		t.Errorf("the task that asks has %s", got)
	}
	stream, err := collect(w.SendStreamingMessage(t.Context(), withMessages(reply(task, "me"), 100)))
	if err != nil {
		t.Fatal(err)
	}
	for i := range stream[1:] {
		if a, b := generationOf(stream[i]), generationOf(stream[i+1]); b != a+1 {
			t.Errorf("generation %d follows %d", b, a)
		}
	}
	if first := stream[0].Task; timelineText(first) == "" || first.Timeline[len(first.Timeline)-1].Generation != first.Generation {
		t.Errorf("the stream begins with %s at generation %d", timelineText(first), first.Generation)
	}
	w.mustSend(reply(task, "42"))
	whole := get(all)
	text := timelineText(whole)
	if !strings.HasPrefix(text, timelineText(asked)+fmt.Sprintf(` %d:"me" `, asked.Generation+1)) || !strings.HasSuffix(text, fmt.Sprintf("%d:completed", whole.Generation)) {
		t.Errorf("behind %s came %s", timelineText(asked), text)
	}
	for i := range whole.Timeline[1:] {
		if whole.Timeline[i].Generation >= whole.Timeline[i+1].Generation {
			t.Errorf("the timeline is not in order: %s", text)
		}
	}
	if got := get(new(int32(2))); len(got.Timeline) != 2 || !strings.HasSuffix(text, timelineText(got)) || got.Generation != whole.Generation {
		t.Errorf("the last two of %s are %s", text, timelineText(got))
	}
	if got := get(new(int32(0))); got.Timeline != nil {
		t.Errorf("with none asked for: %s", timelineText(got))
	}
	if got := get(nil); got.Timeline != nil {
		t.Errorf("without asking: %s", timelineText(got))
	}
	page, err := w.ListTasks(t.Context(), &a2a.ListTasksRequest{TimelineLength: all, Encoded: true})
	if err != nil || len(page.Tasks) != 1 || timelineText(page.Tasks[0]) != text {
		t.Errorf("the list has %+v, %v; want %s", page, err, text)
	}
	if _, err := w.GetTask(t.Context(), &a2a.GetTaskRequest{ID: task.ID, TimelineLength: new(int32(-1))}); err == nil || !strings.Contains(err.Error(), "timelineLength") {
		t.Errorf("a negative length: %v", err)
	}
	w.stop()
	w = newWorld(t, st, interview) // from the seal
	if got := timelineText(get(all)); got != text {
		t.Errorf("after a restart %s, before %s", got, text)
	}
}

// An artifact has the generations at which it began and was complete; none for the end
// while it is open.
func TestTimelineOfArtifacts(t *testing.T) {
	w := newWorld(t, nil, chunks)
	task := w.mustSend(send("a b c"))
	got, err := w.GetTask(t.Context(), &a2a.GetTaskRequest{ID: task.ID, TimelineLength: new(int32(0))})
	if err != nil {
		t.Fatal(err)
	}
	stream, err := collect(w.SubscribeToTask(t.Context(), &a2a.SubscribeToTaskRequest{ID: task.ID, After: 2, Timeline: true}))
	if err != nil {
		t.Fatal(err)
	}
	var first, last int64
	for _, ev := range stream {
		if u := ev.ArtifactUpdate; u != nil {
			if first == 0 {
				first = u.Generation
			}
			last = u.Generation
		}
		if ev.Task != nil && ev.Task.Artifacts != nil {
			t.Errorf("the stream begins with artifacts")
		}
	}
	if a := got.Artifacts[0]; a.StartGeneration != first || a.EndGeneration != last && a.EndGeneration != 0 {
		t.Errorf("the artifact goes from %d to %d, its events from %d to %d", a.StartGeneration, a.EndGeneration, first, last)
	}
	if task.Artifacts[0].StartGeneration != 0 {
		t.Error("a task without a timeline has the generations of artifacts")
	}
}

// A log of a release that did not count messages keeps its generations: no entry of the
// timeline is behind the one after it.
func TestTimelineOfAnOldLog(t *testing.T) {
	log := []*a2a.Entry{
		{Seq: 1, Kind: a2a.EntryCreated, Created: &a2a.Created{TaskID: "t"}},
		{Seq: 2, Kind: a2a.EntryMessage, Message: a2a.UserText("one")},
		{Seq: 3, Kind: a2a.EntryStatus, Status: &a2a.TaskStatusUpdateEvent{Generation: 2, Status: a2a.TaskStatus{State: a2a.TaskStateWorking}}},
		{Seq: 4, Kind: a2a.EntryMessage, Message: a2a.UserText("two")},
		{Seq: 5, Kind: a2a.EntryMessage, Message: a2a.UserText("three")},
		{Seq: 6, Kind: a2a.EntryStatus, Status: &a2a.TaskStatusUpdateEvent{Generation: 3, Status: a2a.TaskStatus{State: a2a.TaskStateCompleted}}},
	}
	entries := func(yield func(*a2a.Entry, error) bool) {
		for _, e := range log {
			if !yield(e, nil) {
				return
			}
		}
	}
	task, err := a2a.Fold(entries)
	if err != nil || task.Generation != 3 {
		t.Fatalf("%+v, %v", task, err)
	}
	line, err := a2a.ReadTimeline(entries, 10)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := timelineText(line.Of(task, 10)), `1:"one" 2:working 3:"two" 3:"three" 3:completed`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// deletesOnRead deletes a task the next time that its log is read.
type deletesOnRead struct {
	store.Store
	armed atomic.Bool
}

func (d *deletesOnRead) Entries(ctx context.Context, k store.Key, after int64, limit int) ([]store.Entry, error) {
	if d.armed.Swap(false) {
		rec, err := d.Store.Get(ctx, k, store.RowOnly)
		if err != nil {
			return nil, err
		}
		if _, err := d.Store.Delete(ctx, []store.Row{rec.Row}); err != nil {
			return nil, err
		}
	}
	return d.Store.Entries(ctx, k, after, limit)
}

// A task that is deleted while its timeline is read is not there.
func TestTimelineOfADeletedTask(t *testing.T) {
	mem := store.NewMemory()
	defer mem.Close()
	st := &deletesOnRead{Store: mem}
	w := newWorld(t, st, parrot)
	task := w.mustSend(send("go"))
	st.armed.Store(true)
	_, err := w.GetTask(t.Context(), &a2a.GetTaskRequest{ID: task.ID, TimelineLength: new(int32(100))})
	wantError(t, err, a2a.ErrTaskNotFound)
}
