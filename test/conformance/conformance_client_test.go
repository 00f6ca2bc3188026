package conformance

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aclient"
)

// seen is a request that a client sent.
type seen struct {
	method, path, query string
	header              http.Header
	body                any // nil if there was none
}

// peer is a server by hand: it records requests and gives the answers that a
// client under test needs.
type peer struct {
	*httptest.Server
	t *testing.T

	mu    sync.Mutex // protects the fields below
	card  obj
	state string // of the task it answers with
	etag  string // of the card, if it has one
	seen  []seen
}

// newPeer starts a peer whose card lists these capabilities and interfaces;
// URL in an interface's address stands for that of the server.
func newPeer(t *testing.T, capabilities obj, interfaces ...obj) *peer {
	p := &peer{t: t, state: "TASK_STATE_COMPLETED"}
	p.Server = httptest.NewServer(p)
	t.Cleanup(p.Close)
	var all []any
	for _, i := range interfaces {
		i["url"] = strings.Replace(text(i, "url"), "URL", p.URL, 1)
		all = append(all, i)
	}
	p.card = obj{
		"name": "peer", "description": "by hand", "version": "1", "capabilities": capabilities, "supportedInterfaces": all,
		"defaultInputModes": []any{"text/plain"}, "defaultOutputModes": []any{"text/plain"},
		"skills": []any{obj{"id": "s", "name": "s", "description": "s", "tags": []any{"s"}}},
	}
	return p
}

func (p *peer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b, _ := io.ReadAll(r.Body)
	got := seen{r.Method, r.URL.EscapedPath(), r.URL.RawQuery, r.Header.Clone(), nil}
	if len(b) > 0 {
		got.body = decode(p.t, b)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen = append(p.seen, got)
	w.Header().Set("Content-Type", "application/json")
	if strings.HasSuffix(r.URL.Path, cardPath) {
		if p.etag != "" {
			w.Header().Set("ETag", p.etag)
		}
		if p.etag != "" && r.Header.Get("If-None-Match") == p.etag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		io.WriteString(w, compact(p.card))
		return
	}
	op := text(got.body, "method")
	if op == "" {
		op = opOf(r)
	}
	// A task without history: nothing may depend on it (§3.7).
	task := obj{"id": "t1", "contextId": "c1", "status": obj{"state": p.state, "timestamp": "2026-01-02T03:04:05.678Z"}}
	var result any = task
	switch op {
	case "SendMessage", "SendStreamingMessage":
		result = obj{"task": task}
	case "GetExtendedAgentCard":
		result = p.card
	case "ListTasks":
		result = obj{"tasks": []any{task}, "nextPageToken": "", "pageSize": 50, "totalSize": 1}
	}
	if id := in(got.body, "id"); has(got.body, "jsonrpc") {
		result = obj{"jsonrpc": "2.0", "id": id, "result": result}
	}
	if op == "SendStreamingMessage" {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, "data: "+compact(result)+"\n\n")
		return
	}
	io.WriteString(w, compact(result))
}

// opOf names the operation of an HTTP+JSON request.
func opOf(r *http.Request) string {
	switch {
	case strings.HasSuffix(r.URL.Path, "/message:send"):
		return "SendMessage"
	case strings.HasSuffix(r.URL.Path, "/message:stream"):
		return "SendStreamingMessage"
	case strings.HasSuffix(r.URL.Path, "/tasks"):
		return "ListTasks"
	case strings.HasSuffix(r.URL.Path, "/extendedAgentCard"):
		return "GetExtendedAgentCard"
	}
	return ""
}

// change changes the peer under its lock.
func (p *peer) change(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
}

// calls returns what was sent since the last time, without fetches of the card.
func (p *peer) calls() []seen {
	p.mu.Lock()
	defer p.mu.Unlock()
	var calls []seen
	for _, s := range p.seen {
		if !strings.HasSuffix(s.path, cardPath) {
			calls = append(calls, s)
		}
	}
	p.seen = nil
	return calls
}

