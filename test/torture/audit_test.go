package torture

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parley-a2a/parley/a2a"
)

// scene is a task of three chunks whose client saw all of it: nothing is wrong
// until a test makes it so.
type scene struct {
	h *history
	r *record
}

func status(seq int64, s a2a.TaskState) *a2a.StreamResponse {
	return &a2a.StreamResponse{Seq: seq, StatusUpdate: &a2a.TaskStatusUpdateEvent{TaskID: "t", ContextID: "c", Status: a2a.TaskStatus{State: s}}}
}

func chunk(seq int64, n int, last bool) *a2a.StreamResponse {
	return &a2a.StreamResponse{Seq: seq, ArtifactUpdate: &a2a.TaskArtifactUpdateEvent{
		TaskID: "t", ContextID: "c", Append: n > 1, LastChunk: last,
		Artifact: &a2a.Artifact{ArtifactID: "a", Name: "stream", Parts: []*a2a.Part{a2a.TextPart(fmt.Sprintf("chunk %d\n", n))}},
	}}
}

func newScene() *scene {
	h := &history{
		first: &a2a.Task{ID: "t", ContextID: "c", Status: a2a.TaskStatus{State: a2a.TaskStateSubmitted}},
		events: []*a2a.StreamResponse{
			status(3, a2a.TaskStateWorking), chunk(4, 1, false), chunk(5, 2, false), chunk(6, 3, true), status(7, a2a.TaskStateCompleted),
		},
	}
	w := newWorld(&Options{})
	r := &record{
		w: w, id: "t", contextID: "c", said: "m", words: map[string]string{"m": "stream 3"}, alias: map[string]string{}, taken: []string{"m"},
		plan: &plan{kind: "stream", text: "stream 3", end: a2a.TaskStateCompleted, judge: allText("stream", "chunk 1\nchunk 2\nchunk 3\n")},
	}
	s := &scene{h, r}
	s.settle()
	seg := r.segment()
	seg.takes(&a2a.StreamResponse{Seq: 2, Task: h.first})
	for _, el := range h.events {
		seg.takes(el)
	}
	return s
}

// settle makes the task what its log says.
func (s *scene) settle() {
	t := s.h.first.Snapshot()
	for _, el := range s.h.events {
		t.ApplyEvent(el)
	}
	t.History = []*a2a.Message{{MessageID: "m", Role: a2a.RoleUser, Parts: []*a2a.Part{a2a.TextPart("stream 3")}}}
	t.Generation = int64(len(s.h.events)) + 1
	s.h.task = t
}

// again notes that the message was sent by another id, too.
func (s *scene) again(id string) {
	s.r.words[id], s.r.alias[id] = s.r.words["m"], "m"
}

// TestAuditKnowsAnswers: between an answer and the agent's next word the task still waits,
// and its question is in the history. A stream of the 1.1 draft may go on from there.
func TestAuditKnowsAnswers(t *testing.T) {
	s := newScene()
	asks := status(3, a2a.TaskStateInputRequired)
	asks.StatusUpdate.Status.Message = &a2a.Message{MessageID: "q", Role: a2a.RoleAgent, Parts: []*a2a.Part{a2a.TextPart("how?")}}
	s.h.events = []*a2a.StreamResponse{asks, status(5, a2a.TaskStateWorking), status(6, a2a.TaskStateCompleted)}
	s.h.said = []*a2a.StreamResponse{{Seq: 4, MessageUpdate: &a2a.TaskMessageUpdateEvent{
		TaskID: "t", ContextID: "c", Message: &a2a.Message{MessageID: "n", Role: a2a.RoleUser, Parts: []*a2a.Part{a2a.TextPart("so")}},
	}}}
	asked := s.h.first.Snapshot()
	asked.ApplyEvent(asks)
	answered := asked.Snapshot()
	answered.ApplyEvent(s.h.said[0])
	for _, c := range []struct {
		name  string
		task  *a2a.Task
		exact bool
		right bool
	}{
		{"a stream that goes on behind the answer", answered, true, true},
		{"a look there", answered, false, true},
		{"the question behind its answer", asked, true, false},
	} {
		s.r.looks, s.r.segments = nil, nil
		s.r.sees("a look", c.task, 4, c.exact, false, nil)
		a := &auditor{h: s.h}
		if a.sights(s.r); (len(a.found) == 0) != c.right {
			t.Errorf("%s: %v", c.name, a.found)
		}
	}
}

