package proxy_test

import (
	"context"
	"testing"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aclient"
	"github.com/parley-a2a/parley/a2aserver"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/agent/proxy"
)

// crashUnanswered has the server in front killed when the agent has got a message and
// has not said so, and returns how the task ends.
func crashUnanswered(t *testing.T, up *puppet, o *proxy.Options) *a2a.Task {
	t.Helper()
	front := behind(t, up.serve(t).url, o, nil)
	c := dial(t, front, nil)
	r := say("x")
	r.Configuration = &a2a.SendMessageConfiguration{ReturnImmediately: true}
	task := send(t, c, r)
	poll(t, func() bool { return len(up.messages()) == 1 })
	front.crash()
	return ended(t, dial(t, front, nil), task.ID)
}

// silentFirst says nothing to the first message, and answers all others.
func silentFirst(p *puppet) *puppet {
	p.stream = func(ctx context.Context, req *a2a.SendMessageRequest, yield func(*a2a.StreamResponse, error) bool) {
		if len(p.messages()) == 1 {
			<-ctx.Done()
			return
		}
		says(task("up", a2a.TaskStateCompleted))(ctx, req, yield)
	}
	return p
}

// A message whose fate is unknown is not sent again.
func TestNotSentAgain(t *testing.T) {
	t.Parallel()
	up := silentFirst(&puppet{})
	want(t, crashUnanswered(t, up, nil), a2a.TaskStateFailed, "it was not sent again")
	if n := len(up.messages()); n != 1 {
		t.Errorf("it was sent %d times", n)
	}
}

// Where the agent promises to know it, it is, with the same name.
func TestSentAgainWhereItIsKnown(t *testing.T) {
	t.Parallel()
	up := silentFirst(&puppet{card: a2a.AgentCard{Name: "puppet", Version: "1", Capabilities: a2a.AgentCapabilities{
		Streaming: new(true), Extensions: []*a2a.AgentExtension{a2aserver.RetryExtension(1e12, true)},
	}}})
	want(t, crashUnanswered(t, up, nil), a2a.TaskStateCompleted, "")
	sent := up.messages()
	if len(sent) != 2 || sent[0].Message.MessageID != sent[1].Message.MessageID || sent[0].Message.ContextID != sent[1].Message.ContextID {
		t.Errorf("sent %d times", len(sent))
	}
}

// Where the agent lists its tasks, that one is found.
func TestFoundInTheList(t *testing.T) {
	t.Parallel()
	up := silentFirst(&puppet{})
	found := func() *a2a.Task {
		found := task("up", a2a.TaskStateCompleted).Task
		found.History = []*a2a.Message{up.messages()[0].Message}
		return found
	}
	up.list = func() []*a2a.Task { return []*a2a.Task{task("another", a2a.TaskStateCompleted).Task, found()} }
	up.get = func(string) (*a2a.Task, error) { return found(), nil }
	want(t, crashUnanswered(t, up, nil), a2a.TaskStateCompleted, "")
	if n := len(up.messages()); n != 1 {
		t.Errorf("it was sent %d times", n)
	}
}

// A server that stops in good order waits for the first answer, so that nothing is in
// doubt, and one that had not reached the agent knows that.
func TestStopsInGoodOrder(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	up := &puppet{get: func(id string) (*a2a.Task, error) { return task(id, a2a.TaskStateCompleted).Task, nil }}
	up.stream = func(ctx context.Context, req *a2a.SendMessageRequest, yield func(*a2a.StreamResponse, error) bool) {
		<-release
		says(task("up", a2a.TaskStateWorking))(ctx, req, yield)
	}
	want(t, answeredWhileStopping(t, up, release), a2a.TaskStateCompleted, "")
	if n := len(up.messages()); n != 1 {
		t.Errorf("it was sent %d times", n)
	}
}

