package httpagent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/engine"
	"github.com/parley-a2a/parley/internal/egress"
	"github.com/parley-a2a/parley/store"
)

// What this server's own rules forbid is not tried again.
func TestForbiddenService(t *testing.T) {
	w := newWorld(t, nil, "http://127.0.0.1:9", &Options{Client: new(egress.Policy).Client()})
	w.agent.pause = func(context.Context, time.Duration) error { return errors.New("it is tried again") }
	wantOutcome(t, w.task("hello"), "failed the service is at an address that this server may not call; its operator can allow it")
}

func TestRequest(t *testing.T) {
	s := serve(t, func(p *post) { p.json(`{"artifacts":[{"name":"x","text":"1"}],"text":"done"}`) })
	w := newWorld(t, nil, s.URL+"/agent", &Options{
		Headers: map[string]a2a.Secret{"Authorization": "Bearer hush", "x-team": "blue"},
		History: 10,
	})
	first := w.task("first")
	const trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	ctx := a2a.WithCaller(t.Context(), a2a.Caller{Trace: trace, TraceState: "rojo=1"})
	req := message("second")
	req.Message.ContextID = first.ContextID
	req.Message.Metadata = a2a.JSON(`{"m":1}`)
	if err := req.Message.CallSkill("forecast", a2a.JSON(`{"city":"Paris"}`)); err != nil {
		t.Fatal(err)
	}
	req.Metadata = a2a.JSON(`{"r":1}`)
	req.Message.Parts = append(req.Message.Parts, a2a.DataPart(a2a.JSON(`{"d":1}`)), a2a.RawPart([]byte("file"), "text/csv", "a.csv"), a2a.RawPart([]byte{0}, "image/png", "x.png"))
	req.Configuration = &a2a.SendMessageConfiguration{AcceptedOutputModes: []string{"text/plain"}}
	if _, err := w.SendMessage(ctx, req); err != nil {
		t.Fatal(err)
	}
	p := s.got()[1]
	if p.Type != "message" || p.Version != 1 || p.Task == "" || p.request.Context != first.ContextID || p.Text != "second\n{\"d\":1}\nfile" {
		t.Errorf("the service got %s", p.raw)
	}
	if p.Message.MessageID != req.Message.MessageID || len(p.Message.Parts) != 4 || string(p.Metadata) != `{"r":1}` || len(p.Accepted) != 1 || p.Callback != "" {
		t.Errorf("the service got %s", p.raw)
	}
	if p.Skill == nil || p.Skill.ID != "forecast" || string(p.Skill.Arguments) != `{"city":"Paris"}` {
		t.Errorf("the service got %s", p.raw)
	}
	var history []string
	for _, h := range p.History {
		history = append(history, h.Role+" "+show(h.Parts))
	}
	if got := strings.Join(history, "; "); got != "user first; agent 1; agent done" {
		t.Errorf("history %q", got)
	}
	for name, want := range map[string]string{
		"Authorization": "Bearer hush", "X-Team": "blue", "Traceparent": trace, "Tracestate": "rojo=1", "Parley-Attempt": "1", "Content-Type": "application/json", "User-Agent": "Parley",
	} {
		if got := p.Request.Header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if strings.Contains(w.log.String(), "hush") {
		t.Error("a header is in the log")
	}
}

// Requests that are made again are the same to the byte, and have the same key.
func TestRetries(t *testing.T) {
	var pauses []time.Duration
	s := serve(t, func(p *post) {
		switch p.n {
		case 1:
			p.ResponseWriter.Header().Set("Retry-After", "7")
			p.say(503, "text/plain", "busy")
		case 2: // of a connection that was used before: net/http itself tries again, by the key
			abort()
		case 3:
			p.say(500, "", "")
		case 4: // breaks off in the middle of an answer
			p.ResponseWriter.Header().Set("Content-Length", "100")
			p.json(`{"text":`)
			p.ResponseWriter.(http.Flusher).Flush()
			abort()
		default:
			p.json(`{"text":"at last"}`)
		}
	})
	w := newWorld(t, nil, s.URL, nil)
	w.agent.pause = func(_ context.Context, d time.Duration) error { pauses = append(pauses, d); return nil }
	task := w.task("hello")
	var said []string
	for _, m := range append(task.History, task.Status.Message) {
		if m.Role == a2a.RoleAgent {
			said = append(said, m.Text())
		}
	}
	if want := "the service answered with status 503; retrying in 7s"; len(said) != 4 || said[0] != want || said[3] != "at last" {
		t.Fatalf("the task said %q", said)
	}
	posts := s.got()
	for _, p := range posts[1:] {
		if string(p.raw) != string(posts[0].raw) || p.Request.Header.Get("Idempotency-Key") != posts[0].Request.Header.Get("Idempotency-Key") {
			t.Errorf("request %d is another one: %s", p.n, p.raw)
		}
	}
	if len(pauses) != 3 || pauses[0] != 7*time.Second {
		t.Fatalf("pauses %v", pauses)
	}
	for i, d := range pauses[1:] {
		if most := 500 * time.Millisecond << (i + 1); d < most/2 || d > most {
			t.Errorf("pause %d is %v, want at most %v", i+1, d, most)
		}
	}
}

func TestRetriesEnd(t *testing.T) {
	for name, c := range map[string]struct {
		do    func(*post)
		tries int
		want  string
	}{
		"503":        {func(p *post) { p.say(503, "", "") }, 3, "failed the service answered with status 503"},
		"429":        {func(p *post) { p.say(429, "", "") }, 3, "failed the service answered with status 429"},
		"no answer":  {func(*post) { abort() }, 3, "failed the service cannot be reached"},
		"a long way": {func(p *post) { p.ResponseWriter.Header().Set("Retry-After", "999999"); p.say(503, "", "") }, 1, "failed the service answered with status 503"},
	} {
		s := serve(t, c.do)
		w := newWorld(t, nil, s.URL, &Options{Retries: 2})
		wantOutcome(t, w.task("hello"), c.want)
		if n := len(s.got()); n != c.tries {
			t.Errorf("%s: %d requests, want %d", name, n, c.tries)
		}
	}
	s := serve(t, func(p *post) { p.say(503, "", "") })
	w := newWorld(t, nil, s.URL, &Options{Retries: -1})
	w.task("hello")
	if n := len(s.got()); n != 1 {
		t.Errorf("never: %d requests", n)
	}
}

// The text of a service's refusal is in the log, cleaned and without our secrets,
// and never reaches the caller.
func TestRefusalIsInTheLog(t *testing.T) {
	s := serve(t, func(p *post) {
		p.say(422, "text/html", "<p>field \x1b[2J\n required: prompt</p> you sent Bearer hush-hush"+strings.Repeat("x", 5000))
	})
	w := newWorld(t, nil, s.URL, &Options{Headers: map[string]a2a.Secret{"Authorization": "Bearer hush-hush"}})
	wantOutcome(t, w.task("hello"), "failed the service answered with status 422")
	log := w.log.String()
	if !strings.Contains(log, "422 Unprocessable Entity, text/html: <p>field [2J required: prompt</p> you sent [redacted] [redacted]xxx") ||
		strings.Contains(log, "hush") || strings.Count(log, "x") > 3*maxShown {
		t.Errorf("log: %s", log)
	}
}

// A service that is still at work on the same request is waited for as long as it
// may take, which is not counted in tries.
func TestServiceIsStillAtWork(t *testing.T) {
	s := serve(t, func(p *post) {
		switch {
		case p.n == 1:
			p.say(503, "", "")
		case p.n < 20 || p.Text == "for ever":
			p.say(409, "", "")
		default:
			p.json(`{"text":"done"}`)
		}
	})
	w := newWorld(t, nil, s.URL, &Options{Retries: 1})
	wantOutcome(t, w.task("hello"), "completed done")
	w = newWorld(t, nil, s.URL, &Options{Timeout: 50 * time.Millisecond})
	if task := w.task("for ever"); task.Status.State != a2a.TaskStateFailed {
		t.Errorf("%s", outcome(task))
	}
}

// Failures count, whatever was said in between: a service that fails again and again, and
// says in between that it is at work, is not asked for ever.
func TestServiceFailsBetweenWork(t *testing.T) {
	s := serve(t, func(p *post) {
		switch {
		case p.n > 50:
			p.json(`{"text":"asked for ever"}`)
		case p.n%2 == 1:
			p.say(503, "", "")
		default:
			p.say(409, "", "")
		}
	})
	w := newWorld(t, nil, s.URL, &Options{Retries: 3})
	wantOutcome(t, w.task("hello"), "failed the service answered with status 503")
	if n := len(s.got()); n != 7 {
		t.Errorf("%d requests, want 4 that failed and 3 between", n)
	}
}

// That a service was at work is not counted in tries.
func TestWorkIsNoFailure(t *testing.T) {
	s := serve(t, func(p *post) {
		switch {
		case p.n < 10:
			p.say(409, "", "")
		case p.n == 10:
			p.say(503, "", "")
		default:
			p.json(`{"text":"done"}`)
		}
	})
	w := newWorld(t, nil, s.URL, &Options{Retries: 1})
	wantOutcome(t, w.task("hello"), "completed done")
}

func TestNobodyListens(t *testing.T) {
	w := newWorld(t, nil, "http://ann:hush@127.0.0.1:1/x?token=hush", nil)
	task := w.task("hello")
	wantOutcome(t, task, "failed the service cannot be reached")
	if log := w.log.String(); strings.Contains(log, "hush") || !strings.Contains(log, "refused") {
		t.Errorf("log: %s", log)
	}
}

func TestTimeout(t *testing.T) {
	for _, begun := range []bool{false, true} {
		s := serve(t, func(p *post) {
			if begun {
				p.json(`{"text`)
				p.ResponseWriter.(http.Flusher).Flush()
			}
			<-p.Request.Context().Done()
		})
		w := newWorld(t, nil, s.URL, &Options{Timeout: 30 * time.Millisecond})
		wantOutcome(t, w.task("hello"), "failed the service did not answer in time")
	}
}

// A redirect would take credentials elsewhere.
func TestRedirectsAreNotFollowed(t *testing.T) {
	other := serve(t, func(p *post) { p.json(`{"text":"mine now"}`) })
	s := serve(t, func(p *post) { http.Redirect(p.ResponseWriter, p.Request, other.URL, http.StatusTemporaryRedirect) })
	w := newWorld(t, nil, s.URL, &Options{Client: &http.Client{}, Headers: map[string]a2a.Secret{"X-Key": "hush"}})
	wantOutcome(t, w.task("hello"), "failed the service answered with status 307, a redirect, which is not followed")
	if len(other.got()) != 0 {
		t.Error("the other host was asked")
	}
}

func TestCancelClosesTheRequest(t *testing.T) {
	closed := make(chan struct{})
	began := make(chan struct{})
	s := serve(t, func(p *post) {
		close(began)
		<-p.Request.Context().Done()
		close(closed)
	})
	w := newWorld(t, nil, s.URL, nil)
	task := w.begin("hello")
	<-began
	if _, err := w.CancelTask(t.Context(), &a2a.CancelTaskRequest{ID: task.ID}); err != nil {
		t.Fatal(err)
	}
	<-closed
	w.state(task.ID, a2a.TaskStateCanceled)
}

// A process that is lost in the middle makes the same request again, and its answer
// takes the place of the half one.
func TestCrashInTheMiddle(t *testing.T) {
	st := store.NewMemory()
	defer st.Close()
	s := serve(t, func(p *post) {
		if p.Request.Header.Get("Parley-Attempt") == "1" {
			p.event("", `{"type":"artifact","name":"a","text":"half"}`)
			<-p.Request.Context().Done()
			return
		}
		p.event("", `{"type":"artifact","name":"a","text":"all"}`)
		p.event("", `{"type":"complete"}`)
	})
	w := newWorld(t, st, s.URL, nil)
	task := w.begin("hello")
	w.until(task.ID, "half", func(t *a2a.Task) bool { return len(t.Artifacts) > 0 })
	w.kill()
	w = newWorld(t, st, s.URL, nil)
	wantOutcome(t, w.state(task.ID, a2a.TaskStateCompleted), "completed | a: all")
	posts := s.got()
	if len(posts) != 2 || string(posts[0].raw) != string(posts[1].raw) || posts[1].Request.Header.Get("Parley-Attempt") != "2" ||
		posts[0].Request.Header.Get("Idempotency-Key") != posts[1].Request.Header.Get("Idempotency-Key") {
		t.Errorf("%d requests, the last one %s", len(posts), posts[len(posts)-1].raw)
	}
}

// Work before a question is not asked for again, and keeps its artifacts.
func TestCrashAfterAnAnswer(t *testing.T) {
	st := store.NewMemory()
	defer st.Close()
	s := serve(t, func(p *post) {
		switch {
		case p.Type == "message":
			p.json(`{"artifacts":[{"name":"a","text":"1"},{"name":"b","text":"2"}],"ask":"and?","state":[1]}`)
		case p.Request.Header.Get("Parley-Attempt") == "1":
			<-p.Request.Context().Done()
		default:
			p.json(`{"artifacts":[{"name":"c","text":"3"},{"name":"b","text":"4"}]}`)
		}
	})
	w := newWorld(t, st, s.URL, nil)
	task := w.task("hello")
	req := now(message("go on"))
	req.Message.TaskID = task.ID
	w.send(req)
	poll(t, "asked", func() bool { return len(s.got()) == 2 })
	w.kill()
	w = newWorld(t, st, s.URL, nil)
	wantOutcome(t, w.state(task.ID, a2a.TaskStateCompleted), "completed | a: 1 | b: 4 | c: 3")
	if posts := s.got(); len(posts) != 3 || string(posts[1].raw) != string(posts[2].raw) || string(posts[2].State) != "[1]" {
		t.Errorf("%d requests, the last one %s", len(posts), posts[len(posts)-1].raw)
	}
}

// First come, first served: and those that wait end with their task.
func TestConcurrency(t *testing.T) {
	hold := make(chan struct{})
	s := serve(t, func(p *post) {
		if p.n == 1 {
			<-hold
		}
		p.json(`{"artifacts":[],"text":"` + p.Text + `"}`)
	})
	w := newWorld(t, nil, s.URL, &Options{Concurrency: 1})
	tasks := []*a2a.Task{w.begin("0")}
	poll(t, "asked", func() bool { return len(s.got()) == 1 })
	for i := range 5 {
		tasks = append(tasks, w.begin(fmt.Sprint(i+1)))
		poll(t, "in the queue", func() bool { return w.agent.queue.Waiting() == i+1 })
	}
	if _, err := w.CancelTask(t.Context(), &a2a.CancelTaskRequest{ID: tasks[3].ID}); err != nil {
		t.Fatal(err)
	}
	w.state(tasks[3].ID, a2a.TaskStateCanceled)
	close(hold)
	var order []string
	for i, task := range tasks {
		if i != 3 {
			w.state(task.ID, a2a.TaskStateCompleted)
		}
	}
	for _, p := range s.got() {
		order = append(order, p.Text)
	}
	if got := strings.Join(order, ""); got != "01245" {
		t.Errorf("order %s", got)
	}
}

func TestNew(t *testing.T) {
	for _, url := range []string{"", "example.com", "ftp://example.com", "http:///x", "http://ann:hush@exa mple.com/", "/x"} {
		if _, err := New(url, nil); err == nil || strings.Contains(err.Error(), "hush") {
			t.Errorf("%q: %v", url, err)
		}
	}
	for name, value := range map[string]a2a.Secret{"content-type": "x", "idempotency-key": "hush", "X Y": "hush", "": "hush", "X": "a\r\nhush", "Y": "\x00"} {
		if _, err := New("https://example.com", &Options{Headers: map[string]a2a.Secret{name: value}}); err == nil || strings.Contains(err.Error(), "hush") {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, url := range []string{"", "/callbacks/x", "http://example.com/?x", "ftp://example.com"} {
		if _, err := NewCallbacks(url, "0123456789abcdef"); err == nil {
			t.Errorf("%q: no error", url)
		}
	}
	if _, err := NewCallbacks("https://example.com", "short"); err == nil || strings.Contains(err.Error(), "short") {
		t.Errorf("a short secret: %v", err)
	}
}

func TestDefaults(t *testing.T) {
	for _, given := range []*Options{nil, {}} {
		a, err := New("https://example.com", given)
		if err != nil {
			t.Fatal(err)
		}
		if o := a.opts; o.timeout() != 5*time.Minute || o.idle() != 5*time.Minute || o.retries() != 5 || o.concurrency() != 256 || o.maxAnswer() != 8<<20 ||
			o.maxOutput() != 64<<20 || o.history() != 0 || o.callbackWait() != 24*time.Hour || o.client() == nil || o.logger() == nil || o.Callbacks != nil {
			t.Errorf("%+v", o)
		}
	}
	if c := Card("x"); c.Name != "x" || len(c.Skills) != 1 || len(c.Skills[0].Tags) == 0 {
		t.Errorf("%+v", c)
	}
}

// The trace that a client was given of a task is nothing that the agent said.
func TestTracesAreNoHistory(t *testing.T) {
	s := serve(t, func(p *post) { p.json(`{"artifacts":[{"text":"1"}]}`) })
	w := newWorld(t, nil, s.URL, &Options{History: 10})
	card := &a2a.AgentCard{Name: "test", Capabilities: a2a.AgentCapabilities{Extensions: []*a2a.AgentExtension{a2a.TraceabilityExtension()}}}
	if err := w.Replace([]engine.Hosted{{Agent: w.agent, Card: card}}, nil); err != nil {
		t.Fatal(err)
	}
	res, err := w.SendMessage(a2a.WithCaller(t.Context(), a2a.Caller{Extensions: []string{a2a.TraceabilityURI}}), message("first"))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(res.Task.Artifacts); n != 2 {
		t.Fatalf("%d artifacts, want the answer and the trace", n)
	}
	req := message("second")
	req.Message.ContextID = res.Task.ContextID
	w.send(req)
	var got []string
	for _, h := range s.got()[1].History {
		got = append(got, h.Role+" "+show(h.Parts))
	}
	if want := "user first; agent 1"; strings.Join(got, "; ") != want {
		t.Errorf("history %q, want %q", got, want)
	}
}

// Long histories are cut at their old end.
func TestHistoryIsBounded(t *testing.T) {
	s := serve(t, func(p *post) { p.json(`{"artifacts":[{"text":"` + p.Text + `"}]}`) })
	for _, c := range []struct{ history, size, want int }{{4, 10, 4}, {100, 60 << 10, 8}, {100, 300 << 10, 1}} {
		w := newWorld(t, nil, s.URL, &Options{History: c.history})
		ctxID := ""
		for i := range 6 {
			req := message(fmt.Sprint(i) + strings.Repeat("x", c.size/2))
			req.Message.ContextID = ctxID
			ctxID = w.send(req).Task.ContextID
		}
		posts := s.got()
		h := posts[len(posts)-1].History
		if len(h) > c.want || c.want == 4 && len(h) != 4 {
			t.Errorf("%+v: %d messages", c, len(h))
		}
		if len(h) > 0 && !strings.HasPrefix(show(h[len(h)-1].Parts), "4") {
			t.Errorf("%+v: the newest is %.10s", c, show(h[len(h)-1].Parts))
		}
	}
}

var _ io.Closer = (*Agent)(nil)