// TestAuditFinds: each promise that is broken is noticed, and by name.
func TestAuditFinds(t *testing.T) {
	if found := audit(newScene().h, newScene().r); len(found) > 0 {
		t.Fatalf("a right scene is found wrong: %q", found)
	}
	unproven := map[Claim]bool{}
	for c := range claims {
		unproven[c] = c != Steps && c != Counters // see TestEffectsAreJudged, TestCountersAreJudged
	}
	for _, tt := range []struct {
		name   string
		claim  Claim
		want   string
		breaks func(s *scene)
	}{
		{"an entry is lost", Logs, "positions 1 are unaccounted", func(s *scene) {
			s.h.events = slices.Delete(s.h.events, 0, 1)
			s.settle()
			s.r.segments = nil
		}},
		{"a chunk is lost", Logs, `is "chunk 3\n" where "chunk 2\n" should be`, func(s *scene) {
			s.h.events = slices.Delete(s.h.events, 2, 3)
			s.settle()
		}},
		{"a chunk comes twice", Logs, "where", func(s *scene) { s.h.events[3] = chunk(6, 2, true); s.settle() }},
		{"an entry comes twice", Logs, "event 4 follows 4", func(s *scene) {
			s.h.events = slices.Insert(s.h.events, 2, s.h.events[1])
			s.settle()
		}},
		{"an artifact goes on after its end", Logs, "behind its last chunk", func(s *scene) { s.h.events[2] = chunk(5, 2, true); s.settle() }},
		{"an artifact goes on without a beginning", Logs, "not begun", func(s *scene) {
			s.h.events[1] = chunk(4, 2, false)
			s.settle()
		}},
		{"two ends", Ends, "behind the end", func(s *scene) {
			s.h.events = append(s.h.events, status(8, a2a.TaskStateFailed))
			s.settle()
		}},
		{"the task is not its log", Logs, "something else than the task", func(s *scene) { s.h.task.Artifacts = nil }},
		{"the generation is not counted", Logs, "generation", func(s *scene) { s.h.task.Generation++ }},
		{"left at work", Left, "left TASK_STATE_WORKING", func(s *scene) { s.h.events = s.h.events[:4]; s.settle(); s.r.segments = nil }},
		{"another end than the client saw", Seen, "was seen as TASK_STATE_COMPLETED", func(s *scene) {
			s.h.events[4] = status(7, a2a.TaskStateFailed)
			s.settle()
		}},
		{"a stream with a gap", Streams, "lacks event 5", func(s *scene) {
			seg := s.r.segments[0]
			seg.seen = slices.Delete(seg.seen, 2, 3)
		}},
		{"a stream with more than there is", Seen, "does not have", func(s *scene) {
			seg := s.r.segments[0]
			seg.seen, seg.last = append(seg.seen, sight{9, 1}), 9
		}},
		{"a stream with something else", Seen, "another event 5", func(s *scene) { s.r.segments[0].seen[2].sum++ }},
		{"a look into the past", Seen, "never was from then on", func(s *scene) {
			s.r.sees("GetTask", s.h.first, 5, false, false, nil)
		}},
		{"a look at what never was", Seen, "as it was not then", func(s *scene) {
			s.r.sees("a stream", s.h.first, 5, true, false, nil)
		}},
		{"an acknowledged message is lost", Acknowledged, "acknowledged and is lost", func(s *scene) { s.r.taken = append(s.r.taken, "n") }},
		{"a message of somebody else's", Logs, "was not sent to it", func(s *scene) { delete(s.r.words, "m") }},
		{"a message twice", Repeats, "twice", func(s *scene) { s.h.task.History = append(s.h.task.History, s.h.task.History[0]) }},
		{"a second task of one message", Repeats, "began task other, too", func(s *scene) { s.r.id = "other" }},
		{"a cancel that was acknowledged", Acknowledged, "was canceled and is", func(s *scene) { s.r.canceled, s.r.wantsCancel = true, true }},
		{"a task and a direct answer", Repeats, "answered directly", func(s *scene) { s.r.direct = &a2a.Message{} }},
		{"nobody's task", Logs, "nobody asked", func(s *scene) { s.r = nil }},
		{"something behind the end that no stream shows", Ends, "goes on behind its end", func(s *scene) { s.h.goesOn = true }},
		{"no end, though the task says so", Ends, "its log says otherwise", func(s *scene) {
			s.h.events = s.h.events[:4]
			s.settle()
			s.h.task.Status.State = a2a.TaskStateCompleted
		}},
		{"it waits and nobody was asked", Left, "it waits", func(s *scene) {
			s.h.events[4] = status(7, a2a.TaskStateInputRequired)
			s.settle()
		}},
		{"a stream that lacks its end", Streams, "lacks event 7", func(s *scene) {
			seg := s.r.segments[0]
			seg.seen = seg.seen[:4]
		}},
		{"an event is taken back", Seen, "which the log does not have", func(s *scene) {
			s.h.events = slices.Delete(s.h.events, 4, 5)
			s.settle()
		}},
		{"a message is taken twice, by two ids", Repeats, "twice", func(s *scene) {
			s.again("n")
			s.h.task.History = append(s.h.task.History, &a2a.Message{
				MessageID: "n", Role: a2a.RoleUser, Parts: []*a2a.Part{a2a.TextPart("stream 3")},
			})
		}},
		{"a lie is taken", Logs, `says "stream 4" where "stream 3" was sent`, func(s *scene) {
			s.h.task.History[0].Parts = []*a2a.Part{a2a.TextPart("stream 4")}
		}},
		{"the agent goes on with what was refused", Acknowledged, "was refused", func(s *scene) {
			s.r.plan.kind, s.r.words["n"] = "ask", "me"
			s.h.task.History = append(s.h.task.History, &a2a.Message{
				MessageID: "n", Role: a2a.RoleUser, Parts: []*a2a.Part{a2a.TextPart("me")},
			})
			s.r.refuses("n")
		}},
		{"the wrong result", Service, "its artifact is", func(s *scene) { s.r.plan.judge = allText("stream", "chunk 1\n") }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newScene()
			tt.breaks(s)
			found := audit(s.h, s.r)
			if !slices.ContainsFunc(found, func(f fault) bool { return f.claim == tt.claim && strings.Contains(f.text, tt.want) }) {
				t.Errorf("found %q, want %q of %v", found, tt.want, tt.claim)
			}
		})
		unproven[tt.claim] = false
	}
	for c, un := range unproven {
		if un {
			t.Errorf("nothing shows that %q can be found", c)
		}
	}
}

