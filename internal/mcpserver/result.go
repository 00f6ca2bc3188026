package mcpserver

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aclient"
)

// builder gathers the content of a result.
type builder struct {
	content []mcp.Content
	data    []json.RawMessage // from data parts
	room    int               // bytes that may still be added
	task    string
	files   int
}

// result returns a tool's result for a task. late says that the call did not wait for
// the task's end.
func (s *Server) result(t *a2a.Task, late bool) *mcp.CallToolResult {
	b := &builder{room: s.opts.maxResult(), task: t.ID}
	state := t.Status.State
	for _, a := range t.Artifacts {
		b.parts(a.Name, a.Parts)
	}
	if m := t.Status.Message; m != nil && (state != a2a.TaskStateWorking || late || len(t.Artifacts) == 0) {
		b.parts("", m.Parts)
	}
	note := ""
	switch {
	case state == a2a.TaskStateInputRequired:
		note = fmt.Sprintf("The task %s waits for an answer: send it with answer_task.", t.ID)
	case state == a2a.TaskStateAuthRequired:
		note = fmt.Sprintf("The task %s waits for an authorization, which it describes above. If that is done elsewhere, look at the task with get_task; if credentials have to be sent, that is for the user to decide, with answer_task.", t.ID)
	case !state.Terminal():
		note = fmt.Sprintf("The task %s is %s and goes on: look at it with get_task, which can wait for it.", t.ID, shortState(state))
	case state == a2a.TaskStateCanceled:
		note = fmt.Sprintf("The task %s was canceled.", t.ID)
	case len(b.content) == 0:
		note = fmt.Sprintf("The task %s is %s.", t.ID, shortState(state))
	}
	if note != "" {
		b.content = append(b.content, &mcp.TextContent{Text: note})
	}
	about := summary(t)
	b.describe(about)
	return &mcp.CallToolResult{
		Content:           b.content,
		StructuredContent: about,
		IsError:           state == a2a.TaskStateFailed || state == a2a.TaskStateRejected,
	}
}

// message returns a tool's result for an answer without a task.
func (s *Server) message(m *a2a.Message) *mcp.CallToolResult {
	b := &builder{room: s.opts.maxResult(), task: m.MessageID}
	b.parts("", m.Parts)
	about := map[string]any{}
	if m.ContextID != "" {
		about["context_id"] = m.ContextID
	}
	b.describe(about)
	if len(b.content) == 0 {
		b.content = []mcp.Content{&mcp.TextContent{}}
	}
	return &mcp.CallToolResult{Content: b.content, StructuredContent: about}
}

// summary identifies a task for programs.
func summary(t *a2a.Task) map[string]any {
	about := map[string]any{"task_id": t.ID, "state": shortState(t.Status.State)}
	if t.ContextID != "" {
		about["context_id"] = t.ContextID
	}
	return about
}

// shortState returns a state's name, such as input_required.
func shortState(s a2a.TaskState) string {
	return strings.ToLower(strings.TrimPrefix(s.String(), "TASK_STATE_"))
}

// describe adds the text and the data to structured content, because some clients pass
// only that to their model.
func (b *builder) describe(about map[string]any) {
	var texts []string
	for _, c := range b.content {
		if t, ok := c.(*mcp.TextContent); ok {
			texts = append(texts, t.Text)
		}
	}
	about["text"] = strings.Join(texts, "\n")
	if len(b.data) > 0 {
		about["data"] = b.data
	}
}

// parts adds parts. Chunks of text become one text.
func (b *builder) parts(name string, parts []*a2a.Part) {
	var text strings.Builder
	flush := func() {
		if text.Len() > 0 {
			b.content = append(b.content, &mcp.TextContent{Text: text.String()})
			text.Reset()
		}
	}
	for _, p := range parts {
		switch p.Kind {
		case a2a.PartText:
			text.WriteString(b.fit(p.Text))
		case a2a.PartData:
			flush()
			if len(p.Data) > b.room {
				b.leftOut("data", len(p.Data))
			} else if doc := b.fit(string(p.Data)); json.Valid([]byte(doc)) {
				b.data = append(b.data, json.RawMessage(doc))
				b.content = append(b.content, &mcp.TextContent{Text: doc})
			} else {
				b.leftOut("data", len(p.Data))
			}
		case a2a.PartURL:
			flush()
			name := cmp.Or(p.Filename, "file")
			if len(p.URL) > b.room {
				b.leftOut("the link "+cut(name, 200), len(p.URL))
				continue
			}
			b.content = append(b.content, &mcp.ResourceLink{URI: b.fit(p.URL), Name: cut(name, 200), MIMEType: cut(p.MediaType, 200)})
		case a2a.PartRaw:
			flush()
			b.file(name, p)
		}
	}
	flush()
}

