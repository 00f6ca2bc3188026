package httpagent

import (
	"bytes"
	"encoding/json"
	"mime"
	"strings"

	"github.com/parley-a2a/parley/a2a"
)

// answer is an answer in one piece: everything that the service says, at once.
type answer struct {
	event
	Artifacts []*event        `json:"artifacts"`
	Ask       json.RawMessage `json:"ask"`
	Reject    json.RawMessage `json:"reject"`
	Fail      json.RawMessage `json:"fail"`
}

// parseAnswer turns an answer of this media type into the equivalent events. Only the
// last of them ends the exchange.
func parseAnswer(body []byte, media string) ([]*event, error) {
	if media == "" { // then guess
		media = "text/plain"
		if body := bytes.TrimSpace(body); len(body) > 0 && body[0] == '{' {
			media = "application/json"
		}
	}
	media, _, err := mime.ParseMediaType(media)
	switch {
	case err != nil:
		return nil, bad("its media type cannot be read")
	case media == "application/json", strings.HasSuffix(media, "+json"):
		return parseJSON(body)
	}
	one := &event{Type: "reply", Parts: []*a2a.Part{a2a.TextPart(string(bytes.ToValidUTF8(body, []byte("\ufffd"))))}}
	switch {
	case strings.HasPrefix(media, "text/"):
		return []*event{one}, nil
	case len(body) == 0:
		return []*event{{Type: "complete"}}, nil
	}
	one.Type, one.Name, one.Last, one.Parts = "artifact", "output", true, []*a2a.Part{a2a.RawPart(body, media, "")}
	return []*event{one, {Type: "complete"}}, nil
}

func parseJSON(body []byte) ([]*event, error) {
	if bytes.HasPrefix(bytes.TrimSpace(body), []byte(`"`)) { // web frameworks send a returned string in this form
		reply := &event{Type: "reply", Text: new(string)}
		if err := json.Unmarshal(body, reply.Text); err != nil {
			return nil, bad("it is not JSON")
		}
		return []*event{reply}, reply.check()
	}
	var a answer
	if err := decode(body, &a); err != nil {
		return nil, err
	}
	if a.Type != "" { // a single event
		if err := a.check(); err != nil {
			return nil, err
		}
		events := []*event{&a.event}
		if !a.ends() {
			events = append(events, &event{Type: "complete"})
		}
		return events, nil
	}
	var events []*event
	for _, ev := range a.Artifacts {
		if ev == nil {
			return nil, bad("an artifact is null")
		}
		ev.Type, ev.Last = "artifact", true
		if err := ev.check(); err != nil {
			return nil, bad("artifact %q: %s", cut(ev.Name), err)
		}
		events = append(events, ev)
	}
	end, err := a.end()
	if err != nil {
		return nil, err
	}
	return append(events, end), nil
}

// end returns the event that ends the answer.
func (a *answer) end() (*event, error) {
	end := &a.event
	words := end.Text != nil || len(end.Parts) > 0
	for _, m := range []struct {
		name  string
		value json.RawMessage
	}{{"ask", a.Ask}, {"reject", a.Reject}, {"fail", a.Fail}} {
		if len(m.value) == 0 || string(m.value) == "null" {
			continue
		}
		if words || end.Type != "" {
			return nil, bad("it has more than one of text, parts, ask, reject and fail")
		}
		state, metadata := a.State, a.Metadata
		var err error
		if m.value[0] == '"' {
			var text string
			err = json.Unmarshal(m.value, &text)
			end = &event{Text: &text}
		} else {
			end = &event{}
			err = decode(m.value, end)
		}
		if err != nil {
			return nil, bad("its member %s: %s", m.name, err)
		}
		end.Type = m.name
		if len(end.State) == 0 {
			end.State = state
		}
		if len(end.Metadata) == 0 {
			end.Metadata = metadata
		}
	}
	switch {
	case end.Type != "":
	case words && a.Artifacts == nil && len(end.Metadata) == 0:
		end.Type = "reply"
	case words || a.Artifacts != nil:
		end.Type = "complete"
	default:
		return nil, bad("it has none of text, parts, artifacts, ask, reject and fail")
	}
	return end, end.check()
}
