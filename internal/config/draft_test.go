package config

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The written file says what the draft said, with comments and without.
func TestADraftIsReadAsItWasMeant(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"key.txt", "prompt.md", "keys.json", "f"} {
		if err := os.WriteFile(name, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f, err := Parse("parley.yaml", []byte(full), &Options{Lookup: lookup})
	if err != nil {
		t.Fatal(err)
	}
	agents := f.Agents
	agents[0].Exec.Env["ODD"] = "a: b # c, [d] {e} \"'\n\t*&!|>%@`"
	agents[0].Exec.Command = append(agents[0].Exec.Command, "", "- x", "true", "1.5", "null", "a, b", "${env:X}", "é\u2028")
	agents[1].HTTP.Headers["Authorization"], agents[2].OpenAI.APIKey = "Bearer ${env:KEY}", "${env:KEY}"
	settings := map[string][]string{
		"listen": {":1", ":7275"}, "trusted-proxy": {"10.0.0.0/8", "::1"}, "no-push": {"true"}, "auth-keys": {"true"}, "role": {"a=tasks:read,tasks:write", "b c=tasks:read", "a=x"},
		"grant": {"none"}, "rate": {"1.5"}, "max-body": {"65536"}, "retain-completed": {"720h"}, "store": {"${env:PG}"}, "role-claim": {"r"}, "auth-basic": {"f"},
	}
	want := maps.Clone(settings)
	want["listen"], want["role"] = []string{":7275"}, []string{"a=tasks:read", "a=tasks:write", "a=x", "b c=tasks:read"}
	want["store"] = []string{environment["PG"]}
	text := (&Draft{Settings: settings, Agents: agents}).YAML()
	agents[1].HTTP.Headers["Authorization"], agents[2].OpenAI.APIKey = "Bearer hunter2", "hunter2"
	got, err := Parse("parley.yaml", text, &Options{Lookup: lookup, Given: func(flag string) bool { return flag == "jwks" }})
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if diff := cmp.Diff(agents, got.Agents); diff != "" {
		t.Errorf("%s\n%s", diff, text)
	}
	said := map[string][]string{}
	for _, s := range got.Settings {
		said[s.Flag] = s.Values
	}
	if diff := cmp.Diff(want, said); diff != "" {
		t.Errorf("%s\n%s", diff, text)
	}
}

// Comments that show settings show them as they are written.
func TestWhatADraftSuggestsCanBeTaken(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"prompt.md", "keys.json"} {
		if err := os.WriteFile(name, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	off := regexp.MustCompile(`(?m)^( +)# ( *(- )?[a-z_]+:( |$))`)
	for _, a := range []Agent{
		{Exec: &Exec{Command: []string{"x"}}},
		{HTTP: &HTTP{URL: "http://a.example", Body: `{"a": "${text} $${"}`, Answer: ".a | .b"}},
		{OpenAI: &OpenAI{URL: "http://a.example/v1", Model: "m"}},
		{Proxy: &Proxy{Agent: "a.example"}},
		{MCP: &MCP{Command: []string{"x"}}},
		{Builtin: "demo"},
	} {
		a.Name = "a"
		text := string((&Draft{Agents: []Agent{a}}).YAML())
		taken := off.ReplaceAllString(text, "$1$2")
		if strings.Count(taken, "#") >= strings.Count(text, "#") {
			t.Errorf("nothing is suggested:\n%s", text)
		}
		for _, text := range []string{text, taken} {
			if _, err := Parse("parley.yaml", []byte(text), &Options{Lookup: func(string) (string, bool) { return "x", true }}); err != nil {
				t.Errorf("%v\n%s", err, text)
			}
			for line := range strings.Lines(text) {
				if len(line) > 150 {
					t.Errorf("long: %s", line)
				}
			}
		}
	}
	var missing []string
	for kind, names := range wanted {
		for _, name := range names {
			if f := agentFields[slices.IndexFunc(agentFields, func(f *field) bool { return f.name == kind })]; f.child(name) == nil {
				missing = append(missing, kind+"."+name)
			}
		}
	}
	if len(missing) > 0 {
		t.Errorf("there is no %q", missing)
	}
}
