package console

import (
	"bytes"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"

	"github.com/parley-a2a/parley/a2a"
)

// maxWire is how many entries a page of the wire or the log has.
const maxWire = 200

// wire is a task's traffic, as it is in version 1.0 over JSON-RPC.
type wire struct {
	Requests []sentMessage
	Events   []sentEvent
	Next     int64
}

type sentMessage struct {
	Seq       int64
	Body      string
	Curl, CLI string
	Again     string // the address that writes the same message again
}

type sentEvent struct {
	Seq  int64
	Body string
}

func (c *Console) wire(r *request, a *Agent, entries []*a2a.Entry) *wire {
	w := new(wire)
	after, err := position(r.FormValue("after"))
	if err != nil {
		after = 0
	}
	for _, e := range entries {
		if e.Seq <= after {
			continue
		}
		if len(w.Requests)+len(w.Events) == maxWire {
			w.Next = e.Seq - 1
			break
		}
		switch e.Kind {
		case a2a.EntryMessage:
			w.Requests = append(w.Requests, c.requestOf(r, a, e))
		case a2a.EntryStatus:
			w.Events = append(w.Events, sentEvent{e.Seq, indent((&a2a.StreamResponse{StatusUpdate: e.Status}).AppendJSON(nil))})
		case a2a.EntryArtifact:
			w.Events = append(w.Events, sentEvent{e.Seq, indent((&a2a.StreamResponse{ArtifactUpdate: e.Artifact}).AppendJSON(nil))})
		}
	}
	return w
}

// requestOf is a message as a client sends it.
func (c *Console) requestOf(r *request, a *Agent, e *a2a.Entry) sentMessage {
	m := *e.Message
	if e.Seq <= 2 { // the message that began the task did not know it
		m.TaskID = ""
	}
	req := &a2a.SendMessageRequest{Message: &m}
	if e.Received != nil {
		req.Metadata = e.Received.Metadata
		if len(e.Received.AcceptedOutputModes) > 0 {
			req.Configuration = &a2a.SendMessageConfiguration{AcceptedOutputModes: e.Received.AcceptedOutputModes}
		}
	}
	body := indent([]byte(`{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":` + string(req.AppendJSON(nil)) + `}`))
	to := c.agentURL(r, a)
	one := sentMessage{Seq: e.Seq, Body: body}
	one.Curl = "curl " + quote(to) + " -H 'Content-Type: application/json' -H 'A2A-Version: 1.0' -d " + quote(body)
	one.CLI = "parley send -a " + quote(to) + " " + quote(m.Text())
	one.Again = base(r.Request) + "/chat/" + a.key() + "?say=" + url.QueryEscape(m.Text())
	return one
}

// agentURL is where an agent is called, for people to copy.
func (c *Console) agentURL(r *request, a *Agent) string {
	at := *asked(r.Request)
	at.Path = strings.TrimSuffix(at.Path, c.prefix)
	if a.Name != "" {
		at.Path += "/agents/" + a.Name
	}
	return at.String()
}

// quote makes one word of a text for a shell.
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

func logOf(entries []*a2a.Entry, after string) *logPage {
	from, err := strconv.ParseInt(after, 10, 64)
	if err != nil {
		from = 0
	}
	p := new(logPage)
	for _, e := range entries {
		if e.Seq <= from {
			continue
		}
		if len(p.Entries) == maxWire {
			p.Next = e.Seq - 1
			break
		}
		p.Entries = append(p.Entries, rawEntry{e.Seq, e.Time.UTC().Format("15:04:05.000"), kindNames[e.Kind], indent(e.AppendBody(nil))})
	}
	return p
}
