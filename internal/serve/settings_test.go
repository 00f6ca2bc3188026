package serve

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/parley-a2a/parley/internal/config"
	"github.com/parley-a2a/parley/internal/database"
	"github.com/parley-a2a/parley/internal/failure"
	"github.com/parley-a2a/parley/internal/flagvalue"
	"github.com/parley-a2a/parley/internal/plain"
)

// ofAgents are the flags that a file has at each agent.
var ofAgents = map[string]string{
	"agent":         "agents.*.builtin",
	"extended-card": "agents.*.card.extended",
	"lines":         "agents.*.exec.mode",
	"processes":     "agents.*.exec.processes",
	"http":          "agents.*.http.url",
	"body":          "agents.*.http.body",
	"answer":        "agents.*.http.answer",
	"openai":        "agents.*.openai.url",
	"model":         "agents.*.openai.model",
	"system":        "agents.*.openai.system_file",
	"proxy":         "agents.*.proxy.agent",
	"mcp":           "agents.*.mcp.url",
}

// ofTheLine are the flags that a file cannot have.
var ofTheLine = map[string]string{
	"file":   "it names the file",
	"reload": "it is for people at work on the agent",
}

// inSchema reports whether the schema of the file has a setting of an agent.
func inSchema(t *testing.T, path string) bool {
	type node struct {
		Properties map[string]*node `json:"properties"`
	}
	var file struct {
		Properties struct {
			Agents struct {
				Each node `json:"additionalProperties"`
			} `json:"agents"`
		} `json:"properties"`
	}
	if err := json.Unmarshal(config.Schema(), &file); err != nil {
		t.Fatal(err)
	}
	n := &file.Properties.Agents.Each
	for name := range strings.SplitSeq(strings.TrimPrefix(path, "agents.*."), ".") {
		if n = n.Properties[name]; n == nil {
			return false
		}
	}
	return true
}

// A file says everything that flags say, and where nothing is said they mean the
// same.
func TestEveryFlagHasAPlaceInTheFile(t *testing.T) {
	places := map[string]config.Row{}
	for _, row := range config.Rows() {
		if _, twice := places[row.Flag]; twice {
			t.Errorf("--%s has two places", row.Flag)
		}
		places[row.Flag] = row
	}
	words := map[string]string{ // defaults that are told in words
		"max-connections": "0", "max-connections-per-address": "0", "store": "", "grant": "", "card-keys-url": "", "audit-log": "", "log-requests": "false", "burst": "0", "subject-claim": "",
		"telemetry-endpoint": "", "telemetry-protocol": "", "telemetry-sample": "",
	}
	NewFlags().VisitAll(func(f *pflag.Flag) {
		path, isAgents := ofAgents[f.Name]
		_, isLine := ofTheLine[f.Name]
		row, has := places[f.Name]
		delete(places, f.Name)
		switch {
		case isLine && !has:
		case isAgents && !has:
			if !inSchema(t, path) {
				t.Errorf("--%s has its place at %s, which does not exist", f.Name, path)
			}
		case !has || isLine || isAgents:
			t.Errorf("--%s has no place in the table of internal/config, or two", f.Name)
		default:
			def, want := row.Default, f.DefValue
			if w, ok := words[f.Name]; ok {
				def = w
			}
			if row.Negated {
				want = map[string]string{"true": "false", "false": "true"}[want]
			}
			if starred := strings.HasSuffix(def, "*"); starred {
				def = "0"
			}
			if want == "[]" {
				want = ""
			}
			if def != want && !sameTime(def, want) {
				t.Errorf("%s: the default is %q, that of --%s %q", row.Path, def, f.Name, want)
			}
		}
	})
	for name := range places {
		t.Errorf("there is no --%s", name)
	}
}

// sameTime reports whether both are durations, and equal: help and the page of settings
// write some of them in different units.
func sameTime(a, b string) bool {
	x, errX := flagvalue.ParseDuration(a)
	y, errY := flagvalue.ParseDuration(b)
	return errX == nil && errY == nil && x == y
}

