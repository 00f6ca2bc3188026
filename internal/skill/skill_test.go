package skill

import (
	"errors"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/a2a"
)

const forecast = `{
	"type": "object", "required": ["city"], "additionalProperties": false,
	"properties": {
		"city": {"type": "string", "minLength": 1}, "days": {"type": "integer", "minimum": 1, "maximum": 14},
		"unit": {"enum": ["C", "F"]}, "stops": {"type": "array", "items": {"$ref": "#/$defs/stop"}}, "a/b~c": {"type": "boolean"}
	},
	"$defs": {"stop": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}, "next": {"$ref": "#/$defs/stop"}}}}
}`

func cardWith(schemas map[string]a2a.JSON, ids ...string) *a2a.AgentCard {
	card := &a2a.AgentCard{}
	card.Capabilities.Extensions = []*a2a.AgentExtension{a2a.SkillsExtension(schemas)}
	for _, id := range ids {
		card.Skills = append(card.Skills, &a2a.AgentSkill{ID: id})
	}
	return card
}

func called(t *testing.T, id, arguments string) *a2a.Message {
	t.Helper()
	m := a2a.UserText("x")
	if err := m.CallSkill(id, a2a.JSON(arguments)); err != nil {
		t.Fatal(err)
	}
	return m
}

// The argument that is wrong is named by its JSON Pointer.
func TestCheckNamesTheArgument(t *testing.T) {
	set, err := New(cardWith(map[string]a2a.JSON{"forecast": a2a.JSON(forecast)}, "forecast", "chat"))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ id, arguments, pointer, what string }{
		{"forecast", `{"city":"Paris","days":3,"unit":"C","stops":[{"name":"a","next":{"name":"b"}}]}`, "", ""},
		{"chat", `{"anything":[1]}`, "", ""}, // it has no schema
		{"chat", ``, "", ""},
		{"forecast", `{}`, "/arguments/city", "is required"},
		{"forecast", `{"city":5}`, "/arguments/city", "must be of type string"},
		{"forecast", `{"city":""}`, "/arguments/city", "minLength"},
		{"forecast", `{"city":"Paris","days":"three"}`, "/arguments/days", "must be of type integer"},
		{"forecast", `{"city":"Paris","days":99}`, "/arguments/days", "maximum"},
		{"forecast", `{"city":"Paris","unit":"K"}`, "/arguments/unit", `must be one of "C", "F"`},
		{"forecast", `{"city":"Paris","colour":"red"}`, "/arguments/colour", "is not an argument of this skill; it takes a/b~c, city"},
		{"forecast", `{"city":"Paris","a/b~c":1}`, "/arguments/a~1b~0c", "must be of type boolean"},
		{"forecast", `{"city":"Paris","stops":[{"name":"a"},{"name":2}]}`, "/arguments/stops/1/name", "must be of type string"},
		{"forecast", `{"city":"Paris","stops":[{"name":"a","next":{}}]}`, "/arguments/stops/0/next/name", "is required"},
		{"weather", `{}`, "/skillId", "it has forecast, chat"},
	} {
		err := set.Check(called(t, tt.id, tt.arguments))
		var e *a2a.Error
		switch {
		case tt.pointer == "":
			if err != nil {
				t.Errorf("%s %s: %v", tt.id, tt.arguments, err)
			}
		case !errors.As(err, &e) || e.Code != a2a.CodeInvalidParams || e.Meta["pointer"] != tt.pointer || !strings.Contains(e.Message, tt.what) ||
			len(e.Fields) != 1 || !strings.HasSuffix(e.Fields[0].Field, tt.pointer):
			t.Errorf("%s %s: %v, want %s: %s", tt.id, tt.arguments, err, tt.pointer, tt.what)
		}
	}
	for _, metadata := range []string{`5`, `[]`, `{}`, `{"skillId":5}`, `{"skillId":"chat","arguments":[]}`, `{"skillId":"chat","arguments":"x"}`} {
		m := a2a.UserText("x")
		m.Metadata = a2a.JSON(`{"` + a2a.SkillsURI + `":` + metadata + `}`)
		if err := set.Check(m); !errors.Is(err, a2a.ErrInvalidParams) {
			t.Errorf("%s: %v", metadata, err)
		}
	}
	if err := set.Check(a2a.UserText("no skill")); err != nil {
		t.Error(err)
	}
	none, err := New(&a2a.AgentCard{})
	if err != nil || none.Check(called(t, "forecast", `{"city":5}`)) != nil {
		t.Error("a card without the extension checks calls")
	}
}

