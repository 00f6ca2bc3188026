package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/a2a"
)

var environment = map[string]string{"KEY": "hunter2", "PORT": "8080", "RATE": "2.5", "EMPTY": "", "PG": "postgres://me:hunter2@db/parley"}

func lookup(name string) (string, bool) { v, ok := environment[name]; return v, ok }

// mistakes are what is wrong with a text, as problems without the file.
func mistakes(t *testing.T, text string, o *Options) []string {
	t.Helper()
	if o == nil {
		o = &Options{Lookup: lookup}
	}
	_, err := Parse(filepath.Join(t.TempDir(), "parley.yaml"), []byte(text), o)
	if err == nil {
		return nil
	}
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("%v is no list of problems", err)
	}
	var list []string
	for _, line := range e.Lines()[:len(e.Problems)] {
		list = append(list, strings.TrimPrefix(line, e.File+":"))
	}
	return list
}

// The bar of the file: all mistakes at once, each where it is.
func TestTwelveMistakesAreTwelveReports(t *testing.T) {
	doc, err := os.ReadFile("testdata/twelve.yaml")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`2:1: lisen: there is no such setting: did you mean listen?`,
		`3:13: public_url: must be an http or https URL such as https://agents.example.org, not "agents.example.org"`,
		`4:16: drain_timeout: must be a duration with a unit, such as 500ms, 30s, 5m, 24h or 30d, not "10"`,
		`6:9: auth.keys: must be true or false, not "yes"`,
		`8:5: auth.oidc.audiences: is missing: names of this server in such tokens`,
		`10:9: limits.rate: must be a number from 0 up, not "-1"`,
		`11:9: limits.body: must be a number of bytes such as 65536, 64KiB, 8MiB or 1GiB, not "8MB"`,
		`13:1: listen: comes twice: it is in line 12, too`,
		`15:3: agents.Answers: the name of an agent must be a word of a-z, 0-9 and -, of 63 characters at most`,
		`16:21: agents.Answers.exec.command: must be a list: [..., ...], not "./answer.sh"`,
		`21:16: agents.model.openai.api_key: the environment variable PARLEY_TEST_UNSET is not set`,
		`22:5: agents.model.builtin: an agent has one of these, and there is openai (line 18)`,
	}
	if diff := cmp.Diff(want, mistakes(t, string(doc), nil)); diff != "" {
		t.Error(diff)
	}
}

const head = "version: 1\n"

const demo = head + "agents: {demo: {builtin: demo}}\n"