// inFileDir goes to a directory with files, and returns an environment there.
func inFileDir(t *testing.T, env map[string]string, files map[string]string) *Env {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	return &Env{Stderr: plain.NewWriter(t.Output()), Lookup: func(name string) (string, bool) { v, ok := env[name]; return v, ok }}
}

// lineOf is a command line as serve records it.
func lineOf(t *testing.T, args ...string) Line {
	t.Helper()
	fs := NewFlags()
	line := Record(fs)
	if err := fs.Parse(args); err != nil {
		t.Fatal(err)
	}
	return *line
}

const small = "version: 1\nagents: {demo: {builtin: demo}}\n"

func TestFlagsAreStrongerThanTheFile(t *testing.T) {
	for name, c := range map[string]struct {
		file string
		env  map[string]string
		args []string
		want map[string]string // values of flags
	}{
		"the file": {"listen: 127.0.0.1:1\nlimits: {rate: 5}\n", nil, nil, map[string]string{"listen": "127.0.0.1:1", "rate": "5", "burst": "0"}},
		"a flag":   {"listen: 127.0.0.1:1\nlimits: {rate: 5}\n", nil, []string{"--listen=127.0.0.1:2"}, map[string]string{"listen": "127.0.0.1:2", "rate": "5"}},
		"a flag that says the default": {
			"limits: {hops: 3, parts: 2}\n", nil, []string{"--max-hops=16"}, map[string]string{"max-hops": "16", "max-parts": "2"},
		},
		"a flag in place of a list": {
			"auth: {keys: true, grants: ['tasks:read']}\n", nil, []string{"--grant=none"}, map[string]string{"grant": ""},
		},
		"a flag that contradicts": {
			"push: {allow: [a.internal], proxy: 'http://p:1'}\n", nil, []string{"--no-push"}, map[string]string{"no-push": "true", "egress-proxy": ""},
		},
		"the other way round":                   {"push: {enabled: false}\n", nil, []string{"--egress-allow=a.internal"}, map[string]string{"no-push": "false"}},
		"an end that contradicts":               {"max_runs: 7\n", nil, []string{"--on-lost=fail"}, map[string]string{"on-lost": "fail", "max-runs": "3"}},
		"memory":                                {"store: {data: d}\n", nil, []string{"--ephemeral"}, map[string]string{"data": database.DefaultData, "ephemeral": "true"}},
		"another store":                         {"store: {ephemeral: true}\n", nil, []string{"--store=x.db"}, map[string]string{"store": "x.db", "ephemeral": "false"}},
		"the variable":                          {"store: {address: x.db}\n", map[string]string{database.Env: "y.db"}, nil, map[string]string{"store": ""}},
		"the variable, and a directory":         {"store: {data: d}\n", map[string]string{database.Env: "y.db"}, nil, map[string]string{"data": database.DefaultData}},
		"a database, and one for the audit log": {"store: {data: d}\n", map[string]string{database.Env: "postgres://db/x"}, nil, map[string]string{"data": "d"}},
		"what a rule needs may be a flag":       {"cards: {keys: [key.pem]}\n", nil, []string{"--public-url=https://a.example"}, map[string]string{"public-url": "https://a.example"}},
		"a switch that is off":                  {"store: {address: x.db}\n", nil, []string{"--ephemeral=0"}, map[string]string{"ephemeral": "false", "store": "x.db"}},
		"a switch that is on, and off again":    {"store: {address: x.db}\n", nil, []string{"--ephemeral", "--ephemeral=F"}, map[string]string{"ephemeral": "false", "store": "x.db"}},
		"push: true is nothing":                 {"push: {enabled: true, allow: [a.internal]}\n", nil, nil, map[string]string{"no-push": "false"}},
	} {
		t.Run(name, func(t *testing.T) {
			e := inFileDir(t, c.env, map[string]string{DefaultFile: small + c.file, "key.pem": "x"})
			s, err := e.Load(lineOf(t, c.args...), false)
			if err != nil {
				t.Fatal(err)
			}
			for flag, want := range c.want {
				if got := s.set.Lookup(flag).Value.String(); got != want {
					t.Errorf("--%s is %q, want %q", flag, got, want)
				}
			}
		})
	}
}

