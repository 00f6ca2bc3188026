package parley_test

import (
	"context"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
)

const cardPath = "/.well-known/agent-card.json"

// fetch gets something that is no operation, the card above all.
func (w *wire) fetch(t *testing.T, path string, headers ...string) answer {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "GET", w.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	if w.binding != rest {
		w = w.over(rest) // the answer has no envelope
	}
	return w.do(t, req, nil)
}

func TestConformanceCard(t *testing.T) {
	t.Parallel()
	card := agent.DemoCard()
	card.Provider = &a2a.AgentProvider{Organization: "Example", URL: "https://example.com"}
	w := dial(t, rest, start(t, card, agent.Demo(), nil))
	a := w.fetch(t, cardPath)
	served := a.result

	t.Run("R-193 R-194 R-280 the card is at the well-known path", func(t *testing.T) {
		if a.status != http.StatusOK || text(served, "name") != card.Name {
			t.Errorf("%d %s", a.status, a.body)
		}
	})
	t.Run("R-146 R-173 required members of the card", func(t *testing.T) {
		for _, member := range []string{"name", "description", "version"} {
			if text(served, member) == "" {
				t.Errorf("no %s", member)
			}
		}
		for _, member := range []string{"supportedInterfaces", "defaultInputModes", "defaultOutputModes", "skills"} {
			if len(list(served, member)) == 0 {
				t.Errorf("no %s", member)
			}
		}
		if _, ok := in(served, "capabilities").(obj); !ok {
			t.Error("no capabilities")
		}
	})
	t.Run("R-147 required members of skills", func(t *testing.T) {
		for _, skill := range list(served, "skills") {
			if text(skill, "id") == "" || text(skill, "name") == "" || text(skill, "description") == "" || len(list(skill, "tags")) == 0 {
				t.Errorf("%s", compact(skill))
			}
		}
	})
	t.Run("R-149 R-112 R-163 R-195 R-196 each interface is there and true", func(t *testing.T) {
		var bindings []string
		for _, i := range list(served, "supportedInterfaces") {
			binding := text(i, "protocolBinding")
			bindings = append(bindings, binding)
			if !regexp.MustCompile(`^\d+\.\d+$`).MatchString(text(i, "protocolVersion")) {
				t.Errorf("protocolVersion %q", text(i, "protocolVersion"))
			}
			at := dial(t, map[string]string{"JSONRPC": jsonrpc, "HTTP+JSON": rest, "GRPC": grpcBinding}[binding], text(i, "url"))
			task := at.send(t, say("echo by the address of the card"))
			equal(t, "state over "+binding, in(task, "status.state"), "TASK_STATE_COMPLETED")
		}
		slices.Sort(bindings)
		equal(t, "bindings", bindings, []string{"GRPC", "HTTP+JSON", "JSONRPC"})
	})
	t.Run("R-150 members of the provider", func(t *testing.T) {
		equal(t, "provider", in(served, "provider"), obj{"organization": "Example", "url": "https://example.com"})
	})
	t.Run("R-167 R-285 names are camelCase, kind is gone", func(t *testing.T) {
		camel(t, served, "card")
	})
	t.Run("R-209 R-210 R-211 headers for caches", func(t *testing.T) {
		if c := a.header.Get("Cache-Control"); !strings.Contains(c, "max-age=") {
			t.Errorf("Cache-Control %q", c)
		}
		etag := a.header.Get("ETag")
		if !strings.HasPrefix(etag, `"`) || a.header.Get("Last-Modified") == "" {
			t.Errorf("ETag %q, Last-Modified %q", etag, a.header.Get("Last-Modified"))
		}
		req, _ := http.NewRequestWithContext(t.Context(), "GET", w.url+cardPath, nil)
		req.Header.Set("If-None-Match", etag)
		resp, err := w.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		equal(t, "status for the same ETag", resp.StatusCode, http.StatusNotModified)
		equal(t, "ETag of the next answer", w.fetch(t, cardPath).header.Get("ETag"), etag)
	})
	t.Run("R-281 the card says nothing of the inside", func(t *testing.T) {
		if s := string(a.body); strings.Contains(s, "sqlite") || strings.Contains(s, "password") {
			t.Error(s)
		}
	})
}

func TestConformanceCardSays(t *testing.T) {
	t.Run("R-148 the public address", func(t *testing.T) {
		t.Parallel()
		w := dial(t, rest, start(t, agent.DemoCard(), agent.Demo(), &parley.Options{PublicURL: "https://agents.example.org/demo"}))
		for _, i := range list(w.fetch(t, cardPath).result, "supportedInterfaces") {
			if !strings.HasPrefix(text(i, "url"), "https://agents.example.org/demo") {
				t.Errorf("url %q", text(i, "url"))
			}
		}
	})
	t.Run("R-200 capabilities that are off are said to be off", func(t *testing.T) {
		t.Parallel()
		card := agent.DemoCard()
		card.Capabilities = a2a.AgentCapabilities{Streaming: new(false)}
		caps := in(dial(t, rest, start(t, card, agent.Demo(), nil)).fetch(t, cardPath).result, "capabilities")
		equal(t, "streaming", in(caps, "streaming"), false)
		if in(caps, "pushNotifications") == true || in(caps, "extendedAgentCard") == true {
			t.Errorf("%s", compact(caps))
		}
	})
	t.Run("R-269 an extended card is not for shared caches", func(t *testing.T) {
		card := agent.DemoCard()
		card.Capabilities.ExtendedAgentCard = new(true)
		t.Parallel()
		extended := agent.DemoCard()
		extended.Name = "for those who are known"
		extended.SupportedInterfaces = []*a2a.AgentInterface{{URL: "http://localhost", ProtocolBinding: "JSONRPC", ProtocolVersion: "1.0"}}
		url := start(t, card, agent.Demo(), &parley.Options{ExtendedCard: &extended})
		for _, binding := range []string{jsonrpc, rest} {
			a := dial(t, binding, url).call(t, "GetExtendedAgentCard", nil)
			equal(t, "name", in(a.result, "name"), extended.Name)
			if c := a.header.Get("Cache-Control"); !strings.Contains(c, "private") && !strings.Contains(c, "no-store") {
				t.Errorf("%s: Cache-Control %q", binding, c)
			}
		}
	})
}

// camel checks the names of a document's members, outside of free-form objects.
func camel(t *testing.T, v any, at string) {
	t.Helper()
	switch v := v.(type) {
	case obj:
		for name, member := range v {
			if strings.Contains(name, "_") || name == "kind" {
				t.Errorf("member %s of %s", name, at)
			}
			if name != "metadata" && name != "data" && name != "scopes" && name != "securitySchemes" {
				camel(t, member, at+"."+name)
			}
		}
	case []any:
		for _, member := range v {
			camel(t, member, at)
		}
	}
}