// Each mistake alone, by a text that has no other.
func TestEachMistakeIsReportedOnce(t *testing.T) {
	inExec := func(s string) string { return head + "agents:\n  a:\n    exec:\n      command: [x]\n" + s }
	agent := func(s string) string { return head + "agents:\n  a:\n" + s }
	for _, c := range []struct{ text, want string }{
		{"", `is empty: it begins with version: 1`},
		{"# nothing\n", `is empty: it begins with version: 1`},
		{"- a\n", `1:1: must be a mapping with version, listen`},
		{demo + "---\n", `has more than one document: leave out what begins with ---`},
		{demo + "\tlisten: x\n", `3:1: is not YAML: found character that cannot start any token (a tab? YAML is indented with spaces)`},
		{demo + "listen: [\n", `4:1: is not YAML: `},
		{demo + "listen: *x\n", `is not YAML: unknown anchor 'x' referenced`},
		{demo + "listen: \xff\n", `3:9: is not valid UTF-8 from here on`},
		{"agents: {demo: {builtin: demo}}\n", `1:1: version: is missing: the format's version: 1`},
		{strings.Replace(demo, "1", "2", 1), `1:10: version: must be 1, not "2"`},
		{head, `1:1: agents: is missing: the agents`},
		{head + "agents: {}\n", `2:9: agents: must not be empty`},
		{demo + "listen:\n", `3:8: listen: has no value: it must be text`},
		{demo + "listen: 7275\n", `3:9: listen: must be text: write it in quotes, "7275"`},
		{demo + "listen: [a]\n", `3:9: listen: must be text, not a list`},
		{demo + "listen: !port a\n", `3:9: listen: the tag "!port" means nothing here`},
		{demo + "listen: ${PORT}\n", `3:9: listen: "${PORT}" is not a variable: write ${env:NAME}, or $${ for ${ itself`},
		{demo + "listen: ${env:NONE}\n", `3:9: listen: the environment variable NONE is not set`},
		{demo + "listen: ${env:EMPTY}\n", `3:9: listen: must not be empty`},
		{demo + "limits: {rate: \"${env:KEY}\"}\n", `3:16: limits.rate: must be a number from 0 up, and ${env:KEY} is something else`},
		{demo + "limits: {rate: '1'}\n", `3:16: limits.rate: must be a number from 0 up, not "1"`},
		{demo + "rate: 1\n", `3:1: rate: there is no such setting here: did you mean limits.rate?`},
		{demo + "max-streams: 1\n", `3:1: max-streams: there is no such setting here: did you mean limits.streams?`},
		{demo + "publicURL: https://a.example\n", `3:1: publicURL: there is no such setting: did you mean public_url?`},
		{demo + "auth: {basic: /dev/null}\n", `3:15: auth.basic: the file "/dev/null" cannot be read: is not a regular file`},
		{demo + "store: {dead_after: 10ms}\n", `3:21: store.dead_after: must be a duration of 1s at least, not "10ms"`},
		{demo + "store: {address: 'postgres://me:hunter2@db/parley'}\n", `3:18: store.address: a password must not be in this file: give ${env:NAME}, or address_file with the name of a file`},
		{demo + "store: {ephemeral: true, data: x}\n", `3:32: store.data: store.ephemeral (line 3) and this exclude each other`},
		{demo + "store: {address: a.db, data: x}\n", `3:30: store.data: store.address (line 3) and this exclude each other`},
		{demo + "push: {enabled: false, allow: [a.internal]}\n", `3:31: push.allow: push.enabled (line 3) and this exclude each other`},
		{demo + "retries: {window: '0', anonymous: true}\n", `3:35: retries.anonymous: retries.window (line 3) and this`},
		{demo + "on_lost: fail\nmax_runs: 2\n", `4:11: max_runs: on_lost (line 3) and this exclude each other: nothing is run again`},
		{demo + "on_lost: fial\n", `3:10: on_lost: must be rerun or fail, not "fial": did you mean fail?`},
		{demo + "cards: {strict: true}\n", `3:17: cards.strict: needs cards.keys: it is about signatures`},
		{demo + "auth: {claims: {subject: sub}}\n", `3:16: auth.claims: needs auth.jwt: claims are read from tokens, which auth.jwt or auth.oidc accepts`},
		{demo + "auth: {basic: none.txt}\n", `3:15: auth.basic: the file `},
		{demo + "x-mine: {anything: [1, 2]}\n", ``},
		{agent("    builtin: dmo\n"), `4:14: agents.a.builtin: must be demo or conformance, not "dmo": did you mean demo?`},
		{agent("    card: {name: A}\n"), `3:3: agents.a: needs one of exec, http, openai, proxy, mcp, builtin`},
		{agent("    exce: {command: [x]}\n"), `4:5: agents.a.exce: there is no such setting: did you mean exec?`},
		{agent("    url: x\n    builtin: demo\n"), `4:5: agents.a.url: there is no such setting here: did you mean agents.a.http.url?`},
		{agent("    exec: {command: []}\n"), `4:21: agents.a.exec.command: must not be empty`},
		{inExec("      concurrency: 1.5\n"), `6:20: agents.a.exec.concurrency: must be a whole number from 0 up, not "1.5"`},
		{agent("    http: {url: 'http://s.example', body: 'q=${text}', callbacks: true}\n"), `4:67: agents.a.http.callbacks: agents.a.http.body (line 4) and this exclude each other`},
		{agent("    http: {url: 'http://s.example', body: 'q=${text}', callbacks: false}\n"), ``},
		{inExec("      processes: 2\n"), `6:18: agents.a.exec.processes: needs mode: lines`},
		{inExec("      env: {A: {B: c}}\n"), `6:16: agents.a.exec.env.A: must be text, not a mapping`},
		{inExec("      env: {A: 1, B: true, C: 2026-01-01, D: ''}\n"), ``},
		{agent("    openai: {url: 'https://m.example/v1', model: m, api_key: hunter2}\n"), `4:62: agents.a.openai.api_key: a secret must not be in this file: give ${env:NAME}, or api_key_file`},
		{agent("    openai: {url: 'https://m.example/v1', model: m, api_key_file: none}\n"), `4:67: agents.a.openai.api_key_file: the file `},
		{agent("    openai: {url: 'https://m.example/v1', model: m, extra: {a: .nan}}\n"), `4:64: agents.a.openai.extra.a: must be a JSON value, not ".nan"`},
		{agent("    openai: {url: 'https://me:hunter2@m.example/v1', model: m}\n"), `4:19: agents.a.openai.url: must not have a user or a password in it`},
		{agent("    openai: {url: 'https://m.example/v1', model: m, tools: [{name: a, url: 'http://t.example'}, {name: a, command: [x]}]}\n"), `4:104: agents.a.openai.tools[1].name: "a" is taken: it is in line 4, too`},
		{agent("    mcp: {timeout: 1s}\n"), `4:10: agents.a.mcp: must have command or url`},
		{agent("    mcp: {url: 'http://t.example', dir: /}\n"), `4:41: agents.a.mcp.dir: is for a server with a command, and this one has a url`},
		{agent("    mcp: {command: [tools], egress: {allow: [t.example]}}\n"), `4:37: agents.a.mcp.egress: is for a server with a url, and this one has a command`},
		{agent("    http: {url: 'http://t.example', headers: {Host: a}}\n"), `4:47: agents.a.http.headers.Host: is set by the connection itself`},
		{agent("    http: {url: 'http://t.example', callback_url: 'http://me.example'}\n"), `4:51: agents.a.http.callback_url: means nothing without callbacks: true`},
		{agent("    builtin: demo\n    card: {organization: O}\n"), `5:26: agents.a.card.organization: needs organization_url: a provider has both`},
		{agent("    builtin: demo\n    card: {input_modes: [text]}\n"), `5:26: agents.a.card.input_modes[0]: must be a media type such as text/plain, not "text"`},
		{agent("    builtin: demo\n    card: {skills: [{id: a, name: A}]}\n"), `5:21: agents.a.card.skills[0].description: is missing: what it does`},
		{agent("    builtin: demo\n    default: true\n  b:\n    builtin: demo\n    default: true\n"), `8:14: agents.b.default: only one agent can be at /, and a is (line 5)`},
		{head + "agents: {demo: {builtin: demo}, demo: {builtin: demo}}\n", `2:33: agents.demo: comes twice: it is in line 2, too`},
		{demo + "? [a]\n: b\n", `3:3: a name must be text`},
		{demo + "<<: 1\n", `3:5: << takes a mapping, or a list of them: <<: *name`},
	} {
		got := mistakes(t, c.text, nil)
		switch {
		case c.want == "" && len(got) > 0:
			t.Errorf("%s\n%q", c.text, got)
		case c.want != "" && (len(got) != 1 || !strings.Contains(got[0], c.want)):
			t.Errorf("%s\n got %q\nwant %q", c.text, got, c.want)
		}
	}
}

