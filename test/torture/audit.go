package torture

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/parley-a2a/parley/a2a"
)

// history is a task as the server tells it in the end: as it began, each event
// since, and as it is.
type history struct {
	first  *a2a.Task // as of the first entry
	events []*a2a.StreamResponse
	said   []*a2a.StreamResponse // the client's messages behind the first
	task   *a2a.Task
	goesOn bool // there is something behind its end
}

// changes counts what raises the generation of the task.
func (h *history) changes() int64 { return int64(len(h.events) + len(h.said)) }

// log returns events and messages in their order. A message is no event to most readers,
// but the task is another one behind an answer: the question is gone from its status.
func (h *history) log() []*a2a.StreamResponse {
	return slices.SortedFunc(slices.Values(slices.Concat(h.events, h.said)), func(x, y *a2a.StreamResponse) int { return cmp.Compare(x.Seq, y.Seq) })
}

// auditor compares one task's history with itself and with what was seen.
type auditor struct {
	h     *history
	found []fault
}

func (a *auditor) fault(c Claim, format string, args ...any) {
	a.found = append(a.found, faultf(c, format, args...))
}

// givenUp is how a task says that its process was lost too often.
var givenUp = regexp.MustCompile(`^the work was interrupted [0-9]+ times and was given up$`)

func wornOut(t *a2a.Task) bool {
	return t.Status.State == a2a.TaskStateFailed && givenUp.MatchString(t.Status.Message.Text())
}

// audit returns what is wrong with a task. r is nil where nobody knows what the
// task is for, which is a fault of its own.
func audit(h *history, r *record) []fault {
	a := &auditor{h: h}
	a.log()
	if r == nil {
		a.fault(Logs, "nobody asked for it")
		return a.found
	}
	a.messages(r)
	a.sights(r)
	a.result(r)
	return a.found
}

// last is the position of the newest event.
func (h *history) last() int64 {
	if len(h.events) == 0 {
		return 1
	}
	return h.events[len(h.events)-1].Seq
}

// log judges the log by itself: positions grow, one end and nothing behind it,
// chunks in order, and the task is what its events amount to.
func (a *auditor) log() {
	h := a.h
	if s := h.first.Status.State; s != a2a.TaskStateSubmitted || len(h.first.Artifacts) > 0 || len(h.first.History) > 0 {
		a.fault(Logs, "it began as %v with %d artifacts and %d messages", s, len(h.first.Artifacts), len(h.first.History))
	}
	pos, ended := int64(1), false
	chunks := map[string]*run{}
	fold := h.first.Snapshot()
	for _, el := range h.events {
		if el.Seq <= pos {
			a.fault(Logs, "event %d follows %d", el.Seq, pos)
		}
		pos = el.Seq
		if ended {
			a.fault(Ends, "event %d is behind the end", pos)
		}
		switch {
		case el.StatusUpdate != nil:
			ended = ended || el.State().Terminal()
			if el.State() == a2a.TaskStateSubmitted {
				a.fault(Logs, "it is submitted again at %d", pos)
			}
		case el.ArtifactUpdate != nil:
			a.chunk(chunks, el)
		default:
			a.fault(Logs, "event %d is neither a status nor an artifact", pos)
		}
		fold.ApplyEvent(el)
	}
	if sumTask(fold) != sumTask(h.task) {
		a.fault(Logs, "its events amount to something else than the task: %v in place of %v", fold.Status.State, h.task.Status.State)
	}
	if h.goesOn {
		a.fault(Ends, "its log goes on behind its end, at %d", pos)
	}
	if h.task.Status.State.Terminal() != ended {
		a.fault(Ends, "it is %v, and its log says otherwise", h.task.Status.State)
	}
	if g := h.task.Generation; g != h.changes()+1 {
		a.fault(Logs, "its generation is %d after %d events and %d messages", g, len(h.events), len(h.said))
	}
}

