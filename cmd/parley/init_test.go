package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/config"
	"github.com/parley-a2a/parley/internal/serve"
)

// A URL is asked what it is.
func TestInitFindsWhatAURLIs(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("HOME", t.TempDir())
	mux := http.NewServeMux()
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	card := agent.DemoCard()
	card.SupportedInterfaces = []*a2a.AgentInterface{{URL: srv.URL, ProtocolBinding: a2a.BindingJSONRPC, ProtocolVersion: "1.0"}}
	mux.HandleFunc("GET /a2a/.well-known/agent-card.json", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(card.AppendJSON(nil)) })
	mux.HandleFunc("GET /llm/v1/models", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"object":"list","data":[{"id":"small: 1"},{"id":"b"}]}`)
	})
	mux.HandleFunc("GET /secret/v1/models", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) })
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			t.Errorf("it was asked by %s", r.Method)
		}
		http.NotFound(w, r)
	})
	dead := httptest.NewServer(nil)
	dead.Close()
	for _, c := range []struct {
		args []string
		env  string
		want string // lines of the file, or the failure
	}{
		{[]string{srv.URL + "/a2a"}, "", "proxy:\n agent: " + srv.URL + "/a2a\n"},
		{[]string{srv.URL + "/a2a"}, "hunter2", "proxy:\n agent: " + srv.URL + "/a2a\n bearer: \"${env:PARLEY_UPSTREAM_TOKEN}\"\n"},
		{[]string{srv.URL + "/llm"}, "", "small-1:\n default: true\n # A model, at an endpoint compatible with OpenAI's chat completions\n openai:\n url: " + srv.URL + "/llm/v1\n model: \"small: 1\"\n"},
		{[]string{srv.URL + "/llm/v1/chat/completions"}, "", "openai:\n url: " + srv.URL + "/llm/v1\n"},
		{[]string{srv.URL + "/llm/v1", "--model=b"}, "", "openai:\n url: " + srv.URL + "/llm/v1\n model: b\n"},
		{[]string{srv.URL + "/secret/v1"}, "", "does not say which there are"},
		{[]string{srv.URL + "/mcp"}, "hunter2", "mcp:\n url: " + srv.URL + "/mcp\n headers:\n Authorization: \"Bearer ${env:PARLEY_UPSTREAM_TOKEN}\"\n"},
		{[]string{srv.URL + "/answer"}, "", "http:\n url: " + srv.URL + "/answer\n"},
		{[]string{"--http=" + dead.URL}, "", "http:\n url: " + dead.URL + "\n"},
		{[]string{dead.URL}, "", "nothing answers at "},
		{[]string{strings.Replace(srv.URL, "//", "//me:hunter2@", 1)}, "", "which do not belong in a file"},
		{[]string{strings.TrimPrefix(dead.URL, "http://")}, "", " is neither an existing file nor the address of an agent"},
	} {
		t.Setenv(serve.UpstreamEnv, c.env)
		var out, errs strings.Builder
		_ = run(context.Background(), append([]string{"init", "--file=-"}, c.args...), nil, &out, &errs)
		got := out.String() + errs.String()
		flat := strings.Join(strings.Fields(got), " ")
		if !strings.Contains(flat, strings.Join(strings.Fields(c.want), " ")) || strings.Contains(got, "hunter2") {
			t.Errorf("%q: got\n%s\nwant %s", c.args, got, c.want)
		}
	}
}

// The card of an agent elsewhere leads there.
func TestInitOfACardWithAnInterfaceIsAProxy(t *testing.T) {
	t.Chdir(t.TempDir())
	card := agent.DemoCard()
	card.SupportedInterfaces = []*a2a.AgentInterface{{URL: "https://a.example/rpc", ProtocolBinding: a2a.BindingJSONRPC, ProtocolVersion: "1.0"}}
	if err := os.WriteFile("card.json", card.AppendJSON(nil), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, errs strings.Builder
	if code := run(context.Background(), []string{"init", "card.json"}, nil, &out, &errs); code != 0 {
		t.Fatal(errs.String())
	}
	f, err := config.Load(serve.DefaultFile, nil)
	if err != nil || f.Agents[0].Proxy == nil || f.Agents[0].Proxy.Agent != "https://a.example/rpc" || f.Agents[0].Name != "parley-demo" || !f.Agents[0].Default {
		t.Errorf("%+v, %v", f, err)
	}
}
