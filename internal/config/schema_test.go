package config

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"go.yaml.in/yaml/v4"
)

var update = flag.Bool("update", false, "rewrite the reference in docs/config.md")

var resolved = sync.OnceValues(func() (*jsonschema.Resolved, error) {
	var s jsonschema.Schema
	if err := json.Unmarshal(Schema(), &s); err != nil {
		return nil, err
	}
	return s.Resolve(nil)
})

// schemaSays validates a text as an editor does.
func schemaSays(t *testing.T, text string) error {
	t.Helper()
	rs, err := resolved()
	if err != nil {
		t.Fatal(err)
	}
	var v any
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		return err
	}
	doc, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(doc, &v); err != nil {
		t.Fatal(err)
	}
	return rs.Validate(v)
}

func TestTheSchemaTakesWhatIsRight(t *testing.T) {
	for _, text := range []string{demo, full, demo + "limits: {rate: '${env:RATE}', body: 8388608, task_size: 1GiB, task_time: 1h30m, depth: 0}\nretention: {completed: 0}\nx-y: 1\n"} {
		if err := schemaSays(t, text); err != nil {
			t.Errorf("%v\n%s", err, text)
		}
	}
}

func TestTheSchemaRefusesWhatIsWrong(t *testing.T) {
	for _, text := range []string{
		"agents: {demo: {builtin: demo}}\n", head, demo + "lisen: a\n", demo + "listen: 1\n", demo + "limits: {rate: -1}\n", demo + "limits: {rate: x}\n",
		demo + "drain_timeout: 10\n", demo + "drain_timeout: soon\n", demo + "limits: {body: 8MB}\n", demo + "on_lost: fial\n", demo + "auth: {keys: 1}\n",
		demo + "auth: {oidc: {issuer: 'https://a.example'}}\n", demo + "public_url: a\n", strings.Replace(demo, "version: 1", "version: 2", 1),
		head + "agents: {}\n", head + "agents: {A: {builtin: demo}}\n", head + "agents: {a: {}}\n", head + "agents: {a: {builtin: demo, exec: {command: [x]}}}\n",
		head + "agents: {a: {exec: {command: []}}}\n", head + "agents: {a: {exec: {command: x}}}\n", head + "agents: {a: {mcp: {}}}\n",
		head + "agents: {a: {openai: {url: 'https://a.example', model: m, api_key: hunter2}}}\n",
		head + "agents: {a: {openai: {url: 'https://a.example', model: m, api_key: '${env:A}', api_key_file: f}}}\n",
	} {
		if schemaSays(t, text) == nil {
			t.Errorf("the schema takes %s", text)
		}
		if len(mistakes(t, text, nil)) == 0 {
			t.Errorf("the parser takes %s", text)
		}
	}
}

// The reference in docs/config.md is what the table says; -update writes it.
func TestTheReferenceIsTheTable(t *testing.T) {
	const begin, end = "<!-- from the table of internal/config: go test ./internal/config -run Reference -update -->\n", "<!-- end of the table -->\n"
	name := filepath.Join("..", "..", "docs", "config.md")
	doc, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(doc), begin)
	_, tail, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatal("docs/config.md has no place for the reference")
	}
	want := head + begin + "\n" + reference() + "\n" + end + tail
	if want == string(doc) {
		return
	}
	if !*update {
		t.Fatal("docs/config.md is not what the table says: go test ./internal/config -run Reference -update")
	}
	if err := os.WriteFile(name, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}

// The file that docs/config.md shows is right.
func TestTheDocumentationsFile(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join("..", "..", "docs", "config.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(doc), "```yaml\n")
	text, _, whole := strings.Cut(rest, "```\n")
	if !found || !whole {
		t.Fatal("it shows no file")
	}
	if got := mistakes(t, text, &Options{Elsewhere: true}); len(got) > 0 {
		t.Errorf("it has mistakes: %q", got)
	}
}