// run is the writing of one artifact, from its beginning on.
type run struct {
	texts []string
	over  bool
}

// chunk judges a chunk by those before it. An artifact may begin anew, which
// replaces what was there.
func (a *auditor) chunk(runs map[string]*run, el *a2a.StreamResponse) {
	u := el.ArtifactUpdate
	id := u.Artifact.ArtifactID
	r := runs[id]
	switch {
	case !u.Append:
		r = &run{}
		runs[id] = r
	case r == nil:
		a.fault(Logs, "event %d appends to an artifact that was not begun", el.Seq)
		return
	case r.over:
		a.fault(Logs, "event %d appends to an artifact behind its last chunk", el.Seq)
	}
	r.over = u.LastChunk
	for _, p := range u.Artifact.Parts {
		r.texts = append(r.texts, p.Text)
	}
	// The artifacts of streams and steps count their chunks.
	n := len(r.texts)
	switch got := r.texts[n-1]; {
	case u.Artifact.Name == "stream" || strings.HasPrefix(got, "chunk "):
		if want := fmt.Sprintf("chunk %d\n", n); got != want {
			a.fault(Logs, "event %d is %q where %q should be", el.Seq, got, want)
		}
	case u.Artifact.Name == "steps":
		if !strings.HasPrefix(got, fmt.Sprintf("%d=", n)) {
			a.fault(Logs, "event %d is %q where step %d should be", el.Seq, got, n)
		}
	}
}

// withheld is what a server keeps of credentials.
const withheld = "(credentials; not kept)"

// messages judges that what the client said is in the history once, in order,
// and accounts for every position: an entry that is no event is the creation, a
// message, a step or a request to cancel.
func (a *auditor) messages(r *record) {
	var mine []string
	for _, m := range a.h.task.History {
		if m.Role != a2a.RoleUser {
			continue
		}
		text, known := r.words[m.MessageID]
		id := r.originLocked(m.MessageID)
		switch {
		case !known:
			a.fault(Logs, "message %s was not sent to it", m.MessageID)
		case r.plan.kind == "auth" && len(mine) == 1 && m.Text() != withheld:
			a.fault(Logs, "message %s has credentials, and says %q", m.MessageID, m.Text())
		case text != m.Text() && !(r.plan.kind == "auth" && len(mine) > 0 && m.Text() == withheld):
			a.fault(Logs, "message %s says %q where %q was sent", m.MessageID, m.Text(), text)
		case slices.Contains(mine, id):
			a.fault(Repeats, "message %s is in it twice", m.MessageID)
		}
		mine = append(mine, id)
	}
	if len(mine) == 0 || mine[0] != r.said {
		a.fault(Logs, "it does not begin with message %s", r.said)
	}
	for _, id := range r.taken {
		if !slices.Contains(mine, id) {
			a.fault(Acknowledged, "message %s was acknowledged and is lost", id)
		}
	}
	for _, id := range r.refused {
		// It may be in the history, but the agent, which asks once, must not
		// have had it.
		if r.plan.kind == "ask" && len(a.h.task.Artifacts) > 0 && len(mine) > 1 && mine[1] == r.originLocked(id) {
			a.fault(Acknowledged, "message %s was refused and is what the agent went on with", id)
		}
	}
	if !a.h.task.Status.State.Terminal() {
		return
	}
	silent := int(a.h.last()) - len(a.h.events) - 1 - len(mine)
	least, most := 0, 0
	if r.wantsCancel {
		most = 1
		if a.h.task.Status.State == a2a.TaskStateCanceled {
			least = 1
		}
	}
	if r.plan.kind == "steps" {
		var n int
		_, _ = fmt.Sscanf(r.plan.text, "steps %d", &n)
		most += n
		if a.h.task.Status.State == a2a.TaskStateCompleted {
			least += n
		}
	}
	if silent < least || silent > most {
		a.fault(Logs, "of its %d positions %d are unaccounted for", a.h.last(), silent-most)
	}
}

