package a2aserver

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aclient"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/port"
)

// named is a Service whose tasks name the agent and the tenant.
func named(who string) *fake {
	return &fake{get: func(_ context.Context, req *a2a.GetTaskRequest) (*a2a.Task, error) {
		return &a2a.Task{ID: req.ID, ContextID: who + "|" + req.Tenant, Status: a2a.TaskStatus{State: a2a.TaskStateWorking}}, nil
	}}
}

func namedCard(who string) *a2a.AgentCard {
	c := auditCard()
	c.Name = who
	c.Capabilities.Extensions = append(c.Capabilities.Extensions, &a2a.AgentExtension{URI: "urn:of:" + who})
	return c
}

func routes(names ...string) (all []Route) {
	for i, name := range names {
		all = append(all, Route{Name: name, Default: i == 0, Service: named(name), Card: namedCard(name)})
	}
	return all
}

func hostOnPort(t testing.TB, agents []Route, o *Options) (addr string, h *Host) {
	t.Helper()
	h, err := NewHost(agents, o)
	if err != nil {
		t.Fatal(err)
	}
	return onPort(t, h, nil), h
}

// Each agent is found over every binding at the address on its card. Over gRPC of 0.3
// only the default one is: clients of other agents use another binding.
func TestAgentsOnEveryWire(t *testing.T) {
	addr, _ := hostOnPort(t, routes("a", "b", "c-3"), nil)
	for path, who := range map[string]string{"": "a", "/agents/a": "a", "/agents/b": "b", "/agents/c-3": "c-3"} {
		for _, version := range []string{"1.0", "0.3", "0.1", "1.1"} {
			d, _ := dialect.ParseVersion(version)
			for _, binding := range d.Bindings() {
				c, err := a2aclient.Dial(t.Context(), "http://"+addr+path, &a2aclient.Options{Version: version, Bindings: []string{binding}, Retries: -1})
				if err != nil {
					t.Errorf("%q %s %s: %v", path, version, binding, err)
					continue
				}
				task, err := c.GetTask(t.Context(), &a2a.GetTaskRequest{ID: "x"})
				old := binding == a2a.BindingGRPC && d < dialect.V10
				if err != nil || task.ContextID != who+"|" || (c.Interface().ProtocolBinding == binding) != (who == "a" || !old) {
					t.Errorf("%q %s %s: %+v, %v", path, version, binding, task, err)
				}
			}
		}
	}
}

// Over gRPC a caller's tenant comes after the agent's name.
func TestTenantsOverGRPC(t *testing.T) {
	_, h := hostOnPort(t, routes("a", "b"), nil)
	for tenant, want := range map[string]string{
		"": "a|", "t": "a|t", "agents": "a|agents", "agents/a": "a|", "agents/b": "b|", "agents/b/t": "b|t", "agents/b/t/u": "b|t/u",
		"agents/": "", "agents/nobody": "", "agents/B": "", "agents//b": "",
	} {
		got := ""
		if s, rest := h.of(tenant); s != nil {
			task, err := s.svc.GetTask(t.Context(), &a2a.GetTaskRequest{ID: "x", Tenant: rest})
			if err != nil {
				t.Fatal(err)
			}
			got = task.ContextID
		}
		if got != want {
			t.Errorf("tenant %q is for %q, want %q", tenant, got, want)
		}
	}
}

