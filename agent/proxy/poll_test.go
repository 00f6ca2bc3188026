package proxy_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aserver"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/agent/proxy"
)

// An agent that does not stream is polled, and its callers have a stream.
func TestPolled(t *testing.T) {
	t.Parallel()
	card := agent.DemoCard()
	card.Capabilities.Streaming = new(false)
	up := serve(t, card, agent.Demo(), nil)
	for _, version := range []string{"0.3", "1.0"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			front := behind(t, up.url(), &proxy.Options{Version: version}, nil)
			c := dial(t, front, nil)
			got := begun(t, c, say("stream 30 5"))
			if texts(got, "stream") == chunks(30) {
				t.Error("nothing came before the end")
			}
			got = ended(t, c, got.ID)
			if texts(got, "stream") != chunks(30) {
				t.Errorf("the stream amounts to %s", got.AppendJSON(nil))
			}
			got = send(t, c, say("ask who?"))
			want(t, got, a2a.TaskStateInputRequired, "who?")
			want(t, send(t, c, to(got, "me")), a2a.TaskStateCompleted, "me")
			got = send(t, c, say("auth"))
			want(t, got, a2a.TaskStateAuthRequired, "")
			want(t, send(t, c, to(got, "secret")), a2a.TaskStateCompleted, "authorized")
			got = begun(t, c, say("stream 1000 10"))
			got, err := c.CancelTask(t.Context(), &a2a.CancelTaskRequest{ID: got.ID})
			if err != nil {
				t.Fatal(err)
			}
			want(t, got, a2a.TaskStateCanceled, "")
		})
	}
}

// One that says when there is something new need not be asked.
func TestPushed(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"0.1", "0.3", "1.0"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			card := agent.DemoCard()
			card.Capabilities.Streaming = new(false)
			posted := make(chan struct{}) // closed by the first post
			up := serve(t, card, agent.Func(func(ctx context.Context, t *agent.Turn) error {
				if err := t.Status("at work"); err != nil {
					return err
				}
				if version != "0.1" { // whose answer waits for the end
					select {
					case <-posted:
					case <-ctx.Done():
						return context.Cause(ctx)
					}
				}
				return t.Artifact("out").Last(a2a.TextPart("done"))
			}), &parley.Options{Egress: &a2aserver.Egress{Loopback: true}})
			var first sync.Once
			var handler atomic.Pointer[proxy.Agent]
			hooks := httptest.NewServer(http.StripPrefix("/callbacks/x", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				handler.Load().Handler().ServeHTTP(w, r)
				if r.Method == http.MethodPost {
					first.Do(func() { close(posted) })
				}
			})))
			defer hooks.Close()
			front := behind(t, up.url(), &proxy.Options{
				Version: version, Poll: time.Hour, Push: true, PushURL: hooks.URL + "/callbacks/x/", PushSecret: "secret",
			}, nil)
			handler.Store(front.agent.(*proxy.Agent))
			want(t, send(t, dial(t, front, nil), say("work")), a2a.TaskStateCompleted, "done")
		})
	}
}

// Only the agent can post to the handler, and nobody else learns whether there is such a task.
func TestHandlerLetsInByItself(t *testing.T) {
	t.Parallel()
	var url, token string
	up := &puppet{card: a2a.AgentCard{Name: "puppet", Version: "1", Capabilities: a2a.AgentCapabilities{PushNotifications: new(true)}}}
	up.stream = says(task("up", a2a.TaskStateCompleted))
	front := behind(t, up.serve(t).url, &proxy.Options{Push: true, PushURL: "http://127.0.0.1:1/hooks", PushSecret: "s"}, nil)
	send(t, dial(t, front, nil), say("x"))
	c := up.messages()[0].Configuration.TaskPushNotificationConfig
	if c == nil {
		t.Fatal("no webhook was asked for")
	}
	url, token = strings.TrimPrefix(c.URL, "http://127.0.0.1:1/hooks"), c.Token.Reveal()
	h := front.agent.(*proxy.Agent).Handler()
	for _, x := range []struct {
		name, method, path, token string
		want                      int
	}{
		{"the agent", "POST", url, token, 204},
		{"the agent, which signs in another way", "POST", url, "", 204},
		{"with another token", "POST", url, token + "x", 401},
		{"by another method", "PUT", url, token, 405},
		{"another address", "POST", url + "x", token, 404},
		{"no address", "POST", "/", token, 404},
		{"half an address", "POST", "/" + strings.Split(url, "/")[1], token, 404},
		{"a challenge", "GET", url + "?validationToken=abc", "", 200},
		{"a page for a challenge", "GET", url + "?validationToken=%3Cscript%3E", "", 405},
		{"a challenge elsewhere", "GET", "/x/y?validationToken=abc", "", 404},
	} {
		r := httptest.NewRequest(x.method, x.path, io.LimitReader(endless{}, 3<<20))
		if x.token != "" {
			r.Header.Set("X-A2A-Notification-Token", x.token)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != x.want {
			t.Errorf("%s: %d, want %d", x.name, w.Code, x.want)
		}
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

// An authorization that comes by another way ends the wait for one.
func TestAuthorizedElsewhere(t *testing.T) {
	t.Parallel()
	for name, streaming := range map[string]bool{"streams": true, "polled": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			authorized := make(chan struct{})
			card := agent.DemoCard()
			card.Capabilities.Streaming = &streaming
			up := serve(t, card, waits(authorized), nil)
			front := behind(t, up.url(), nil, nil)
			c := dial(t, front, nil)
			task := send(t, c, say("x"))
			want(t, task, a2a.TaskStateAuthRequired, "log in")
			close(authorized)
			want(t, ended(t, c, task.ID), a2a.TaskStateCompleted, "")
		})
	}
}

func waits(authorized <-chan struct{}) agent.Agent {
	return agent.Func(func(ctx context.Context, t *agent.Turn) error {
		_, err := t.AuthenticateBy(ctx, "log in", func(ctx context.Context) error {
			select {
			case <-authorized:
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		})
		return err
	})
}

// An agent's answer is passed on once, however often it is asked.
func TestPolledWordsComeOnce(t *testing.T) {
	t.Parallel()
	polls := 0
	el := task("up", a2a.TaskStateWorking)
	el.Task.Status.Message = &a2a.Message{Role: a2a.RoleAgent, Parts: []*a2a.Part{a2a.TextPart("at it")}} // without an id
	up := &puppet{card: a2a.AgentCard{Name: "puppet", Version: "1"}, stream: says(el)}
	up.get = func(string) (*a2a.Task, error) {
		if polls++; polls > 5 {
			return task("up", a2a.TaskStateCompleted).Task, nil
		}
		return el.Task, nil
	}
	front := behind(t, up.serve(t).url, nil, nil)
	task := send(t, dial(t, front, nil), say("x"))
	want(t, task, a2a.TaskStateCompleted, "at it")
	if n := strings.Count(string(task.AppendJSON(nil)), "at it"); n != 1 {
		t.Errorf("it is there %d times: %s", n, task.AppendJSON(nil))
	}
}