// sights judges what the client saw by what is there: all of it, nothing else,
// and never the past after the present.
func (a *auditor) sights(r *record) {
	if r.id != "" && r.id != a.h.task.ID {
		a.fault(Repeats, "its message began task %s, too", r.id)
	}
	at := map[int64]uint64{} // digests of the task as of each event
	fold := a.h.first.Snapshot()
	at[1] = sumTask(fold)
	order := []int64{1}
	for _, el := range a.h.log() {
		fold.ApplyEvent(el)
		at[el.Seq] = sumTask(fold)
		order = append(order, el.Seq)
	}
	floor := func(pos int64) int { // index of the newest event that is not behind pos
		n, found := slices.BinarySearch(order, pos)
		if !found {
			n--
		}
		return max(n, 0)
	}
	for l, how := range r.looks {
		n := floor(l.pos)
		if l.exact {
			if l.pos > a.h.last() {
				a.fault(Seen, "it was seen at %d, which its log does not have", l.pos)
			} else if at[order[n]] != l.sum {
				a.fault(Seen, "it was seen at %d as it was not then: %s", l.pos, how)
			}
			continue
		}
		if !slices.ContainsFunc(order[n:], func(pos int64) bool { return at[pos] == l.sum }) {
			a.fault(Seen, "after %d it was seen as it never was from then on: %s", l.pos, how)
		}
	}
	for _, s := range r.segments {
		a.segment(s)
	}
}

func (a *auditor) segment(s *segment) {
	if s.from == 0 || s.holes {
		return
	}
	var want []sight
	for _, el := range a.h.events {
		if el.Seq > s.from && el.Seq <= s.last {
			want = append(want, sight{el.Seq, sumEvent(el)})
		}
	}
	if slices.Equal(want, s.seen) {
		return
	}
	for i := range max(len(want), len(s.seen)) {
		switch {
		case i >= len(s.seen):
			a.fault(Streams, "a stream from %d to %d lacks event %d", s.from, s.last, want[i].pos)
		case i >= len(want):
			a.fault(Seen, "a stream from %d had event %d, which the log does not have", s.from, s.seen[i].pos)
		case s.seen[i].pos > want[i].pos:
			a.fault(Streams, "a stream from %d lacks event %d", s.from, want[i].pos)
		case s.seen[i].pos < want[i].pos:
			a.fault(Seen, "a stream from %d had event %d, which the log does not have", s.from, s.seen[i].pos)
		case s.seen[i] != want[i]:
			a.fault(Seen, "a stream from %d had another event %d", s.from, s.seen[i].pos)
		default:
			continue
		}
		return
	}
}

// result judges how it ended.
func (a *auditor) result(r *record) {
	t := a.h.task
	s := t.Status.State
	if r.state.Terminal() && s != r.state {
		a.fault(Seen, "it was seen as %v and is %v", r.state, s)
	}
	if r.direct != nil {
		a.fault(Repeats, "its message was answered directly")
	}
	if r.canceled && s != a2a.TaskStateCanceled {
		a.fault(Acknowledged, "it was canceled and is %v", s)
	}
	switch {
	case wornOut(t):
		return
	case s == a2a.TaskStateCanceled:
		if !r.wantsCancel || r.notCancelable {
			a.fault(Service, "it is canceled")
		}
	case s.Interrupted():
		waits := r.plan.kind == "ask" || r.plan.kind == "auth"
		if !waits || r.id != "" && r.plan.answer != "" {
			a.fault(Left, "it waits: %v", s)
		}
	case !s.Terminal():
		a.fault(Left, "it is left %v", s)
	case s != r.plan.end:
		a.fault(Service, "it is %v (%q) in place of %v", s, t.Status.Message.Text(), r.plan.end)
	default:
		if bad := r.plan.judge(t); bad != "" {
			a.fault(Service, "%s", bad)
		}
	}
}
