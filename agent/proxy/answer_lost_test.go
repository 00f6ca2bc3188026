package proxy_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent/proxy"
)

// away is a transport to an agent whose card is not to be kept, and that can be out of
// reach.
type away struct {
	down        atomic.Bool
	posts, gets atomic.Int32 // that failed
}

func (a *away) RoundTrip(req *http.Request) (*http.Response, error) {
	if a.down.Load() {
		if req.Method == http.MethodPost {
			a.posts.Add(1)
		} else {
			a.gets.Add(1)
		}
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err == nil && strings.HasSuffix(req.URL.Path, ".json") {
		res.Header.Set("Cache-Control", "no-store")
	}
	return res, err
}

// An answer reaches an agent that was out of reach, with its card, when the caller gave
// it.
func TestAnswerWhileTheCardIsOutOfReach(t *testing.T) {
	t.Parallel()
	asks := task("up", a2a.TaskStateInputRequired)
	asks.Task.Status.Message = &a2a.Message{MessageID: "q", Role: a2a.RoleAgent, Parts: []*a2a.Part{a2a.TextPart("who?")}}
	up := &puppet{get: func(string) (*a2a.Task, error) { return asks.Task, nil }}
	up.stream = func(ctx context.Context, req *a2a.SendMessageRequest, yield func(*a2a.StreamResponse, error) bool) {
		if len(up.messages()) == 1 {
			yield(asks, nil)
			return
		}
		yield(task("up", a2a.TaskStateCompleted), nil)
	}
	link := new(away)
	front := behind(t, up.serve(t).url, &proxy.Options{Client: &http.Client{Transport: link}}, nil)
	c := dial(t, front, nil)
	got := send(t, c, say("x"))
	want(t, got, a2a.TaskStateInputRequired, "who?")
	soon := func(r *a2a.SendMessageRequest) *a2a.SendMessageRequest {
		r.Configuration = &a2a.SendMessageConfiguration{ReturnImmediately: true}
		return r
	}
	// Another task finds out that the agent is away, and looks for its card again.
	link.down.Store(true)
	other := send(t, c, soon(say("another")))
	poll(t, func() bool { return link.posts.Load() > 0 && link.gets.Load() > 0 })
	if _, err := c.CancelTask(t.Context(), &a2a.CancelTaskRequest{ID: other.ID}); err != nil {
		t.Fatal(err)
	}
	before := link.gets.Load()
	send(t, c, soon(to(got, "me")))
	poll(t, func() bool { return link.gets.Load() > before })
	link.down.Store(false)
	want(t, ended(t, c, got.ID), a2a.TaskStateCompleted, "")
	if n := len(up.messages()); n != 2 {
		t.Errorf("sent %d times", n)
	}
}

// The proxy looks at an ended task until the agent answers, if events did not tell all
// of its artifacts.
func TestArtifactsAreWholeAfterOneFailedLook(t *testing.T) {
	t.Parallel()
	var looks atomic.Int32
	up := &puppet{get: func(string) (*a2a.Task, error) {
		if looks.Add(1) == 1 {
			return nil, a2a.Errorf(a2a.CodeUnavailable, "restarting")
		}
		el := task("up", a2a.TaskStateCompleted)
		el.Task.Artifacts = []*a2a.Artifact{chunk("up", "a", "the whole", false, true).ArtifactUpdate.Artifact}
		return el.Task, nil
	}}
	up.stream = says(task("up", a2a.TaskStateWorking), chunk("up", "a", " whole", true, true), status("up", a2a.TaskStateCompleted, ""))
	front := behind(t, up.serve(t).url, nil, nil)
	got := send(t, dial(t, front, nil), say("x"))
	if got.Status.State != a2a.TaskStateCompleted || texts(got, "a") != "the whole" {
		t.Errorf("the task is %s", got.AppendJSON(nil))
	}
}