// TestWhatWasSentAgainUnderAnotherNameIsKnown: the id under which a message
// was taken may be any of those under which it was sent.
func TestWhatWasSentAgainUnderAnotherNameIsKnown(t *testing.T) {
	s := newScene()
	s.again("n")
	s.h.task.History[0].MessageID = "n"
	if found := audit(s.h, s.r); len(found) > 0 {
		t.Errorf("found %q", found)
	}
	if id := s.r.accepts("n"); id != "m" || len(s.r.taken) != 1 {
		t.Errorf("taken are %q, the last as %s", s.r.taken, id)
	}
}

// TestRepeatsAreJudged: a message that is sent again is done once, and not never.
func TestRepeatsAreJudged(t *testing.T) {
	count := func(found []fault, c Claim) (n int) {
		for _, f := range found {
			if f.claim == c {
				n++
			}
		}
		return n
	}
	l, s := ledger{}, newScene()
	if found := l.enters(s.r, "t"); len(found) > 0 {
		t.Errorf("its only task: %q", found)
	}
	if found := l.lacks(s.r); len(found) > 0 {
		t.Errorf("its task is there: %q", found)
	}
	if found := l.enters(s.r, "u"); count(found, Repeats) != 1 {
		t.Errorf("two tasks of one message: %q", found)
	}
	if found := (ledger{}).lacks(s.r); count(found, Acknowledged) != 1 {
		t.Errorf("its task is gone: %q", found)
	}
	unknown := &record{w: s.r.w, plan: s.r.plan}
	if found := (ledger{}).lacks(unknown); len(found) > 0 {
		t.Errorf("nobody promised anything: %q", found)
	}
	unknown.isAnswered()
	if found := (ledger{}).lacks(unknown); count(found, Repeats) != 1 {
		t.Errorf("it was answered and there is nothing: %q", found)
	}

	s = newScene()
	s.r.plan = &plan{kind: "message", text: "message x"}
	for _, id := range []string{"a", "a", "b"} {
		s.r.answers(&a2a.Message{MessageID: id, Parts: []*a2a.Part{a2a.TextPart("x")}})
	}
	if s.r.w.broken[Repeats] != 1 {
		t.Errorf("two answers to one message: %q", s.r.w.violations)
	}
}

