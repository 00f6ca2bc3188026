package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/parley-a2a/parley/a2a"
)

// fakeHost is a Host that records what a turn emits. It keeps the rules an
// engine keeps: nothing after the end, nothing appended to what was not begun.
type fakeHost struct {
	// set by the test, then constant
	message  *a2a.Message
	id       string          // of the task; "" means task-1
	attempt  int             // 0 means 1
	left     []*a2a.Artifact // by earlier attempts
	refs     []*a2a.Task
	siblings []*a2a.Task
	answers  chan *a2a.Message    // what Next returns
	born     string               // the version of the protocol; "" is 1.0
	emitted  func(ev event) error // called for each event, if set; an error refuses it

	mu     sync.Mutex // protects the fields below
	events []event
	ended  bool
	open   map[string]bool // artifact id → takes more chunks
	steps  []step          // recorded, of earlier attempts too
	step   int             // of this attempt
}

// event is one thing a turn emitted.
type event struct {
	state   a2a.TaskState // of a status
	message *a2a.Message  // of a status or a reply
	reply   bool

	artifact     *a2a.Artifact
	append, last bool
}

type step struct {
	name   string
	result a2a.JSON
}

func newHost(text string) *fakeHost {
	return &fakeHost{message: &a2a.Message{MessageID: "m1", Role: a2a.RoleUser, Parts: []*a2a.Part{a2a.TextPart(text)}}}
}

func (h *fakeHost) emit(ev event) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended {
		return ErrEnded
	}
	if a := ev.artifact; a != nil {
		open, known := h.open[a.ArtifactID]
		switch {
		case len(a.Parts) == 0:
			return fmt.Errorf("chunk of %q without parts", a.ArtifactID)
		case ev.append && !known:
			return fmt.Errorf("append to %q, which was not begun", a.ArtifactID)
		case ev.append && !open:
			return fmt.Errorf("append to %q after its last chunk", a.ArtifactID)
		}
	}
	if h.emitted != nil {
		if err := h.emitted(ev); err != nil {
			return err
		}
	}
	if a := ev.artifact; a != nil {
		if h.open == nil {
			h.open = map[string]bool{}
		}
		h.open[a.ArtifactID] = !ev.last
	}
	h.events = append(h.events, ev)
	h.ended = ev.reply || ev.state.Terminal()
	return nil
}

func (h *fakeHost) Message() *a2a.Message { return h.message }
func (h *fakeHost) Task() *a2a.Task {
	return &a2a.Task{ID: cmp.Or(h.id, "task-1"), ContextID: "context-1", Artifacts: h.left}
}
func (h *fakeHost) Accepted() []string { return nil }
func (h *fakeHost) Metadata() a2a.JSON { return nil }
func (h *fakeHost) Caller() a2a.Caller { return a2a.Caller{Subject: "key:ann", Tenant: "acme"} }
func (h *fakeHost) Version() string    { return cmp.Or(h.born, "1.0") }
func (h *fakeHost) Attempt() int       { return max(h.attempt, 1) }

func (h *fakeHost) Status(state a2a.TaskState, message *a2a.Message) error {
	return h.emit(event{state: state, message: message})
}

func (h *fakeHost) Artifact(a *a2a.Artifact, add, last bool) error {
	return h.emit(event{artifact: a, append: add, last: last})
}

func (h *fakeHost) Reply(parts []*a2a.Part) error {
	return h.emit(event{reply: true, message: &a2a.Message{Role: a2a.RoleAgent, Parts: parts}})
}

func (h *fakeHost) Next(ctx context.Context, prompt []*a2a.Part) (*a2a.Message, error) {
	return h.ask(ctx, a2a.TaskStateInputRequired, prompt)
}

func (h *fakeHost) Authenticate(ctx context.Context, prompt []*a2a.Part, wait func(context.Context) error) (*a2a.Message, error) {
	if wait != nil {
		return nil, wait(ctx)
	}
	return h.ask(ctx, a2a.TaskStateAuthRequired, prompt)
}

