package console

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/parley-a2a/parley/a2a"
)

// maxWire is how many entries a page of the wire or the log shows.
const maxWire = 200

// wire is a task's traffic in its order, in the form of version 1.0 over JSON-RPC. The log has
// the content, not the bytes of every client: the view encodes it again. Headers, such as
// credentials, are in no log.
type wire struct {
	Items []sent
	Next  int64
}

// sent is a request with its response, or an event.
type sent struct {
	Seq       int64
	Time      string
	Method    string // of a request
	Body      string
	Response  string // of a call that waited; "" for a stream, and before there is one
	Streamed  bool
	Withheld  bool // it brought credentials, which are not stored
	Curl, CLI string
	Params    string // to edit and send again
}

// wireReader makes a page of the wire from a log. It belongs to one goroutine.
type wireReader struct {
	wire
	c     *Console
	r     *request
	a     *Agent
	after int64
	task  a2a.Task
	waits []int // the requests whose response is the task once it rests
}

func (w *wireReader) add(e *a2a.Entry) {
	if w.Next > 0 {
		return
	}
	w.task.Apply(e)
	if e.Seq <= w.after {
		return
	}
	if len(w.Items) == maxWire {
		w.Next = e.Seq - 1
		return
	}
	event := new(a2a.StreamResponse)
	switch e.Kind {
	case a2a.EntryMessage:
		w.Items = append(w.Items, w.c.requestOf(w.r, w.a, e))
		if n := len(w.Items) - 1; !w.Items[n].Streamed {
			w.waits = append(w.waits, n)
		}
		return
	case a2a.EntryStatus:
		event.StatusUpdate = e.Status
	case a2a.EntryArtifact:
		event.ArtifactUpdate = e.Artifact
	default:
		return
	}
	w.Items = append(w.Items, sent{Seq: e.Seq, Time: clock(e.Time), Body: shorten(string(event.AppendJSON(nil)))})
	if s := w.task.Status.State; len(w.waits) > 0 && e.Status != nil && (s.Terminal() || s.Interrupted()) {
		result := (&a2a.SendMessageResponse{Task: w.task.Snapshot()}).AppendJSON(nil)
		response := shorten(indent([]byte(`{"jsonrpc":"2.0","id":1,"result":` + string(result) + `}`)))
		for _, n := range w.waits {
			w.Items[n].Response = response
		}
		w.waits = nil
	}
}

// clock formats a time to the millisecond, with its day, because a task may last for weeks.
func clock(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05.000Z") }

// shorten shortens a document for a page.
func shorten(s string) string {
	if len(s) <= maxText {
		return s
	}
	return beginning(s, maxText) + fmt.Sprintf("\n… and %s more", size(len(s)-maxText))
}

// requestOf returns a message as a client's request.
func (c *Console) requestOf(r *request, a *Agent, e *a2a.Entry) sent {
	m := *e.Message
	if e.Seq <= 2 { // the first message did not know the task
		m.TaskID = ""
	}
	req := &a2a.SendMessageRequest{Message: &m}
	one := sent{Seq: e.Seq, Time: clock(e.Time), Method: "SendMessage"}
	if e.Received != nil {
		req.Metadata = e.Received.Metadata
		if len(e.Received.AcceptedOutputModes) > 0 {
			req.Configuration = &a2a.SendMessageConfiguration{AcceptedOutputModes: e.Received.AcceptedOutputModes}
		}
		if strings.Contains(e.Received.Call, "Stream") {
			one.Method, one.Streamed = "SendStreamingMessage", true
		}
		one.Withheld = e.Received.Credentials
	}
	params := string(req.AppendJSON(nil))
	one.Body = shorten(indent([]byte(`{"jsonrpc":"2.0","id":1,"method":"` + one.Method + `","params":` + params + `}`)))
	to := c.agentURL(r, a)
	if to != "" {
		one.Curl = "curl " + quote(to) + " -H 'Content-Type: application/json' -H 'A2A-Version: 1.0'"
		if len(a.Card.SecurityRequirements) > 0 {
			one.Curl += " -H \"Authorization: Bearer $TOKEN\""
		}
		one.Curl = shorten(one.Curl + " -d " + quote(`{"jsonrpc":"2.0","id":1,"method":"`+one.Method+`","params":`+params+`}`))
	}
	one.CLI = shorten("parley send -a " + quote(cmp.Or(a.ref, to)) + " " + quote(m.Text()))
	if r.csrf != "" && len(params) <= maxText {
		one.Params = indent([]byte(params))
	}
	return one
}

// resend sends an edited request. Its message always gets a new id.
func (c *Console) resend(w http.ResponseWriter, r *request, a *Agent) {
	req := new(a2a.SendMessageRequest)
	if err := json.Unmarshal([]byte(r.FormValue("params")), req); err != nil || req.Message == nil {
		why := "it has no message"
		if err != nil {
			why = err.Error()
		}
		c.fail(w, r.Request, http.StatusBadRequest, "Nothing was sent", "The request cannot be read: "+why+".")
		return
	}
	req.Message.MessageID, req.Message.Role = uuid.Must(uuid.NewV7()).String(), a2a.RoleUser
	if req.Configuration == nil {
		req.Configuration = new(a2a.SendMessageConfiguration)
	}
	req.Configuration.ReturnImmediately = true
	res, err := a.Service.SendMessage(context.WithoutCancel(r.ctx), req)
	switch {
	case err != nil:
		c.failed(w, r, err)
	case res.Task != nil:
		http.Redirect(w, r.Request, taskAddress(r.Request, a.Key(), res.Task.ID)+"?view=wire", http.StatusSeeOther)
	default:
		c.said(w, r, a, req.Message, res.Message)
	}
}

// agentURL returns the address of an agent, for people to copy: for a foreign one, that of its
// JSON-RPC interface, or "" if it has none in this version.
func (c *Console) agentURL(r *request, a *Agent) string {
	if a.ref != "" {
		const ours = a2a.Version("") // the version in which the view writes requests
		for _, i := range a.Card.SupportedInterfaces {
			if i.ProtocolBinding == a2a.BindingJSONRPC && i.ProtocolVersion == ours.String() {
				return i.URL
			}
		}
		return ""
	}
	at := *asked(r.Request)
	at.Path = strings.TrimSuffix(at.Path, c.prefix)
	if a.Name != "" {
		at.Path += "/agents/" + a.Name
	}
	return at.String()
}

// quote quotes a text as one shell word.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

func indent(doc []byte) string {
	var b bytes.Buffer
	if json.Indent(&b, doc, "", "  ") != nil {
		return string(doc)
	}
	return b.String()
}

// logPage is a page of a task's raw log.
type logPage struct {
	Entries []rawEntry
	Next    int64
}

type rawEntry struct {
	Seq  int64
	Time string
	Kind string
	Body string
}

var kindNames = map[a2a.EntryKind]string{
	a2a.EntryCreated: "created", a2a.EntryMessage: "message", a2a.EntryStatus: "status",
	a2a.EntryArtifact: "artifact", a2a.EntryStep: "step", a2a.EntryCancel: "cancel",
}

// add adds an entry, if it is after a position and fits on the page.
func (p *logPage) add(e *a2a.Entry, after int64) {
	switch {
	case p.Next > 0 || e.Seq <= after:
	case len(p.Entries) == maxWire:
		p.Next = e.Seq - 1
	default:
		p.Entries = append(p.Entries, rawEntry{e.Seq, clock(e.Time), kindNames[e.Kind], shorten(indent(e.AppendBody(nil)))})
	}
}
