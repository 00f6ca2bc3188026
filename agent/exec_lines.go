package agent

import (
	"bytes"
	"cmp"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/json"
	"github.com/parley-a2a/parley/internal/program"
)

// linesVersion is the version of the line protocol: docs/exec.md.
const linesVersion = 1

const (
	// maxLine caps a line of a command, in bytes, and maxLines the number of lines that
	// it may write in a run.
	maxLine  = 8 << 20
	maxLines = 100_000
)

// told is a line to a command. Type and Text come first, so that a shell script can
// find them.
type told struct {
	Type string  `json:"type"`
	Text *string `json:"text,omitempty"`

	// of a message
	Parley      int             `json:"parley,omitempty"`
	Task        string          `json:"task,omitempty"`
	Context     string          `json:"context,omitempty"`
	Attempt     int             `json:"attempt,omitempty"`
	Caller      *program.Caller `json:"caller,omitempty"`
	Message     *a2a.Message    `json:"message,omitempty"` // and of an answer
	Metadata    a2a.JSON        `json:"metadata,omitempty"`
	Skill       *program.Skill  `json:"skill,omitempty"`
	Accepted    []string        `json:"accepted,omitempty"`
	Traceparent string          `json:"traceparent,omitempty"`
	Tracestate  string          `json:"tracestate,omitempty"`
	Version     string          `json:"version,omitempty"`
	In          string          `json:"in,omitempty"`
	Out         string          `json:"out,omitempty"`

	// of a step
	Name   string   `json:"name,omitempty"`
	Done   *bool    `json:"done,omitempty"`
	Result a2a.JSON `json:"result,omitempty"`

	// of tasks and of a resume, which shares the name field with step
	Tasks []a2a.JSON  `json:"tasks,omitzero"`
	More  bool        `json:"more,omitempty"`
	Parts []*a2a.Part `json:"parts,omitzero"`

	Reason string `json:"reason,omitempty"` // of a cancel
}

// encode returns the line with its line feed.
func (l *told) encode() ([]byte, error) {
	var b bytes.Buffer
	e := stdjson.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(l); err != nil {
		return nil, err
	}
	// Some readers, Node's among them, take both characters for line ends. In JSON they
	// occur only within strings.
	line := bytes.ReplaceAll(b.Bytes(), []byte("\u2028"), []byte(`\u2028`))
	return bytes.ReplaceAll(line, []byte("\u2029"), []byte(`\u2029`)), nil
}

// said is a line of a command.
type said struct {
	line        []byte // as it came
	kind        string
	task        string
	parts       []*a2a.Part // its content, text included
	name        string
	description string
	append      bool // true unless the line says otherwise
	last        bool
	metadata    a2a.JSON
	result      a2a.JSON
	level       slog.Level
}

// saidMembers lists the members that a line may have besides type and task, by its
// type.
var saidMembers = map[string][]string{
	"status":       {"text", "parts", "metadata"},
	"artifact":     {"text", "parts", "name", "append", "last", "description", "metadata"},
	"ask":          {"text", "parts"},
	"authenticate": {"text", "parts"},
	"step":         {"name"},
	"result":       {"result"},
	"references":   {},
	"siblings":     {},
	"resume":       {"name"},
	"log":          {"text", "level"},
	"complete":     {"text", "parts", "metadata"},
	"reply":        {"text", "parts"},
	"reject":       {"text", "parts", "metadata"},
	"fail":         {"text", "parts", "metadata"},
}

// ends reports whether the line ends the task.
func (l *said) ends() bool {
	return l.kind == "complete" || l.kind == "reply" || l.kind == "reject" || l.kind == "fail"
}