func TestSecretsAreNotInMessages(t *testing.T) {
	for _, text := range []string{
		demo + "store: {address: 'postgres://me:hunter2@db/parley'}\n",
		demo + "listen: [\"${env:KEY}\"]\nlimits: {rate: \"${env:KEY}\", body: \"${env:KEY}\"}\non_lost: ${env:KEY}\npublic_url: ${env:KEY}\n",
		head + "agents: {a: {http: {url: 'https://me:hunter2@m.example/'}}}\n",
		head + "agents: {a: {openai: {url: 'https://m.example', model: m, api_key: hunter2}}}\n",
	} {
		o := &Options{Lookup: lookup, Check: func(string, string) error { return errors.New("must be otherwise") }}
		got := mistakes(t, text, o)
		if len(got) == 0 || strings.Contains(strings.Join(got, "\n"), "hunter2") {
			t.Errorf("%s\n%q", text, got)
		}
	}
}

func TestBombsAreBounded(t *testing.T) {
	var bomb strings.Builder
	bomb.WriteString(demo + "x-a: &a [b,b,b,b,b,b,b,b,b,b]\n")
	for c := 'b'; c < 'k'; c++ {
		p := string(c - 1)
		bomb.WriteString("x-" + string(c) + ": &" + string(c) + " [*" + p + strings.Repeat(", *"+p, 9) + "]\n")
	}
	deep := head + "agents: {a: {openai: {url: 'https://m.example', model: m, extra: {a: " + strings.Repeat("[", 100) + strings.Repeat("]", 100) + "}}}}\n"
	wide := strings.Replace(bomb.String(), demo, head, 1) + "agents: {a: {openai: {url: 'https://m.example', model: m, extra: {a: *j}}}}\n"
	self := head + "agents: &x\n  a:\n    openai: {url: 'https://m.example', model: m, extra: {a: *x}}\n"
	merged := head + "agents: &x\n  <<: *x\n  a: {builtin: demo}\n"
	var names strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&names, "limitz%d: 1\n", i)
	}
	wideMerge := demo + "x-a: &a\n  " + strings.ReplaceAll(names.String()[:200_000], "\n", "\n  ") + ": 1\nx-b: &b {<<: [" + strings.Repeat("*a, ", 9999) + "*a]}\nlimits: {<<: *b}\n"
	for name, text := range map[string]string{"deep": deep, "wide": wide, "self": self, "merged": merged, "large": "# " + strings.Repeat("x", MaxBytes), "names": demo + names.String(), "merges": wideMerge} {
		begin := time.Now()
		if got := mistakes(t, text, nil); len(got) == 0 || len(got) > maxProblems {
			t.Errorf("%s: %d mistakes", name, len(got))
		}
		if d := time.Since(begin); d > 30*time.Second { // seconds where the machine is busy; without bounds it is years
			t.Errorf("%s took %v", name, d)
		}
	}
	many := demo + "? "
	for range 1000 {
		many += "\n? [a]"
	}
	var e *Error
	if _, err := Parse("p.yaml", []byte(many), nil); !errors.As(err, &e) || len(e.Problems) != maxProblems || e.More < 800 {
		t.Errorf("a thousand mistakes: %.200v", err)
	}
}

