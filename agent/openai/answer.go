package openai

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// answer is one answer of the model. If it calls tools it is recorded as a step.
type answer struct {
	Text      string `json:"text,omitempty"`
	Reasoning string `json:"reasoning,omitempty"` // with calls: DeepSeek requires it to be sent back
	Calls     []call `json:"calls,omitempty"`
	Usage     usage  `json:"usage,omitzero"`
	Model     string `json:"model,omitempty"`

	id      string // the id that the endpoint gave it
	finish  string // why it ended, "" if unknown
	refusal string
}

// call is a tool call that the model asks for.
type call struct {
	toolCall
	Once bool `json:"once,omitempty"` // see agent.Tool
}

// assembly assembles an answer from deltas.
type assembly struct {
	max int // bytes

	answer
	text, reasoning, refused strings.Builder
	size                     int
	calls                    []*calling
}

// calling is a call that is not complete yet.
type calling struct {
	id, name string
	index    int // -1: none was given
	args     strings.Builder
	extra    json.RawMessage
}

// add adds a chunk, and returns the text that is new in it.
func (s *assembly) add(c *chunk) (string, error) {
	if c.ID != "" {
		s.id = short(c.ID, 200)
	}
	if c.Model != "" {
		s.Model = short(c.Model, 200)
	}
	if c.Usage != nil { // also in chunks without choices; the last one counts
		s.Usage = *c.Usage
	}
	var text string
	for _, ch := range c.Choices {
		if ch.Index != 0 {
			continue // only one choice was requested
		}
		if ch.Finish != "" {
			s.finish = short(ch.Finish, 100)
		}
		for _, d := range []*delta{ch.Delta, ch.Message} {
			if d == nil {
				continue // Azure sends chunks that only report its filter
			}
			if err := s.take(d); err != nil {
				return text, err
			}
			text += string(d.Content)
		}
	}
	return text, nil
}

func (s *assembly) take(d *delta) error {
	s.text.WriteString(string(d.Content))
	s.refused.WriteString(d.Refusal)
	thought := cmp.Or(d.Reasoning, d.Thinking)
	s.reasoning.WriteString(thought)
	s.size += len(d.Content) + len(d.Refusal) + len(thought)
	for i := range d.ToolCalls {
		if err := s.call(&d.ToolCalls[i]); err != nil {
			return err
		}
	}
	if s.size > s.max {
		return fault{public: "the model's answer is too long", cause: fmt.Errorf("more than %d bytes", s.max)}
	}
	return nil
}

// call adds a delta to its call. OpenAI distinguishes calls by their index and sends
// the id once; others leave the index out, send 0 for all, or send the same call under
// two indexes.
func (s *assembly) call(d *callDelta) error {
	args := argumentsOf(d.Function.Arguments)
	c := s.find(d)
	if c == nil {
		if len(s.calls) == maxCalls {
			return fault{public: "the model calls too many tools at once", cause: fmt.Errorf("more than %d", maxCalls)}
		}
		c = &calling{index: -1}
		if d.Index != nil {
			c.index = *d.Index
		}
		s.calls = append(s.calls, c)
	}
	if d.ID != "" {
		c.id = d.ID
	}
	if c.name == "" {
		c.name = d.Function.Name // some endpoints repeat it
	}
	c.args.WriteString(args)
	if len(d.Extra) > 0 && string(d.Extra) != "null" {
		c.extra = d.Extra
	}
	s.size += len(d.ID) + len(d.Function.Name) + len(args) + len(d.Extra)
	return nil
}

func (s *assembly) find(d *callDelta) *calling {
	var c *calling
	for i := len(s.calls) - 1; i >= 0 && c == nil; i-- {
		x := s.calls[i]
		switch {
		case d.ID != "" && x.id != "":
			if x.id == d.ID {
				return x
			}
		case d.Index != nil && x.index >= 0:
			if x.index == *d.Index {
				c = x
			}
		default:
			c = x // the newest
		}
	}
	if c != nil && d.ID == "" && d.Function.Name != "" && json.Valid([]byte(c.args.String())) {
		return nil // it is complete, and the delta names a tool, so it begins another call
	}
	return c
}

// argumentsOf returns a call's arguments as text. In Ollama's own API they are an
// object, which some bridges pass on.
func argumentsOf(b json.RawMessage) string {
	if len(b) == 0 || string(b) == "null" {
		return ""
	}
	return plain(b)
}

// end returns the answer when it is complete.
func (s *assembly) end() *answer {
	a := s.answer
	a.Text, a.refusal = s.text.String(), s.refused.String()
	for _, c := range s.calls {
		for i, args := range apart(c.args.String()) {
			id := c.id
			if id == "" || i > 0 {
				id = fmt.Sprintf("call%05d", len(a.Calls)+1) // Mistral requires nine letters and digits
			}
			one := call{toolCall: toolCall{ID: id, Type: "function", Extra: c.extra}}
			one.Function = function{known(c.name), args} // the name that is sent back to the model
			a.Calls = append(a.Calls, one)
		}
	}
	if len(a.Calls) > 0 {
		a.Reasoning = s.reasoning.String()
	}
	return &a
}

// apart splits arguments that consist of several objects: calls whose deltas came under
// one index, without names or ids to distinguish them. Anything else stays one.
func apart(args string) []string {
	if strings.TrimSpace(args) == "" {
		return []string{"{}"}
	}
	var out []string
	dec := json.NewDecoder(strings.NewReader(args))
	for len(out) < maxCalls {
		var one json.RawMessage
		err := dec.Decode(&one)
		if err == io.EOF && len(out) > 0 {
			return out
		}
		if err != nil || !bytes.HasPrefix(one, []byte("{")) {
			break
		}
		out = append(out, string(one))
	}
	return []string{args}
}