// answeredWhileStopping has an agent answer a message, which release lets it do, while the
// server stops, and returns the outcome of the task after the next start.
func answeredWhileStopping(t *testing.T, up *puppet, release chan struct{}) *a2a.Task {
	t.Helper()
	front := behind(t, up.serve(t).url, nil, nil)
	r := say("x")
	r.Configuration = &a2a.SendMessageConfiguration{ReturnImmediately: true}
	task := send(t, dial(t, front, nil), r)
	poll(t, func() bool { return len(up.messages()) == 1 })
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		front.stop()
	}()
	poll(t, func() bool { return !ready(front) })
	close(release)
	<-stopped
	front.start()
	return ended(t, dial(t, front, nil), task.ID)
}

// A message that the agent refuses while the server stops was not taken.
func TestRefusedWhileStopping(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	up := &puppet{}
	up.stream = func(_ context.Context, _ *a2a.SendMessageRequest, yield func(*a2a.StreamResponse, error) bool) {
		<-release
		yield(nil, a2a.Invalid("message.parts[0]", "must be a number"))
	}
	want(t, answeredWhileStopping(t, up, release), a2a.TaskStateFailed, "must be a number")
}

// An answer that may not have arrived is asked for once more.
func TestAnswerInDoubt(t *testing.T) {
	t.Parallel()
	asks := task("up", a2a.TaskStateInputRequired)
	asks.Task.Status.Message = &a2a.Message{MessageID: "q", Role: a2a.RoleAgent, Parts: []*a2a.Part{a2a.TextPart("who?")}}
	up := &puppet{get: func(string) (*a2a.Task, error) { return asks.Task, nil }}
	up.stream = func(ctx context.Context, req *a2a.SendMessageRequest, yield func(*a2a.StreamResponse, error) bool) {
		switch len(up.messages()) {
		case 1:
			yield(asks, nil)
		case 2:
			yield(nil, &a2a.Error{Code: a2a.CodeUnavailable, Message: "not now"})
		default:
			yield(task("up", a2a.TaskStateCompleted), nil)
		}
	}
	front := behind(t, up.serve(t).url, nil, nil)
	c := dial(t, front, nil)
	task := send(t, c, say("x"))
	want(t, task, a2a.TaskStateInputRequired, "who?")
	task = send(t, c, to(task, "me"))
	want(t, task, a2a.TaskStateInputRequired, "who?")
	want(t, send(t, c, to(task, "me, I said")), a2a.TaskStateCompleted, "")
	if sent := up.messages(); len(sent) != 3 || sent[2].Message.Text() != "me, I said" || sent[2].Message.TaskID != "up" {
		t.Errorf("sent %d times", len(sent))
	}
}

// Callers are one to the agent, and their ids must not meet there.
func TestIDsAreMadeAnew(t *testing.T) {
	t.Parallel()
	up := (&puppet{stream: says(task("up", a2a.TaskStateCompleted))}).serve(t)
	front := behind(t, up.url, nil, nil)
	c := dial(t, front, nil)
	for range 2 {
		r := say("x") // the same message, as another caller might send it
		r.Message.ContextID = "known"
		r.Metadata = a2a.JSON(`{"k":1}`)
		r.Message.Metadata = a2a.JSON(`{"m":2}`)
		r.Configuration = &a2a.SendMessageConfiguration{AcceptedOutputModes: []string{"text/plain"}}
		send(t, c, r)
	}
	sent := up.messages()
	a, b := sent[0].Message, sent[1].Message
	if a.MessageID == b.MessageID || a.MessageID == "m-x" || a.ContextID == "known" {
		t.Errorf("sent %+v and %+v", a, b)
	}
	// The agent chose another context than it was asked for.
	if a.ContextID == "c" || b.ContextID != "c" {
		t.Errorf("the contexts are %s and %s", a.ContextID, b.ContextID)
	}
	if string(sent[0].Metadata) != `{"k":1}` || string(a.Metadata) != `{"m":2}` || len(sent[0].Configuration.AcceptedOutputModes) != 1 {
		t.Errorf("sent %+v with %+v", sent[0], a)
	}
}

