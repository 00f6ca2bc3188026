package a2a

import (
	"cmp"
	"encoding/json"
	"slices"
)

// SkillsURI identifies the extension by which a message names a skill of the card and
// gives it typed arguments: docs/extensions/skills-v1.md.
const SkillsURI = "https://github.com/parley-a2a/parley/blob/main/docs/extensions/skills-v1.md"

// SkillCall is the skill that a message names, with its arguments.
type SkillCall struct {
	ID        string `json:"skillId"`
	Arguments JSON   `json:"arguments"` // an object
}

// Decode reads the arguments into v, as encoding/json does.
func (c *SkillCall) Decode(v any) error { return json.Unmarshal(c.Arguments, v) }

// Skill returns the skill that the message names, nil if it names none. The error is
// InvalidParams and names the member that is wrong.
func (m *Message) Skill() (*SkillCall, error) {
	raw := metadataMember(m.Metadata, SkillsURI)
	if raw == nil {
		return nil, nil
	}
	var call SkillCall
	if err := json.Unmarshal(raw, &call); err != nil || len(raw) == 0 || raw[0] != '{' {
		return nil, InvalidSkill("", "must be an object with skillId and arguments")
	}
	if call.ID == "" {
		return nil, InvalidSkill("/skillId", "is required: the id of a skill on the agent's card")
	}
	if len(call.Arguments) == 0 || string(call.Arguments) == "null" {
		call.Arguments = JSON("{}")
	}
	if call.Arguments[0] != '{' {
		return nil, InvalidSkill("/arguments", "must be an object")
	}
	return &call, nil
}

// CallSkill makes the message name a skill, with arguments that are an object or empty.
// It replaces what the metadata has for the extension.
func (m *Message) CallSkill(id string, arguments JSON) error {
	if len(arguments) == 0 {
		arguments = JSON("{}")
	}
	call, err := json.Marshal(SkillCall{id, arguments})
	if err != nil {
		return Invalid("arguments", "must be JSON")
	}
	all := map[string]json.RawMessage{}
	if len(m.Metadata) > 0 {
		if err := json.Unmarshal(m.Metadata, &all); err != nil {
			return Invalid("message.metadata", "must be a JSON object")
		}
	}
	all[SkillsURI] = call
	doc, err := json.Marshal(all)
	if err != nil {
		return Invalid("message.metadata", "must be a JSON object")
	}
	m.Metadata = doc
	if !slices.Contains(m.Extensions, SkillsURI) {
		m.Extensions = append(m.Extensions[:len(m.Extensions):len(m.Extensions)], SkillsURI)
	}
	return nil
}

// InvalidSkill is the InvalidParams error about a skill call. pointer is the JSON Pointer
// (RFC 6901) from the call to what is wrong, such as /arguments/days.
func InvalidSkill(pointer, what string) *Error {
	at := cmp.Or(pointer, "the call of a skill")
	return &Error{
		Code: CodeInvalidParams, Message: at + ": " + what,
		Fields: []FieldViolation{{Field: "message.metadata[" + SkillsURI + "]" + pointer, Description: what}},
		Meta:   map[string]string{"pointer": pointer},
	}
}

// SkillsExtension returns a card's declaration that its skills can be called by id.
// schemas are JSON Schemas of the arguments, by the ids of skills; a skill without one
// takes any object.
func SkillsExtension(schemas map[string]JSON) *AgentExtension {
	params := skillsParams{map[string]skillParams{}}
	for id, schema := range schemas {
		params.Skills[id] = skillParams{schema}
	}
	x := &AgentExtension{URI: SkillsURI, Description: "A message may name a skill and give it arguments, which are checked before the agent runs."}
	if doc, err := json.Marshal(params); err == nil && len(schemas) > 0 {
		x.Params = doc
	}
	return x
}

// skillsParams are the params of the extension on a card, by the ids of skills.
type skillsParams struct {
	Skills map[string]skillParams `json:"skills"`
}

type skillParams struct {
	InputSchema JSON `json:"inputSchema"`
}

// CallableSkills reports whether the card's skills can be called by id, and returns the
// schemas of their arguments, by id, as SkillsExtension takes them.
func (c *AgentCard) CallableSkills() (schemas map[string]JSON, ok bool) {
	for _, x := range c.Capabilities.Extensions {
		if x == nil || x.URI != SkillsURI {
			continue
		}
		var params skillsParams
		schemas = map[string]JSON{}
		if len(x.Params) > 0 && json.Unmarshal(x.Params, &params) == nil {
			for id, s := range params.Skills {
				if len(s.InputSchema) > 0 {
					schemas[id] = s.InputSchema
				}
			}
		}
		return schemas, true
	}
	return nil, false
}

// metadataMember returns a member of an object; nil if it is missing or null.
func metadataMember(object JSON, name string) JSON {
	if len(object) == 0 {
		return nil
	}
	var all map[string]JSON
	if json.Unmarshal(object, &all) != nil || string(all[name]) == "null" {
		return nil
	}
	return all[name]
}
