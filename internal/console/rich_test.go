package console

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/parley-a2a/parley/a2a"
)

// A link leads to a web address, or is its words: one that leads nowhere would open the
// page itself anew. Pictures become links, but for one in a link.
func TestLinksLeadSomewhere(t *testing.T) {
	const link = ` rel="noopener noreferrer nofollow" target="_blank">`
	for text, want := range map[string]string{
		"[ok](https://a.example/x)":              `<a href="https://a.example/x"` + link + `ok</a>`,
		"<https://a.example>":                    `<a href="https://a.example"` + link + `https://a.example</a>`,
		"![](https://a.example/p.png)":           `<a href="https://a.example/p.png"` + link + `image</a>`,
		"[![p](https://b.example)](//c)":         `<a href="https://b.example"` + link + `p</a>`,
		"[![p](https://b.example)](https://c.d)": `<a href="https://c.d"` + link + `p</a>`,
		"[run](javascript:alert(1))":             "run",
		"[here](./x) ![](data:x)":                "here image",
		"<mailto:a@b.example> <a@b.example>":     "mailto:a@b.example a@b.example",
	} {
		if got := strings.TrimSpace(string(rich(text))); got != "<p>"+want+"</p>" {
			t.Errorf("%s becomes %s, want %s", text, got, want)
		}
	}
}

// Messages of agents are formatted like their artifacts. The words of people, and
// the reason of a failure, stay as they came.
func TestMessagesAreFormatted(t *testing.T) {
	says := func(state a2a.TaskState) *a2a.Entry {
		m := &a2a.Message{Role: a2a.RoleAgent, Parts: []*a2a.Part{a2a.TextPart("it is **done**")}}
		return &a2a.Entry{Kind: a2a.EntryStatus, Time: time.Unix(0, 0), Status: &a2a.TaskStatusUpdateEvent{Status: a2a.TaskStatus{State: state, Message: m}}}
	}
	said := &a2a.Entry{Kind: a2a.EntryMessage, Message: says(0).Status.Status.Message}
	for name, one := range map[string]struct {
		e    *a2a.Entry
		want bool
	}{
		"an answer": {says(a2a.TaskStateCompleted), true}, "a question": {says(a2a.TaskStateInputRequired), true},
		"a failure": {says(a2a.TaskStateFailed), false}, "a person": {said, false},
	} {
		var to fragments
		newFlow(&to, "/tasks/-/t1", "t1", "").one(one.e)
		if html := to.take(); strings.Contains(html, "<strong>done</strong>") != one.want {
			t.Errorf("%s: that it is formatted is %v:\n%s", name, !one.want, html)
		}
	}
}

// Texts whose formatting takes the square of their length, or more, stay plain. As HTML
// the table here would have 16 million cells, and the list takes minutes.
func TestTextsThatAreHardToFormatStayPlain(t *testing.T) {
	const n = 8192
	for name, s := range map[string]string{
		"table":      strings.Repeat("|a", n/2) + "|\n" + strings.Repeat("|-", n/2) + "|\n" + strings.Repeat("|\n", n/2),
		"list":       strings.Repeat("- ", n) + "x" + strings.Repeat("\n", n),
		"numbers":    strings.Repeat("1. ", n) + "x",
		"quotation":  strings.Repeat(">", n) + "x",
		"emphasis":   strings.Repeat("*a_", n),
		"lines":      "**a**\n" + strings.Repeat("*a\n", n),
		"brackets":   "**a** " + strings.Repeat("[", n) + strings.Repeat("]", n),
		"links":      "**a** " + strings.Repeat("[a](", n),
		"titles":     "**a** [_](" + strings.Repeat(`'a"`, n),
		"code":       "`a` " + strings.Repeat("``-", n),
		"list items": strings.Repeat("- \n  \\``", n),
	} {
		if looksRich(s) {
			t.Errorf("%s is formatted", name)
		}
	}
}

func TestTextsThatPeopleWriteAreFormatted(t *testing.T) {
	s := strings.Repeat("* **Long** list with [a link](https://example.org) and `code`\n", 1000) + "\n" +
		"| a | b | c |\n|---|:-:|---|\n" + strings.Repeat("| **x** | `y` | z |\n", 60) + "\n" +
		"1. one\n   - two\n     > three\n\n```go\n" + strings.Repeat("\t\t\t\t\t\t\t\t\t\t\t\ta[i] = *b\n", 5) + "```\n" +
		strings.Repeat("Some words, it's *said*, [like][1] these.\n\n", 200) + "[1]: https://example.org/ \"A title\"\n"
	if !looksRich(s) {
		t.Fatal("it stays plain")
	}
	if html := string(rich(s)); strings.Count(html, `<a href="https://example.org/"`) != 200 || strings.Count(html, "<td") != 180 {
		t.Error(html)
	}
}

// A long address to which many links lead is not repeated for each of them.
func TestLinksWithOneAddressStaySmall(t *testing.T) {
	s := "[a]: https://example.org/" + strings.Repeat("b", 20_000) + "\n\n" + strings.Repeat("[a]\n\n", 2000)
	if html := rich(s); len(html) > 20*len(s) {
		t.Errorf("%d bytes become %d", len(s), len(html))
	}
}

// A page has one title: an agent's headings are below it.
func TestHeadingsAreBelowThePages(t *testing.T) {
	if got := string(rich("# a\n\n###### b")); got != "<h2>a</h2>\n<h6>b</h6>\n" {
		t.Errorf("they are %q", got)
	}
}

// A task has a bound of formatted text, in however many messages and artifacts.
func TestOfATaskSomeTextIsFormatted(t *testing.T) {
	s := newSheet(prefixOf("/t") + "flow")
	f := newFlow(s, "/t", "t", "")
	for i := range int64(10) {
		text := a2a.TextPart("**bold** " + strings.Repeat("a", maxRich/4))
		status := &a2a.TaskStatusUpdateEvent{Status: a2a.TaskStatus{State: a2a.TaskStateInputRequired, Message: &a2a.Message{Parts: []*a2a.Part{text}}}}
		if i%2 == 0 {
			f.one(&a2a.Entry{Seq: i, Kind: a2a.EntryStatus, Status: status})
			continue
		}
		f.one(&a2a.Entry{Seq: i, Kind: a2a.EntryArtifact, Artifact: &a2a.TaskArtifactUpdateEvent{LastChunk: true, Artifact: &a2a.Artifact{ArtifactID: fmt.Sprint(i), Parts: []*a2a.Part{text}}}})
	}
	if n := strings.Count(s.HTML(), "<strong>"); n != 3 {
		t.Errorf("%d texts are formatted", n)
	}
}
