package a2aserver

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/budget"
	"github.com/parley-a2a/parley/internal/pb"
	"github.com/parley-a2a/parley/internal/port"
	"golang.org/x/net/http2"
)

// unread is the writer of a client that reads nothing until it is let.
type unread struct {
	rec *httptest.ResponseRecorder
	let chan struct{} // closed when the client reads

	mu   sync.Mutex // protects the fields below, and rec
	over bool       // the request was answered
}

func (w *unread) Header() http.Header { return w.rec.Header() } // the handler's

func (w *unread) WriteHeader(status int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rec.WriteHeader(status)
}

func (w *unread) Write(b []byte) (int, error) {
	<-w.let
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.rec.Write(b)
}

// answer is what has come of the answer so far, and whether that is all.
func (w *unread) answer() (status int, body string, over bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.rec.Code, w.rec.Body.String(), w.over
}

// asker makes requests of which it says when the answers are read.
type asker struct {
	s   *Server
	all sync.WaitGroup
}

// ask makes a request. Without read the answer is not read until let is closed.
func (a *asker) ask(name, method, path string, read bool) *unread {
	r := httptest.NewRequest(method, path, nil)
	r.Header.Set("A2A-Version", "1.0")
	r.Header.Set("Name", name)
	w := &unread{rec: httptest.NewRecorder(), let: make(chan struct{})}
	if read {
		close(w.let)
	}
	a.all.Go(func() {
		a.s.ServeHTTP(w, r)
		w.mu.Lock()
		defer w.mu.Unlock()
		w.over = true
	})
	synctest.Wait()
	return w
}

const large2 = 2 << 20 // of a task's text

func largeTask(text string) *a2a.Task {
	return &a2a.Task{ID: "t", ContextID: "c", Status: a2a.TaskStatus{State: a2a.TaskStateWorking}, Artifacts: []*a2a.Artifact{
		{ArtifactID: "a", Parts: []*a2a.Part{a2a.TextPart(text)}},
	}}
}

// Answers hold memory until they are read: more wait for it, are refused in the
// end, and are answered in full where it comes in time. Small answers never wait.
func TestAnswersWaitForMemory(t *testing.T) {
	text := strings.Repeat("x", large2)
	get := func(_ context.Context, q *a2a.GetTaskRequest) (*a2a.Task, error) {
		if q.ID == "small" {
			return &a2a.Task{ID: "small", ContextID: "c", Status: a2a.TaskStatus{State: a2a.TaskStateWorking}}, nil
		}
		return largeTask(text), nil
	}
	subscribe := func(_ context.Context, q *a2a.SubscribeToTaskRequest) iter.Seq2[*a2a.StreamResponse, error] {
		return func(yield func(*a2a.StreamResponse, error) bool) {
			task, _ := get(nil, &a2a.GetTaskRequest{ID: q.ID})
			yield(&a2a.StreamResponse{Task: task, Seq: 1}, nil)
		}
	}
	for name, at := range map[string]struct{ method, path string }{
		"unary": {"GET", "/tasks/"}, "stream": {"POST", "/tasks/%s:subscribe"},
	} {
		path := func(id string) string {
			if strings.Contains(at.path, "%s") {
				return fmt.Sprintf(at.path, id)
			}
			return at.path + id
		}
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				memory := budget.New(5 << 20)
				s := New(&fake{get: get, subscribe: subscribe}, testCard(), &Options{Identity: namedCaller{}, Memory: memory})
				a := &asker{s: s}
				first := a.ask("one", at.method, path("large"), false)
				if memory.Used() < large2 {
					t.Fatalf("%d bytes are held", memory.Used())
				}
				late := a.ask("two", at.method, path("large"), true)
				if status, _, over := a.ask("two", at.method, path("small"), true).answer(); !over || status != http.StatusOK {
					t.Errorf("a small answer waits: %d", status)
				}
				time.Sleep(budget.Wait - 1)
				synctest.Wait()
				if _, got, _ := late.answer(); strings.TrimSpace(strings.ReplaceAll(got, ": keep-alive\n", "")) != "" {
					t.Errorf("answered too soon: %.200s", got)
				}
				time.Sleep(2 * time.Nanosecond)
				synctest.Wait()
				status, got, over := late.answer()
				if !over || !strings.Contains(got, "try again") {
					t.Errorf("%.300s", got)
				}
				// A stream has been opened by a comment meanwhile, so its error is an
				// event.
				if name == "unary" && (status != http.StatusServiceUnavailable || late.Header().Get("Retry-After") != "5") {
					t.Errorf("%d %v", status, late.Header())
				}
				next := a.ask("two", at.method, path("large"), true)
				if status, _, over := next.answer(); over {
					t.Errorf("it did not wait: %d", status)
				}
				close(first.let)
				a.all.Wait()
				for _, w := range []*unread{first, next} {
					if status, got, _ := w.answer(); status != http.StatusOK || !strings.Contains(got, text) {
						t.Errorf("%d, %d bytes", status, len(got))
					}
				}
				if n := memory.Used(); n != 0 {
					t.Errorf("%d bytes are held when all is read", n)
				}
			})
		})
	}
}

