package main

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/failure"
	"github.com/parley-a2a/parley/internal/plain"
)

// skillFlags name a skill of the agent's card and its arguments
// (docs/extensions/skills-v1.md).
type skillFlags struct {
	id   string
	args []string // name=value
	json string
}

func (f *skillFlags) register(fs *pflag.FlagSet) {
	fs.StringVar(&f.id, "skill", "", "`id` of a skill on the agent's card to call; --arg and --args are its arguments")
	fs.StringArrayVar(&f.args, "arg", nil, "argument of --skill, as `name=value`: a text, or JSON where the skill wants something else; may be repeated")
	fs.StringVar(&f.json, "args", "", "all arguments of --skill, as a `JSON` object")
}

func (f *skillFlags) check() error {
	switch {
	case f.id == "" && len(f.args)+len(f.json) > 0:
		return failure.Usagef("--arg and --args are arguments of a skill, and --skill names none").WithHint("the skills are on the card: parley card get")
	case len(f.args) > 0 && f.json != "":
		return failure.Usagef("--arg and --args exclude each other")
	}
	for _, arg := range f.args {
		if name, _, ok := strings.Cut(arg, "="); !ok || name == "" {
			return failure.Usagef("--arg %s: must be name=value", plain.Quote(arg))
		}
	}
	return nil
}

// call adds the skill to a message for the agent of a card.
func (f *skillFlags) call(m *a2a.Message, card *a2a.AgentCard) error {
	if f.id == "" {
		return nil
	}
	schemas, ok := card.CallableSkills()
	if !ok {
		return failure.Usagef("the agent's card does not offer its skills by id").
			WithHint("leave --skill out and say what you want in words; an agent that offers it has the extension %s on its card", a2a.SkillsURI)
	}
	var ids []string
	for _, s := range card.Skills {
		ids = append(ids, s.ID)
	}
	if !slices.Contains(ids, f.id) {
		return failure.Usagef("the agent has no skill %s; it has %s", plain.Quote(f.id), plain.Line(strings.Join(ids, ", ")))
	}
	arguments, err := f.arguments(schemas[f.id])
	if err != nil {
		return err
	}
	if len(m.Parts) == 0 { // a message needs a part; agents without the extension find the arguments there
		m.Parts = []*a2a.Part{a2a.DataPart(arguments)}
	}
	return m.CallSkill(f.id, arguments)
}

// arguments makes an object from the flags. A value is a string if the schema says so, or if
// the schema does not say and the value is not JSON.
func (f *skillFlags) arguments(schema a2a.JSON) (a2a.JSON, error) {
	if f.json != "" {
		var object map[string]json.RawMessage
		if err := json.Unmarshal([]byte(f.json), &object); err != nil || object == nil {
			return nil, failure.Usagef("--args: must be a JSON object such as '{\"city\": \"Paris\"}'")
		}
		return a2a.JSON(f.json), nil
	}
	var known struct {
		Properties map[string]struct {
			Type any `json:"type"`
		} `json:"properties"`
	}
	if len(schema) > 0 {
		_ = json.Unmarshal(schema, &known) // unusual: types are guessed from the values
	}
	object := map[string]json.RawMessage{}
	for _, arg := range f.args {
		name, value, _ := strings.Cut(arg, "=")
		if _, twice := object[name]; twice {
			return nil, failure.Usagef("--arg %s is given twice", plain.Quote(name)).WithHint("give a list as JSON: --arg '%s=[\"a\", \"b\"]'", name)
		}
		if known.Properties[name].Type == "string" || !json.Valid([]byte(value)) {
			text, err := json.Marshal(value)
			if err != nil {
				return nil, failure.Usagef("--arg %s: must be UTF-8", plain.Quote(name))
			}
			value = string(text)
		}
		object[name] = json.RawMessage(value)
	}
	return json.Marshal(object)
}
