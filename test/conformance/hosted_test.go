package conformance

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aclient"
	"github.com/parley-a2a/parley/a2aserver"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/store"
	"github.com/parley-a2a/parley/test/fixtures"
)

// worker says who it is, once it may.
type worker struct {
	who    string
	began  chan struct{}
	may    chan struct{}
	gone   chan struct{} // gets one when it is closed
	closed atomic.Int32
}

func newWorker(who string) *worker {
	return &worker{who: who, began: make(chan struct{}, 8), may: make(chan struct{}), gone: make(chan struct{}, 8)}
}

func (w *worker) Run(ctx context.Context, t *agent.Turn) error {
	if err := t.Status("I am " + w.who); err != nil {
		return err
	}
	w.began <- struct{}{}
	select {
	case <-w.may:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return t.Complete("done by " + w.who)
}

// Close implements io.Closer.
func (w *worker) Close() error {
	w.closed.Add(1)
	w.gone <- struct{}{}
	return nil
}

func hostedAs(name string, w *worker) parley.Hosted {
	return parley.Hosted{Name: name, Card: a2a.AgentCard{Name: "I am " + w.who}, Agent: w}
}

func serveHost(t *testing.T, o *parley.Options, agents ...parley.Hosted) (url string, s *parley.Server) {
	t.Helper()
	s, err := parley.NewHost(agents, o)
	if err != nil {
		t.Fatal(err)
	}
	addr, _ := fixtures.Serve(t, "", s.Serve)
	return "http://" + addr, s
}

func dialAgent(t *testing.T, url string, key string) *a2aclient.Client {
	t.Helper()
	c, err := a2aclient.Dial(t.Context(), url, &a2aclient.Options{APIKey: key, Retries: -1})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func hello(wait bool) *a2a.SendMessageRequest {
	return &a2a.SendMessageRequest{
		Message:       &a2a.Message{MessageID: "m", Role: a2a.RoleUser, Parts: []*a2a.Part{a2a.TextPart("hello")}},
		Configuration: &a2a.SendMessageConfiguration{ReturnImmediately: !wait},
	}
}

func guardOf(t *testing.T, st store.Store) (*auth.Guard, string) {
	t.Helper()
	keys := auth.NewKeys(st, nil)
	secret, _, err := keys.Create(t.Context(), auth.KeySpec{Subject: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	g, err := auth.NewGuard([]auth.Method{keys}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return g, secret.Reveal()
}

// A reload changes agents, callers and limits at once; running tasks go on.
func TestReload(t *testing.T) {
	t.Parallel()
	a, b, young := newWorker("a"), newWorker("b"), newWorker("young")
	url, s := serveHost(t, nil, hostedAs("a", a), hostedAs("b", b))
	c := dialAgent(t, url+"/agents/a", "")
	ended := make(chan string, 1)
	go func() {
		last := ""
		for ev, err := range c.SendStreamingMessage(t.Context(), hello(true)) {
			if err != nil {
				last = err.Error()
				break
			}
			if u := ev.StatusUpdate; u != nil && u.Status.Message != nil {
				last = u.Status.Message.Text()
			}
		}
		ended <- last
	}()
	receive(t, a.began, "the beginning of the old agent")

	// What cannot be changes nothing.
	for what, agents := range map[string][]parley.Hosted{
		"nobody":             nil,
		"two of a name":      {hostedAs("a", young), hostedAs("a", b)},
		"two without a name": {hostedAs("", young), hostedAs("", b)},
		"a wrong name":       {hostedAs("A", young)},
		"no card":            {{Name: "a", Agent: young}},
		"no agent":           {{Name: "a", Card: a2a.AgentCard{Name: "a"}}},
	} {
		if err := s.Reload(agents, nil); err == nil {
			t.Errorf("%s is reloaded", what)
		}
	}
	if name := dialAgent(t, url+"/agents/a", "").Card().Name; name != "I am a" {
		t.Errorf("after reloads that failed the agent is %q", name)
	}

	guard, key := guardOf(t, store.NewMemory())
	if err := s.Reload([]parley.Hosted{hostedAs("a", young), hostedAs("b", b)}, &parley.Options{Auth: guard}); err != nil {
		t.Fatal(err)
	}
	var e *a2a.Error
	if _, err := c.SendMessage(t.Context(), hello(false)); !errors.As(err, &e) || e.Code != a2a.CodeUnauthenticated {
		t.Errorf("a caller that may not call any more: %v", err)
	}
	known := dialAgent(t, url+"/agents/a", key)
	if name := known.Card().Name; name != "I am young" {
		t.Errorf("the agent is %q", name)
	}
	close(young.may)
	res, err := known.SendMessage(t.Context(), hello(true))
	if err != nil || res.Task == nil || res.Task.Status.Message.Text() != "done by young" {
		t.Errorf("the new agent answers %+v, %v", res, err)
	}
	if n := a.closed.Load(); n != 0 {
		t.Errorf("the old agent is closed %d times while it runs", n)
	}
	close(a.may)
	if last := receive(t, ended, "the end of a stream without credentials"); !strings.Contains(last, "credentials") {
		t.Errorf("a stream that began before callers were asked ends with %q", last)
	}
	receive(t, a.gone, "that the old agent is closed")
	if b.closed.Load() != 0 || young.closed.Load() != 0 {
		t.Error("agents that are there are closed")
	}
	if err := s.Reload([]parley.Hosted{hostedAs("", b)}, nil); err != nil {
		t.Fatal(err)
	}
	if name := dialAgent(t, url, "").Card().Name; name != "I am b" {
		t.Errorf("the only agent is %q", name)
	}
	if res, err := http.Get(url + "/agents/a/.well-known/agent-card.json"); err != nil || res.StatusCode != 404 {
		t.Errorf("an agent that is gone: %v, %v", res, err)
	}
}

// The server is the process of its agents: with it they are closed.
func TestAgentsAreClosedWithTheirServer(t *testing.T) {
	t.Parallel()
	for name, made := range map[string]func(w *worker) (*parley.Server, error){
		"New": func(w *worker) (*parley.Server, error) { return parley.New(a2a.AgentCard{Name: "x"}, w, nil) },
		"NewHost": func(w *worker) (*parley.Server, error) {
			return parley.NewHost([]parley.Hosted{hostedAs("x", w)}, nil)
		},
	} {
		w := newWorker("x")
		s, err := made(w)
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		stop()
		if err := s.Run(ctx); err != nil || w.closed.Load() != 1 {
			t.Errorf("%s: closed %d times, %v", name, w.closed.Load(), err)
		}
	}
	w := newWorker("x")
	s, err := parley.New(a2a.AgentCard{Name: "x"}, w, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Reload([]parley.Hosted{hostedAs("x", w)}, nil); err == nil {
		t.Error("a server of New is reloaded")
	}
}

// Callbacks of agents are outside of the gate; webhooks' keys are the server's.
func TestCallbacks(t *testing.T) {
	t.Parallel()
	guard, _ := guardOf(t, store.NewMemory())
	h := hostedAs("a", newWorker("a"))
	h.Callbacks = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "called at "+r.URL.Path) })
	url, _ := serveHost(t, &parley.Options{Auth: guard}, h)
	for path, want := range map[string]string{
		a2aserver.CallbacksPath + "/a/task/1": "called at /task/1",
		"/.well-known/jwks.json":              `"keys"`,
		"/agents":                             "WWW-Authenticate",
	} {
		res, err := http.Get(url + path)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil || !strings.Contains(string(body), want) && res.Header.Get(want) == "" {
			t.Errorf("%s: %s %q, %v", path, res.Status, body, err)
		}
	}
}
