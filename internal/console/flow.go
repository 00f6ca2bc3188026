package console

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"html/template"
	"net/url"
	"strings"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/download"
)

// flow turns the entries of a task's log into the conversation on a page: first into the page
// itself, later into fragments that are inserted. The same code handles an entry in both cases,
// and only its target differs, so a page that was followed looks like one that was loaded.
//
// It belongs to one goroutine.
type flow struct {
	to     sink
	prefix string // of its elements' ids, unique to each task on a page
	task   string // the task's address, without a query
	id     string // the task's id
	csrf   string // "" for a page that takes no answers

	n     int // blocks so far
	rich  int // bytes formatted so far; see maxRich
	open  map[string]*openArtifact
	state a2a.TaskState
	since int64 // when the task entered the state, in milliseconds
	began int64 // when the task began
	seq   int64
	asked *block // the unanswered question; nil: there is none
}

// sink receives a flow's elements. Elements are named by their ids.
type sink interface {
	add(into, id, html string) // as the last child of into
	replace(id, html string)
	text(id, text string) // appended to its text
	fill(id, html string) // in place of all its children
}

// openArtifact is an artifact that chunks may still be appended to.
type openArtifact struct {
	block int
	parts numbers
	text  string          // the id of the element that ends with text; "" if the last part is something else
	from  part            // the part with which that element began
	shown int             // bytes of that text; see maxText
	said  strings.Builder // all of that text, while it may become rich
	whole bool            // said is complete
}

// numbers counts the files of an artifact, in which its parts are saved.
type numbers struct {
	n    int
	last a2a.Part // only its kind, so that no content is kept
}

// next returns the number of the next part's file.
func (c *numbers) next(p *a2a.Part) int {
	if !download.Joins(&c.last, p) {
		c.n++
	}
	c.last.Kind = p.Kind
	return c.n - 1
}

// maxText is how much of one text a page shows, in bytes: a browser needs half a minute for a
// line of a megabyte.
const maxText = 256 << 10

// maxRich is how much text of a task is formatted, in bytes. The rest is shown unformatted.
const maxRich = maxText

func newFlow(to sink, task, id, csrf string) *flow {
	return &flow{to: to, prefix: prefixOf(task), task: task, id: id, csrf: csrf, open: map[string]*openArtifact{}}
}

// prefixOf makes a word from a task's address that is valid in an id.
func prefixOf(task string) string {
	h := sha256.Sum256([]byte(task))
	return "t" + hex.EncodeToString(h[:6])
}

// name returns the id of a block.
func (f *flow) name(block int) string { return fmt.Sprintf("%sb%d", f.prefix, block) }

// execute renders a template with data, for a fragment.
func execute(name string, data any) string {
	var b strings.Builder
	if err := pages().ExecuteTemplate(&b, name, data); err != nil {
		panic(fmt.Sprintf("console: template %s: %v", name, err)) // a mistake in a template
	}
	return b.String()
}

// block is the data of a conversation's templates.
type block struct {
	ID, Class, Who string
	Parts          []part
	State          a2a.TaskState
	Seq            int64
	Task, CSRF     string    // for a form; "" without one
	Form           *question // of a question with a schema
	Answered       bool
	Inbox          bool // the answer is sent from the inbox
}

// part is a part with the data for its template.
type part struct {
	*a2a.Part
	ID   string
	Href template.URL // the address of its bytes
	Rich bool         // an agent's text, to be formatted
	Cut  bool         // only the beginning of a text
}

// add adds entries, in their order.
func (f *flow) add(entries []*a2a.Entry) {
	for _, e := range entries {
		f.one(e)
	}
}

// one adds the next entry.
func (f *flow) one(e *a2a.Entry) {
	switch e.Kind {
	case a2a.EntryMessage:
		f.answered()
		f.say(block{Class: "user", Parts: partsOf(f.task, e.Message.Parts, "m="+url.QueryEscape(e.Message.MessageID), 0), Seq: e.Seq})
	case a2a.EntryArtifact:
		f.artifact(e)
	case a2a.EntryStatus:
		f.status(e)
	case a2a.EntryCreated:
		f.state, f.since, f.began = a2a.TaskStateSubmitted, e.Time.UnixMilli(), e.Time.UnixMilli()
		f.stand()
	}
	f.seq = e.Seq
}

// say appends a block.
func (f *flow) say(b block) block {
	f.n++
	b.ID = f.name(f.n)
	f.to.add(f.prefix+"flow", b.ID, execute("block", b))
	return b
}

// answered replaces the form of a question by the question's text.
func (f *flow) answered() {
	if b := f.asked; b != nil {
		b.Answered = true
		f.to.replace(b.ID, execute("block", *b))
		f.asked = nil
	}
}

// partsOf returns parts with their addresses below a task's. n is the number of the first one.
func partsOf(task string, list []*a2a.Part, query string, n int) []part {
	parts := make([]part, len(list))
	for i, p := range list {
		parts[i] = part{Part: calmPart(p), Href: template.URL(fmt.Sprintf("%s/part?%s&n=%d", task, query, n+i))}
		if task == "" && p.Kind == a2a.PartRaw { // no task keeps the bytes, so the page contains them for saving
			parts[i].Part = &a2a.Part{Kind: p.Kind, Raw: p.Raw, Filename: fileName(p)}
			parts[i].Href = template.URL("data:application/octet-stream;base64," + base64.StdEncoding.EncodeToString(p.Raw))
		}
		if len(p.Text) > maxText && task != "" {
			c := *parts[i].Part
			c.Text = beginning(c.Text, maxText)
			parts[i].Part, parts[i].Cut = &c, true
		}
	}
	return parts
}

