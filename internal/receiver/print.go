package receiver

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aclient"
	"github.com/parley-a2a/parley/internal/plain"
)

// arrival is a webhook that came, and its outcome.
type arrival struct {
	at       time.Time
	delivery *a2aclient.WebhookDelivery // nil if it was refused
	status   int                        // of the answer
	reason   string                     // why it was refused
}

// Hello prints the receiver's URL.
func (r *Receiver) Hello(url string) error {
	if r.o.JSON {
		return r.line(map[string]string{"url": url})
	}
	_, err := fmt.Fprintf(r.o.Out, "URL: %s\n", url)
	return err
}

// print prints one line about a webhook.
func (r *Receiver) print(a *arrival) error {
	if r.o.JSON {
		return r.line(r.doc(a))
	}
	_, err := io.WriteString(r.o.Out, plain.Line(r.text(a))+"\n")
	return err
}

func (r *Receiver) line(doc any) error {
	b, err := json.Marshal(doc)
	if err != nil {
		return err
	}
	_, err = io.WriteString(r.o.Out, plain.JSON(string(b))+"\n")
	return err
}

// maxNames bounds the names of artifacts that are remembered.
const maxNames = 1000

// name returns the name of an artifact, which only its first chunk has. r.mu is held.
func (r *Receiver) name(a *a2a.Artifact) string {
	switch {
	case a.Name != "":
		if r.names == nil || len(r.names) >= maxNames {
			r.names = map[string]string{}
		}
		r.names[a.ArtifactID] = a.Name
		return a.Name
	case r.names[a.ArtifactID] != "":
		return r.names[a.ArtifactID]
	}
	return a.ArtifactID
}

// text returns the line for people. r.mu is held.
func (r *Receiver) text(a *arrival) string {
	at := a.at.UTC().Format(time.RFC3339)
	if a.delivery == nil {
		return fmt.Sprintf("%s refused %d: %s", at, a.status, a.reason)
	}
	d := a.delivery
	marks := []string{"unverified"}
	switch by := r.by(d); {
	case len(by) > 0:
		marks[0] = "verified by " + strings.Join(by, " and ")
	case d.ByKey && d.Source != "":
		marks[0] = "signed by key for " + d.Source
	case d.ByKey:
		marks[0] = "signed by key for any caller"
	}
	if d.Duplicate {
		marks = append(marks, "duplicate")
	}
	if a.status != 200 {
		marks = append(marks, fmt.Sprint("answered ", a.status))
	}
	task := cmp.Or(d.TaskID, "-")
	return fmt.Sprintf("%s %s %s [%s]", at, task, r.what(d), strings.Join(marks, ", "))
}

// by lists what verified a delivery, and that it is for this receiver.
func (r *Receiver) by(d *a2aclient.WebhookDelivery) (by []string) {
	if d.ByKey && !r.o.AnySource {
		by = append(by, "key")
	}
	if d.ByToken {
		by = append(by, "token")
	}
	return by
}

// what briefly describes the event.
func (r *Receiver) what(d *a2aclient.WebhookDelivery) string {
	if d.Task != nil {
		return "task " + statusLine(&d.Task.Status)
	}
	switch e := d.Event; {
	case e.Task != nil:
		return "task " + statusLine(&e.Task.Status)
	case e.StatusUpdate != nil:
		return "status " + statusLine(&e.StatusUpdate.Status)
	case e.ArtifactUpdate != nil && e.ArtifactUpdate.Artifact != nil:
		art := e.ArtifactUpdate.Artifact
		return "artifact " + r.name(art) + textOf(art.Parts)
	case e.Message != nil:
		return "message" + textOf(e.Message.Parts)
	}
	return "nothing"
}

func statusLine(s *a2a.TaskStatus) string {
	if s.Message == nil {
		return s.State.String()
	}
	return s.State.String() + textOf(s.Message.Parts)
}

// textOf returns the text of parts, shortened to fit a line.
func textOf(parts []*a2a.Part) string {
	const most = 60
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(p.Text)
	}
	text := []rune(strings.Join(strings.Fields(b.String()), " "))
	switch {
	case len(text) == 0:
		return ""
	case len(text) > most:
		text = append(text[:most], '…')
	}
	return ": " + string(text)
}

// arrivalDoc is the line for programs. Event and Task are in the protocol's form.
type arrivalDoc struct {
	Received  time.Time           `json:"received"`
	Answered  int                 `json:"answered"`
	Refused   string              `json:"refused,omitempty"`
	ID        string              `json:"id,omitempty"`
	Sent      time.Time           `json:"sent,omitzero"`
	TaskID    string              `json:"taskId,omitempty"`
	Source    string              `json:"source,omitempty"` // verified by a signature
	Verified  []string            `json:"verifiedBy,omitempty"`
	Duplicate bool                `json:"duplicate,omitempty"`
	Event     *a2a.StreamResponse `json:"event,omitempty"`
	Task      *a2a.Task           `json:"task,omitempty"`
}

func (r *Receiver) doc(a *arrival) *arrivalDoc {
	doc := &arrivalDoc{Received: a.at.UTC(), Answered: a.status, Refused: a.reason}
	if d := a.delivery; d != nil {
		doc.ID, doc.TaskID, doc.Source, doc.Verified, doc.Duplicate, doc.Event, doc.Task = d.ID, d.TaskID, d.Source, r.by(d), d.Duplicate, d.Event, d.Task
		doc.Sent = d.Time
	}
	return doc
}