func face(binding, url string, more ...any) obj {
	o := obj{"url": url, "protocolBinding": binding, "protocolVersion": "1.0"}
	for i := 0; i < len(more); i += 2 {
		o[more[i].(string)] = more[i+1]
	}
	return o
}

func (p *peer) dial(o *a2aclient.Options) *a2aclient.Client {
	p.t.Helper()
	c, err := a2aclient.Dial(p.t.Context(), p.URL, o)
	if err != nil {
		p.t.Fatal(err)
	}
	return c
}

// everything makes one call of each operation that needs no capability.
func everything(t *testing.T, c a2a.Service) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	message := &a2a.Message{MessageID: "m1", Role: a2a.RoleUser, Parts: []*a2a.Part{a2a.TextPart("hi")}}
	_, err := c.SendMessage(ctx, &a2a.SendMessageRequest{Message: message})
	for _, e := range c.SendStreamingMessage(ctx, &a2a.SendMessageRequest{Message: message}) {
		err = errors.Join(err, e)
	}
	_, e := c.GetTask(ctx, &a2a.GetTaskRequest{ID: "t 1/ü", HistoryLength: new(int32(3))})
	err = errors.Join(err, e)
	_, e = c.ListTasks(ctx, &a2a.ListTasksRequest{ContextID: "c&1", Status: a2a.TaskStateCompleted, IncludeArtifacts: true})
	err = errors.Join(err, e)
	_, e = c.CancelTask(ctx, &a2a.CancelTaskRequest{ID: "t1"})
	if err = errors.Join(err, e); err != nil {
		t.Fatal(err)
	}
}

