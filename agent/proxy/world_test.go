package proxy_test

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aclient"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/agent/proxy"
	"github.com/parley-a2a/parley/store"
)

// place is a server that can be stopped and started again at the same address,
// over the same store.
type place struct {
	t     *testing.T
	addr  string
	card  a2a.AgentCard
	agent agent.Agent
	opts  *parley.Options
	stop  func()
	kill  func() // as if by a crash: nothing that it says after that is kept
}

// serve starts a server. With no options its tasks are kept for the next start.
func serve(t *testing.T, card a2a.AgentCard, ag agent.Agent, o *parley.Options) *place {
	t.Helper()
	if o == nil {
		o = &parley.Options{}
	}
	if o.Store == nil {
		o.Store = store.NewMemory()
	}
	o.DrainWait = 3 * time.Second
	p := &place{t: t, card: card, agent: ag, opts: o}
	p.start()
	t.Cleanup(func() { p.stop() })
	return p
}

func (p *place) start() {
	p.t.Helper()
	l, err := net.Listen("tcp", cmp.Or(p.addr, "127.0.0.1:0"))
	if err != nil {
		p.t.Fatal(err)
	}
	p.addr = l.Addr().String()
	s, err := parley.New(p.card, p.agent, p.opts)
	if err != nil {
		p.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	over := false
	p.stop = func() {
		if over {
			return
		}
		over = true
		cancel()
		if err := <-done; err != nil {
			p.t.Error(err)
		}
	}
	p.kill = func() {
		over = true
		p.opts.Store = p.opts.Store.(*store.Memory).Reopen()
		l.Close()
		cancel()
		p.t.Cleanup(func() { <-done }) // everything it does until then is wasted
	}
}

func (p *place) restart() {
	p.stop()
	p.start()
}

func (p *place) crash() {
	p.kill()
	p.start()
}

func (p *place) url() string { return "http://" + p.addr }

// behind starts a server whose agent is a proxy of the one at url.
func behind(t *testing.T, url string, o *proxy.Options, so *parley.Options) *place {
	t.Helper()
	if o == nil {
		o = &proxy.Options{}
	}
	if o.Poll == 0 {
		o.Poll = 10 * time.Millisecond
	}
	if o.Logger == nil && testing.Verbose() {
		o.Logger = slog.New(slog.NewTextHandler(t.Output(), nil))
	}
	p, err := proxy.New(url, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	card, err := p.Card(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return serve(t, card, p, so)
}

func dial(t *testing.T, p *place, o *a2aclient.Options) *a2aclient.Client {
	t.Helper()
	c, err := a2aclient.Dial(t.Context(), p.url(), o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func say(text string) *a2a.SendMessageRequest {
	return &a2a.SendMessageRequest{Message: &a2a.Message{
		MessageID: "m-" + text, Role: a2a.RoleUser, Parts: []*a2a.Part{a2a.TextPart(text)},
	}}
}

// to has a message go to a task.
func to(task *a2a.Task, text string) *a2a.SendMessageRequest {
	r := say(text)
	r.Message.TaskID, r.Message.ContextID = task.ID, task.ContextID
	return r
}

func send(t *testing.T, c *a2aclient.Client, r *a2a.SendMessageRequest) *a2a.Task {
	t.Helper()
	res, err := c.SendMessage(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if res.Task == nil {
		t.Fatalf("the answer is no task but %v", res.Message)
	}
	return res.Task
}

func want(t *testing.T, task *a2a.Task, state a2a.TaskState, text string) {
	t.Helper()
	if task.Status.State != state || !strings.Contains(string(task.AppendJSON(nil)), text) {
		t.Fatalf("the task is %s, want %v and %q", task.AppendJSON(nil), state, text)
	}
}

// begun sends a message in a stream, and returns once its task has some artifact.
func begun(t *testing.T, c *a2aclient.Client, r *a2a.SendMessageRequest) *a2a.Task {
	t.Helper()
	task := new(a2a.Task)
	for el, err := range c.SendStreamingMessage(t.Context(), r) {
		if err != nil {
			t.Fatal(err)
		}
		task.ApplyEvent(el)
		if len(task.Artifacts) > 0 {
			return task
		}
	}
	t.Fatal("the stream is over")
	return nil
}

// ended waits for the end of a task, over restarts of its server.
func ended(t *testing.T, c *a2aclient.Client, id string) *a2a.Task {
	t.Helper()
	return await(t, c, id, a2a.TaskState.Terminal)
}

func await(t *testing.T, c *a2aclient.Client, id string, is func(a2a.TaskState) bool) *a2a.Task {
	t.Helper()
	var task *a2a.Task
	poll(t, func() bool {
		var err error
		task, err = c.GetTask(t.Context(), &a2a.GetTaskRequest{ID: id})
		if e := new(a2a.Error); errors.As(err, &e) && e.Code != a2a.CodeUnavailable {
			t.Fatal(err)
		}
		return err == nil && is(task.Status.State)
	})
	return task
}

// poll tries a condition until it holds, within a bound.
func poll(t *testing.T, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(); {
		if time.Now().After(end) {
			t.Fatal("it did not happen")
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// texts joins the text of an artifact.
func texts(task *a2a.Task, name string) (text string) {
	for _, a := range task.Artifacts {
		if a.Name == name {
			for _, part := range a.Parts {
				text += part.Text
			}
		}
	}
	return text
}

// ready reports whether a server takes requests.
func ready(p *place) bool {
	res, err := http.Get(p.url() + "/readyz")
	if err != nil {
		return false
	}
	res.Body.Close()
	return res.StatusCode == http.StatusOK
}