// Contexts and references go on over a restart.
func TestContextsAndReferences(t *testing.T) {
	t.Parallel()
	n := 0
	up := &puppet{}
	up.stream = func(ctx context.Context, req *a2a.SendMessageRequest, yield func(*a2a.StreamResponse, error) bool) {
		id := []string{"first", "second"}[n]
		n++
		says(task(id, a2a.TaskStateWorking), chunk(id, "a", "x", false, true), status(id, a2a.TaskStateCompleted, ""))(ctx, req, yield)
	}
	front := behind(t, up.serve(t).url, nil, nil)
	task := send(t, dial(t, front, nil), say("x"))
	front.stop()
	p, err := proxy.New(up.url, nil)
	if err != nil {
		t.Fatal(err)
	}
	front.agent = p // which remembers nothing
	front.start()
	r := say("y")
	r.Message.ContextID, r.Message.ReferenceTaskIDs = task.ContextID, []string{task.ID, "unknown"}
	send(t, dial(t, front, nil), r)
	m := up.messages()[1].Message
	if m.ContextID != "c" || len(m.ReferenceTaskIDs) != 1 || m.ReferenceTaskIDs[0] != "first" {
		t.Errorf("sent %+v", m)
	}
}

// An agent that takes no contexts of ours is not asked to.
func TestContextRefused(t *testing.T) {
	t.Parallel()
	up := &puppet{}
	up.stream = func(ctx context.Context, req *a2a.SendMessageRequest, yield func(*a2a.StreamResponse, error) bool) {
		if req.Message.ContextID != "" {
			yield(nil, a2a.Invalid("message.contextId", "is not one of ours"))
			return
		}
		says(task("up", a2a.TaskStateCompleted))(ctx, req, yield)
	}
	front := behind(t, up.serve(t).url, nil, nil)
	want(t, send(t, dial(t, front, nil), say("x")), a2a.TaskStateCompleted, "")
}

// What callers show stays here.
func TestCredentialsAreSwapped(t *testing.T) {
	t.Parallel()
	up := (&puppet{stream: says(task("up", a2a.TaskStateCompleted))}).serve(t)
	front := behind(t, up.url, &proxy.Options{Bearer: "ours", Headers: map[string]a2a.Secret{"X-Team": "blue"}, Metadata: []string{"keep"}}, nil)
	c := dial(t, front, &a2aclient.Options{Bearer: "theirs", Header: map[string][]string{
		"X-Theirs": {"theirs"}, "Cookie": {"theirs"}, "Traceparent": {"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"},
	}})
	r := say("x")
	r.Metadata = a2a.JSON(`{"drop":"theirs","keep":"this"}`)
	want(t, send(t, c, r), a2a.TaskStateCompleted, "")
	if got := string(up.messages()[0].Metadata); got != `{"keep":"this"}` {
		t.Errorf("the metadata is %s", got)
	}
	up.mu.Lock()
	defer up.mu.Unlock()
	h := up.headers[len(up.headers)-1]
	if h.Get("Authorization") != "Bearer ours" || h.Get("X-Team") != "blue" || h.Get("Traceparent") == "" {
		t.Errorf("the headers are %v", h)
	}
	for name, values := range h {
		for _, v := range values {
			if v == "theirs" {
				t.Errorf("%s was passed on", name)
			}
		}
	}
}

