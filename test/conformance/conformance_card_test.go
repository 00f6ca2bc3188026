package conformance

import (
	"context"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aclient"
	"github.com/parley-a2a/parley/agent"
)

const cardPath = "/.well-known/agent-card.json"

// fetch gets something that is no operation, the card above all, as a client
// of 1.0 that says so, unless headers say something else.
func (w *wire) fetch(t *testing.T, path string, headers ...string) answer {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "GET", w.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("A2A-Version", "1.0")
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
		var offers []string
		for _, i := range list(served, "supportedInterfaces") {
			binding, version := text(i, "protocolBinding"), text(i, "protocolVersion")
			offers = append(offers, version+" "+binding)
			if !regexp.MustCompile(`^\d+\.\d+$`).MatchString(version) {
				t.Errorf("protocolVersion %q", version)
			}
			if version == "1.0" {
				at := dial(t, map[string]string{"JSONRPC": jsonrpc, "HTTP+JSON": rest, "GRPC": grpcBinding}[binding], text(i, "url"))
				task := at.send(t, say("echo by the address of the card"))
				equal(t, "state over "+binding, in(task, "status.state"), "TASK_STATE_COMPLETED")
				continue
			}
			calls(t, &a2a.AgentInterface{URL: text(i, "url"), ProtocolBinding: binding, ProtocolVersion: version})
		}
		equal(t, "offers", offers, []string{
			"1.0 JSONRPC", "1.0 HTTP+JSON", "1.0 GRPC", "0.3 JSONRPC", "0.3 HTTP+JSON", "0.3 GRPC", "0.1 JSONRPC",
			"1.1 JSONRPC", "1.1 HTTP+JSON", "1.1 GRPC",
		})
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
		req.Header.Set("A2A-Version", "1.0")
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

// calls sends a message to an interface in its version.
func calls(t *testing.T, at *a2a.AgentInterface) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	what := at.ProtocolVersion + " over " + at.ProtocolBinding
	c, err := a2aclient.New(&a2a.AgentCard{Name: "x", SupportedInterfaces: []*a2a.AgentInterface{at}}, &a2aclient.Options{Version: at.ProtocolVersion})
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	res, err := c.SendMessage(ctx, &a2a.SendMessageRequest{Message: &a2a.Message{
		MessageID: "m-" + what, Role: a2a.RoleUser, Parts: []*a2a.Part{a2a.TextPart("echo by the address of the card")},
	}})
	if err != nil || res.Task == nil || res.Task.Status.State != a2a.TaskStateCompleted {
		t.Errorf("%s: %+v %v", what, res, err)
	}
}

// DIALECTS 1.7, 1.8: readers of older versions find the card where they look
// and read there how to call the agent, and then they can.
func TestConformanceCardForOlderReaders(t *testing.T) {
	t.Parallel()
	card := agent.DemoCard()
	card.Capabilities.ExtendedAgentCard = new(true)
	extended := agent.DemoCard()
	extended.Name = "for those who ask"
	w := dial(t, rest, start(t, card, agent.Demo(), &parley.Options{ExtendedCard: &extended}))
	for _, path := range []string{cardPath, "/.well-known/agent.json"} {
		for _, version := range []string{"", "0.3"} {
			a := w.fetch(t, path, "A2A-Version", version)
			if v := a.header.Get("Vary"); v != "A2A-Version" {
				t.Errorf("%s: Vary %q", path, v)
			}
			equal(t, "url", in(a.result, "url"), w.url)
			equal(t, "protocolVersion", in(a.result, "protocolVersion"), "0.3.0")
			equal(t, "preferredTransport", in(a.result, "preferredTransport"), "JSONRPC")
			equal(t, "supportsAuthenticatedExtendedCard", in(a.result, "supportsAuthenticatedExtendedCard"), true)
			calls(t, &a2a.AgentInterface{URL: text(a.result, "url"), ProtocolBinding: "JSONRPC", ProtocolVersion: "0.1"})
			calls(t, &a2a.AgentInterface{URL: text(a.result, "url"), ProtocolBinding: "JSONRPC", ProtocolVersion: "0.2"})
			for _, i := range list(a.result, "additionalInterfaces") {
				calls(t, &a2a.AgentInterface{URL: text(i, "url"), ProtocolBinding: text(i, "transport"), ProtocolVersion: "0.3"})
			}
		}
	}
	for _, path := range []string{"/agent/authenticatedExtendedCard", "/v1/card"} { // 0.2 and 0.3
		a := w.fetch(t, path, "A2A-Version", "")
		equal(t, "name at "+path, in(a.result, "name"), extended.Name)
		equal(t, "url at "+path, in(a.result, "url"), w.url)
		equal(t, "supportedInterfaces at "+path, in(a.result, "supportedInterfaces"), nil)
	}
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
		card.Capabilities = a2a.AgentCapabilities{Streaming: new(false), PushNotifications: new(false)}
		caps := in(dial(t, rest, start(t, card, agent.Demo(), nil)).fetch(t, cardPath).result, "capabilities")
		equal(t, "streaming", in(caps, "streaming"), false)
		equal(t, "pushNotifications", in(caps, "pushNotifications"), false)
		equal(t, "extendedAgentCard", in(caps, "extendedAgentCard"), false)
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
