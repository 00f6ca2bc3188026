package terminal

import (
	"bytes"
	"encoding/json"
	"hash"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/plain"
)

// Hints returns the commands to continue after a task. If a function is nil or returns "", no
// command is shown.
type Hints struct {
	Answer func(*a2a.Task) string // the task waits for its client
	GoOn   func(*a2a.Task) string // the task has ended
	Follow func(*a2a.Task) string // the task is still at work
	Save   func(*a2a.Task) string // the task has files
}

// Renderer shows tasks one after another, whole or as they grow: of an element of a stream it
// shows only what is new, whether it is a chunk or the whole task again after a lost
// connection.
type Renderer struct {
	// History says to show messages of the history, too.
	History bool

	w     words
	hints Hints
	task  *a2a.Task          // the ids and the status last seen
	told  string             // the last shown status, by its state and words
	parts map[string]*extent // how much of each artifact was shown, by id
	last  string             // the artifact that the last text belongs to; "" if none
	files bool               // there was a file that can be saved
}

// extent is how much of an artifact was shown.
type extent struct {
	name string
	size int // of the bytes of content
	sum  hash.Hash64
}

// NewRenderer returns a renderer that writes to the screen's standard output.
func NewRenderer(s *Screen, hints Hints) *Renderer {
	return &Renderer{w: words{s: s}, hints: hints, task: new(a2a.Task), parts: map[string]*extent{}}
}

// Event shows an element of a stream, as far as it is new. The state in which waiting ends is
// followed by the task's id and the command to continue.
func (r *Renderer) Event(e *a2a.StreamResponse) error {
	switch {
	case e.Message != nil:
		r.message(e.Message)
	case e.Task != nil:
		r.whole(e.Task)
	case e.StatusUpdate != nil:
		u := e.StatusUpdate
		r.seen(u.TaskID, u.ContextID, u.Status)
		r.status()
	case e.ArtifactUpdate != nil && e.ArtifactUpdate.Artifact != nil:
		u := e.ArtifactUpdate
		r.seen(u.TaskID, u.ContextID, r.task.Status)
		r.chunk(u.Artifact, u.Append)
	}
	return r.w.flush()
}

// Task shows a task, and how to continue.
func (r *Renderer) Task(t *a2a.Task) error {
	r.whole(t)
	if s := t.Status.State; !s.Terminal() && !s.Interrupted() {
		r.state("")
		r.hint("follow", r.hints.Follow)
	}
	return r.w.flush()
}

// message shows a direct message.
func (r *Renderer) message(m *a2a.Message) {
	r.content(m.Parts, "\n")
	r.w.endLine(false)
	r.seen(m.TaskID, m.ContextID, a2a.TaskStatus{})
	r.hint("continue", r.hints.GoOn)
}

// End ends the current line of text: the rest of the stream will not come.
func (r *Renderer) End() {
	r.w.endLine(false)
	_ = r.w.flush() // an error of the screen; the next write reports it again
}

func (r *Renderer) seen(id, contextID string, s a2a.TaskStatus) {
	if id != r.task.ID {
		r.told, r.files = "", false
		clear(r.parts)
	}
	r.task = &a2a.Task{ID: id, ContextID: contextID, Status: s}
}

func (r *Renderer) whole(t *a2a.Task) {
	r.seen(t.ID, t.ContextID, t.Status)
	if r.History {
		for _, m := range t.History {
			who := "agent said:"
			if m.Role == a2a.RoleUser {
				who = "you said:"
			}
			r.w.ours(dim, who, "")
			r.content(m.Parts, "\n")
			r.w.endLine(false)
		}
	}
	for _, a := range t.Artifacts {
		r.artifact(a)
	}
	r.status()
}

// artifact shows the new part of a whole artifact.
func (r *Renderer) artifact(a *a2a.Artifact) {
	old, known := r.parts[a.ArtifactID]
	if known {
		if rest, ok := old.behind(a.Parts); ok {
			if len(rest) > 0 {
				r.add(a, rest)
			}
			return
		}
	}
	r.begin(a, known)
	r.add(a, a.Parts)
}

// behind returns the parts after those that were shown, if parts begin with them.
func (e *extent) behind(parts []*a2a.Part) (rest []*a2a.Part, ok bool) {
	sum, left := fnv.New64a(), e.size
	for i, p := range parts {
		c := content(p)
		if left == 0 {
			return parts[i:], sum.Sum64() == e.sum.Sum64()
		}
		if left < len(c) {
			_, _ = sum.Write(c[:left])
			rest := append([]*a2a.Part{a2a.TextPart(string(c[left:]))}, parts[i+1:]...)
			return rest, p.Kind == a2a.PartText && sum.Sum64() == e.sum.Sum64()
		}
		_, _ = sum.Write(c)
		left -= len(c)
	}
	return nil, left == 0 && sum.Sum64() == e.sum.Sum64()
}

// chunk shows an artifact, or the parts appended to it.
func (r *Renderer) chunk(a *a2a.Artifact, appended bool) {
	if _, known := r.parts[a.ArtifactID]; !appended || !known {
		r.begin(a, known)
	}
	r.add(a, a.Parts)
}

