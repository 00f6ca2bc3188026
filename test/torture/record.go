package torture

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/parley-a2a/parley/a2a"
)

// record is all that a client saw of one piece of work: the message that
// began it, and the task that came of it, if the client ever learned which.
type record struct {
	// set at start, then constant
	w    *world
	plan *plan
	who  string // the client, with what it speaks
	said string // id of the message that began it

	opening *a2a.Message // that message
	key     string       // under which it was sent; "" without a key
	abandon func()       // ends the client's work on it once a promise is broken; nil: it goes on

	mu            sync.Mutex // protects the fields below
	id, contextID string     // of the task; "" as long as it is not known
	direct        *a2a.Message
	answered      bool              // the message was sent until it was
	words         map[string]string // text of each message that was sent, by its id
	alias         map[string]string // ids under which messages were sent again, by a key: the first id of each
	taken         []string          // ids of messages that the server said it has
	refused       []string          // ids of messages that came too late for their task
	high          int64             // highest position seen
	state         a2a.TaskState     // newest known
	question      string            // the message with which it was auth-required, as far as is known
	settled       string            // the question that was answered
	segments      []*segment
	first         *segment        // of the stream with which the work began; nil if there was none
	looks         map[look]string // what it was and when, for the report
	highAt        time.Duration   // when high was reached
	wantsCancel   bool            // CancelTask was called
	canceled      bool            // it said so
	notCancelable bool            // it said it was too late
}

// segment is an unbroken part of a task's stream, across connections: a Task
// as of from, and then every event up to last.
type segment struct {
	r     *record
	from  int64 // 0: nothing came yet
	last  int64
	seen  []sight
	floor int64 // highest position seen of the task when its stream was asked for
	holes bool  // something came that had no position

	replica string // that its stream is from, if that is traced
}

// sight is an event as it was seen: where, and what.
type sight struct {
	pos int64
	sum uint64
}

// look is a Task as it was seen: as of a position, or of one that is not
// before it.
type look struct {
	pos   int64
	exact bool
	sum   uint64
}

func (r *record) segment() *segment {
	s := &segment{r: r}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.segments = append(r.segments, s)
	return s
}

func (r *record) String() string {
	return fmt.Sprintf("task %s (%q by %s)", r.id, r.plan.text, r.who)
}

func (r *record) violate(c Claim, format string, args ...any) {
	r.w.violate(c, "%s: %s", r, fmt.Sprintf(format, args...))
	if r.abandon != nil {
		r.abandon()
	}
}

// begins notes which task it is.
func (r *record) begins(t *a2a.Task) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.id == "" {
		r.id, r.contextID = t.ID, t.ContextID
	}
	if r.id != t.ID || r.contextID != t.ContextID {
		r.violate(Repeats, "turned into task %s of context %s", t.ID, t.ContextID)
	}
}

// answers notes a direct message.
func (r *record) answers(m *a2a.Message) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if d := r.direct; d != nil && d.MessageID != m.MessageID {
		r.violate(Repeats, "was answered with message %s and then with %s", d.MessageID, m.MessageID)
	}
	r.direct = m
	r.w.count.direct.Add(1)
	if want := r.plan.text[len(r.plan.kind)+1:]; r.plan.kind != "message" || m.Text() != want {
		r.violate(Service, "was answered with the message %q", m.Text())
	}
}

// originLocked is the id under which a message was first sent.
func (r *record) originLocked(messageID string) string {
	if first, ok := r.alias[messageID]; ok {
		return first
	}
	return messageID
}

// accepts notes that the server has a message, and returns its first id.
func (r *record) accepts(messageID string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	id := r.originLocked(messageID)
	if !slices.Contains(r.taken, id) {
		r.taken = append(r.taken, id)
	}
	return id
}

// has reports whether the server is known to have a message.
func (r *record) has(messageID string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Contains(r.taken, messageID)
}

// refuses notes that a message came too late for its task.
func (r *record) refuses(messageID string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refused = append(r.refused, messageID)
}

// isAnswered notes that the message that began it was sent until there was an
// answer.
func (r *record) isAnswered() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answered = true
}

// floor is what a look from now on must not be before.
func (r *record) floor() (pos int64, taken []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.high, slices.Clone(r.taken)
}

// sees notes a Task: as of pos if that is exact, and otherwise of a position
// that is not before it. Whole ones have the whole history.
func (r *record) sees(how string, t *a2a.Task, pos int64, exact, whole bool, taken []string) {
	r.begins(t)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.looks == nil {
		r.looks = map[look]string{}
	}
	r.looks[look{pos, exact, sumTask(t)}] = fmt.Sprintf("%s, by %s at %.3f; %d was reached at %.3f",
		brief(t), how, time.Since(r.w.start).Seconds(), r.high, r.highAt.Seconds())
	if whole {
		for _, id := range taken {
			if !slices.ContainsFunc(t.History, func(m *a2a.Message) bool { return r.originLocked(m.MessageID) == id }) {
				r.violate(Acknowledged, "message %s was acknowledged and is not in the history", id)
			}
		}
	}
	if !exact || pos >= r.high {
		r.becomesLocked(t.Status.State)
		r.asksLocked(&t.Status)
	}
	if exact {
		r.reachesLocked(pos)
	}
}