func TestPathsOfAHost(t *testing.T) {
	one, err := NewHost(routes("a", "b"), nil)
	if err != nil {
		t.Fatal(err)
	}
	none, err := NewHost(routes("a", "b")[1:], nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		h                    *Host
		method, target, want string // what the answer has in it
		status               int
	}{
		{one, "GET", "/tasks/x", `"a|"`, 200},
		{one, "GET", "//tasks/x", `"a|"`, 200},
		{one, "GET", "/t/tasks/x", `"a|t"`, 200},
		{one, "GET", "/agents/b/tasks/x", `"b|"`, 200},
		{one, "GET", "//agents/b/tasks/x", `"b|"`, 200},
		{one, "GET", "/agents/b//tasks/x", `"b|"`, 200},
		{one, "GET", "/agents/b/t%2Fu/tasks/x", `"b|t/u"`, 200},
		{one, "GET", "/agents/a/tasks/x", `"a|"`, 200},
		{one, "GET", "/agents/b", `"b" is an agent`, 200},
		{one, "GET", "/agents/b/", `"b" is an agent`, 200},
		{one, "GET", "/", `"a" is an agent`, 200},
		{one, "POST", "/agents/b", `"b|"`, 200},
		{one, "GET", "/agents/b/livez", "ok", 200},
		{one, "GET", "/agents/b/.well-known/agent-card.json", `"urn:of:b"`, 200},
		{one, "GET", "/agents/B/tasks/x", "there is nothing at this path", 404},
		{one, "GET", "/agents/%62/tasks/x", "there is nothing at this path", 404},
		{one, "GET", "/agents/nobody/tasks/x", "there is nothing at this path", 404},
		{one, "POST", "/agents/nobody", "there is nothing at this path", 404},
		{one, "GET", "/agents//tasks/x", "there is nothing at this path", 404},
		{one, "GET", "/agents", `"url": "http://example.com/agents/b"`, 200},
		{one, "GET", "/agents/", `"card": "http://example.com/agents/b/.well-known/agent-card.json"`, 200},
		{one, "DELETE", "/agents", "use GET, HEAD", 405},
		{none, "GET", "/tasks/x", "there is nothing at this path", 404},
		{none, "POST", "/", "there is nothing at this path", 404},
		{none, "GET", "/.well-known/agent-card.json", "there is nothing at this path", 404},
		{none, "GET", "/", `"name": "b"`, 200},
		{none, "GET", "/readyz", "ok", 200},
		{none, "GET", "/agents/b/tasks/x", `"b|"`, 200},
	} {
		body := ""
		if tt.method == "POST" {
			body = getTask("1")
		}
		w := do(tt.h, tt.method, tt.target, body, "A2A-Version: 1.0")
		if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.want) {
			t.Errorf("%s %s is HTTP %d: %s", tt.method, tt.target, w.Code, w.Body)
		}
		if tt.status == 404 && strings.Contains(w.Body.String(), "urn:of") {
			t.Errorf("%s %s names somebody: %s", tt.method, tt.target, w.Body)
		}
	}
}

func TestNamesOfAgents(t *testing.T) {
	for name, ok := range map[string]bool{
		"a": true, "a-b": true, "0": true, strings.Repeat("x", 63): true,
		"": false, "-a": false, "a-": false, "A": false, "a_b": false, "a.b": false, "a/b": false, "ä": false, strings.Repeat("x", 64): false,
	} {
		if ValidName(name) != ok {
			t.Errorf("%q: %v", name, !ok)
		}
	}
	r := routes("a", "b")
	for _, wrong := range [][]Route{
		{r[0], r[0]}, {r[1], r[1]}, {{Name: "c", Default: true, Service: r[0].Service, Card: r[0].Card}, r[0]},
		{{Service: r[0].Service, Card: r[0].Card}}, {{Name: "X", Service: r[0].Service, Card: r[0].Card}}, {{Name: "x"}},
		{{Name: "default", Service: r[0].Service, Card: r[0].Card, Callbacks: http.NotFoundHandler()},
			{Default: true, Service: r[0].Service, Card: r[0].Card, Callbacks: http.NotFoundHandler()}},
	} {
		if _, err := NewHost(wrong, nil); err == nil {
			t.Errorf("%+v is a host", wrong)
		}
	}
}

// The addresses on cards lead to the agent, also below a proxy's path.
func TestCardsOfAHost(t *testing.T) {
	type face struct{ URL, Tenant string }
	cards := func(o *Options, target string) map[string]face {
		h, err := NewHost(routes("a", "b"), o)
		if err != nil {
			t.Fatal(err)
		}
		r, _ := http.NewRequestWithContext(port.With(t.Context()), "GET", target, nil)
		r.RequestURI, r.Host = r.URL.Path, r.URL.Host
		r.URL.Path = strings.TrimPrefix(r.URL.Path, "/below")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		var card struct {
			SupportedInterfaces []struct{ URL, ProtocolBinding, ProtocolVersion, Tenant string }
		}
		if err := json.Unmarshal(w.Body.Bytes(), &card); err != nil {
			t.Fatalf("%s: %v", w.Body, err)
		}
		all := map[string]face{}
		for _, in := range card.SupportedInterfaces {
			all[in.ProtocolBinding+" "+in.ProtocolVersion] = face{in.URL, in.Tenant}
		}
		return all
	}
	const at = "/.well-known/agent-card.json"
	for _, tt := range []struct {
		public, target string
		http, grpc     face
		old            face // gRPC of 0.3
	}{
		{"", "http://h:1/agents/b" + at, face{"http://h:1/agents/b", ""}, face{"h:1", "agents/b"}, face{}},
		{"", "http://h:1" + at, face{"http://h:1", ""}, face{"h:1", ""}, face{"h:1", ""}},
		{"", "http://h:1/agents/a" + at, face{"http://h:1/agents/a", ""}, face{"h:1", ""}, face{"h:1", ""}},
		{"", "http://h:1/below/agents/b" + at, face{"http://h:1/below/agents/b", ""}, face{}, face{}},
		{"https://p", "http://h:1/agents/b" + at, face{"https://p/agents/b", ""}, face{"p:443", "agents/b"}, face{}},
		{"https://p/", "http://h:1/agents/a" + at, face{"https://p", ""}, face{"p:443", ""}, face{"p:443", ""}},
		{"https://p/x", "http://h:1/agents/b" + at, face{"https://p/x/agents/b", ""}, face{}, face{}},
	} {
		got := cards(&Options{PublicURL: tt.public}, tt.target)
		if got["JSONRPC 1.0"] != tt.http || got["HTTP+JSON 1.0"] != tt.http || got["JSONRPC 0.3"] != tt.http || got["GRPC 1.0"] != tt.grpc || got["GRPC 0.3"] != tt.old {
			t.Errorf("%s, public %q: %v", tt.target, tt.public, got)
		}
	}
}

