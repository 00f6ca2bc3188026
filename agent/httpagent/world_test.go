package httpagent

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/engine"
	"github.com/parley-a2a/parley/store"
	"github.com/parley-a2a/parley/store/storetest"
	"github.com/parley-a2a/parley/test/fixtures"
)

// post is a request that the service got.
type post struct {
	http.ResponseWriter
	*http.Request
	request
	raw []byte
	n   int // of all, from 1
}

func (p *post) say(status int, media, body string) {
	p.ResponseWriter.Header().Set("Content-Type", media)
	p.ResponseWriter.WriteHeader(status)
	io.WriteString(p.ResponseWriter, body)
}

func (p *post) json(body string) { p.say(200, "application/json", body) }

// event sends one event of a stream.
func (p *post) event(id, data string) {
	h := p.ResponseWriter.Header()
	h.Set("Content-Type", "text/event-stream")
	if id != "" {
		fmt.Fprintf(p.ResponseWriter, "id: %s\n", id)
	}
	fmt.Fprintf(p.ResponseWriter, "data: %s\n\n", data)
	p.ResponseWriter.(http.Flusher).Flush()
}

// abort cuts the connection.
func abort() { panic(http.ErrAbortHandler) }

// service is an HTTP service that does what a test says.
type service struct {
	*httptest.Server
	mu    sync.Mutex
	posts []*post
}

func serve(t testing.TB, do func(*post)) *service {
	s := &service{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p := &post{ResponseWriter: w, Request: r}
		p.raw, _ = io.ReadAll(r.Body)
		if r.Method == http.MethodPost {
			if err := json.Unmarshal(p.raw, &p.request); err != nil {
				t.Errorf("the service got %q: %v", p.raw, err)
			}
		}
		s.mu.Lock()
		s.posts = append(s.posts, p)
		p.n = len(s.posts)
		s.mu.Unlock()
		do(p)
	}))
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	t.Cleanup(s.Close)
	return s
}

func (s *service) got() []*post {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*post(nil), s.posts...)
}

// world is an agent in an engine, and its service.
type world struct {
	*engine.Engine
	t     testing.TB
	agent *Agent
	log   *fixtures.Buffer
	stop  func()
	kill  func()
}

// newWorld starts an engine over st, nil for a store of its own.
func newWorld(t testing.TB, st store.Store, url string, o *Options) *world {
	t.Helper()
	return newWorldAfter(t, st, url, o, 0)
}

// newWorldAfter is newWorld with a time, zero for the default, in which an agent may
// answer with a message before a task comes into being. A service that answers at
// once is slower than the default where the machine is busy.
func newWorldAfter(t testing.TB, st store.Store, url string, o *Options, createAfter time.Duration) *world {
	t.Helper()
	if st == nil {
		mem := store.NewMemory()
		t.Cleanup(func() { mem.Close() })
		st = mem
	}
	m := storetest.NewMortal(st)
	w := &world{t: t, log: new(fixtures.Buffer)}
	if o == nil {
		o = &Options{}
	}
	own := *o
	own.Logger = slog.New(slog.NewTextHandler(w.log, nil))
	ag, err := New(url, &own)
	if err != nil {
		t.Fatal(err)
	}
	ag.pause = func(ctx context.Context, d time.Duration) error { return ctx.Err() }
	w.agent = ag
	card := Card("test")
	w.Engine = engine.New(m, ag, &card, &engine.Options{Logger: own.Logger, DrainWait: 5 * time.Second, CreateAfter: createAfter})
	ctx, cancel := context.WithCancel(context.Background())
	ran := make(chan error, 1)
	go func() { ran <- w.Run(ctx) }()
	w.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ran; err != nil && !m.Dead() {
			t.Errorf("Run: %v", err)
		}
		ag.Close()
	})
	w.kill = func() { m.Kill(); w.stop() }
	t.Cleanup(w.stop)
	return w
}

var ids atomic.Int64

func message(text string) *a2a.SendMessageRequest {
	return &a2a.SendMessageRequest{Message: &a2a.Message{
		MessageID: fmt.Sprint("m", ids.Add(1)), Role: a2a.RoleUser, Parts: []*a2a.Part{a2a.TextPart(text)},
	}}
}

func now(req *a2a.SendMessageRequest) *a2a.SendMessageRequest {
	req.Configuration = &a2a.SendMessageConfiguration{ReturnImmediately: true}
	return req
}

func (w *world) send(req *a2a.SendMessageRequest) *a2a.SendMessageResponse {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	defer cancel()
	res, err := w.SendMessage(ctx, req)
	if err != nil {
		w.t.Fatalf("SendMessage: %v", err)
	}
	return res
}

// task sends and returns the task as of the end or the question.
func (w *world) task(text string) *a2a.Task {
	w.t.Helper()
	res := w.send(message(text))
	if res.Task == nil {
		w.t.Fatalf("a direct message %s", show(res.Message.Parts))
	}
	return res.Task
}

// begin sends and does not wait.
func (w *world) begin(text string) *a2a.Task {
	w.t.Helper()
	return w.send(now(message(text))).Task
}

func (w *world) answer(task *a2a.Task, text string) *a2a.Task {
	w.t.Helper()
	req := message(text)
	req.Message.TaskID = task.ID
	return w.send(req).Task
}

// poll waits for what it cannot be told of.
func poll(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it never is %s", what)
		}
	}
}

// until polls the task.
func (w *world) until(id, what string, ok func(*a2a.Task) bool) (task *a2a.Task) {
	w.t.Helper()
	poll(w.t, what, func() bool {
		var err error
		if task, err = w.GetTask(w.t.Context(), &a2a.GetTaskRequest{ID: id}); err != nil {
			w.t.Fatal(err)
		}
		return ok(task)
	})
	return task
}

func (w *world) state(id string, want a2a.TaskState) *a2a.Task {
	w.t.Helper()
	return w.until(id, want.String(), func(t *a2a.Task) bool { return t.Status.State == want })
}

// outcome writes a task as "completed words | name: text, text".
func outcome(t *a2a.Task) string {
	var b strings.Builder
	b.WriteString(strings.ToLower(strings.TrimPrefix(t.Status.State.String(), "TASK_STATE_")))
	if m := t.Status.Message; m != nil {
		b.WriteString(" " + show(m.Parts))
	}
	for _, a := range t.Artifacts {
		fmt.Fprintf(&b, " | %s: %s", cmp.Or(a.Name, "-"), show(a.Parts))
	}
	return b.String()
}

func show(parts []*a2a.Part) string {
	var all []string
	for _, p := range parts {
		switch p.Kind {
		case a2a.PartText:
			all = append(all, p.Text)
		case a2a.PartRaw:
			all = append(all, fmt.Sprintf("%s %q", p.MediaType, p.Raw))
		case a2a.PartData:
			all = append(all, string(p.Data))
		case a2a.PartURL:
			all = append(all, p.URL)
		}
	}
	return strings.Join(all, ", ")
}

func wantOutcome(t testing.TB, task *a2a.Task, want string) {
	t.Helper()
	if got := outcome(task); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func mustJSON(t testing.TB, v any) []byte {
	t.Helper()
	doc, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}