// A line has switches and numbers in one spelling: those that a file takes, and that
// others compare them with.
func TestLineHasOneSpelling(t *testing.T) {
	line := lineOf(t, "--no-console=1", "--auth-keys=T", "--burst=0x10", "--rate=1e2", "--data=0x10")
	want := Line{{"no-console", "true"}, {"auth-keys", "true"}, {"burst", "16"}, {"rate", "100"}, {"data", "0x10"}}
	if d := cmp.Diff(want, line); d != "" {
		t.Error(d)
	}
}

func TestWhichFileIsRead(t *testing.T) {
	files := map[string]string{DefaultFile: small, "other.yaml": strings.Replace(small, "demo:", "other:", 1)}
	for _, c := range []struct {
		args    []string
		command bool
		want    string // the first agent of the file, or the failure
	}{
		{nil, false, "demo"},
		{[]string{"--file=other.yaml"}, false, "other"},
		{[]string{"--file="}, false, ""},
		{nil, true, ""},
		{[]string{"--agent=demo"}, false, ""},
		{[]string{"--file=other.yaml", "--agent=demo"}, false, "--file says which agents there are, and --agent says another: leave one out"},
		{[]string{"--file=other.yaml"}, true, "--file says which agents there are, and a command says another: leave one out"},
		{[]string{"--file=none.yaml"}, false, "open none.yaml: no such file or directory"},
	} {
		s, err := inFileDir(t, nil, files).Load(lineOf(t, c.args...), c.command)
		got := ""
		switch {
		case err != nil:
			got = strings.TrimPrefix(err.Error(), failure.CodeUsage+": ")
		case s.File != nil:
			got = s.File.Agents[0].Name
		}
		if got != c.want {
			t.Errorf("%q: %q, want %q", c.args, got, c.want)
		}
	}
}

// An error about two settings names the file if the file sets them.
func TestFailuresNameTheFile(t *testing.T) {
	for _, c := range []struct {
		file string
		args []string
		want string
	}{
		{"auth: {keys: true}\n", []string{"--ephemeral"}, "API keys are kept where tasks are, and memory keeps nothing: leave --ephemeral or auth.keys (parley.yaml:3:14) out"},
		{"store: {dead_after: 5s}\n", nil, "store.dead_after (parley.yaml:3:21) is for servers that share a PostgreSQL database"},
	} {
		_, err := inFileDir(t, nil, map[string]string{DefaultFile: small + c.file}).Load(lineOf(t, c.args...), false)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s%v: %v, want %s", c.file, c.args, err, c.want)
		}
	}
}

// What the flags know of values is told with the mistakes of the file.
func TestFlagsCheckTheValuesOfTheFile(t *testing.T) {
	const text = `listen: localhost
trusted_proxies: [10.0.0.0/8, 10.0.0.0/99]
cors_origins: ["*"]
allowed_hosts: [a, "b:1"]
auth: {grants: [tasks:fly], roles: {r: [tasks:fly]}, claims: {roles: r}}
push: {allow: ["ftp://x"], proxy: x}
agents:
  p: {http: {url: "http://x.example", egress: {allow: ["ftp://x"], proxy: "${env:PW}"}}}
`
	_, err := inFileDir(t, map[string]string{"PW": "hunter2"}, map[string]string{DefaultFile: "version: 1\n" + text}).Load(lineOf(t, "--jwks=x"), false)
	f, ok := err.(*failure.Error)
	if !ok {
		t.Fatalf("%v", err)
	}
	var got []string
	for _, line := range f.Lines {
		place, _, _ := strings.Cut(line, ": ")
		got = append(got, strings.TrimPrefix(place, "parley.yaml:"))
	}
	want := []string{"2:9", "3:31", "4:16", "5:20", "6:17", "6:41", "7:16", "7:35", "9:56", "9:75"}
	if diff := cmp.Diff(want, got); diff != "" || strings.Contains(strings.Join(f.Lines, ""), "hunter2") {
		t.Errorf("%s\n%s", diff, strings.Join(f.Lines, "\n"))
	}
}