// A stream that is under way waits for the memory of a large event, and ends with
// an error that says so if there is none.
func TestEventsWaitForMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := budget.New(4 << 20)
		s := New(&fake{subscribe: func(context.Context, *a2a.SubscribeToTaskRequest) iter.Seq2[*a2a.StreamResponse, error] {
			return func(yield func(*a2a.StreamResponse, error) bool) {
				if yield(&a2a.StreamResponse{Task: largeTask("little"), Seq: 1}, nil) {
					yield(&a2a.StreamResponse{Task: largeTask(strings.Repeat("x", large2)), Seq: 2}, nil)
				}
			}
		}}, testCard(), &Options{Memory: memory})
		other := memory.Open("other")
		other.Set(4 << 20)
		a := &asker{s: s}
		w := a.ask("one", "POST", "/tasks/t:subscribe", true)
		if _, got, over := w.answer(); over || !strings.Contains(got, "little") {
			t.Fatalf("%.300s", got)
		}
		a.all.Wait()
		if _, got, _ := w.answer(); !strings.Contains(got, "try again") || strings.Contains(got, "xxx") || !strings.Contains(got, "keep-alive") {
			t.Errorf("%.600s", got)
		}
		other.Close()
		if memory.Used() != 0 {
			t.Errorf("%d bytes are held", memory.Used())
		}
	})
}

// An answer over gRPC holds memory until the client's window has taken it.
func TestAnswersOverGRPCWaitForMemory(t *testing.T) {
	text := strings.Repeat("x", large2)
	svc := func() *fake {
		return &fake{get: func(context.Context, *a2a.GetTaskRequest) (*a2a.Task, error) { return largeTask(text), nil }}
	}
	grpcPipe(t, svc, func(t *testing.T, s *Server, _ *fake, c *h2client, native bool) {
		all := s.memory.Open("all the others")
		all.Set(1 << 40)
		c.call("GetTask", &pb.GetTaskRequest{Id: "t"})
		time.Sleep(budget.Wait + time.Second)
		synctest.Wait()
		if got := <-c.last; !strings.Contains(got, "grpc-status: 14") || !strings.Contains(got, "try again") {
			t.Errorf("the answer without memory is %s", got)
		}
		all.Close()
		c.call("GetTask", &pb.GetTaskRequest{Id: "t"})
		synctest.Wait()
		if n := s.memory.Used(); n < large2 {
			t.Errorf("%d bytes are held for an answer that is not read", n)
		}
		time.Sleep(2 * time.Minute) // the server gives it up
		synctest.Wait()
		if n := s.memory.Used(); n != 0 {
			t.Errorf("%d bytes are held when the call is over", n)
		}
	})
}

// An answer that is made after its client has left holds nothing when the call is over.
func TestAnswersOverGRPCToNobodyHoldNothing(t *testing.T) {
	text := strings.Repeat("x", large2)
	var answer chan struct{}
	svc := func() *fake {
		answer = make(chan struct{})
		return &fake{get: func(context.Context, *a2a.GetTaskRequest) (*a2a.Task, error) { <-answer; return largeTask(text), nil }}
	}
	grpcPipe(t, svc, func(t *testing.T, s *Server, _ *fake, c *h2client, _ bool) {
		id := c.call("GetTask", &pb.GetTaskRequest{Id: "t"})
		synctest.Wait()
		_ = c.f.WriteRSTStream(id, http2.ErrCodeCancel)
		synctest.Wait()
		close(answer)
		synctest.Wait()
		if n := s.memory.Used(); n != 0 {
			t.Errorf("%d bytes are held when the call is over", n)
		}
	})
}

// largeCard has an extended card of 1 MiB.
type largeCard struct{ a2a.Unimplemented }

func (largeCard) GetExtendedAgentCard(context.Context, *a2a.GetExtendedAgentCardRequest) (*a2a.AgentCard, error) {
	c := *testCard()
	c.Description = strings.Repeat("x", 1<<20)
	return &c, nil
}

// The extended card at 0.2's path holds no memory after it is sent.
func TestExtendedCardsGiveTheirMemoryBack(t *testing.T) {
	s := New(largeCard{}, testCard(), nil)
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest("GET", extendedPath, nil))
	if w.Code != 200 || w.Body.Len() < 1<<20 {
		t.Fatal(w.Code, w.Body.Len())
	}
	if n := s.memory.Used(); n != 0 {
		t.Errorf("%d bytes are held behind it", n)
	}
}

// A client that reads a large answer slowly gets the time for it, unless others wait
// for the memory.
func TestSlowReadersGiveWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := budget.New(4 << 20)
		p := port.Pace{Hold: memory.Open("slow")}
		p.Hold.Set(3 << 20)
		const limit = 30 * time.Second
		at := time.Duration(0)
		piece := func() { // at 8 KiB a second
			p.Allows(port.WriteSize, limit, at)
			p.Wrote(port.WriteSize, at, at+4*time.Second)
			at += 4 * time.Second
		}
		for range 100 {
			piece()
		}
		if p.Behind() > 0 {
			t.Errorf("the client is behind by %v although nobody waits", p.Behind())
		}
		ctx, cancel := context.WithCancel(t.Context())
		var waits sync.WaitGroup
		waits.Go(func() { _ = memory.Open("other").Ensure(ctx, 3<<20) })
		synctest.Wait()
		n := 0
		for ; p.Behind() <= limit && n < 100; n++ {
			piece()
		}
		if n < 7 || n > 12 {
			t.Errorf("it was given up after %d pieces", n)
		}
		cancel()
		waits.Wait()
	})
}