// TestStreamsAreJudgedAsTheyCome: repeats and reorders are noticed at once.
func TestStreamsAreJudgedAsTheyCome(t *testing.T) {
	for _, tt := range []struct {
		name  string
		claim Claim
		el    *a2a.StreamResponse
	}{
		{"a repeat", Streams, chunk(6, 3, true)},
		{"the past", Streams, chunk(4, 1, false)},
		{"the Task of the past", Streams, &a2a.StreamResponse{Seq: 4, Task: &a2a.Task{ID: "t", ContextID: "c", Status: a2a.TaskStatus{State: a2a.TaskStateWorking}}}},
		{"another task", Seen, &a2a.StreamResponse{Seq: 9, StatusUpdate: &a2a.TaskStatusUpdateEvent{TaskID: "u"}}},
		{"another end", Seen, status(9, a2a.TaskStateFailed)},
		{"another task's context", Repeats, &a2a.StreamResponse{Seq: 7, Task: &a2a.Task{ID: "t", ContextID: "d", Status: a2a.TaskStatus{State: a2a.TaskStateCompleted}}}},
	} {
		s := newScene()
		s.r.segments[0].takes(tt.el)
		if s.r.w.broken[tt.claim] == 0 {
			t.Errorf("%s goes unnoticed: %q", tt.name, s.r.w.violations)
		}
	}
	s := newScene()
	s.r.segment().takes(chunk(6, 3, true))
	if s.r.w.broken[Streams] == 0 {
		t.Error("a stream that begins without the Task goes unnoticed")
	}
}

// TestEffectsAreJudged: a step whose result was recorded must not run again.
func TestEffectsAreJudged(t *testing.T) {
	shows := func(texts ...string) *history {
		h := &history{}
		for i, text := range texts {
			el := chunk(int64(i+3), 1, false)
			el.ArtifactUpdate.Artifact.Parts[0].Text = text
			h.events = append(h.events, el)
		}
		return h
	}
	for _, tt := range []struct {
		h       *history
		effects []effect
		bad     int
	}{
		{shows("1=x\n", "1=x\n", "2=y\n"), []effect{{"1", "lost"}, {"1", "x"}, {"2", "y"}}, 0},
		{shows("1=x\n"), []effect{{"1", "x"}, {"1", "again"}}, 1},
		{shows("1=x\n", "1=z\n"), []effect{{"1", "x"}}, 1},
		{shows("1=x\n"), nil, 1},
	} {
		if found := auditEffects(tt.h, tt.effects, false); len(found) != tt.bad {
			t.Errorf("%v: %q", tt.effects, found)
		}
		// Among several servers one may be late with an effect, and that is all.
		bad := tt.bad
		if len(tt.effects) > 1 {
			bad = 0
		}
		if found := auditEffects(tt.h, tt.effects, true); len(found) != bad {
			t.Errorf("%v, among several: %q", tt.effects, found)
		}
	}
}

// TestCountersAreJudged: no life of a server may have counted what the log has not, and the
// last one, at rest, must have counted all of it.
func TestCountersAreJudged(t *testing.T) {
	right := map[string]int{started: 1, "completed": 1}
	for _, tt := range []struct {
		said map[string]int
		last bool
		bad  int
	}{
		{right, true, 0},
		{map[string]int{started: 1}, false, 0}, // it was read a moment too early
		{map[string]int{started: 1}, true, 1},
		{map[string]int{started: 2, "completed": 1}, false, 1},
		{map[string]int{started: 1, "completed": 1, "failed": 1}, true, 1},
	} {
		w := newWorld(&Options{Log: io.Discard})
		c := &counted{at: time.Now(), last: tt.last, said: tt.said, logged: map[string]int{}}
		w.counters = []*counted{c}
		w.counts(newScene().h)
		w.agree()
		if w.broken[Counters] != tt.bad {
			t.Errorf("%v, the last %v: %d violations, want %d: %q", tt.said, tt.last, w.broken[Counters], tt.bad, w.violations)
		}
	}
}