// The log of a server that is told to read its file again has all that is wrong.
func TestReloadSaysWhatIsWrong(t *testing.T) {
	_, err := inFileDir(t, nil, map[string]string{DefaultFile: small + "lisen: a\nlimits: {rate: -1}\n"}).Load(nil, false)
	const want = `parley.yaml has 2 mistakes: parley.yaml:3:1: lisen: there is no such setting: did you mean listen?; ` +
		`parley.yaml:4:16: limits.rate: must be a number from 0 up, not "-1"`
	if got := reloadReason(err); !strings.HasSuffix(got, want) {
		t.Errorf("got %s", got)
	}
}

// A wrong format of a service is an error when the settings are read, which names the
// place, the value and what was expected.
func TestFormatsOfServicesAreChecked(t *testing.T) {
	const agent = "version: 1\nagents: {a: {http: {url: 'http://127.0.0.1:1/', "
	for _, c := range []struct {
		file string
		line []string
		want string
	}{
		{agent + `body: '{"p": "${txt}"}'}}}`, nil, `agents.a.http.body: ${txt} is not known: expected one of ${text}`},
		{agent + `answer: reply}}}`, nil, `agents.a.http.answer: "reply" is not a path: expected a path such as .reply`},
		{agent + `body: {p: x}}}}`, nil, "agents.a.http.body: must be text"},
		{"", []string{"--http=http://127.0.0.1:1/", "--body={"}, `must be JSON with ${…} inside of strings`},
		{"", []string{"--body=a=${text}"}, "--body 'a=${text}' is the request to an HTTP service: give --http"},
		{"", []string{"--answer=.reply"}, "--answer .reply is where an HTTP service has its answer: give --http"},
	} {
		env := testEnv(t, t.Output())
		if c.file != "" {
			if err := os.WriteFile(DefaultFile, []byte(c.file), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		fs := NewFlags()
		line := Record(fs)
		err := fs.Parse(c.line)
		if err == nil {
			_, err = env.Load(*line, false)
		}
		said := ""
		if err != nil {
			said = err.Error()
			var f *failure.Error
			if errors.As(err, &f) {
				said += strings.Join(f.Lines, "; ")
			}
		}
		if !strings.Contains(said, c.want) {
			t.Errorf("%s %q: %s, want %s", c.file, c.line, said, c.want)
		}
	}
}

// The key of the variable of OpenAI is hidden as that of our own is.
func TestKeyOfOpenAIIsHidden(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-of-the-environment")
	env := inFileDir(t, nil, nil)
	f, err := env.Load(lineOf(t, "--openai=https://api.openai.com/v1", "--model=m"), false)
	if err != nil {
		t.Fatal(err)
	}
	if key := f.agents(env, nil)[0].OpenAI.APIKey.Reveal(); key != "sk-of-the-environment" || strings.Contains(env.Stderr.Redact("no such key: "+key), key) {
		t.Errorf("the key %q is not hidden", key)
	}
}

// A role may be there that may do nothing, also as the only one.
func TestRoleWithoutScopes(t *testing.T) {
	const oidc = "version: 1\nauth: {oidc: {issuer: \"https://id.example\", audiences: [us]}, claims: {roles: r}, roles: "
	for _, roles := range []string{"{viewer: []}", "{viewer: [none]}", "{viewer: [], support: [\"tasks:read\"]}"} {
		env := inFileDir(t, nil, map[string]string{"parley.yaml": oidc + roles + "}\nagents: {demo: {builtin: demo}}\n"})
		f, err := env.Load(lineOf(t), false)
		if err != nil {
			t.Errorf("%s: %v", roles, err)
			continue
		}
		if scopes, ok := f.auth.roles["viewer"]; !ok || len(scopes) > 0 {
			t.Errorf("%s: the roles are %v", roles, f.auth.roles)
		}
	}
}
