// Package skill checks the calls of skills by id (docs/extensions/skills-v1.md) against
// the schemas on an agent's card, before the agent runs.
//
//	set, err := skill.New(card)   // what is wrong with the card's schemas
//	err = set.Check(message)      // what is wrong with the call, by JSON Pointer
//
// A Set does not change and may be used concurrently.
package skill

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/parley-a2a/parley/a2a"
)

// Set is the callable skills of a card. A nil Set checks nothing: the card does not offer
// calls.
type Set struct {
	ids     []string // on the card
	schemas map[string]*Schema
}

// Schema is a JSON Schema of arguments, or of an answer. It does not change and may be used
// concurrently.
type Schema struct {
	root     *jsonschema.Schema
	resolved *jsonschema.Resolved
	parts    map[*jsonschema.Schema]part // it and all schemas within it
}

// New returns the skills of a card; nil if it does not declare the extension. The error names
// the skills whose schemas cannot be used; the Set still contains all others, and a skill with
// an unusable schema accepts any arguments.
func New(card *a2a.AgentCard) (*Set, error) {
	docs, ok := card.CallableSkills()
	if !ok {
		return nil, nil
	}
	s := &Set{schemas: map[string]*Schema{}}
	for _, k := range card.Skills {
		s.ids = append(s.ids, k.ID)
	}
	var wrong []error
	for _, id := range slices.Sorted(maps.Keys(docs)) {
		compiled, err := Compile(docs[id])
		switch {
		case err != nil:
			wrong = append(wrong, fmt.Errorf("the input schema of the skill %q: %w", id, err))
		case !slices.Contains(s.ids, id):
			wrong = append(wrong, fmt.Errorf("there is an input schema for %q, which is not a skill on the card", id))
		default:
			s.schemas[id] = compiled
		}
	}
	return s, errors.Join(wrong...)
}

// Compile reads a schema. The error says why the schema cannot be used to check values.
func Compile(doc a2a.JSON) (*Schema, error) {
	root := new(jsonschema.Schema)
	if err := json.Unmarshal(doc, root); err != nil {
		return nil, fmt.Errorf("is not a JSON Schema: %w", err)
	}
	if root.Defs != nil && root.Definitions != nil {
		return nil, errors.New("cannot be used: it has both $defs and definitions")
	}
	root = rooted(root)
	if err := checkRefs(root); err != nil {
		return nil, err
	}
	k := &Schema{root: root}
	if err := k.measure(); err != nil {
		return nil, err
	}
	var err error
	if k.resolved, err = root.CloneSchemas().Resolve(nil); err != nil {
		return nil, fmt.Errorf("cannot be used: %w", err)
	}
	return k, nil
}

// Has reports whether the skill can be called.
func (s *Set) Has(id string) bool { return s != nil && slices.Contains(s.ids, id) }

// Check checks the skill call of a message, if it has one. The error is InvalidParams and names
// the argument.
func (s *Set) Check(m *a2a.Message) error {
	if s == nil {
		return nil
	}
	call, err := m.Skill()
	if err != nil || call == nil {
		return err
	}
	if !s.Has(call.ID) {
		return a2a.InvalidSkill("/skillId", fmt.Sprintf("this agent has no skill %q; it has %s", cut(call.ID), cut(strings.Join(s.ids, ", "))))
	}
	k := s.schemas[call.ID]
	if k == nil {
		return nil
	}
	err = k.Validate(call.Arguments)
	_, broken := errors.AsType[*json.SyntaxError](err)
	switch {
	case err == nil:
		return nil
	case broken:
		return a2a.InvalidSkill("/arguments", "must be JSON")
	case err == ErrTooMuch:
		return a2a.InvalidSkill("/arguments", err.Error())
	}
	pointer, what := k.check(call.Arguments).locate(k.root, call.Arguments, "/arguments", 0)
	return a2a.InvalidSkill(pointer, cut(what))
}

// ErrTooMuch says that a value was not checked.
var ErrTooMuch = errors.New("would take too long to compare with the schema; send less, and nest it less deeply")

// Validate returns why a JSON value does not match the schema, in the library's words, or
// ErrTooMuch.
func (k *Schema) Validate(doc a2a.JSON) error {
	var value any
	if err := json.Unmarshal(doc, &value); err != nil {
		return err
	}
	if !k.check(doc).affords(doc, k.root) {
		return ErrTooMuch
	}
	return k.resolved.Validate(value)
}

// maxText limits the text of a schema or a value in an error, in bytes.
const maxText = 300

func cut(s string) string {
	if len(s) > maxText {
		s = s[:maxText] + "…"
	}
	return strings.ToValidUTF8(s, "")
}
