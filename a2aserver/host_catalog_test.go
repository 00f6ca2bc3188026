package a2aserver

import (
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/catalog"
)

func catalogRoutes() []Route {
	all := routes("a", "b", "c-3")
	all[1].Card.Skills = []*a2a.AgentSkill{{ID: "translate", Tags: []string{"language"}, Examples: []string{"say hello in French", "what is Brot in English"}}}
	return all
}

// A host's agents are in one table, the same at each of its paths.
func TestCatalogOfAHost(t *testing.T) {
	h, err := NewHost(catalogRoutes(), nil)
	if err != nil {
		t.Fatal(err)
	}
	w := do(h, "GET", "/.well-known/ard.json", "")
	m, findings, err := catalog.Parse(w.Body.Bytes())
	if err != nil || len(findings) > 0 || len(m.Entries) != 4 || m.SpecVersion != "1.0" {
		t.Fatalf("%v %v: %s", err, findings, w.Body)
	}
	b := m.Entries[1]
	if b.Identifier != "urn:air:example.com:agent:b" || b.URL != "http://example.com/agents/b/.well-known/agent-card.json" || len(b.Queries) != 2 || b.Capabilities[0] != "translate" {
		t.Errorf("%+v", b)
	}
	if last := m.Entries[3]; last.Type != catalog.TypeRegistry || last.URL != "http://example.com/" {
		t.Errorf("%+v", last)
	}
	if old := do(h, "GET", "/.well-known/ai-catalog.json", ""); old.Body.String() != w.Body.String() {
		t.Errorf("the predecessor differs: %s", old.Body)
	}
	for _, tt := range []struct {
		method, target, body, want string
		status                     int
	}{
		{"GET", "/agents?pageSize=1", "", `"pageToken": "1"`, 200},
		{"GET", "/agents?pageSize=1&pageToken=1", "", `"items": [` + "\n    {\n" + `      "identifier": "urn:air:example.com:agent:b"`, 200},
		{"GET", "/agents?pageSize=0", "", "expected 1 to 100", 400},
		{"GET", "/agents?filter=type", "", "filter is not supported", 400},
		{"GET", "/agents/urn:air:example.com:agent:b", "", `"displayName": "b"`, 200},
		{"GET", "/agents/urn:air:example.com:agent:nobody", "", "there is nothing at this path", 404},
		{"POST", "/search", `{"query":{"text":"translation of texts"}}`, `"identifier": "urn:air:example.com:agent:b"`, 200},
		{"POST", "/search", `{"query":{"text":"zebra"},"federation":"none"}`, `"results": []`, 200},
		{"POST", "/search", `{"query":{}}`, "query.text is missing", 400},
		{"POST", "/search", strings.Repeat("x", maxSearch+1), "", 413},
		{"GET", "/search", "", "use POST", 405},
		{"POST", "/.well-known/ard.json", "", "use GET, HEAD", 405},
	} {
		w := do(h, tt.method, tt.target, tt.body)
		if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.want) {
			t.Errorf("%s %s is HTTP %d: %s", tt.method, tt.target, w.Code, w.Body)
		}
	}
}

// A caller that is not let in learns of no agent.
func TestCatalogWantsCredentials(t *testing.T) {
	h, err := NewHost(catalogRoutes(), &Options{Identity: refusing{a2a.Errorf(a2a.CodeUnauthenticated, "who are you?")}})
	if err != nil {
		t.Fatal(err)
	}
	for _, target := range []string{"GET /.well-known/ard.json", "GET /.well-known/ai-catalog.json", "GET /agents/urn:air:example.com:agent:b", "POST /search"} {
		method, path, _ := strings.Cut(target, " ")
		w := do(h, method, path, `{"query":{"text":"b"}}`)
		if w.Code != http.StatusUnauthorized || strings.Contains(w.Body.String(), "urn:air") {
			t.Errorf("%s is HTTP %d: %s", target, w.Code, w.Body)
		}
	}
}

// The specification's conformance tool finds no fault. It runs if the environment says
// where it is.
func TestCatalogByTheSpecificationsTool(t *testing.T) {
	tool := os.Getenv("PARLEY_ARD_CONFORMANCE")
	if tool == "" {
		t.Skip("PARLEY_ARD_CONFORMANCE is not set: the path of conformance/bin/conformance-test of ards-project/ard-spec")
	}
	addr, _ := hostOnPort(t, catalogRoutes(), nil)
	for _, args := range [][]string{
		{"manifest", "http://" + addr + "/.well-known/ard.json"}, {"manifest", "http://" + addr + "/.well-known/ai-catalog.json"}, {"registry", "http://" + addr},
	} {
		out, err := exec.Command("python3", append([]string{tool}, args...)...).CombinedOutput()
		if err != nil {
			t.Errorf("%v: %v\n%s", args, err, out)
		}
		if testing.Verbose() {
			t.Logf("%s", out)
		}
	}
}