// decodeSaid reads a line. Its errors say what is wrong, in words that the caller may
// see.
func decodeSaid(line []byte) (*said, error) {
	if !utf8.Valid(line) {
		return nil, errors.New("it is not UTF-8")
	}
	var members map[string]stdjson.RawMessage
	if err := stdjson.Unmarshal(line, &members); err != nil {
		if syntax, ok := errors.AsType[*stdjson.SyntaxError](err); ok {
			return nil, fmt.Errorf("it is not JSON (byte %d)", syntax.Offset)
		}
		return nil, errors.New("it is not a JSON object")
	}
	// Not all clients can read deeper JSON.
	if json.Deeper(line, a2a.MaxDepth) {
		return nil, fmt.Errorf("it nests more than %d levels deep", a2a.MaxDepth)
	}
	l := &said{line: line, append: true}
	if err := memberOf(members, "type", &l.kind); err != nil {
		return nil, err
	}
	allowed, known := saidMembers[l.kind]
	switch {
	case l.kind == "":
		return nil, errors.New(`it has no "type"`)
	case !known:
		return nil, fmt.Errorf("its type %q is not one of %s", clip(l.kind, 40), strings.Join(slices.Sorted(maps.Keys(saidMembers)), ", "))
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if name != "type" && name != "task" && !slices.Contains(allowed, name) {
			return nil, fmt.Errorf("%q is not a member of a line of type %s, which may have %s", clip(name, 40), l.kind, cmp.Or(strings.Join(allowed, ", "), "no more than its task"))
		}
	}
	if _, any := members["text"]; l.kind == "artifact" && !any && len(members["parts"]) == 0 && len(members["last"]) == 0 {
		return nil, errors.New(`a line of type artifact needs "text", "parts" or "last"`)
	}
	var level string
	err := cmp.Or(memberOf(members, "task", &l.task), memberOf(members, "name", &l.name), memberOf(members, "description", &l.description),
		memberOf(members, "level", &level), memberOf(members, "append", &l.append), memberOf(members, "last", &l.last), l.content(members), l.objects(members))
	if err != nil {
		return nil, err
	}
	return l, l.check(level)
}

// content reads the text or the parts of the line.
func (l *said) content(members map[string]stdjson.RawMessage) error {
	raw, hasText := members["text"]
	list, hasParts := members["parts"]
	switch {
	case hasText && hasParts:
		return errors.New(`it has both "text" and "parts"`)
	case hasText:
		var s string
		if err := memberOf(members, "text", &s); err != nil || string(raw) == "null" {
			return err
		}
		if s != "" || l.kind != "artifact" {
			l.parts = []*a2a.Part{a2a.TextPart(s)}
		}
	case hasParts:
		var elements []stdjson.RawMessage
		if err := stdjson.Unmarshal(list, &elements); err != nil {
			return errors.New(`"parts" must be an array`)
		}
		if len(elements) > a2a.MaxParts {
			return fmt.Errorf(`"parts" has more than %d elements`, a2a.MaxParts)
		}
		for i, e := range elements {
			p := new(a2a.Part)
			if err := p.UnmarshalJSON(e); err != nil {
				return fmt.Errorf("parts[%d]: %s", i, publicText(err))
			}
			l.parts = append(l.parts, p)
		}
	}
	return nil
}

// objects reads the members that are kept as they are.
func (l *said) objects(members map[string]stdjson.RawMessage) error {
	if raw, ok := members["metadata"]; ok && string(raw) != "null" {
		if raw[0] != '{' {
			return errors.New(`"metadata" must be an object`)
		}
		l.metadata = a2a.JSON(raw)
	}
	if raw, ok := members["result"]; ok {
		l.result = a2a.JSON(raw)
	}
	return nil
}

// maxName caps the name of an artifact or a step, in bytes.
const maxName = 512

// check reports what is missing or out of bounds.
func (l *said) check(level string) error {
	empty := len(l.parts) == 0 || len(l.parts) == 1 && l.parts[0].Kind == a2a.PartText && l.parts[0].Text == ""
	switch {
	case len(l.name) > maxName:
		return fmt.Errorf(`its "name" is longer than %d bytes`, maxName)
	case (l.kind == "ask" || l.kind == "authenticate") && empty, l.kind == "reply" && len(l.parts) == 0:
		return fmt.Errorf("a line of type %s needs a text", l.kind)
	case l.kind == "step" && l.name == "":
		return errors.New(`a line of type step needs a "name"`)
	case l.kind == "result" && len(l.result) == 0:
		return errors.New(`a line of type result needs a "result"`)
	case l.kind != "log":
	case level != "" && l.level.UnmarshalText([]byte(level)) != nil:
		return errors.New(`its "level" is not one of debug, info, warn, error`)
	}
	if empty && l.kind != "artifact" && l.kind != "reply" { // these two may have an empty text
		l.parts = nil
	}
	return nil
}

// message returns the content of the line as a message, or nil.
func (l *said) message() *a2a.Message { return program.Message(l.parts, l.metadata) }

// memberOf reads a member, if it is present.
func memberOf[T string | bool](members map[string]stdjson.RawMessage, name string, v *T) error {
	if raw, ok := members[name]; !ok || stdjson.Unmarshal(raw, v) == nil {
		return nil
	}
	if _, text := any(v).(*string); text {
		return fmt.Errorf("%q must be a string", name)
	}
	return fmt.Errorf("%q must be true or false", name)
}

// publicText returns the text of an error that callers may see.
func publicText(err error) string {
	if coded, ok := errors.AsType[*a2a.Error](err); ok {
		return coded.Message
	}
	return "it cannot be read"
}
