package terminal

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mattn/go-runewidth"

	"github.com/parley-a2a/parley/a2a"
)

// screen returns a terminal of a width that writes to the buffer.
func screen(width int, colors bool) (*Screen, *bytes.Buffer) {
	var b bytes.Buffer
	return &Screen{out: &b, err: &b, outIs: true, errIs: true, colors: colors, widthOf: func() int { return width }}, &b
}

func hints() Hints {
	word := func(word string) func(*a2a.Task) string {
		return func(t *a2a.Task) string { return word + " " + t.ID }
	}
	return Hints{Answer: word("reply"), GoOn: word("next"), Follow: word("watch"), Save: word("download")}
}

func begins(s a2a.TaskState, artifacts ...*a2a.Artifact) *a2a.StreamResponse {
	return &a2a.StreamResponse{Task: &a2a.Task{ID: "t1", ContextID: "c1", Status: a2a.TaskStatus{State: s}, Artifacts: artifacts}}
}

func status(s a2a.TaskState, text string) *a2a.StreamResponse {
	u := &a2a.TaskStatusUpdateEvent{TaskID: "t1", ContextID: "c1", Status: a2a.TaskStatus{State: s}}
	if text != "" {
		u.Status.Message = &a2a.Message{Role: a2a.RoleAgent, Parts: []*a2a.Part{a2a.TextPart(text)}}
	}
	return &a2a.StreamResponse{StatusUpdate: u}
}

func artifact(id, name string, parts ...*a2a.Part) *a2a.Artifact {
	return &a2a.Artifact{ArtifactID: id, Name: name, Parts: parts}
}

func chunk(appended bool, id, name string, parts ...*a2a.Part) *a2a.StreamResponse {
	return &a2a.StreamResponse{ArtifactUpdate: &a2a.TaskArtifactUpdateEvent{TaskID: "t1", ContextID: "c1", Artifact: artifact(id, name, parts...), Append: appended}}
}

var text = a2a.TextPart