const full = `version: 1
x-mcp: &mcp
  timeout: 10s
  env: {TOKEN: "${env:KEY}"}
agents:
  script:
    exec:
      command: [python3, agent.py, 5]
      env: {DEBUG: true, TOKEN: "a ${env:KEY} $${x}"}
      mode: lines
      processes: 2
      files: true
      timeout: 30s
      memory: 512MiB
    on_lost: fail
    card:
      name: Script
      version: "1.2"
      streaming: false
      skills:
        - {id: a, name: A, description: does a, tags: [x], examples: [do a], scopes: [s]}
  service:
    default: true
    http:
      url: http://127.0.0.1:9000/
      headers: {Authorization: "Bearer ${env:KEY}", X-Team: blue}
      callbacks: true
      egress: {allow: [127.0.0.1]}
    max_runs: 2
  model:
    openai:
      url: https://models.example.org/v1
      model: small
      api_key_file: key.txt
      temperature: 0.5
      history: -1
      extra: {seed: 7, stop: [a, null, true], nested: {x: 1.5}}
      tools:
        - name: files
          <<: *mcp
          command: [mcp-files]
        - name: web
          url: https://tools.example.org/mcp
          <<: {timeout: 1s}
          timeout: 2s
`

func TestAgentsOfAFile(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "key.txt"), []byte("s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	f, err := Parse("parley.yaml", []byte(full), &Options{Lookup: lookup})
	if err != nil {
		t.Fatal(err)
	}
	half, no := 0.5, false
	want := []Agent{
		{
			Name: "script",
			Exec: &Exec{
				Command: []string{"python3", "agent.py", "5"}, Env: map[string]string{"DEBUG": "true", "TOKEN": "a hunter2 ${x}"}, Mode: "lines",
				Processes: 2, Files: true, Timeout: 30 * time.Second, Memory: 512 << 20,
			},
			OnLost: "fail",
			Card: Card{Name: "Script", Version: "1.2", Streaming: &no, Skills: []Skill{{
				ID: "a", Name: "A", Description: "does a", Tags: []string{"x"}, Examples: []string{"do a"}, Scopes: []string{"s"},
			}}},
		},
		{
			Name: "service", Default: true, MaxRuns: 2,
			HTTP: &HTTP{
				URL: "http://127.0.0.1:9000/", Headers: map[string]a2a.Secret{"Authorization": "Bearer hunter2", "X-Team": "blue"}, Callbacks: true,
				Egress: &Egress{Allow: []string{"127.0.0.1"}},
			},
		},
		{
			Name: "model",
			OpenAI: &OpenAI{
				URL: "https://models.example.org/v1", Model: "small", APIKey: "s3cret", Temperature: &half, History: -1,
				Extra: map[string]any{"seed": 7, "stop": []any{"a", nil, true}, "nested": map[string]any{"x": 1.5}},
				Tools: []MCP{
					{Name: "files", Command: []string{"mcp-files"}, Timeout: 10 * time.Second, Env: map[string]string{"TOKEN": "hunter2"}},
					{Name: "web", URL: "https://tools.example.org/mcp", Timeout: 2 * time.Second},
				},
			},
		},
	}
	if diff := cmp.Diff(want, f.Agents); diff != "" {
		t.Error(diff)
	}
}

