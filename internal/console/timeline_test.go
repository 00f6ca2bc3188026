package console

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/parley-a2a/parley/a2a"
)

// story makes a log, an entry a second.
type story struct {
	entries []*a2a.Entry
}

func (s *story) add(e a2a.Entry) *story {
	e.Seq = int64(len(s.entries)) + 1
	e.Time = time.Date(2026, 11, 23, 12, 0, len(s.entries), 0, time.UTC)
	s.entries = append(s.entries, &e)
	return s
}

func (s *story) user(text string) *story {
	return s.add(a2a.Entry{Kind: a2a.EntryMessage, Message: a2a.UserText(text)})
}

func (s *story) state(state a2a.TaskState, words string) *story {
	u := &a2a.TaskStatusUpdateEvent{Status: a2a.TaskStatus{State: state}}
	if words != "" {
		u.Status.Message = &a2a.Message{MessageID: "m", Role: a2a.RoleAgent, Parts: []*a2a.Part{a2a.TextPart(words)}}
	}
	return s.add(a2a.Entry{Kind: a2a.EntryStatus, Status: u})
}

func (s *story) chunk(id, text string, more bool) *story {
	return s.add(a2a.Entry{Kind: a2a.EntryArtifact, Artifact: &a2a.TaskArtifactUpdateEvent{Append: more,
		Artifact: &a2a.Artifact{ArtifactID: id, Name: id, Parts: []*a2a.Part{a2a.TextPart(text)}}}})
}

func begun() *story {
	s := new(story)
	return s.add(a2a.Entry{Kind: a2a.EntryCreated, Created: &a2a.Created{TaskID: "t", ContextID: "c"}})
}

func lanesOf(entries []*a2a.Entry, attempts int) []lane {
	l := newLineup(entries[0].Time)
	l.attempts = attempts
	for _, e := range entries {
		l.add(e)
	}
	return l.end()
}

// An operator's timeline has a lane for each run that the server counted.
func TestLanesAreAttempts(t *testing.T) {
	anew := begun().user("go").state(a2a.TaskStateWorking, "").chunk("a", "x", false).chunk("a", "y", false).state(a2a.TaskStateCompleted, "").entries
	calm := begun().user("go").state(a2a.TaskStateWorking, "").chunk("a", "x", false).entries
	for _, c := range []struct {
		entries  []*a2a.Entry
		attempts int
		want     string
	}{
		{anew, 0, "1:4 2:3 "}, // one more for what says that there is another run
		{anew, 1, "1:6 "},
		{anew, 2, "1:4 2:3 "},
		{anew, 3, "1:4 2:3 3:0 "},
		{calm, 0, "1:4 "},
		{calm, 3, "1:4 2:0 3:0 "},
	} {
		got := ""
		for _, l := range lanesOf(c.entries, c.attempts) {
			got += fmt.Sprintf("%d:%d ", l.Attempt, len(l.Events))
		}
		if got != c.want {
			t.Errorf("with %d runs the lanes are %q, want %q", c.attempts, got, c.want)
		}
	}
}

func TestTimeline(t *testing.T) {
	s := begun().user("book a trip").state(a2a.TaskStateWorking, "").
		chunk("plan", "one ", false).chunk("plan", "two ", true).chunk("plan", "three", true).
		add(a2a.Entry{Kind: a2a.EntryStep, Step: &a2a.Step{Name: "charge", Result: a2a.JSON("12")}}).
		chunk("plan", "anew", false).
		state(a2a.TaskStateInputRequired, "Which city?").user("Vienna").state(a2a.TaskStateWorking, "").state(a2a.TaskStateCompleted, "")
	var got strings.Builder
	for _, l := range lanesOf(s.entries, 0) {
		fmt.Fprintf(&got, "turn %d, run %d, %v\n", l.Turn, l.Attempt, l.Took)
		for _, h := range l.Events {
			fmt.Fprintf(&got, "  %d-%d %s: %s\n", h.From, h.To, h.Title, h.Words)
		}
	}
	const want = `turn 1, run 1, 6s
  1-1 Task created: 
  2-2 Message: book a trip
  3-3 Working: 
  4-6 plan: 3 chunks, 13 bytes
  7-7 Step charge: 2 bytes
turn 1, run 2, 4s
  0-0 Run again: the run before did not finish, as when its server was killed; its output starts over
  8-8 plan: 1 chunk, 4 bytes, begun anew
  9-9 Question: Which city?
  10-10 Answer: Vienna
  11-11 Working: 
  12-12 Completed: 
`
	if got.String() != want {
		t.Errorf("the timeline is\n%s\nwant\n%s", got.String(), want)
	}
}

