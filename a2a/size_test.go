package a2a_test

import (
	"testing"

	"github.com/parley-a2a/parley/a2a"
)

// The memory of an answer is bounded by its size, so nothing that a caller may put into
// it may be missing from the size.
func TestSizeHasTheTimeline(t *testing.T) {
	said := &a2a.Message{Parts: []*a2a.Part{a2a.TextPart("12345678")}}
	task := &a2a.Task{
		Timeline:     []*a2a.TimelineEntry{{Message: said}, {Status: &a2a.TaskStatus{Message: said}}, {}},
		Elicitations: []*a2a.Elicitation{{Metadata: a2a.JSON(`{"a":1}`)}},
	}
	if got, want := task.Size(), 2*8+7; got != want {
		t.Errorf("a task with a timeline has the size %d, want %d", got, want)
	}
}