// file adds a file.
func (b *builder) file(artifact string, p *a2a.Part) {
	name := cmp.Or(p.Filename, artifact)
	if len(p.Raw) > b.room {
		b.leftOut("the file "+cut(name, 200), len(p.Raw))
		return
	}
	b.room -= len(p.Raw)
	b.files++
	kind, _, _ := mime.ParseMediaType(p.MediaType)
	switch {
	case strings.HasPrefix(kind, "image/"):
		b.content = append(b.content, &mcp.ImageContent{Data: p.Raw, MIMEType: kind})
		return
	case strings.HasPrefix(kind, "audio/"):
		b.content = append(b.content, &mcp.AudioContent{Data: p.Raw, MIMEType: kind})
		return
	}
	name = cmp.Or(name, strconv.Itoa(b.files))
	r := &mcp.ResourceContents{
		URI:      "a2a:///tasks/" + url.PathEscape(b.task) + "/files/" + strconv.Itoa(b.files) + "/" + url.PathEscape(cut(name, 200)),
		MIMEType: cut(p.MediaType, 200),
	}
	if textual(kind) && utf8.Valid(p.Raw) && len(p.Raw) > 0 {
		r.Text = string(p.Raw)
	} else {
		r.Blob = p.Raw
		if r.Blob == nil {
			r.Blob = []byte{}
		}
	}
	b.content = append(b.content, &mcp.EmbeddedResource{Resource: r})
}

func textual(kind string) bool {
	return strings.HasPrefix(kind, "text/") || kind == "application/json" || kind == "application/xml" ||
		strings.HasSuffix(kind, "+json") || strings.HasSuffix(kind, "+xml")
}

func (b *builder) leftOut(what string, size int) {
	b.content = append(b.content, &mcp.TextContent{Text: fmt.Sprintf("(%s of %d bytes is left out)", what, size)})
}

// fit returns as much of a text as fits the room.
func (b *builder) fit(s string) string {
	if len(s) <= b.room {
		b.room -= len(s)
		return strings.ToValidUTF8(s, "\uFFFD")
	}
	s = cut(s, b.room)
	b.room = 0
	return s
}

// textOf returns the text of parts.
func textOf(parts []*a2a.Part) string {
	var texts []string
	for _, p := range parts {
		if p.Kind == a2a.PartText && p.Text != "" {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// failure returns the result of a call that the agent refused or that did not reach it.
func (s *Server) failure(err error) *mcp.CallToolResult {
	text := "the call to the agent failed"
	var (
		e    *a2a.Error
		lost *a2aclient.TransportError
	)
	switch {
	case errors.As(err, &e):
		text = e.Code.String()
		if e.Message != "" {
			text += ": " + e.Message
		}
		for _, f := range e.Fields {
			text += fmt.Sprintf("; %s %s", f.Field, f.Description)
		}
	case errors.As(err, &lost) && lost.Unreachable:
		text = "the agent at " + lost.Host + " cannot be reached"
	case errors.As(err, &lost):
		text = "the connection to the agent at " + lost.Host + " was lost: it may have taken the message; list_tasks shows its tasks"
	case errors.Is(err, context.Canceled):
		text = "canceled"
	}
	s.log.Info("a call failed", "error", err)
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: cut(text, maxDescription)}}, IsError: true}
}

// cut returns s as valid text of about so many bytes at most.
func cut(s string, most int) string {
	if len(s) <= most {
		return strings.ToValidUTF8(s, "\uFFFD")
	}
	return strings.ToValidUTF8(s[:most], "") + " …"
}
