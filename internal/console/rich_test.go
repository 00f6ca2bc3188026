package console

import (
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