// Why a message was refused.
func TestRefusals(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  *a2a.Error
		want string
	}{
		{a2a.Invalid("message.parts[0]", "must be a haiku"), "refused: message.parts[0]: must be a haiku"},
		{a2a.Errorf(a2a.CodeUnauthenticated, "token abc is not known"), "refused this server's credentials"},
		{a2a.Errorf(a2a.CodePermissionDenied, "token abc may not"), "refused this server's credentials"},
		{a2a.Errorf(a2a.CodeContentTypeNotSupported, "no images"), "refused: no images"},
		{a2a.Errorf(a2a.CodeRateLimited, "too many"), "has too much to do"},
		{a2a.Errorf(a2a.CodeUnavailable, "not now"), "the message was not sent again"},
		{a2a.Errorf(a2a.CodeLoop, "a circle"), "through too many agents"},
	} {
		t.Run(c.err.Code.String(), func(t *testing.T) {
			t.Parallel()
			up := (&puppet{stream: func(_ context.Context, _ *a2a.SendMessageRequest, yield func(*a2a.StreamResponse, error) bool) {
				yield(nil, c.err)
			}}).serve(t)
			front := behind(t, up.url, &proxy.Options{Patience: -1}, nil)
			want(t, send(t, dial(t, front, nil), say("x")), a2a.TaskStateFailed, c.want)
		})
	}
}

// A server that stops before it has reached the agent has sent nothing, and knows that.
func TestStopsBeforeAnythingIsSent(t *testing.T) {
	t.Parallel()
	up := serve(t, agent.DemoCard(), agent.Demo(), nil)
	front := behind(t, up.url(), nil, nil)
	up.stop()
	r := say("echo hello")
	r.Configuration = &a2a.SendMessageConfiguration{ReturnImmediately: true}
	task := send(t, dial(t, front, nil), r)
	for range 3 {
		front.restart()
	}
	up.start()
	want(t, ended(t, dial(t, front, nil), task.ID), a2a.TaskStateCompleted, "hello")
}

// A server that is its own agent is found out, and every task of the circle ends.
func TestCircle(t *testing.T) {
	t.Parallel()
	front := serve(t, a2a.AgentCard{Name: "round"}, agent.Demo(), nil)
	p, err := proxy.New(front.url(), nil)
	if err != nil {
		t.Fatal(err)
	}
	front.stop()
	front.agent = p
	front.start()
	want(t, send(t, dial(t, front, nil), say("x")), a2a.TaskStateFailed, "the message came through too many agents")
}

// A question stays open until its answer was taken.
func TestAnswerRefused(t *testing.T) {
	t.Parallel()
	asks := task("up", a2a.TaskStateInputRequired)
	asks.Task.Status.Message = &a2a.Message{MessageID: "q", Role: a2a.RoleAgent, Parts: []*a2a.Part{a2a.TextPart("a number?")}}
	over := false
	up := &puppet{get: func(id string) (*a2a.Task, error) {
		if over {
			return task(id, a2a.TaskStateCanceled).Task, nil
		}
		return asks.Task, nil
	}}
	up.stream = func(ctx context.Context, req *a2a.SendMessageRequest, yield func(*a2a.StreamResponse, error) bool) {
		switch len(up.messages()) {
		case 1:
			yield(asks, nil)
		case 2:
			yield(nil, a2a.Invalid("message.parts[0]", "must be a number"))
		case 3:
			yield(&a2a.StreamResponse{Message: &a2a.Message{MessageID: "w", Role: a2a.RoleAgent, Parts: []*a2a.Part{a2a.TextPart("in digits, please")}}}, nil)
		default:
			over = true
			yield(nil, a2a.Errorf(a2a.CodeUnsupportedOperation, "the task is finished"))
		}
	}
	front := behind(t, up.serve(t).url, nil, nil)
	c := dial(t, front, nil)
	task := send(t, c, say("x"))
	want(t, task, a2a.TaskStateInputRequired, "a number?")
	task = send(t, c, to(task, "a lot"))
	want(t, task, a2a.TaskStateInputRequired, "refused: message.parts[0]: must be a number")
	task = send(t, c, to(task, "many"))
	want(t, task, a2a.TaskStateInputRequired, "in digits, please")
	want(t, send(t, c, to(task, "42")), a2a.TaskStateCanceled, "") // it had ended meanwhile
}