func (f *flow) status(e *a2a.Entry) {
	s := e.Status.Status
	if s.State != f.state {
		f.state, f.since = s.State, e.Time.UnixMilli()
	}
	b := block{State: s.State, Seq: e.Seq}
	if s.Message != nil {
		b.Parts = f.told(s.Message)
	}
	f.answered()
	if f.csrf != "" {
		b.Task, b.CSRF = f.task, f.csrf
	}
	switch {
	case s.State.Interrupted():
		b.Class, b.Form = "asks", questionOf(s.Message)
		b = f.say(b)
		f.asked = &b
	case s.State == a2a.TaskStateFailed || s.State == a2a.TaskStateRejected:
		b.Class = "failed"
		f.say(b)
	case s.State == a2a.TaskStateWorking && len(b.Parts) > 0:
		b.Class = "note"
		f.say(b)
	case len(b.Parts) > 0:
		b.Class = "agent"
		f.say(b)
	}
	if s.State.Terminal() {
		for _, a := range f.open {
			f.finish(a)
		}
	}
	f.stand()
}

// standing is the line about a task's state below its conversation.
type standing struct {
	State     a2a.TaskState
	Since     int64 // in milliseconds
	Task, ID  string
	CSRF      string
	Prefix    string
	Terminal  bool
	Answering bool
	Took      time.Duration // of a task that has ended
	Words     string        // the question that waits for an answer
}

// stand shows the state of the task.
func (f *flow) stand() {
	s := standing{State: f.state, Since: f.since, Task: f.task, ID: f.id, CSRF: f.csrf, Prefix: f.prefix,
		Terminal: f.state.Terminal(), Answering: f.state.Interrupted()}
	if s.Terminal {
		s.Took = time.Duration(f.since-f.began) * time.Millisecond
	}
	if f.asked != nil {
		s.Words = f.asked.words()
	}
	f.to.fill(f.prefix+"state", execute("standing", s))
	f.to.fill(f.prefix+"answering", execute("answering", s))
}

// words returns one line of a block's text.
func (b *block) words() string {
	if b.Form != nil && b.Form.Message != "" {
		return cut(b.Form.Message)
	}
	for _, p := range b.Parts {
		if p.Kind == a2a.PartText {
			return cut(p.Text)
		}
	}
	return ""
}

func (f *flow) artifact(e *a2a.Entry) {
	u := e.Artifact
	a := f.open[u.Artifact.ArtifactID]
	if a == nil || !u.Append {
		b := block{Who: calm(u.Artifact.Name), Seq: e.Seq}
		if a == nil {
			f.n++
			a = &openArtifact{block: f.n, whole: true}
			f.open[u.Artifact.ArtifactID] = a
			b.ID = f.name(a.block)
			f.to.add(f.prefix+"flow", b.ID, execute("artifact", b))
		} else { // begun anew, as after a crash: replace its content
			*a = openArtifact{block: a.block, whole: true}
			b.ID = f.name(a.block)
			f.to.replace(b.ID, execute("artifact", b))
		}
	}
	for _, p := range u.Artifact.Parts {
		f.chunk(a, u.Artifact.ArtifactID, p)
	}
	if u.LastChunk {
		f.finish(a)
	}
}

// chunk appends one part: a text after a text is appended to the same element.
func (f *flow) chunk(a *openArtifact, artifact string, p *a2a.Part) {
	n := a.parts.next(p)
	plain := p.Kind == a2a.PartText
	switch {
	case plain && p.Text == "": // the end of a streamed text
		return
	case plain && a.text != "":
		text := calm(p.Text)
		a.keep(text)
		room := max(maxText-a.shown, 0)
		if a.shown += len(text); f.task != "" && len(text) > room {
			text = beginning(text, room)
			if !a.from.Cut {
				a.from.Cut = true
				defer f.to.add(f.name(a.block), a.text+"cut", execute("cut", a.from))
			}
		}
		f.to.text(a.text, text)
		return
	}
	if a.text != "" {
		a.whole = false // text before another kind of part stays unformatted
	}
	view := partsOf(f.task, []*a2a.Part{p}, "a="+url.QueryEscape(artifact), n)[0]
	view.ID = fmt.Sprintf("%sp%d", f.name(a.block), n)
	f.to.add(f.name(a.block), view.ID, execute("part", view))
	if a.text = ""; plain {
		a.text, a.from, a.shown = view.ID, view, len(p.Text)
		if a.whole = a.whole && n == 0; a.whole {
			a.keep(view.Text)
		}
	}
}

func (a *openArtifact) keep(s string) {
	if !a.whole {
		return
	}
	if a.said.Len()+len(s) > maxRich {
		a.whole = false
		a.said = strings.Builder{}
		return
	}
	a.said.WriteString(s)
}

// beginning returns the first n bytes of a text, without an incomplete rune.
func beginning(s string, n int) string { return strings.ToValidUTF8(s[:n], "") }

// told returns the parts of an agent's message.
func (f *flow) told(m *a2a.Message) []part {
	parts := partsOf(f.task, m.Parts, "m="+url.QueryEscape(m.MessageID), 0)
	for i, p := range parts {
		parts[i].Rich = p.Kind == a2a.PartText && f.formats(p.Text)
	}
	return parts
}

// formats reports whether to format a text, and counts it.
func (f *flow) formats(s string) bool {
	if f.rich+len(s) > maxRich || !looksRich(s) {
		return false
	}
	f.rich += len(s)
	return true
}

// finish formats the text of an artifact that is complete.
func (f *flow) finish(a *openArtifact) {
	if s := a.said.String(); a.whole && a.text != "" && f.formats(s) {
		f.to.replace(a.text, execute("rich", part{ID: a.text, Part: a2a.TextPart(s)}))
	}
	a.said, a.whole = strings.Builder{}, false
}