// A caller's limits hold for all agents together; a change of agents does not give it
// more.
func TestLimitsOfAHost(t *testing.T) {
	o := &Options{Limits: Limits{Rate: 0.001, Burst: 3}}
	h, err := NewHost(routes("a", "b"), o)
	if err != nil {
		t.Fatal(err)
	}
	for i, path := range []string{"/tasks/x", "/agents/b/tasks/x"} {
		if w := do(h, "GET", path, "", "A2A-Version: 1.0"); w.Code != 200 {
			t.Errorf("call %d: HTTP %d", i, w.Code)
		}
	}
	if err := h.Set(routes("b", "c"), &Options{Limits: o.Limits}); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]int{"/agents/b/tasks/x": 200, "/agents/a/tasks/x": 404} {
		if w := do(h, "GET", path, "", "A2A-Version: 1.0"); w.Code != want {
			t.Errorf("%s: HTTP %d", path, w.Code)
		}
	}
	if w := do(h, "GET", "/agents/c/tasks/x", "", "A2A-Version: 1.0"); w.Code != http.StatusTooManyRequests {
		t.Errorf("one more: HTTP %d", w.Code)
	}
	if w := do(h, "GET", "/agents", ""); w.Code != http.StatusTooManyRequests {
		t.Errorf("the list counts, too: HTTP %d", w.Code)
	}
}

// A caller that is not let in does not learn which agents there are, except that it
// gets the cards of those it can name; and records say which agent was called.
func TestGateOfAHost(t *testing.T) {
	log := newLines()
	o := &Options{Identity: refusing{a2a.Errorf(a2a.CodeUnauthenticated, "who are you?")}, Audit: slog.New(AuditHandler(log))}
	addr, h := hostOnPort(t, routes("a", "b"), o)
	for path, want := range map[string]int{"/agents": 401, "/agents/b/tasks/x": 401, "/agents/nobody/tasks/x": 404, "/agents/b/.well-known/agent-card.json": 200} {
		if w := do(h, "GET", path, "", "A2A-Version: 1.0"); w.Code != want {
			t.Errorf("%s: HTTP %d", path, w.Code)
		}
	}
	if err := h.Set(routes("a", "b"), &Options{Audit: o.Audit}); err != nil {
		t.Fatal(err)
	}
	log.take(t)
	do(h, "GET", "/agents/b/tasks/x", "", "A2A-Version: 1.0")
	if list := log.take(t); len(list) != 1 || list[0]["agent"] != "b" || list[0]["outcome"] != "ok" {
		t.Errorf("the audit log says %v", list)
	}
	c, err := a2aclient.Dial(t.Context(), "http://"+addr+"/agents/b", &a2aclient.Options{Version: "1.0", Bindings: []string{a2a.BindingGRPC}, Retries: -1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.GetTask(t.Context(), &a2a.GetTaskRequest{ID: "x"}); err != nil {
		t.Fatal(err)
	}
	if list := log.take(t); len(list) != 1 || list[0]["agent"] != "b" || list[0]["asked_tenant"] != nil {
		t.Errorf("over gRPC the audit log says %v", list)
	}
	if err := h.Set(routes("a"), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := c.GetTask(t.Context(), &a2a.GetTaskRequest{ID: "x"}); !errors.Is(err, &a2a.Error{Code: a2a.CodeMethodNotFound}) {
		t.Errorf("an agent that is gone, over gRPC: %v", err)
	}
}

func TestCallbacksOfAHost(t *testing.T) {
	echo := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, "too large", http.StatusRequestEntityTooLarge)
			return
		}
		io.WriteString(w, r.URL.EscapedPath()+" "+string(b))
	})
	r := routes("a", "b")
	r[1].Callbacks = echo
	h, err := NewHost(r, &Options{MaxBody: 5, Identity: refusing{a2a.Errorf(a2a.CodeUnauthenticated, "who are you?")}})
	if err != nil {
		t.Fatal(err)
	}
	for target, want := range map[string]string{
		"/callbacks/b/x%2Fy/z": "/x%2Fy/z body", "/callbacks/b": " body", "/callbacks/a/x": "there is nothing", "/callbacks/nobody/x": "there is nothing", "/callbacks": "there is nothing",
	} {
		if w := do(h, "POST", target, "body"); !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: HTTP %d, %s", target, w.Code, w.Body)
		}
	}
	if w := do(h, "POST", "/callbacks/b/x", "a long body"); w.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("a long body: HTTP %d, %s", w.Code, w.Body)
	}
}

