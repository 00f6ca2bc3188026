package serve

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/config"
)

// Agents may call the addresses that the operator names, even on this machine and in its
// network; but no redirect or name leads them to where clouds keep credentials.
func TestWhereAgentsMayGo(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	for _, tt := range []struct {
		rules *config.Egress
		yes   string
		no    string
	}{
		{nil, "http://127.0.0.1:8000/ http://localhost:11434/v1 http://10.1.2.3/ http://ollama:11434/ https://api.example.org/ http://[::1]:80/ http://api.example.org/",
			"http://169.254.169.254/latest http://[fe80::1]/ http://100.100.100.200/ http://[fd00:ec2::254]/ ftp://example.org/"},
		{&config.Egress{Deny: []string{"10.0.0.0/8"}}, "http://192.168.1.1/ http://127.0.0.1/", "http://10.1.2.3/ http://169.254.169.254/"},
		{&config.Egress{Allow: []string{"http://models.internal:8000"}}, "http://models.internal:8000/ https://api.example.org/", "http://127.0.0.1/ http://models.internal/ https://10.1.2.3/"},
	} {
		p, err := agentPolicy(tt.rules, log)
		if err != nil {
			t.Fatal(err)
		}
		for url := range strings.FieldsSeq(tt.yes) {
			if _, err := p.Check(url); err != nil {
				t.Errorf("%v: %s: %v", tt.rules, url, err)
			}
		}
		for url := range strings.FieldsSeq(tt.no) {
			if _, err := p.Check(url); err == nil {
				t.Errorf("%v: %s is let through", tt.rules, url)
			}
		}
	}
	for _, bad := range []config.Egress{{Allow: []string{"a b"}}, {Deny: []string{"%"}}, {Proxy: "x"}} {
		if _, err := agentPolicy(&bad, log); err == nil {
			t.Errorf("%v is taken", bad)
		}
	}
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	for what, client := range map[string]func(*config.Egress, *slog.Logger) (*http.Client, error){"plain": plainClient, "stream": streamClient} {
		c, err := client(nil, log)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := c.Get(server.URL)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		resp.Body.Close()
		if resp, err := c.Get("http://169.254.169.254/"); err == nil {
			resp.Body.Close()
			t.Errorf("%s: metadata is reached", what)
		}
		c.CloseIdleConnections()
	}
}

// The file's words on a card replace those of the agent's kind; skills that
// need scopes are on the extended card alone.
func TestCardsOfAFile(t *testing.T) {
	no := false
	c := &config.Agent{
		Name: "sums", Exec: &config.Exec{Command: []string{"bc"}},
		Card: config.Card{
			Description: "Adds.", Organization: "Example", InputModes: []string{"text/plain"}, Streaming: &no,
			Skills: []config.Skill{{ID: "add", Name: "Add"}, {ID: "audit", Name: "Audit", Scopes: []string{"sums:audit"}, InputSchema: map[string]any{"type": "object"}}},
		},
	}
	card, extended := withCard(agent.ExecCard(c.Exec.Command), c, []string{"apiKey", "oidc"})
	if card.Name != "sums" || card.Description != "Adds." || card.Version != "1.0.0" || card.Provider.Organization != "Example" || *card.Capabilities.Streaming {
		t.Errorf("the card is %+v", card)
	}
	if len(card.Skills) != 1 || card.Skills[0].ID != "add" || !*card.Capabilities.ExtendedAgentCard {
		t.Errorf("the public skills are %+v", card.Skills)
	}
	if extended == nil || len(extended.Skills) != 2 {
		t.Fatalf("the extended card is %+v", extended)
	}
	if need := extended.Skills[1].SecurityRequirements; len(need) != 2 || !slices.Equal(need[1]["oidc"], []string{"sums:audit"}) {
		t.Errorf("the skill needs %v", need)
	}
	if _, ok := card.CallableSkills(); ok {
		t.Error("the public card shows the schema of a skill that it does not list")
	}
	if schemas, ok := extended.CallableSkills(); !ok || len(schemas) != 1 || schemas["audit"] == nil {
		t.Errorf("the extended card's schemas are %v", schemas)
	}
	c.Card.Skills = nil
	if card, extended := withCard(agent.ExecCard(c.Exec.Command), c, nil); extended != nil || len(card.Skills) != 1 || card.Capabilities.ExtendedAgentCard != nil {
		t.Errorf("without skills of its own: %+v, %+v", card, extended)
	}
}

// A service with a format of its own gets the text of a message, any other service all of it.
func TestWhatAServiceTakes(t *testing.T) {
	for body, want := range map[string]bool{"": true, "q=${text}": false} {
		n := &instance{}
		if err := new(factory).http(n, &config.HTTP{URL: "http://127.0.0.1:1/", Body: body}, slog.New(slog.DiscardHandler)); err != nil {
			t.Fatal(err)
		}
		if modes := n.card.DefaultInputModes; slices.Contains(modes, "*/*") != want {
			t.Errorf("with the body %q the card takes %v", body, modes)
		}
	}
}

// retries: 0 in the file is never, and not the default.
func TestNoRetries(t *testing.T) {
	var calls atomic.Int32
	busy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost { // others look whether it is there
			calls.Add(1)
		}
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer busy.Close()
	for kind, settings := range map[string]string{"http": "retries: 0", "openai": "model: m, retries: 0"} {
		calls.Store(0)
		file := filepath.Join(t.TempDir(), "parley.yaml")
		mustWrite(t, file, fmt.Sprintf("version: 1\nagents: {a: {%s: {url: %q, %s}}}\n", kind, busy.URL, settings), 0o600)
		task := runHost(t, Flag{"file", file}, Flag{"data", t.TempDir()}).send(t, "hello "+kind)
		if n := calls.Load(); n != 1 || task.Status.State != a2a.TaskStateFailed {
			t.Errorf("%s: the task is %s after %d requests, want failed after one", kind, task.Status.State, n)
		}
	}
}
