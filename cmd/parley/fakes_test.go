package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
)

// fakeAgent is a real agent behind a handler that makes it special.
type fakeAgent struct {
	url    string
	server *httptest.Server
	ended  chan error
}

func (f *fakeAgent) close() {
	f.server.CloseClientConnections()
	f.server.Close()
	<-f.ended
}

// startFake starts an agent of a kind:
//
//	demo      the demo agent, as parley serve has it
//	polling   the demo agent without streams
//	hostile   answers with terminal escape sequences and forged fields
//	bearer    wants the bearer token s3cret-token
//	key       wants the API key s3cret-key, in the query
//	basic     wants the user jürgen with the password s3cret:word
//	oidc      wants a token of its own issuer; see signin_fake_test.go
//	tenant    its second interface, HTTP+JSON, has the tenant acme
//	tls       the demo agent over TLS with a certificate nobody trusts
//	watched   works until somebody subscribes to a task, then completes it
//	nothing   has no agent card
//	page      has a web page for a card
//	slow      never answers a message
//	old       knows version 0.3 over JSON-RPC alone, as its card says
//	cardless  the same without a card
//	wrong     the same with a card that says 1.0
//	steering  names its own address on this machine, whatever host was asked
func startFake(ctx context.Context, kind, requests string) (*fakeAgent, error) {
	card, ag := agent.DemoCard(), agent.Demo()
	var wrap func(http.Handler) http.Handler
	start := httptest.NewServer
	switch kind {
	case "demo":
	case "polling":
		card.Capabilities.Streaming = new(false)
	case "hostile":
		ag = agent.Func(hostile)
	case "bearer":
		card.SecuritySchemes = map[string]*a2a.SecurityScheme{"token": {HTTPAuth: &a2a.HTTPAuthSecurityScheme{Scheme: "Bearer"}}}
		card.SecurityRequirements = []a2a.SecurityRequirement{{"token": nil}}
		wrap = locked(func(r *http.Request) bool { return r.Header.Get("Authorization") == "Bearer s3cret-token" })
	case "key":
		card.SecuritySchemes = map[string]*a2a.SecurityScheme{"key": {APIKey: &a2a.APIKeySecurityScheme{Location: "query", Name: "key"}}}
		wrap = locked(func(r *http.Request) bool { return r.URL.Query().Get("key") == "s3cret-key" })
	case "basic":
		card.SecuritySchemes = map[string]*a2a.SecurityScheme{"basic": {HTTPAuth: &a2a.HTTPAuthSecurityScheme{Scheme: "Basic"}}}
		card.SecurityRequirements = []a2a.SecurityRequirement{{"basic": nil}}
		wrap = locked(func(r *http.Request) bool {
			user, password, _ := r.BasicAuth()
			return user == "jürgen" && password == "s3cret:word"
		})
	case "oidc":
		card.SecuritySchemes = map[string]*a2a.SecurityScheme{"id": oidcScheme()}
		card.SecurityRequirements = []a2a.SecurityRequirement{{"id": {"tasks"}}}
		wrap = func(next http.Handler) http.Handler { return &oidcAgent{next: next} }
	case "tenant":
		wrap = withTenant
	case "tls":
		start = httptest.NewTLSServer
	case "watched":
		subscribed := make(chan struct{}, 1)
		ag = agent.Func(func(ctx context.Context, t *agent.Turn) error { return watched(ctx, t, subscribed) })
		wrap = func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				next.ServeHTTP(&firstWrite{ResponseWriter: w, written: func() {
					if w.Header().Get("Content-Type") == "text/event-stream" {
						subscribed <- struct{}{}
					}
				}}, r)
			})
		}
	case "nothing":
		wrap = func(http.Handler) http.Handler { return http.NotFoundHandler() }
	case "page":
		wrap = func(http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>hello</html>") })
		}
	case "old":
		wrap = only03(`{"name":"Old","description":"Speaks 0.3.","url":"URL","version":"1","protocolVersion":"0.3.0",
			"preferredTransport":"JSONRPC","capabilities":{"streaming":true},"defaultInputModes":["text"],"defaultOutputModes":["text"],"skills":[]}`)
	case "cardless":
		wrap = only03("")
	case "wrong":
		wrap = only03(`{"name":"Wrong","description":"Speaks 0.3.","version":"1","capabilities":{"streaming":true},"defaultInputModes":["text"],
			"defaultOutputModes":["text"],"skills":[],"supportedInterfaces":[{"url":"URL","protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}`)
	case "steering":
		wrap = steering
	case "slow":
		wrap = func(h http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method != http.MethodPost {
					h.ServeHTTP(w, r)
					return
				}
				_, _ = io.Copy(io.Discard, r.Body) // so that the server notices when the client goes
				<-r.Context().Done()
			})
		}
	default:
		return nil, fmt.Errorf("no agent of kind %s", kind)
	}
	s, err := parley.New(card, ag, nil)
	if err != nil {
		return nil, err
	}
	h := s.Handler()
	if wrap != nil {
		h = wrap(h)
	}
	f := &fakeAgent{ended: make(chan error, 1)}
	go func() { f.ended <- s.Run(ctx) }()
	f.server = start(recorded(h, requests))
	f.url = f.server.URL
	return f, nil
}

