package main

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/internal/config"
	"github.com/parley-a2a/parley/internal/serve"
)

// No message contains a variable's value, for any setting: not of config validate and config
// show, nor of a server that starts or fails to.
func TestValuesOfVariablesAreNotShown(t *testing.T) {
	if testing.Short() {
		t.Skip("some thousand runs of the program")
	}
	const mark = "pl4nted5ecret"
	long := mark + strings.Repeat("0123456789", 4)
	values := []string{"./" + long + " x", "https://" + long + ".example/" + long, "postgres://me:" + long + "@127.0.0.1:1/" + long}
	var schema map[string]any
	if err := json.Unmarshal(config.Schema(), &schema); err != nil {
		t.Fatal(err)
	}
	stop, cancel := context.WithCancel(t.Context())
	cancel() // a server that starts ends at once
	settings := planted(schema, "")
	if len(settings) < 120 {
		t.Fatalf("only %d settings were found", len(settings))
	}
	valid := 0
	for _, s := range settings {
		doc, err := json.Marshal(s.doc)
		if err != nil {
			t.Fatal(err)
		}
		for _, value := range values {
			t.Chdir(t.TempDir())
			t.Setenv("HOME", t.TempDir())
			t.Setenv("PLANTED", value)
			if err := os.WriteFile(serve.DefaultFile, doc, 0o600); err != nil {
				t.Fatal(err)
			}
			for _, args := range [][]string{
				{"config", "validate"}, {"config", "validate", "-o", "json"}, {"config", "show", serve.DefaultFile}, {"serve", "--listen", "127.0.0.1:0"},
			} {
				if args[0] == "serve" && s.path == ".listen" {
					args = args[:1]
				}
				var out, errs bytes.Buffer
				if code := run(stop, args, strings.NewReader(""), &out, &errs); code == 0 && len(args) == 2 {
					valid++
				}
				text := errs.String()
				// What a server tells everybody anyway: its addresses.
				if args[0] != "serve" || s.path != ".listen" && s.path != ".public_url" {
					text += out.String()
				}
				if strings.Contains(strings.ToLower(text), mark) {
					t.Errorf("%s, %v with %q:\n%s", s.path, args, value, text)
				}
			}
		}
	}
	if valid < len(settings)/2 {
		t.Errorf("only %d of the files are valid", valid)
	}
}

// setting is a file in which one setting has the value of the variable PLANTED.
type setting struct {
	path string
	doc  any
}

// planted returns a value of the schema for each setting in it.
func planted(s map[string]any, path string) (all []setting) {
	each := func(name string, in any, wrap func(any) any) {
		for _, below := range planted(in.(map[string]any), path+name) {
			all = append(all, setting{below.path, wrap(below.doc)})
		}
	}
	members, _ := s["properties"].(map[string]any)
	items, _ := s["items"].(map[string]any)
	more, _ := s["additionalProperties"].(map[string]any)
	switch {
	case members != nil:
		for _, name := range slices.Sorted(maps.Keys(members)) {
			if name == "version" {
				continue
			}
			each("."+name, members[name], func(v any) any {
				o := least(s, name)
				o[name] = v
				return o
			})
		}
	case items != nil:
		each("[]", items, func(v any) any { return []any{v} })
	case more != nil:
		each(".a", more, func(v any) any { return map[string]any{"a": v} })
	default:
		all = append(all, setting{path, "${env:PLANTED}"})
	}
	return all
}

// least is an object of the schema with what it needs besides a member.
func least(s map[string]any, with string) map[string]any {
	o := map[string]any{}
	add := func(names ...any) {
		for _, n := range names {
			name := n.(string)
			member := s["properties"].(map[string]any)[name].(map[string]any)
			text, _ := json.Marshal(member)
			switch {
			case name == "version":
				o[name] = 1
			case name == "agents":
				o[name] = map[string]any{"a": map[string]any{"builtin": "demo"}}
			case name == "command":
				o[name] = []any{"cat"}
			case name == "builtin":
				o[name] = "demo"
			case strings.Contains(string(text), "https?"):
				o[name] = "https://x.example"
			default:
				o[name] = "x"
			}
		}
	}
	required, _ := s["required"].([]any)
	add(required...)
	if one, ok := s["oneOf"].([]any); ok && !slices.ContainsFunc(one, func(o any) bool { return slices.Contains(o.(map[string]any)["required"].([]any), any(with)) }) {
		kind := one[0].(map[string]any)["required"].([]any)
		if slices.ContainsFunc(one, func(o any) bool { return slices.Contains(o.(map[string]any)["required"].([]any), any("builtin")) }) {
			kind = []any{"builtin"}
		}
		add(kind...)
	}
	return o
}
