package httpagent

import (
	"bytes"
	"cmp"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/json"
	"github.com/parley-a2a/parley/internal/program"
)

// event is one thing that a service says: an event of a stream, a callback, or
// part of an answer. The types and members are those of agent.Exec's lines.
type event struct {
	Type        string      `json:"type,omitempty"`
	ID          string      `json:"id,omitempty"` // of a callback, to recognize a repeated one
	Text        *string     `json:"text,omitempty"`
	Parts       []*a2a.Part `json:"parts,omitempty"`
	Name        string      `json:"name,omitempty"`
	Description string      `json:"description,omitempty"`
	Append      *bool       `json:"append,omitempty"`
	Last        bool        `json:"last,omitempty"`
	Metadata    a2a.JSON    `json:"metadata,omitempty"`
	State       a2a.JSON    `json:"state,omitempty"` // of a question: sent back with its answer
	Level       string      `json:"level,omitempty"`
}

const (
	maxName  = 1 << 10  // of an artifact, in bytes
	maxID    = 256      // of an event
	maxState = 64 << 10 // of State, in bytes
)

// badAnswer says what is wrong with an answer, in words for the caller and for the
// service's author.
type badAnswer string

func (e badAnswer) Error() string { return string(e) }

func bad(format string, args ...any) error { return badAnswer(fmt.Sprintf(format, args...)) }

var types = []string{"status", "artifact", "ask", "authenticate", "log", "complete", "reply", "reject", "fail"}

// ends reports whether the event must be the last: what comes after a question belongs
// to another request.
func (ev *event) ends() bool {
	return !slices.Contains([]string{"status", "artifact", "log"}, ev.Type)
}

// asks reports whether the event is a question.
func (ev *event) asks() bool { return ev.Type == "ask" || ev.Type == "authenticate" }

// parseEvent decodes an event; name is its type if the event has none.
func parseEvent(doc []byte, name string) (*event, error) {
	ev := new(event)
	if err := decode(doc, ev); err != nil {
		return nil, err
	}
	ev.Type = cmp.Or(ev.Type, name)
	if err := ev.check(); err != nil {
		return nil, err
	}
	return ev, nil
}

// decode reads a JSON object into v.
func decode(doc []byte, v any) error {
	if at := strings.TrimLeft(string(doc[:min(len(doc), 64)]), " \t\r\n"); len(at) > 0 && at[0] != '{' {
		return bad("it is not a JSON object")
	}
	if !utf8.Valid(doc) { // also in values that are kept as they are
		doc = bytes.ToValidUTF8(doc, []byte("\ufffd"))
	}
	// Not all clients can read deeper JSON.
	if json.Deeper(doc, a2a.MaxDepth) {
		return bad("it nests more than %d levels deep", a2a.MaxDepth)
	}
	err := stdjson.Unmarshal(doc, v)
	var coded *a2a.Error
	var typed *stdjson.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &coded):
		return bad("it has a value that version 1.0 of the protocol does not allow: %s", cut(coded.Message))
	case errors.As(err, &typed) && typed.Field != "":
		return bad("its member %s must not be a JSON %s", cut(strings.TrimPrefix(typed.Field, "event.")), cut(typed.Value))
	}
	return bad("it is not JSON")
}

// check validates an event as a whole, so that nothing of an invalid event is emitted.
// It moves its text into its parts.
func (ev *event) check() error {
	switch {
	case ev.Type == "":
		return bad("it has no type; it may be %s", strings.Join(types, ", "))
	case !slices.Contains(types, ev.Type):
		return bad("its type %q is not known; it may be %s", cut(ev.Type), strings.Join(types, ", "))
	case ev.Text != nil && len(ev.Parts) > 0:
		return bad("it has both text and parts")
	case len(ev.Name) > maxName:
		return bad("its name is longer than %d bytes", maxName)
	case len(ev.ID) > maxID:
		return bad("its id is longer than %d bytes", maxID)
	case len(ev.State) > maxState:
		return bad("its state is longer than %d bytes", maxState)
	}
	if string(ev.Metadata) == "null" {
		ev.Metadata = nil
	}
	if ev.Text != nil {
		if *ev.Text != "" || ev.Type == "artifact" || ev.Type == "reply" {
			ev.Parts = []*a2a.Part{a2a.TextPart(*ev.Text)}
		}
		ev.Text = nil
	}
	switch ev.Type {
	case "artifact", "ask", "authenticate", "reply":
		if len(ev.Parts) == 0 {
			return bad("it has neither text nor parts")
		}
	}
	m := ev.message()
	if m == nil {
		return nil
	}
	m.MessageID, m.Role = "-", a2a.RoleAgent
	if err := m.Validate(); err != nil {
		return bad("%s", fieldsOf(err))
	}
	return nil
}

// message returns the message of a status or an end, or nil.
func (ev *event) message() *a2a.Message { return program.Message(ev.Parts, ev.Metadata) }

// fieldsOf says which field of a message is wrong.
func fieldsOf(err error) string {
	coded, ok := errors.AsType[*a2a.Error](err)
	if !ok || len(coded.Fields) == 0 {
		return "its content is not valid"
	}
	f := coded.Fields[0]
	return cut(fmt.Sprintf("its %s %s", f.Field, f.Description))
}

// cut shortens a text of the service to be quoted in a reason.
func cut(s string) string {
	const most = 120
	s = strings.ToValidUTF8(s, "\ufffd")
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