// Only an agent's own path leads to it.
func FuzzHostPaths(f *testing.F) {
	r := routes("a", "b")
	r[1].Callbacks = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "called back") })
	h, err := NewHost(r, nil)
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range []string{"/agents/b/tasks/x", "//agents/b//tasks/x", "/agents/b%2Ftasks/x", "/agents", "/agents//b", "/callbacks/b", "/callbacks/b/%2F", "/agents/../agents/b", "/x/agents/b/tasks/x"} {
		f.Add(path)
	}
	f.Fuzz(func(t *testing.T, path string) {
		u, err := url.ParseRequestURI(path)
		if err != nil || u.Host != "" {
			return
		}
		req := httptest.NewRequest("GET", "/", nil)
		req.URL = u
		w := httptest.NewRecorder()
		h.ServeHTTP(w, req)
		at := strings.TrimPrefix(u.EscapedPath(), "/")
		switch body := w.Body.String(); {
		case w.Code >= 500:
			t.Errorf("%q is HTTP %d: %s", path, w.Code, body)
		case strings.Contains(body, `"b|`) && !strings.HasPrefix("/"+strings.TrimPrefix(at, "/"), "/agents/b/"):
			t.Errorf("%q is for b: %s", path, body)
		case body == "called back" && !below("/"+strings.TrimPrefix(at, "/"), "/callbacks/b"):
			t.Errorf("%q calls b back", path)
		}
	})
}

// The memory follows the options that were set last, and stays the same if they do not
// change it.
func TestMemoryOfAHostFollowsItsOptions(t *testing.T) {
	h, err := NewHost(routes("a"), &Options{MaxBody: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	was := h.front().memory
	for _, c := range []struct {
		o     Options
		total int64
		same  bool
	}{
		{Options{MaxBody: 1 << 20, Limits: Limits{Rate: 5}}, 16 << 20, true},
		{Options{MaxBody: 2 << 20}, 32 << 20, false},
		{Options{MaxBody: 1 << 20, Limits: Limits{Bodies: 32 << 20}}, 32 << 20, true},
		{Options{Limits: Limits{Bodies: -1}}, 0, false},
		{Options{}, 128 << 20, false},
	} {
		if err := h.Set(routes("a"), &c.o); err != nil {
			t.Fatal(err)
		}
		is := h.front().memory
		if is.Total() != c.total || (is == was) != c.same {
			t.Errorf("%+v: %d bytes, the same: %v", c.o, is.Total(), is == was)
		}
		was = is
	}
}

// If several handlers next to the agents match, the one with the longest path gets the
// request.
func TestHandlersBesideAHost(t *testing.T) {
	beside := map[string]http.Handler{}
	for _, at := range []string{"/x", "/x/y", "/x/y/z", "/x/y/z/0", "/x/yes"} {
		beside[at] = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, at) })
	}
	h, err := NewHost(routes("a"), &Options{Beside: beside})
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{"/x": "/x", "/x/n": "/x", "/x/y": "/x/y", "/x/y/n/z": "/x/y", "/x/y/z/01": "/x/y/z", "/x/yes/y": "/x/yes"} {
		for range 10 {
			if got := do(h, "GET", path, "").Body.String(); got != want {
				t.Errorf("%s is for %q, want %q", path, got, want)
			}
		}
	}
}