func TestAnOnlyAgentIsTheDefault(t *testing.T) {
	for text, want := range map[string][]bool{
		"a: {builtin: demo}":                                                    {true},
		"a: {builtin: demo, default: false}":                                    {false},
		"a: {builtin: demo}, b: {builtin: demo}":                                {false, false},
		"a: {builtin: demo}, b: {builtin: conformance, default: true}":          {false, true},
		"a: {builtin: demo, default: false}, b: {builtin: demo, default: true}": {false, true},
	} {
		f, err := Parse("parley.yaml", []byte(head+"agents: {"+text+"}\n"), nil)
		if err != nil {
			t.Fatal(err)
		}
		var got []bool
		for _, a := range f.Agents {
			got = append(got, a.Default)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v", text, got)
		}
	}
}

func TestSettingsOfAFile(t *testing.T) {
	const text = `version: 1
listen: 0.0.0.0:${env:PORT}
trusted_proxies: [10.0.0.0/8, "::1"]
store:
  address: ${env:PG}
auth:
  keys: true
  roles:
    support: [tasks:read:tenant, tasks:cancel:tenant]
  claims: {roles: r}
  grants: []
  anonymous: false
limits: {rate: "${env:RATE}", body: 4MiB, task_time: 1h}
push: {enabled: false}
logs: {audit: "-"}
agents: {demo: {builtin: demo}}
`
	f, err := Parse("etc/parley.yaml", []byte(text), &Options{Lookup: lookup, Given: func(flag string) bool { return flag == "jwks" }})
	if err != nil {
		t.Fatal(err)
	}
	type line struct {
		Path, Flag, Values, Source string
		Line, Column               int
	}
	var got []line
	for _, s := range f.Settings {
		got = append(got, line{s.Path, s.Flag, strings.Join(s.Values, " "), s.Source, s.Line, s.Column})
	}
	want := []line{
		{"listen", "listen", "0.0.0.0:8080", "${env:PORT}", 2, 9},
		{"trusted_proxies", "trusted-proxy", "10.0.0.0/8 ::1", "", 3, 18},
		{"store.address", "store", environment["PG"], "${env:PG}", 5, 12},
		{"auth.keys", "auth-keys", "true", "", 7, 9},
		{"auth.roles", "role", "support=tasks:read:tenant support=tasks:cancel:tenant", "", 9, 5},
		{"auth.claims.roles", "role-claim", "r", "", 10, 19},
		{"auth.grants", "grant", "none", "", 11, 11},
		{"auth.anonymous", "allow-anonymous", "false", "", 12, 14},
		{"limits.rate", "rate", "2.5", "${env:RATE}", 13, 16},
		{"limits.body", "max-body", "4MiB", "", 13, 37},
		{"limits.task_time", "max-task-time", "1h", "", 13, 54},
		{"push.enabled", "no-push", "true", "", 14, 17},
		{"logs.audit", "audit-log", "-", "", 15, 15},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestPathsAreFromTheFilesDirectoryOn(t *testing.T) {
	f, err := Parse("etc/parley.yaml", []byte(head+"store: {data: data}\nlogs: {audit: /var/a.jsonl}\nagents: {a: {exec: {command: [./x], dir: sub}}}\n"), nil)
	if err != nil {
		t.Fatal(err)
	}
	g, err := Parse("etc/parley.yaml", []byte(head+"agents: {a: {exec: {command: [./x]}}, b: {mcp: {command: [x]}}, c: {mcp: {url: 'http://a.example'}}}\n"), nil)
	if err != nil || g.Agents[0].Exec.Dir != "etc" || g.Agents[1].MCP.Dir != "etc" || g.Agents[2].MCP.Dir != "" {
		t.Errorf("commands run in %+v, %v", g, err)
	}
	if got := []string{f.Settings[0].Values[0], f.Settings[1].Values[0], f.Agents[0].Exec.Dir}; !slices.Equal(got, []string{filepath.FromSlash("etc/data"), "/var/a.jsonl", filepath.FromSlash("etc/sub")}) {
		t.Errorf("%q", got)
	}
}

func TestAFileForElsewhere(t *testing.T) {
	const text = head + `auth: {basic: /etc/none, keys: "${env:NONE}"}
limits: {rate: "${env:NONE}", body: "${env:NONE}", task_time: "${env:NONE}"}
on_lost: ${env:NONE}
public_url: ${env:NONE}
agents: {a: {openai: {url: "https://${env:NONE}/v1", model: "${env:NONE}", api_key_file: none}}}
`
	if got := mistakes(t, text, &Options{Elsewhere: true}); len(got) > 0 {
		t.Errorf("%q", got)
	}
	if got := mistakes(t, text+"lisen: a\n", &Options{Elsewhere: true}); len(got) != 1 {
		t.Errorf("%q", got)
	}
	if got := mistakes(t, text, nil); len(got) != 10 {
		t.Errorf("here there are %d: %q", len(got), got)
	}
}

// The table and the types are one: nothing is read that has no place, and no
// place is there that nothing is read into.
func TestTheTableHasEveryFieldOfTheTypes(t *testing.T) {
	var compare func(typ reflect.Type, fields []*field, path string)
	compare = func(typ reflect.Type, fields []*field, path string) {
		seen := map[string]bool{}
		for _, f := range fields {
			sf, ok := typ.FieldByNameFunc(func(n string) bool { return strings.EqualFold(n, plain(f.name)) })
			if !ok {
				t.Errorf("%s.%s has no field in %v", path, f.name, typ)
				continue
			}
			seen[sf.Name] = true
			inner, elem := sf.Type, f
			for inner.Kind() == reflect.Pointer || inner.Kind() == reflect.Slice {
				inner = inner.Elem()
			}
			if f.kind == list {
				elem = f.elem
			}
			if elem.kind == object {
				compare(inner, elem.fields, path+"."+f.name)
			}
			fill(reflect.New(typ).Elem().FieldByIndex(sf.Index), sample(f)) // panics where it knows no type
		}
		for i := range typ.NumField() {
			if name := typ.Field(i).Name; !seen[name] && name != "Name" {
				t.Errorf("%v.%s is nowhere in the table", typ, name)
			}
		}
	}
	compare(reflect.TypeFor[Agent](), agentFields, "agents.x")
	compare(reflect.TypeFor[MCP](), toolFields, "tools")
	walk(serverFields, "", func(f *field, path string) {
		if (f.flag == "") != (f.kind == object) {
			t.Errorf("%s: flag %q", path, f.flag)
		}
	})
}

func sample(f *field) *value {
	v := &value{field: f, text: "1", parsed: map[kind]any{boolean: true, integer: int64(1), size: int64(1), number: 1.5, duration: time.Second}[f.kind]}
	if f.elem != nil {
		v.items = []*value{sample(f.elem)}
		v.members = []*member{{name: "x", value: sample(f.elem)}}
	}
	return v
}

// A password beside a variable is not shown either.
func TestPasswordBesideAVariable(t *testing.T) {
	lookup := func(string) (string, bool) { return "db.internal", true }
	for address, shown := range map[string]string{
		"postgres://me:hunter2@${env:HOST}/x":            Redacted + " of ${env:HOST}",
		"postgres://me@${env:HOST}/x?password=hunter2":   Redacted + " of ${env:HOST}",
		"postgres://me:hun%zzter2@${env:HOST}/x":         Redacted + " of ${env:HOST}",
		"postgres://${env:USER}:${env:PW}@db:${env:P}/x": "postgres://${env:USER}:${env:PW}@db:${env:P}/x",
		"${env:STORE}": "${env:STORE}",
	} {
		f, err := Parse("p.yaml", []byte(demo+"store: {address: \""+address+"\"}\n"), &Options{Lookup: lookup})
		if err != nil {
			t.Fatal(err)
		}
		if got := f.Settings[0].Shown[0]; got != shown {
			t.Errorf("%s is shown as %s", address, got)
		}
		if all := strings.Join(f.Secrets(), " "); strings.Contains(address, "hun") && !strings.Contains(all, "ter2") {
			t.Errorf("of %s are hidden %s", address, all)
		}
	}
}

func TestSecretsOfAFile(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "key.txt"), []byte("s3cret-of-a-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"A": "first-token", "B": "second-token", "C": "third-token", "PORT": "8080", "PG": "postgres://me:hunter2@db/x", "S": "abc"}
	const text = `version: 1
listen: 127.0.0.1:${env:PORT}
store: {address: "${env:PG}"}
agents:
  a:
    openai:
      url: https://m.example/v1
      model: m${env:PORT}
      api_key_file: key.txt
      headers: {Authorization: "Bearer ${env:A}", X-Key: Bearer literal-token, X-Short: "${env:S}"}
      extra: {user: "${env:C}"}
  b:
    exec: {command: [x, "${env:PORT}"], env: {T: "x ${env:B}", U: harmless}}
`
	f, err := Parse(filepath.Join(dir, "parley.yaml"), []byte(text), &Options{Lookup: func(n string) (string, bool) { v, ok := env[n]; return v, ok }})
	if err != nil {
		t.Fatal(err)
	}
	got := f.Secrets()
	for _, secret := range []string{"first-token", "Bearer first-token", "second-token", "third-token", "s3cret-of-a-file", "literal-token", env["PG"]} {
		if !slices.Contains(got, secret) {
			t.Errorf("%s is not hidden", secret)
		}
	}
	for _, open := range []string{"8080", "harmless", "m8080", "abc", ""} {
		if slices.Contains(got, open) {
			t.Errorf("%s is hidden", open)
		}
	}
	for _, v := range f.Shown() {
		for _, secret := range got {
			if strings.Contains(v.Value, secret) {
				t.Errorf("%s is shown as %s", v.Path, v.Value)
			}
		}
	}
}

func TestCommandsAreAskedFor(t *testing.T) {
	const text = `version: 1
agents:
  a: {exec: {command: [./no, x], dir: sub, env: {PATH: /x}}}
  b: {mcp: {command: [no]}}
  c: {exec: {command: [yes]}}
`
	o := &Options{Command: func(name, dir string, ownPath bool) error {
		if ownPath != (name == "./no") {
			t.Errorf("%s: has a PATH of its own: %v", name, ownPath)
		}
		if name == "yes" {
			return nil
		}
		return fmt.Errorf("the command %s was not found in %q", name, filepath.ToSlash(dir))
	}}
	_, err := Parse("etc/parley.yaml", []byte(text), o)
	const want = `etc/parley.yaml:3:24: agents.a.exec.command[0]: the command ./no was not found in "etc/sub"
etc/parley.yaml:4:23: agents.b.mcp.command[0]: the command no was not found in "etc"`
	if err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
	o.Elsewhere = true
	if _, err := Parse("etc/parley.yaml", []byte(text), o); err != nil {
		t.Errorf("elsewhere: %v", err)
	}
}