// A message for a task that waits for its agent begins no turn; one for a task that has
// ended does.
func TestLanesAreTurns(t *testing.T) {
	s := begun().user("go").user("and mind this").state(a2a.TaskStateWorking, "").user("and that").state(a2a.TaskStateCompleted, "").
		state(a2a.TaskStateSubmitted, "").user("once more").user("please").state(a2a.TaskStateWorking, "")
	got := ""
	for _, l := range lanesOf(s.entries, 0) {
		got += fmt.Sprintf("%d:%d ", l.Turn, len(l.Events))
	}
	if got != "1:7 2:3 " {
		t.Errorf("the turns are %q", got)
	}
}

// Each call that waits is answered when the task rests, whatever was sent after it.
func TestWireAnswersEachCall(t *testing.T) {
	s := begun().user("go").state(a2a.TaskStateWorking, "").user("and mind this")
	s.add(a2a.Entry{Kind: a2a.EntryMessage, Message: a2a.UserText("tell me"), Received: &a2a.Received{Call: "SendStreamingMessage"}})
	s.state(a2a.TaskStateCompleted, "")
	r := &request{Request: httptest.NewRequest("GET", "/", nil), ctx: t.Context()}
	w := &wireReader{c: new(Console), r: r, a: &Agent{Card: &a2a.AgentCard{}}}
	for _, e := range s.entries {
		w.add(e)
	}
	got := ""
	for _, one := range w.Items {
		got += fmt.Sprintf("%s %t ", one.Method, one.Response != "")
	}
	if want := "SendMessage true  false SendMessage true SendStreamingMessage false  false "; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A page that is followed from any position is the one that is loaded at the end.
func TestAPageIsItsFragments(t *testing.T) {
	s := begun().user("hello <b>").state(a2a.TaskStateWorking, "half way").
		chunk("a", "# Title\n", false).chunk("a", "text & more\r\n", true).chunk("b", "plain", false).
		state(a2a.TaskStateInputRequired, "Which?").user("this").state(a2a.TaskStateWorking, "").
		chunk("a", "once *again*", false).state(a2a.TaskStateFailed, "no paper")
	whole := newSheet(prefixOf("/t") + "flow")
	newFlow(whole, "/t", "t", "x").add(s.entries)
	for cut := range s.entries {
		page := newSheet(prefixOf("/t") + "flow")
		f := newFlow(page, "/t", "t", "x")
		f.add(s.entries[:cut])
		f.add(s.entries[cut:])
		if page.HTML() != whole.HTML() {
			t.Errorf("followed from entry %d the page is\n%s\nloaded it is\n%s", cut, page.HTML(), whole.HTML())
		}
	}
}

func TestSpansAreWords(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0 ms", 999 * time.Millisecond: "999 ms", time.Second: "1 s", 1540 * time.Millisecond: "1.5 s", time.Minute: "1 min",
		61 * time.Second: "1 min 1 s", 24 * time.Hour: "24 h", 90*time.Minute + time.Second: "1 h 30 min", 168 * time.Hour: "7 days", 50 * time.Hour: "2 days 2 h",
	} {
		if got := span(d); got != want {
			t.Errorf("%v is %q: expected %q", d, got, want)
		}
	}
}

// Where servers' clocks differ, nothing took less than no time.
func TestNoTimeIsNegative(t *testing.T) {
	if got := span(-5 * time.Second); got != "0 ms" {
		t.Errorf("a step that ended before it began took %s", got)
	}
}

func TestSizesAreWords(t *testing.T) {
	for n, want := range map[int]string{0: "0 bytes", 1: "1 byte", 1023: "1023 bytes", 1 << 10: "1.0 KiB", 3 << 20: "3.0 MiB", 1 << 30: "1.0 GiB"} {
		if got := size(n); got != want {
			t.Errorf("%d bytes are %q, want %q", n, got, want)
		}
	}
}
