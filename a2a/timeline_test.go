package a2a

import (
	"strings"
	"testing"
)

// A client skips an entry of an unknown kind, but counts its generation; the entry is
// kept for when the task is written again.
func TestTimelineOfALaterVersion(t *testing.T) {
	doc := `{"id":"t","status":{"state":"TASK_STATE_WORKING"},"generation":"4","timeline":[` +
		`{"generation":"1","message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"one"}]}},` +
		`{"generation":"3","live":{"frame":7}},` +
		`{"generation":"4","status":{"state":"TASK_STATE_WORKING"}}]}`
	var task Task
	if err := UnmarshalAnswer([]byte(doc), &task); err != nil {
		t.Fatal(err)
	}
	if n := len(task.Timeline); n != 3 || task.Timeline[1].Generation != 3 || task.Timeline[1].Message != nil || task.Timeline[1].Status != nil {
		t.Fatalf("read %d entries: %+v", n, task.Timeline)
	}
	if out := string(task.AppendJSON(nil)); !strings.Contains(out, `{"generation":"3","live":{"frame":7}}`) {
		t.Errorf("wrote %s", out)
	}
	if out := string(task.AppendPlain(nil)); strings.Contains(out, "timeline") || strings.Contains(out, "generation") {
		t.Errorf("in 1.0 it is %s", out)
	}
}

// Elicitations are merged by their ids, in the order in which they were asked first.
func TestElicitationsAreMerged(t *testing.T) {
	asked := func(id string, s ElicitationState) *Elicitation { return &Elicitation{ElicitationID: id, State: s} }
	status := func(seq int64, list ...*Elicitation) *Entry {
		return &Entry{Seq: seq, Kind: EntryStatus, Status: &TaskStatusUpdateEvent{Generation: seq - 1, Status: TaskStatus{State: TaskStateWorking, Elicitations: list}}}
	}
	log := []*Entry{
		{Seq: 1, Kind: EntryCreated, Created: &Created{TaskID: "t"}}, {Seq: 2, Kind: EntryMessage, Message: UserText("x")},
		status(3, asked("city", ElicitationWaiting), asked("day", ElicitationBlocked)),
		status(4),
		status(5, asked("day", ElicitationResolved), asked("unit", ElicitationWaiting)),
	}
	line, err := ReadTimeline(func(yield func(*Entry, error) bool) {
		for _, e := range log {
			if !yield(e, nil) {
				return
			}
		}
	}, 1)
	if err != nil {
		t.Fatal(err)
	}
	got := string(line.Of(&Task{ID: "t"}, 1).AppendJSON(nil))
	want := `"elicitations":[{"elicitationId":"city","state":"ELICITATION_STATE_WAITING"},{"elicitationId":"day","state":"ELICITATION_STATE_RESOLVED"},{"elicitationId":"unit","state":"ELICITATION_STATE_WAITING"}]`
	if !strings.Contains(got, want) {
		t.Errorf("%s\nwant %s", got, want)
	}
	if len(line.Of(&Task{}, 1).Timeline) != 1 {
		t.Error("more entries than asked for")
	}
}