func (h *fakeHost) ask(ctx context.Context, state a2a.TaskState, prompt []*a2a.Part) (*a2a.Message, error) {
	if err := h.Status(state, &a2a.Message{Role: a2a.RoleAgent, Parts: prompt}); err != nil {
		return nil, err
	}
	select {
	case m := <-h.answers:
		return m, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (h *fakeHost) Step(ctx context.Context, name string, fn func(context.Context) (a2a.JSON, error)) (a2a.JSON, error) {
	h.mu.Lock()
	i := h.step
	h.step++
	h.mu.Unlock()
	if i < len(h.steps) {
		if h.steps[i].name != name {
			return nil, fmt.Errorf("step %d was recorded as %q, not %q", i, h.steps[i].name, name)
		}
		return h.steps[i].result, nil
	}
	result, err := fn(ctx)
	if err != nil {
		return nil, err
	}
	if !json.Valid(result) {
		return nil, fmt.Errorf("step %q recorded %q", name, result)
	}
	h.steps = append(h.steps, step{name, result})
	return result, nil
}

func (h *fakeHost) NewArtifactID(n int) string { return fmt.Sprintf("artifact-%d", n) }

func (h *fakeHost) References(context.Context) ([]*a2a.Task, error) { return h.refs, nil }

func (h *fakeHost) Siblings(context.Context) iter.Seq2[*a2a.Task, error] {
	return func(yield func(*a2a.Task, error) bool) {
		for _, t := range h.siblings {
			if !yield(t, nil) {
				return
			}
		}
	}
}

// script writes events as lines: a state with its message's text, a reply, or
// an artifact's chunk with its marks (">" begins, "+" appends, "." is last).
func (h *fakeHost) script() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var b strings.Builder
	for _, ev := range h.events {
		switch {
		case ev.reply:
			fmt.Fprintf(&b, "reply %s\n", showParts(ev.message.Parts))
		case ev.artifact != nil:
			mark := ">" + ev.artifact.Name
			if ev.append {
				mark = "+"
			}
			if ev.last {
				mark += "."
			}
			fmt.Fprintf(&b, "%s %s\n", mark, showParts(ev.artifact.Parts))
		case ev.message != nil:
			fmt.Fprintf(&b, "%s %s\n", shortState(ev.state), showParts(ev.message.Parts))
		default:
			fmt.Fprintf(&b, "%s\n", shortState(ev.state))
		}
	}
	return b.String()
}

func shortState(s a2a.TaskState) string {
	return strings.ToLower(strings.TrimPrefix(s.String(), "TASK_STATE_"))
}

func showParts(parts []*a2a.Part) string {
	var out []string
	for _, p := range parts {
		switch p.Kind {
		case a2a.PartText:
			out = append(out, fmt.Sprintf("%q", p.Text))
		case a2a.PartRaw:
			out = append(out, fmt.Sprintf("raw(%x %s %s)", p.Raw, p.MediaType, p.Filename))
		case a2a.PartURL:
			out = append(out, fmt.Sprintf("url(%s %s %s)", p.URL, p.MediaType, p.Filename))
		case a2a.PartData:
			out = append(out, fmt.Sprintf("data(%s)", p.Data))
		}
	}
	return strings.Join(out, " ")
}

// text is the concatenated text of all chunks of all artifacts.
func (h *fakeHost) text(t testing.TB) string {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	var b strings.Builder
	for _, ev := range h.events {
		if ev.artifact == nil {
			continue
		}
		for _, p := range ev.artifact.Parts {
			if !utf8.ValidString(p.Text) {
				t.Errorf("chunk is not UTF-8: %q", p.Text)
			}
			b.WriteString(p.Text)
		}
	}
	return b.String()
}

func wantScript(t *testing.T, h *fakeHost, want ...string) {
	t.Helper()
	if got, want := h.script(), strings.Join(want, "\n")+"\n"; got != want {
		t.Errorf("emitted\n%swant\n%s", got, want)
	}
}