// A part of a schema is looked at with what the whole has, or it would never end.
func TestReferencesMeanTheWholeSchema(t *testing.T) {
	for schema, pointer := range map[string]string{
		`{"properties":{"name":{"type":"string"},"child":{"$ref":"#"}}}`:                                                                     "/arguments/child/name",
		`{"properties":{"name":{"type":"string"},"child":{"allOf":[{"$ref":"#"}]}}}`:                                                         "/arguments/child",
		`{"$id":"https://example.org/s","properties":{"name":{"type":"string"},"child":{"$id":"c","$ref":"#"}}}`:                             "/arguments/child/name",
		`{"properties":{"child":{"$ref":"#/$defs/c","$defs":{"c":{"$ref":"#/$defs/c"}}}},"$defs":{"c":{"required":["x"]}}}`:                  "/arguments/child/x",
		`{"properties":{"child":{"$ref":"#/definitions/a%20c"}},"definitions":{"a c":{"properties":{"name":{"type":"string"}}},"a%20c":{}}}`: "/arguments/child/name",
		`{"properties":{"name":{"type":"string"},"child":{"$ref":"#"}},"$defs":{"#":{"type":"number"}}}`:                                     "/arguments/child/name",
	} {
		set, err := New(cardWith(map[string]a2a.JSON{"s": a2a.JSON(schema)}, "s"))
		if err != nil {
			t.Errorf("%s: %v", schema, err)
			continue
		}
		var e *a2a.Error
		if err := set.Check(called(t, "s", `{"child":{"name":5}}`)); !errors.As(err, &e) || e.Meta["pointer"] != pointer {
			t.Errorf("%s: %v, want %s", schema, err, pointer)
		}
	}
}

// Schemas that cannot be used are found when the card is made, before somebody calls.
func TestSchemasThatCannotBeUsed(t *testing.T) {
	for schema, why := range map[string]string{
		`5`:            "is not a JSON Schema",
		`{"type":5}`:   "is not a JSON Schema",
		`{"$ref":"#"}`: "refers to itself without end",
		`{"allOf":[{"$ref":"#/$defs/a"}],"$defs":{"a":{"anyOf":[{"$ref":"#"}]}}}`: "refers to itself without end",
		`{"dependencies":{"a":{"$ref":"#"}}}`:                                     "refers to itself without end",
		`{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/%61"},"%61":{}}}`:      "refers to itself without end",
		`{"properties":{"a":{"$ref":"https://example.org/x.json"}}}`:              "are supported",
		`{"$defs":{"a":{"type":"string"}},"definitions":{"a":{"type":"number"}}}`: "both $defs and definitions",
		`{"$dynamicRef":"#x"}`:                                                       "$dynamicRef",
		`{"properties":{"a":{"type":"int"}}}`:                                        `the type "int": expected one of array boolean`,
		`{"items":{"type":["null","float"]}}`:                                        `the type "float"`,
		`{"properties":{"a":{"pattern":"("}}}`:                                       "cannot be used",
		`{"properties":{"a":{"pattern":"(` + strings.Repeat("a", 40) + `){1000}"}}}`: "patterns are too large",
	} {
		if _, err := New(cardWith(map[string]a2a.JSON{"s": a2a.JSON(schema)}, "s")); err == nil || !strings.Contains(err.Error(), why) || !strings.Contains(err.Error(), `"s"`) {
			t.Errorf("%s: %v, want %s", schema, err, why)
		}
	}
	if _, err := New(cardWith(map[string]a2a.JSON{"other": a2a.JSON(`{}`)}, "s")); err == nil || !strings.Contains(err.Error(), "not a skill on the card") {
		t.Errorf("a schema of no skill: %v", err)
	}
}

func FuzzCheck(f *testing.F) {
	f.Add(forecast, `{"city":"Paris","stops":[{"name":2}]}`)
	f.Add(`{"type":"array","items":{"type":"array","items":{"$ref":"#"}}}`, `{}`)
	f.Add(`{"properties":{"a":true},"additionalProperties":false}`, `{"b":1}`)
	f.Fuzz(func(t *testing.T, schema, arguments string) {
		set, err := New(cardWith(map[string]a2a.JSON{"s": a2a.JSON(schema)}, "s"))
		if err != nil || set == nil {
			return
		}
		m := a2a.UserText("x")
		if m.CallSkill("s", a2a.JSON(arguments)) != nil {
			return
		}
		var e *a2a.Error
		if err := set.Check(m); err != nil && (!errors.As(err, &e) || e.Code != a2a.CodeInvalidParams || !strings.HasPrefix(e.Meta["pointer"], "/arguments")) {
			t.Errorf("%v", err)
		}
	})
}