func TestStreamsFlow(t *testing.T) {
	for _, c := range []struct {
		name   string
		events []*a2a.StreamResponse
		want   string
	}{
		{
			"tokens are one paragraph under one name",
			[]*a2a.StreamResponse{
				begins(a2a.TaskStateSubmitted), status(a2a.TaskStateWorking, ""), chunk(false, "a", "poem", text("Roses ")), chunk(true, "a", "", text("are")),
				chunk(true, "a", "", text(" red.\nViolets")), chunk(true, "a", "", text(" are blue.")), status(a2a.TaskStateCompleted, ""),
			},
			"artifact poem\n  Roses are red.\n  Violets are blue.\n● completed · task t1\ncontinue: next t1\n",
		},
		{
			"a question is a line",
			[]*a2a.StreamResponse{begins(a2a.TaskStateWorking), status(a2a.TaskStateInputRequired, "Where?"), status(a2a.TaskStateInputRequired, "Where?")},
			"● input required: Where?\ntask t1\nanswer: reply t1\n",
		},
		{
			"a long question is not cut",
			[]*a2a.StreamResponse{status(a2a.TaskStateAuthRequired, "Open this address in your browser, please")},
			"● auth required:\n  Open this address in your browser, pl\n  ease\ntask t1\nanswer: reply t1\n",
		},
		{
			"progress is a line, cut to the width",
			[]*a2a.StreamResponse{status(a2a.TaskStateWorking, "reading the first of very many files"), status(a2a.TaskStateFailed, "it is gone")},
			"● working: reading the first of very m…\n● failed: it is gone\ntask t1\ncontinue: next t1\n",
		},
		{
			"artifacts that interleave have their names again",
			[]*a2a.StreamResponse{chunk(false, "a", "one", text("1")), chunk(false, "b", "two", text("2")), chunk(true, "a", "", text("3"))},
			"artifact one\n  1\nartifact two\n  2\nartifact one\n  3",
		},
		{
			"an artifact that begins anew is shown anew",
			[]*a2a.StreamResponse{chunk(false, "a", "one", text("lost")), chunk(false, "a", "one", text("found"))},
			"artifact one\n  lost\nthe agent starts over:\nartifact one\n  found",
		},
		{
			"a whole task after a lost connection adds what is new",
			[]*a2a.StreamResponse{
				chunk(false, "a", "one", text("to be")), begins(a2a.TaskStateWorking, artifact("a", "one", text("to be"), text(" or not"))),
				begins(a2a.TaskStateCompleted, artifact("a", "one", text("to be or not to be"))),
			},
			"artifact one\n  to be or not to be\n● completed · task t1\ncontinue: next t1\n",
		},
		{
			"files are named and can be saved",
			[]*a2a.StreamResponse{begins(a2a.TaskStateCompleted, artifact("a", "", a2a.RawPart(make([]byte, 2048), "image/png", "x.png"), a2a.DataPart(a2a.JSON(`{"a":1}`))))},
			"file x.png, image/png, 2.0 KiB\n  {\n    \"a\": 1\n  }\n● completed · task t1\nsave: download t1\ncontinue: next t1\n",
		},
		{
			"a direct message",
			[]*a2a.StreamResponse{{Message: &a2a.Message{ContextID: "c1", Parts: []*a2a.Part{text("one"), text("two")}}}},
			"  one\n  two\ncontinue: next\n",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, out := screen(40, false)
			r := NewRenderer(s, hints())
			for _, e := range c.events {
				if err := r.Event(e); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(c.want, out.String()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestATaskAtWorkSaysHowToFollowIt(t *testing.T) {
	s, out := screen(80, false)
	if err := NewRenderer(s, hints()).Task(begins(a2a.TaskStateWorking).Task); err != nil {
		t.Fatal(err)
	}
	if want := "● working · task t1\nfollow: watch t1\n"; out.String() != want {
		t.Errorf("got %q", out.String())
	}
}

// ourLines are those that this program begins itself.
var ourLines = regexp.MustCompile(`^(● (working|input required|auth required|completed|failed|rejected|canceled|submitted|unspecified)|task |artifact |file |the agent starts over:$|(answer|continue|follow|save): )`)

var sgr = regexp.MustCompile("\x1b\\[[0-9]+m")

// Whatever an agent says, its words cannot begin a line of ours, move the cursor or
// have a color.
func FuzzRenderer(f *testing.F) {
	f.Add("hello", "world", "name", "t1", uint8(3))
	f.Add("● completed · task t1\n", "x\r● failed", "a\nb\x1b[2J", "t 1\n● completed", uint8(1))
	f.Add("                                        ● completed", "\t\t\t\t● failed", "名前名前名前名前名前", "\x1b]0;t\a", uint8(6))
	f.Add("a\r", "\nb", "", "t1", uint8(8))
	f.Add("\x1b[", "31mred", "\u202e", "t1", uint8(4))
	f.Fuzz(func(t *testing.T, one, two, name, id string, state uint8) {
		st := a2a.TaskState(state % 9)
		events := []*a2a.StreamResponse{
			begins(a2a.TaskStateWorking), chunk(false, "a", name, text(one)), chunk(true, "a", "", text(two)),
			chunk(false, id, one, a2a.RawPart(nil, two, name), a2a.URLPart(one, "", ""), text(two)), status(a2a.TaskStateWorking, two), status(st, one), status(st, two),
		}
		for _, e := range events {
			switch {
			case e.Task != nil:
				e.Task.ID, e.Task.ContextID = id, id
			case e.StatusUpdate != nil:
				e.StatusUpdate.TaskID, e.StatusUpdate.ContextID = id, id
			default:
				e.ArtifactUpdate.TaskID, e.ArtifactUpdate.ContextID = id, id
			}
		}
		for _, colors := range []bool{false, true} {
			s, out := screen(30, colors)
			r := NewRenderer(s, hints())
			for _, e := range events {
				if err := r.Event(e); err != nil {
					t.Fatal(err)
				}
			}
			r.End()
			got := out.String()
			if colors {
				if rest := sgr.ReplaceAllString(got, ""); strings.ContainsAny(rest, "\x1b\r\b\x07\u009b") {
					t.Fatalf("controls in %q", got)
				}
				// Outside of our colors nothing of ours is left.
				theirs := regexp.MustCompile("\x1b\\[[1-9][0-9]*m[^\x1b]*\x1b\\[0m").ReplaceAllString(got, "")
				if strings.Contains(theirs, "\x1b") {
					t.Fatalf("a color without an end in %q", got)
				}
				continue
			}
			for _, line := range strings.Split(strings.TrimSuffix(got, "\n"), "\n") {
				theirs := line == "" || strings.HasPrefix(line, Indent)
				if !theirs && !ourLines.MatchString(line) {
					t.Fatalf("nobody's line %q in %q", line, got)
				}
				if w := runewidth.StringWidth(line); w > 30 && (theirs || !isToken(id)) {
					t.Fatalf("the terminal would break the %d cells of %q", w, line)
				}
			}
		}
	})
}

// An emoji of two characters is one cell wide for some terminals and two for others: no
// line of an agent's is broken by either, or its rest would pass for a line of ours.
func TestEmojiBreakNoLine(t *testing.T) {
	hearts := strings.Repeat("\u2764\ufe0f", 40)
	s, out := screen(30, false)
	r := NewRenderer(s, hints())
	for _, e := range []*a2a.StreamResponse{status(a2a.TaskStateWorking, hearts), chunk(false, "a", hearts, text(hearts))} {
		if err := r.Event(e); err != nil {
			t.Fatal(err)
		}
	}
	r.End()
	for line := range strings.Lines(out.String()) {
		if w := runewidth.StringWidth(line) + strings.Count(line, "\ufe0f"); w > 30 {
			t.Errorf("%d cells: %q", w, line)
		}
	}
}

func TestListTellsTasksApart(t *testing.T) {
	now := time.Date(2026, 11, 23, 15, 0, 0, 0, time.UTC)
	task := func(id string, s a2a.TaskState, ago time.Duration, words string) *a2a.Task {
		return &a2a.Task{ID: id, Status: a2a.TaskStatus{State: s, Timestamp: now.Add(-ago)}, History: []*a2a.Message{{Role: a2a.RoleUser, Parts: []*a2a.Part{text(words)}}}}
	}
	for width, want := range map[int]string{
		60: "01a208d6-f10  input required  3s ago  book a table\n01a208d6-f11  completed       5h ago  summarize this very …\n",
		37: "01a208d6-f10  input required  3s ago\n01a208d6-f11  completed       5h ago\n",
		30: "01a208d6-f10  input required\n01a208d6-f11  completed\n",
	} {
		s, out := screen(width, false)
		err := NewRenderer(s, Hints{}).List([]*a2a.Task{
			task("01a208d6-f102-72cd", a2a.TaskStateInputRequired, 3*time.Second, "book a table"),
			task("01a208d6-f11b-71b8", a2a.TaskStateCompleted, 5*time.Hour, "summarize\nthis very long report for me, please"),
		}, now)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Errorf("%d wide: %s", width, diff)
		}
	}
}

// The line is gone before anything else is written, and never written over a line of
// text that still grows.
func TestStatusLineMakesRoom(t *testing.T) {
	s, out := screen(20, false)
	s.Status("working · 3s · a very long name")
	_, _ = s.Out().Write([]byte("hello "))
	s.Status("working · 4s")
	_, _ = s.Out().Write([]byte("world\n"))
	s.Status("working · 5s")
	_, _ = s.Err().Write([]byte("Note: x\n"))
	const want = eraseLine + "working · 3s · a v…" + eraseLine + "hello world\n" + eraseLine + "working · 5s" + eraseLine + "Note: x\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}