func (r *record) reachesLocked(pos int64) {
	if pos > r.high {
		r.high, r.highAt = pos, time.Since(r.w.start)
	}
}

func (r *record) becomesLocked(s a2a.TaskState) {
	switch {
	case !r.state.Terminal():
		r.state = s
	case s.Terminal() && s != r.state:
		r.violate(Seen, "was %v and is %v", r.state, s)
	}
	// Otherwise it is an older answer that took its time; audit judges those.
}

// asksLocked notes what the task waits for, if that is an authorization. The
// answer is not kept: a client that has lost it asks again.
func (r *record) asksLocked(s *a2a.TaskStatus) {
	if s.State == a2a.TaskStateAuthRequired && s.Message != nil {
		r.question = s.Message.MessageID
	}
}

// settles notes that the question as it is known is answered, or is not.
func (r *record) settles(yes bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.settled = ""
	if yes {
		r.settled = r.question
	}
}

// asksAgain reports whether the task asks for an authorization that it had.
func (r *record) asksAgain() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state == a2a.TaskStateAuthRequired && r.question != r.settled
}

func (r *record) now() a2a.TaskState {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state
}

// takes notes an element of a stream.
func (s *segment) takes(el *a2a.StreamResponse) {
	r := s.r
	switch {
	case el.Message != nil:
		return
	case el.Seq == 0:
		s.holes = true
	case el.Task != nil && s.from == 0:
		s.from, s.last = el.Seq, el.Seq
	case s.from == 0:
		r.violate(Streams, "a stream begins with an event, at %d", el.Seq)
	case el.Task != nil && el.Seq != s.last:
		r.violate(Streams, "a stream that was at %d goes on with the Task as of %d", s.last, el.Seq)
		s.last = el.Seq
	case el.Task == nil && el.Seq <= s.last:
		r.violate(Streams, "a stream that was at %d goes on with an event at %d", s.last, el.Seq)
	}
	if el.Task != nil {
		pos, exact := el.Seq, el.Seq > 0
		if !exact {
			pos = s.floor
		}
		r.sees("a stream", el.Task, pos, exact, false, nil)
		return
	}
	r.w.count.events.Add(1)
	if el.Seq == 0 {
		return
	}
	s.last = max(s.last, el.Seq)
	if el.MessageUpdate == nil { // which readers of other versions do not get
		s.seen = append(s.seen, sight{el.Seq, sumEvent(el)})
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if el.TaskID() != r.id {
		r.violate(Seen, "got an event of task %s", el.TaskID())
	}
	if st := el.State(); st.Valid() && el.Seq > r.high {
		r.becomesLocked(st)
		if el.StatusUpdate != nil {
			r.asksLocked(&el.StatusUpdate.Status)
		}
	}
	r.reachesLocked(el.Seq)
}

// sumEvent and sumTask are digests of what all versions and bindings show.
func sumEvent(el *a2a.StreamResponse) uint64 {
	var b strings.Builder
	switch {
	case el.StatusUpdate != nil:
		writeStatus(&b, &el.StatusUpdate.Status)
	case el.ArtifactUpdate != nil:
		u := el.ArtifactUpdate
		fmt.Fprintf(&b, "artifact %v %v ", u.Append, u.LastChunk)
		writeArtifact(&b, u.Artifact)
	}
	return digest(b.String())
}

func sumTask(t *a2a.Task) uint64 {
	var b strings.Builder
	writeStatus(&b, &t.Status)
	for _, a := range t.Artifacts {
		writeArtifact(&b, a)
	}
	return digest(b.String())
}

// brief is a task in a few words.
func brief(t *a2a.Task) string {
	var b strings.Builder
	b.WriteString(strings.TrimPrefix(t.Status.State.String(), "TASK_STATE_"))
	for _, a := range t.Artifacts {
		fmt.Fprintf(&b, " %s[%d]", a.Name, len(a.Parts))
	}
	return b.String()
}

func digest(s string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(s))
	return h.Sum64()
}

func writeStatus(b *strings.Builder, s *a2a.TaskStatus) {
	fmt.Fprintf(b, "status %v ", s.State)
	if s.Message != nil {
		fmt.Fprintf(b, "%q ", s.Message.MessageID)
		writeParts(b, s.Message.Parts)
	}
}

func writeArtifact(b *strings.Builder, a *a2a.Artifact) {
	fmt.Fprintf(b, "%q %q ", a.ArtifactID, a.Name)
	writeParts(b, a.Parts)
}

func writeParts(b *strings.Builder, parts []*a2a.Part) {
	for _, p := range parts {
		fmt.Fprintf(b, "%d %q %q %q %s ", p.Kind, p.Text, p.Raw, p.URL, canonical(p.Data))
	}
}

// canonical is a JSON value as it is on every wire: gRPC knows no white space,
// and no order of fields.
func canonical(doc a2a.JSON) string {
	var v any
	if json.Unmarshal(doc, &v) != nil {
		return string(doc)
	}
	out, _ := json.Marshal(v) // it was just decoded
	return string(out)
}