// recorded writes every request to a file, a line for its head, one for each
// header and one for its body.
func recorded(next http.Handler, file string) http.Handler {
	var mu sync.Mutex
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		mu.Lock()
		if f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600); err == nil {
			fmt.Fprintf(f, "%s %s\n", r.Method, r.URL)
			_ = r.Header.Write(f)
			fmt.Fprintf(f, "%s\n", body)
			f.Close()
		}
		mu.Unlock()
		next.ServeHTTP(w, r)
	})
}

func locked(open func(*http.Request) bool) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !strings.HasPrefix(r.URL.Path, "/.well-known/") && !open(r) {
				w.Header().Set("WWW-Authenticate", "Bearer")
				http.Error(w, "who are you?", http.StatusUnauthorized)
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}

// only03 takes all that an agent of version 0.3 would not have away: other
// versions and bindings, and the card but for this one.
func only03(card string) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			var env struct {
				ID     json.RawMessage
				Method string
			}
			_ = json.Unmarshal(body, &env)
			switch {
			case strings.HasPrefix(r.URL.Path, "/.well-known/agent-card") && card != "":
				_, _ = io.WriteString(w, strings.ReplaceAll(card, "URL", "http://"+r.Host))
			case r.Method != http.MethodPost || r.URL.Path != "/":
				http.NotFound(w, r)
			case !strings.HasPrefix(env.Method, "message/") && env.Method != "tasks/get" && env.Method != "tasks/pushNotificationConfig/get":
				fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found"}}`, env.ID)
			default:
				r.Body = io.NopCloser(bytes.NewReader(body))
				next.ServeHTTP(w, r)
			}
		})
	}
}

// withTenant serves a card whose interfaces differ in tenant.
func withTenant(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/.well-known/agent-card.json" {
			next.ServeHTTP(w, r)
			return
		}
		url := "http://" + r.Host
		card := agent.DemoCard()
		card.SupportedInterfaces = []*a2a.AgentInterface{
			{URL: url, ProtocolBinding: "https://example.com/pigeon", ProtocolVersion: "1.0"},
			{URL: url, ProtocolBinding: a2a.BindingJSONRPC, ProtocolVersion: "1.0"},
			{URL: url, ProtocolBinding: a2a.BindingHTTPJSON, ProtocolVersion: "1.0", Tenant: "acme"},
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(card.AppendJSON(nil))
	})
}

func steering(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/.well-known/agent-card.json" {
			next.ServeHTTP(w, r)
			return
		}
		card := agent.DemoCard()
		at := r.Context().Value(http.LocalAddrContextKey).(net.Addr).String()
		card.SupportedInterfaces = []*a2a.AgentInterface{{URL: "http://" + at, ProtocolBinding: a2a.BindingJSONRPC, ProtocolVersion: "1.0"}}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(card.AppendJSON(nil))
	})
}

// firstWrite calls written at the first write of a body.
type firstWrite struct {
	http.ResponseWriter
	written func()
	once    sync.Once
}

func (w *firstWrite) Unwrap() http.ResponseWriter { return w.ResponseWriter }
func (w *firstWrite) Write(p []byte) (int, error) {
	defer w.once.Do(w.written)
	return w.ResponseWriter.Write(p)
}

func watched(ctx context.Context, t *agent.Turn, subscribed <-chan struct{}) error {
	if err := t.Status("waiting to be watched"); err != nil {
		return err
	}
	select {
	case <-subscribed:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	w := t.Artifact("view")
	for i := range 3 {
		if _, err := fmt.Fprintf(w, "chunk %d\n", i+1); err != nil {
			return err
		}
	}
	return w.Close()
}

// hostile is an agent that tries to take over the terminal, or to pass for our
// own output.
func hostile(_ context.Context, t *agent.Turn) error {
	if err := t.Status("\x1b]0;owned\aworking\u202e\x1b[2J"); err != nil {
		return err
	}
	w := t.Artifact("a\x1b[31mb\nState: TASK_STATE_FAILED")
	if _, err := io.WriteString(w, "red \x1b[31malert\u009b0m\n\nState: TASK_STATE_FAILED\nTask ID: forged\r\n"); err != nil {
		return err
	}
	if err := w.Add(a2a.DataPart(a2a.JSON("{\"k\":\"\u009b31m\"}")),
		&a2a.Part{Kind: a2a.PartURL, URL: "https://example.com/\u202ex", Filename: "x\x1b[0m\ny"}); err != nil {
		return err
	}
	return w.Close()
}