// begin prepares an artifact that begins.
func (r *Renderer) begin(a *a2a.Artifact, again bool) {
	r.parts[a.ArtifactID] = &extent{sum: fnv.New64a()}
	r.last = ""
	if again {
		r.w.ours(dim, "the agent starts over:", "")
	}
}

// add shows parts of an artifact, under its name unless they follow others of the same
// artifact.
func (r *Renderer) add(a *a2a.Artifact, parts []*a2a.Part) {
	e := r.parts[a.ArtifactID]
	if a.Name != "" {
		e.name = a.Name
	}
	if r.last != a.ArtifactID {
		r.w.endLine(false)
		if e.name != "" {
			r.w.ours(dim, "artifact ", e.name)
		}
	}
	r.last = a.ArtifactID
	for _, p := range parts {
		c := content(p)
		e.size += len(c)
		_, _ = e.sum.Write(c)
	}
	r.content(parts, "")
}

// content returns the bytes that represent a part in an extent.
func content(p *a2a.Part) []byte {
	if p.Kind == a2a.PartText {
		return []byte(p.Text)
	}
	return p.AppendJSON(nil)
}

func (r *Renderer) content(parts []*a2a.Part, sep string) {
	for i, p := range parts {
		switch p.Kind {
		case a2a.PartText:
			if i > 0 && sep != "" && parts[i-1].Kind == a2a.PartText && r.w.inside {
				r.w.text(sep)
			}
			r.w.text(p.Text)
		case a2a.PartData, a2a.PartUnknown:
			r.w.endLine(false)
			if p.Kind == a2a.PartUnknown {
				r.w.ours(dim, "unknown part", "")
			}
			var b bytes.Buffer
			if json.Indent(&b, p.Data, "", "  ") != nil {
				b.Reset()
				b.Write(p.Data)
			}
			r.w.clean(plain.JSON(b.String()))
			r.w.endLine(false)
		case a2a.PartRaw:
			r.files = true
			r.w.ours(dim, "file ", fileLine(p, plain.Bytes(int64(len(p.Raw)))))
		case a2a.PartURL:
			r.files = true
			r.w.ours(dim, "file ", fileLine(p, p.URL))
		}
	}
}

func fileLine(p *a2a.Part, more string) string {
	words := slices.DeleteFunc([]string{p.Filename, p.MediaType, more}, func(w string) bool { return w == "" })
	return strings.Join(words, ", ")
}

// status shows the status, unless it was shown. It does not show that a task is submitted, or
// working without a message.
func (r *Renderer) status() {
	s := r.task.Status
	text := textOf(s.Message)
	key := s.State.String() + "\x00" + text
	if key == r.told {
		return
	}
	r.told = key
	rests := s.State.Terminal() || s.State.Interrupted()
	if !rests && text == "" && (s.Message == nil || len(s.Message.Parts) == 0) {
		return
	}
	r.last = ""
	if !rests {
		r.w.ours(cyan, "● ", Word(s.State)+": "+text)
		return
	}
	r.state(text)
	if s.Message != nil { // parts other than text
		var others []*a2a.Part
		for _, p := range s.Message.Parts {
			if p.Kind != a2a.PartText {
				others = append(others, p)
			}
		}
		r.content(others, "")
	}
	switch {
	case s.State.Interrupted():
		r.hint("answer", r.hints.Answer)
	default:
		if r.files {
			r.hint("save", r.hints.Save)
		}
		r.hint("continue", r.hints.GoOn)
	}
}

// state shows the state with the task's id, and the agent's message about it.
func (r *Renderer) state(text string) {
	style := styleOf(r.task.Status.State)
	word, id := "● "+Word(r.task.Status.State), r.task.ID
	switch {
	case text == "" && id != "" && isToken(id):
		r.w.line(r.w.s.paint(style, word) + r.w.s.paint(dim, " · task "+id)) // the whole id, to be copied
		return
	case text == "":
		r.w.ours(style, word, "")
	case r.w.fits(word+": ", text):
		r.w.ours(style, word+": ", text)
	default:
		r.w.ours(style, word+":", "")
		r.w.text(text)
	}
	switch {
	case id == "":
	case isToken(id):
		r.w.line(r.w.s.paint(dim, "task "+id))
	default:
		r.w.ours(dim, "task ", id)
	}
}

func (r *Renderer) hint(label string, command func(*a2a.Task) string) {
	// Without colors an id could fake a line of this program where the terminal wraps it.
	if command == nil || !r.w.s.colors && !(isToken(r.task.ID) && isToken(r.task.ContextID)) {
		return
	}
	if line := command(r.task); line != "" {
		r.w.line(r.w.s.paint(dim, label+": "+plain.Line(line)))
	}
}

// isToken reports whether an id is one plain word that cannot be mistaken for more.
func isToken(id string) bool {
	return strings.Trim(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:/") == ""
}

func textOf(m *a2a.Message) string {
	if m == nil {
		return ""
	}
	var texts []string
	for _, p := range m.Parts {
		if p.Kind == a2a.PartText {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// Word formats a state for people: completed, input required.
func Word(s a2a.TaskState) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(s.String(), "TASK_STATE_")), "_", " ")
}