func TestConformanceClient(t *testing.T) {
	t.Parallel()
	streams := obj{"streaming": true}
	for name, binding := range map[string]string{jsonrpc: "JSONRPC", rest: "HTTP+JSON"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			t.Run("R-114 R-279 every request names the version as Major.Minor", func(t *testing.T) {
				p := newPeer(t, streams, face(binding, "URL"))
				everything(t, p.dial(nil))
				calls := p.calls()
				equal(t, "calls", len(calls), 5)
				for _, s := range calls {
					if v := s.header.Get("A2A-Version"); !regexp.MustCompile(`^\d+\.\d+$`).MatchString(v) || v != "1.0" {
						t.Errorf("%s %s: A2A-Version %q", s.method, s.path, v)
					}
				}
			})
			t.Run("R-096 R-100 no ids are made up for contexts and tasks", func(t *testing.T) {
				p := newPeer(t, streams, face(binding, "URL"))
				everything(t, p.dial(nil))
				for _, s := range p.calls() {
					for _, at := range []string{"message", "params.message"} {
						if m := in(s.body, at); has(m, "contextId") || has(m, "taskId") {
							t.Errorf("%s", compact(s.body))
						}
					}
				}
			})
			t.Run("R-123 a task without history is fine", func(t *testing.T) {
				p := newPeer(t, streams, face(binding, "URL"))
				task, err := p.dial(nil).GetTask(t.Context(), &a2a.GetTaskRequest{ID: "t1"})
				if err != nil || task.Status.State != a2a.TaskStateCompleted {
					t.Errorf("%v %v", task, err)
				}
			})
			t.Run("R-198 R-286 the tenant of the interface, exactly, or none", func(t *testing.T) {
				const tenant = "Ten ant/ü"
				p := newPeer(t, streams, face(binding, "URL", "tenant", tenant))
				everything(t, p.dial(nil))
				for _, s := range p.calls() {
					if binding == "JSONRPC" {
						equal(t, "tenant of "+text(s.body, "method"), in(s.body, "params.tenant"), tenant)
					} else if !strings.HasPrefix(s.path, "/Ten%20ant%2F%C3%BC/") {
						t.Errorf("path %s", s.path)
					}
				}
				p = newPeer(t, streams, face(binding, "URL"))
				everything(t, p.dial(nil))
				for _, s := range p.calls() {
					if has(in(s.body, "params"), "tenant") || has(s.body, "tenant") || strings.Count(s.path, "/") > 2 && binding != "JSONRPC" {
						t.Errorf("%s %s", s.path, compact(s.body))
					}
				}
			})
			t.Run("R-217 extensions comma-joined in one header", func(t *testing.T) {
				p := newPeer(t, streams, face(binding, "URL"))
				everything(t, p.dial(&a2aclient.Options{Extensions: []string{"https://a.example/1", "https://b.example/2"}}))
				for _, s := range p.calls() {
					lines := s.header.Values("A2A-Extensions")
					if len(lines) != 1 || strings.ReplaceAll(lines[0], " ", "") != "https://a.example/1,https://b.example/2" {
						t.Errorf("A2A-Extensions %q", lines)
					}
				}
			})
			t.Run("R-181 credentials in a header of every request, not in bodies", func(t *testing.T) {
				p := newPeer(t, streams, face(binding, "URL"))
				everything(t, p.dial(&a2aclient.Options{Bearer: "t0ken"}))
				for _, s := range p.calls() {
					equal(t, "Authorization of "+s.path, s.header.Get("Authorization"), "Bearer t0ken")
					if strings.Contains(compact(s.body)+s.query, "t0ken") {
						t.Errorf("%s %s", s.query, compact(s.body))
					}
				}
			})
			t.Run("R-090 what the card does not offer is not asked for", func(t *testing.T) {
				p := newPeer(t, obj{}, face(binding, "URL"))
				c := p.dial(nil)
				_, err := c.CreateTaskPushNotificationConfig(t.Context(), &a2a.TaskPushNotificationConfig{TaskID: "t1", URL: "https://example.com"})
				if !errors.Is(err, a2a.ErrPushNotificationNotSupported) {
					t.Errorf("push: %v", err)
				}
				_, err = c.GetExtendedAgentCard(t.Context(), &a2a.GetExtendedAgentCardRequest{})
				if !errors.Is(err, a2a.ErrUnsupportedOperation) {
					t.Errorf("extended card: %v", err)
				}
				for _, err := range c.SubscribeToTask(t.Context(), &a2a.SubscribeToTaskRequest{ID: "t1"}) {
					if !errors.Is(err, a2a.ErrUnsupportedOperation) {
						t.Errorf("subscribe: %v", err)
					}
				}
				equal(t, "calls", len(p.calls()), 0)
			})
			t.Run("R-052 R-056 the extended card is asked for with credentials and replaces the card", func(t *testing.T) {
				p := newPeer(t, obj{"extendedAgentCard": true}, face(binding, "URL"))
				c := p.dial(&a2aclient.Options{Bearer: "t0ken"})
				p.calls()
				p.change(func() { p.card["name"] = "extended" })
				card, err := c.GetExtendedAgentCard(t.Context(), &a2a.GetExtendedAgentCardRequest{})
				if err != nil || card.Name != "extended" || c.Card().Name != "extended" {
					t.Errorf("%v, the client has %q: %v", card, c.Card().Name, err)
				}
				for _, s := range p.calls() {
					equal(t, "Authorization", s.header.Get("Authorization"), "Bearer t0ken")
				}
			})
			t.Run("R-284 names of older versions are understood", func(t *testing.T) {
				p := newPeer(t, streams, face(binding, "URL"))
				p.change(func() { p.state = "completed" })
				task, err := p.dial(nil).GetTask(t.Context(), &a2a.GetTaskRequest{ID: "t1"})
				if err != nil || task.Status.State != a2a.TaskStateCompleted {
					t.Errorf("%v %v", task, err)
				}
			})
			t.Run("R-120 a version that was asked for is not replaced by another", func(t *testing.T) {
				p := newPeer(t, streams, face(binding, "URL", "protocolVersion", "0.3"))
				c, err := a2aclient.Dial(t.Context(), p.URL, &a2aclient.Options{Version: "1.0"})
				if err != nil {
					t.Fatal(err) // a caller that forces a version knows better than the card
				}
				_, _ = c.GetTask(t.Context(), &a2a.GetTaskRequest{ID: "t1"})
				if len(p.calls()) == 0 {
					t.Error("it was not even tried")
				}
				for _, call := range p.calls() {
					equal(t, "the version of the call", call.header.Get("A2A-Version"), "1.0")
				}
			})
			t.Run("R-180 a certificate that nobody vouches for", func(t *testing.T) {
				p := newPeer(t, streams)
				tls := httptest.NewUnstartedServer(p)
				tls.Config.ErrorLog = log.New(io.Discard, "", 0) // it complains of the client, rightly
				tls.StartTLS()
				t.Cleanup(tls.Close)
				card := &a2a.AgentCard{Name: "x", SupportedInterfaces: []*a2a.AgentInterface{{URL: tls.URL, ProtocolBinding: binding, ProtocolVersion: "1.0"}}}
				c, err := a2aclient.New(card, nil)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := c.GetTask(t.Context(), &a2a.GetTaskRequest{ID: "t1"}); err == nil || len(p.calls()) != 0 {
					t.Errorf("the request was sent: %v", err)
				}
			})
		})
	}
	t.Run("R-240 R-241 GET takes path and query, camelCase and encoded", func(t *testing.T) {
		t.Parallel()
		p := newPeer(t, streams, face("HTTP+JSON", "URL"))
		everything(t, p.dial(nil))
		var got []string
		for _, s := range p.calls() {
			got = append(got, s.method+" "+s.path+"?"+s.query)
			if s.method == "GET" && s.body != nil {
				t.Errorf("a body: %s", compact(s.body))
			}
		}
		equal(t, "requests", got, []string{
			"POST /message:send?", "POST /message:stream?",
			"GET /tasks/t%201%2F%C3%BC?historyLength=3",
			"GET /tasks?contextId=c%261&includeArtifacts=true&status=TASK_STATE_COMPLETED",
			"POST /tasks/t1:cancel?",
		})
	})
	t.Run("R-197 the first interface that is spoken, at its own address", func(t *testing.T) {
		t.Parallel()
		p := newPeer(t, streams,
			face("https://example.com/parrot/v1", "URL/parrot"), face("https://example.com/carrier-pigeon/v1", "URL/pigeon"),
			face("HTTP+JSON", "URL/first"), face("JSONRPC", "URL/second"))
		everything(t, p.dial(nil))
		for _, s := range p.calls() {
			if !strings.HasPrefix(s.path, "/first/") {
				t.Errorf("%s %s", s.method, s.path)
			}
		}
	})
	t.Run("R-164 the next interface where nobody listens at the first", func(t *testing.T) {
		t.Parallel()
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
		nowhere := "http://" + l.Addr().String()
		p := newPeer(t, streams, face("JSONRPC", nowhere), face("HTTP+JSON", "URL/second"), face("JSONRPC", "URL/third"))
		everything(t, p.dial(nil))
		calls := p.calls()
		equal(t, "calls", len(calls), 5)
		for _, s := range calls {
			if !strings.HasPrefix(s.path, "/second/") {
				t.Errorf("%s %s", s.method, s.path)
			}
		}
	})
	t.Run("R-212 the card is kept and revalidated", func(t *testing.T) {
		t.Parallel()
		p := newPeer(t, streams, face("JSONRPC", "URL"))
		p.change(func() { p.etag = `"one"` })
		r := a2aclient.NewResolver(nil)
		for range 2 {
			card, err := r.Resolve(t.Context(), p.URL)
			if err != nil || card.Name != "peer" {
				t.Fatalf("%v %v", card, err)
			}
		}
		p.change(func() {
			equal(t, "fetches", len(p.seen), 2)
			equal(t, "If-None-Match", p.seen[1].header.Get("If-None-Match"), p.etag)
		})
	})
}
