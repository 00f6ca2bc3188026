package a2aserver

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/wire"
)

type elements = iter.Seq2[*a2a.StreamResponse, error]

// yields is a stream of these, in this order, which then ends.
func yields(list ...any) elements {
	return func(yield func(*a2a.StreamResponse, error) bool) {
		for _, v := range list {
			switch v := v.(type) {
			case error:
				yield(nil, v)
				return
			case *a2a.StreamResponse:
				if !yield(v, nil) {
					return
				}
			}
		}
	}
}

func taskAt(seq int64) *a2a.StreamResponse {
	return &a2a.StreamResponse{Seq: seq, Task: &a2a.Task{ID: "t1", ContextID: "c1", Status: a2a.TaskStatus{State: a2a.TaskStateWorking}}}
}

func statusAt(seq int64, s a2a.TaskState) *a2a.StreamResponse {
	return &a2a.StreamResponse{Seq: seq, StatusUpdate: &a2a.TaskStatusUpdateEvent{TaskID: "t1", ContextID: "c1", Status: a2a.TaskStatus{State: s}}}
}

func streaming(f func(context.Context) elements) *fake {
	return &fake{
		stream:    func(ctx context.Context, _ *a2a.SendMessageRequest) elements { return f(ctx) },
		subscribe: func(ctx context.Context, _ *a2a.SubscribeToTaskRequest) elements { return f(ctx) },
	}
}

const (
	rpcSubscribe = `{"jsonrpc":"2.0","id":"s","method":"SubscribeToTask","params":{"id":"t1"}}`
	statusJSON   = `{"statusUpdate":{"taskId":"t1","contextId":"c1","status":{"state":"TASK_STATE_COMPLETED"}}}`
)

// R-008 R-215 R-220 R-235 R-247: the same stream on both bindings, to the byte.
func TestStreamBytes(t *testing.T) {
	raw := statusAt(0, a2a.TaskStateCompleted) // no log, so no id
	raw.StatusUpdate.Metadata = a2a.JSON("{\n\t\"a\": 1.0,\r\n\"b\":null}")
	h := New(streaming(func(context.Context) elements {
		return yields(taskAt(3), statusAt(7, a2a.TaskStateCompleted), raw)
	}), testCard(), nil)
	const rawJSON = `{"statusUpdate":{"taskId":"t1","contextId":"c1","status":{"state":"TASK_STATE_COMPLETED"},"metadata":{ 	"a": 1.0,  "b":null}}}`
	for _, tt := range []struct{ method, target, body, prefix, suffix string }{
		{"POST", "/", rpcSubscribe, `{"jsonrpc":"2.0","id":"s","result":`, `}`},
		{"POST", "/", strings.Replace(rpcSubscribe, "SubscribeToTask", "SendStreamingMessage", 1), `{"jsonrpc":"2.0","id":"s","result":`, `}`},
		{"POST", "/message:stream", "{}", "", ""},
		{"POST", "/tasks/t1:subscribe", "", "", ""},
		{"GET", "/tasks/t1:subscribe", "", "", ""},
		{"GET", "/acme/tasks/t1:subscribe", "", "", ""},
	} {
		w := do(h, tt.method, tt.target, tt.body)
		want := "id: 3\ndata: " + tt.prefix + `{"task":` + taskJSON + `}` + tt.suffix + "\n\n" +
			"id: 7\ndata: " + tt.prefix + statusJSON + tt.suffix + "\n\n" +
			"data: " + tt.prefix + rawJSON + tt.suffix + "\n\n"
		if w.Code != 200 || w.Body.String() != want {
			t.Errorf("%s %s: %d\n%s\nwant\n%s", tt.method, tt.target, w.Code, w.Body, want)
		}
		for name, want := range map[string]string{
			"Content-Type": "text/event-stream", "Cache-Control": "no-cache", "X-Accel-Buffering": "no", "Content-Length": "",
		} {
			if got := w.Header().Get(name); got != want {
				t.Errorf("%s %s: %s %q", tt.method, tt.target, name, got)
			}
		}
	}
}

// DIALECTS 4.5: an error is an ordinary answer before the first event, and an
// event of its own behind it.
func TestErrorsInStreams(t *testing.T) {
	gone := &a2a.Error{Code: a2a.CodeTaskNotFound, Message: "no task t1"}
	const info = `[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"TASK_NOT_FOUND","domain":"a2a-protocol.org"}]`
	const rest = `{"error":{"code":404,"status":"NOT_FOUND","message":"no task t1","details":` + info + `}}`
	rpc := rpcError(`"s"`, "-32001", "no task t1", "TASK_NOT_FOUND")

	early := New(streaming(func(context.Context) elements { return yields(gone) }), testCard(), nil)
	if w := do(early, "POST", "/", rpcSubscribe); w.Code != 200 || w.Body.String() != rpc || w.Header().Get("Content-Type") != "application/json" {
		t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
	}
	if w := do(early, "GET", "/tasks/t1:subscribe", ""); w.Code != 404 || w.Body.String() != rest || w.Header().Get("Content-Type") != "application/json" {
		t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
	}

	late := New(streaming(func(context.Context) elements { return yields(taskAt(1), gone) }), testCard(), nil)
	if w := do(late, "POST", "/", rpcSubscribe); !strings.HasSuffix(w.Body.String(), "\n\nevent: error\ndata: "+rpc+"\n\n") {
		t.Error(w.Body)
	}
	if w := do(late, "GET", "/tasks/t1:subscribe", ""); !strings.HasSuffix(w.Body.String(), "\n\nevent: error\ndata: "+rest+"\n\n") {
		t.Error(w.Body)
	}

	for name, seq := range map[string]func(context.Context) elements{
		"plain error": func(context.Context) elements { return yields(taskAt(1), errors.New("SELECT")) },
		"panic":       func(context.Context) elements { return panics(taskAt(1)) },
	} {
		w := do(New(streaming(seq), testCard(), nil), "POST", "/", rpcSubscribe)
		want := "event: error\ndata: " + rpcError(`"s"`, "-32603", "Internal error", "INTERNAL_ERROR") + "\n\n"
		if !strings.HasSuffix(w.Body.String(), want) {
			t.Errorf("%s: %s", name, w.Body)
		}
	}
	for name, seq := range map[string]func(context.Context) elements{
		"no element":  func(context.Context) elements { return yields() },
		"early panic": func(context.Context) elements { return panics(nil) },
	} {
		w := do(New(streaming(seq), testCard(), nil), "GET", "/tasks/t1:subscribe", "")
		if w.Code != 500 || !strings.Contains(w.Body.String(), "INTERNAL_ERROR") {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
}

func panics(first *a2a.StreamResponse) elements {
	return func(yield func(*a2a.StreamResponse, error) bool) {
		if first != nil {
			yield(first, nil)
		}
		panic("at the disco")
	}
}

func TestLastEventID(t *testing.T) {
	var after int64
	h := New(&fake{subscribe: func(_ context.Context, req *a2a.SubscribeToTaskRequest) elements {
		after = req.After
		return yields(taskAt(req.After))
	}}, testCard(), nil)
	for value, want := range map[string]int64{"": 0, "0": 0, "17": 17, " 17 ": 17, "9223372036854775807": 1<<63 - 1} {
		after = -1
		w := do(h, "GET", "/tasks/t1:subscribe", "", "Last-Event-ID: "+value)
		if w.Code != 200 || after != want {
			t.Errorf("%q: %d, after %d", value, w.Code, after)
		}
		if do(h, "POST", "/", rpcSubscribe, "Last-Event-ID: "+value); after != want {
			t.Errorf("%q on JSON-RPC: after %d", value, after)
		}
	}
	for _, value := range []string{"x", "-1", "+1", "1.0", "9223372036854775808", "1,2"} {
		if w := do(h, "GET", "/tasks/t1:subscribe", "", "Last-Event-ID: "+value); w.Code != 400 || !strings.Contains(w.Body.String(), `"field":"Last-Event-ID"`) {
			t.Errorf("%q: %d %s", value, w.Code, w.Body)
		}
	}
}

// What is ready goes out in one write.
func TestReadyEventsAreGathered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 40
		list := []any{taskAt(1)}
		for i := range n {
			list = append(list, statusAt(int64(i)+2, a2a.TaskStateWorking))
		}
		w := &waitingWriter{ResponseRecorder: httptest.NewRecorder()}
		New(streaming(func(context.Context) elements { return yields(list...) }), testCard(), nil).
			ServeHTTP(w, httptest.NewRequest("GET", "/tasks/t1:subscribe", nil))
		if got := strings.Count(w.Body.String(), "\n\n"); got != n+1 {
			t.Errorf("%d events", got)
		}
		if w.writes > 2 {
			t.Errorf("%d writes for %d events", w.writes, n+1)
		}
	})
}

// waitingWriter lets the service run as far as it can before each write.
type waitingWriter struct {
	*httptest.ResponseRecorder
	writes int
}

func (w *waitingWriter) Write(b []byte) (int, error) {
	w.writes++
	synctest.Wait()
	return w.ResponseRecorder.Write(b)
}

// pipes is a listener whose connections are pipes, so that whole exchanges run
// on fake time.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { close(p.done); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

func (p *pipes) dial() net.Conn {
	near, far := net.Pipe()
	p.conns <- far
	return near
}

func request(c net.Conn, head, body string) {
	fmt.Fprintf(c, "%s HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n%s", head, len(body), body)
}

func response(t *testing.T, c net.Conn) *http.Response {
	t.Helper()
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// waiting yields the elements and then waits until its caller has left, which
// it tells with the time that passed.
func waiting(left chan<- time.Duration, list ...any) func(context.Context) elements {
	return func(ctx context.Context) elements {
		return func(yield func(*a2a.StreamResponse, error) bool) {
			began := time.Now()
			defer func() { left <- time.Since(began) }()
			for res, err := range yields(list...) {
				if !yield(res, err) {
					return
				}
			}
			<-ctx.Done()
			yield(nil, ctx.Err())
		}
	}
}

// pipeTest runs test in a bubble of fake time. serve puts a service behind a
// real HTTP server; all channels must be made inside. The bubble fails if a
// goroutine is left.
func pipeTest(t *testing.T, test func(t *testing.T, serve func(*fake) (*Server, func() net.Conn))) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		l := &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
		var srv *http.Server
		defer func() { srv.Close() }()
		test(t, func(f *fake) (*Server, func() net.Conn) {
			s := New(f, testCard(), nil)
			srv = HTTPServer(s)
			go srv.Serve(l)
			return s, l.dial
		})
	})
}

func TestSilentStreamsAreKeptAlive(t *testing.T) {
	pipeTest(t, func(t *testing.T, serve func(*fake) (*Server, func() net.Conn)) {
		left := make(chan time.Duration, 1)
		_, dial := serve(streaming(waiting(left, taskAt(1))))
		c := dial()
		request(c, "GET /tasks/t1:subscribe", "")
		body := bufio.NewReader(response(t, c).Body)
		began := time.Now()
		for i, want := range []string{"id: 1\n", "data: ", "\n", ": keep-alive\n", "\n", ": keep-alive\n", "\n"} {
			line, err := body.ReadString('\n')
			if err != nil || !strings.HasPrefix(line, want) {
				t.Fatalf("line %d: %q, %v", i, line, err)
			}
		}
		if d := time.Since(began); d != 30*time.Second {
			t.Errorf("two comments came in %v", d)
		}
		c.Close()
		if d := <-left; d != 30*time.Second {
			t.Errorf("the iterator was left after %v", d)
		}
	})
}

// A stream that is silent from the start is opened all the same, and an error
// that comes then goes into it.
func TestSilenceBeforeTheFirstEvent(t *testing.T) {
	pipeTest(t, func(t *testing.T, serve func(*fake) (*Server, func() net.Conn)) {
		_, dial := serve(streaming(func(context.Context) elements {
			return func(yield func(*a2a.StreamResponse, error) bool) {
				time.Sleep(20 * time.Second)
				yield(nil, a2a.ErrTaskNotFound)
			}
		}))
		c := dial()
		request(c, "POST /", rpcSubscribe)
		began := time.Now()
		res := response(t, c)
		if d := time.Since(began); d != 15*time.Second || res.Header.Get("Content-Type") != "text/event-stream" {
			t.Errorf("after %v: %v", d, res.Header)
		}
		ev, err := wire.NewReader(res.Body, 1<<20).Next()
		if err != nil || ev.Name != "error" || !strings.Contains(string(ev.Data), `"id":"s","error":{"code":-32001`) {
			t.Errorf("%q %s, %v", ev.Name, ev.Data, err)
		}
		c.Close()
	})
}

// A reader that stops reading costs its connection after one write's time, and
// the service is left then.
func TestStalledReaderIsDropped(t *testing.T) {
	pipeTest(t, func(t *testing.T, serve func(*fake) (*Server, func() net.Conn)) {
		left := make(chan time.Duration, 1)
		_, dial := serve(streaming(func(context.Context) elements {
			return func(yield func(*a2a.StreamResponse, error) bool) {
				began := time.Now()
				defer func() { left <- time.Since(began) }()
				for seq := int64(1); yield(statusAt(seq, a2a.TaskStateWorking), nil); seq++ {
				}
			}
		}))
		c := dial()
		request(c, "GET /tasks/t1:subscribe", "")
		if d := <-left; d != 30*time.Second {
			t.Errorf("the iterator was left after %v", d)
		}
		c.Close()
	})
}

// A slow reader that goes on reading is never cut, however long it takes.
func TestSlowReaderGetsAll(t *testing.T) {
	large := statusAt(1, a2a.TaskStateWorking)
	large.StatusUpdate.Metadata = a2a.JSON(`{"x":"` + strings.Repeat("x", 1<<20) + `"}`)
	task := &a2a.Task{ID: "t1", Metadata: large.StatusUpdate.Metadata}
	pipeTest(t, func(t *testing.T, serve func(*fake) (*Server, func() net.Conn)) {
		f := streaming(func(context.Context) elements { return yields(large) })
		f.get = func(context.Context, *a2a.GetTaskRequest) (*a2a.Task, error) { return task, nil }
		_, dial := serve(f)
		for _, target := range []string{"/tasks/t1:subscribe", "/tasks/t1"} {
			c := dial()
			request(c, "GET "+target, "")
			body := response(t, c).Body
			began, n := time.Now(), int64(0)
			for {
				time.Sleep(20 * time.Second)
				m, err := io.CopyN(io.Discard, body, writeSize)
				n += m
				if err == io.EOF {
					break
				} else if err != nil {
					t.Fatalf("%s: %v after %v", target, err, time.Since(began))
				}
			}
			if n < 1<<20 || time.Since(began) < 10*time.Minute {
				t.Errorf("%s: %d bytes in %v", target, n, time.Since(began))
			}
			c.Close()
		}
	})
}

// Also where a request has a body that it should not have.
func TestDisconnectLeavesTheService(t *testing.T) {
	pipeTest(t, func(t *testing.T, serve func(*fake) (*Server, func() net.Conn)) {
		left := make(chan time.Duration, 1)
		f := streaming(waiting(left))
		f.send = func(ctx context.Context, _ *a2a.SendMessageRequest) (*a2a.SendMessageResponse, error) {
			began := time.Now()
			<-ctx.Done()
			left <- time.Since(began)
			return nil, ctx.Err()
		}
		_, dial := serve(f)
		for head, after := range map[string]time.Duration{
			"POST /message:send":      10 * time.Minute, // a blocking call may take as long as it takes
			"GET /tasks/t1:subscribe": time.Second,      // before the first event
		} {
			c := dial()
			request(c, head, "{}")
			time.Sleep(after)
			c.Close()
			if d := <-left; d != after {
				t.Errorf("%s: the service was left after %v", head, d)
			}
		}
	})
}

func TestDrainEndsWhatWaits(t *testing.T) {
	pipeTest(t, func(t *testing.T, serve func(*fake) (*Server, func() net.Conn)) {
		left := make(chan time.Duration, 2)
		f := streaming(waiting(left, taskAt(1)))
		f.subscribe = func(ctx context.Context, _ *a2a.SubscribeToTaskRequest) elements { return waiting(left)(ctx) }
		f.send = func(ctx context.Context, _ *a2a.SendMessageRequest) (*a2a.SendMessageResponse, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		s, dial := serve(f)
		begun, silent, unary, late := dial(), dial(), dial(), dial()
		request(begun, "POST /message:stream", "{}")
		request(silent, "GET /tasks/t1:subscribe", "")
		request(unary, "POST /", `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{}}`)
		body := response(t, begun).Body
		synctest.Wait()
		go s.Drain() // pipes have no buffer: it goes on while we read

		rest, err := io.ReadAll(body)
		if err != nil || strings.Contains(string(rest), "error") || strings.Count(string(rest), "data:") != 1 {
			t.Errorf("the stream ended with %q, %v", rest, err)
		}
		if res := response(t, silent); res.StatusCode != 503 {
			t.Errorf("a stream without events: %d", res.StatusCode)
		}
		res := response(t, unary)
		answer, _ := io.ReadAll(res.Body)
		if want := rpcError("1", "-32000", errDraining.Message, "UNAVAILABLE"); res.StatusCode != 200 || string(answer) != want {
			t.Errorf("a call that waits: %d %s", res.StatusCode, answer)
		}
		request(late, "POST /message:send", "{}")
		if res := response(t, late); res.StatusCode != 503 {
			t.Errorf("a new call: %d", res.StatusCode)
		}
		for _, c := range []net.Conn{begun, silent, unary, late} {
			c.Close()
		}
		<-left
		<-left
	})
}

// The deadline of a stream's last write must not outlive the exchange.
func TestConnectionIsReusedAfterAStream(t *testing.T) {
	pipeTest(t, func(t *testing.T, serve func(*fake) (*Server, func() net.Conn)) {
		_, dial := serve(streaming(func(context.Context) elements { return yields(taskAt(1)) }))
		c := dial()
		buf := bufio.NewReader(c)
		for range 3 {
			for _, target := range []string{"/tasks/t1:subscribe", "/tasks/t1", "/livez"} {
				request(c, "GET "+target, "")
				res, err := http.ReadResponse(buf, nil)
				if err != nil {
					t.Fatalf("%s: %v", target, err)
				}
				if _, err := io.ReadAll(res.Body); err != nil || res.StatusCode != 200 {
					t.Fatalf("%s: %d, %v", target, res.StatusCode, err)
				}
				time.Sleep(time.Minute)
			}
		}
		c.Close()
	})
}

// Whether anybody wants the body or not: a request that does not arrive costs
// a minute at most, and one that is refused is not waited for.
func TestSlowRequestsAreNotWaitedForForever(t *testing.T) {
	const half = "Host: h\r\nContent-Length: 100\r\n\r\n{"
	for _, tt := range []struct {
		head, answer string
		after        time.Duration
	}{
		{"POST / HTTP/1.1\r\n" + half, "did not arrive in full", bodyTimeout},
		{"POST /message:send HTTP/1.1\r\n" + half, "did not arrive in full", bodyTimeout},
		{"POST / HTTP/1.1\r\nContent-Type: text/plain\r\n" + half, "415", 0},
		{"POST /nothing HTTP/1.1\r\n" + half, "404", 0},
		{"PUT /livez HTTP/1.1\r\n" + half, "405", 0},
		{"GET /livez HTTP/1.1\r\n" + half, "ok", bodyTimeout},
		{"GET /tasks/t1 HTTP/1.1\r\n" + half, "did not arrive in full", bodyTimeout},
		{"POST / HTTP/1.1\r\nHost: h\r\n", "", 10 * time.Second},
	} {
		pipeTest(t, func(t *testing.T, serve func(*fake) (*Server, func() net.Conn)) {
			_, dial := serve(&fake{})
			c := dial()
			began := time.Now()
			io.WriteString(c, tt.head)
			if tt.answer != "" {
				res := response(t, c)
				body, err := io.ReadAll(res.Body)
				answer := res.Status + " " + string(body)
				if d := time.Since(began); d != tt.after || !strings.Contains(answer, tt.answer) {
					t.Errorf("%q: after %v: %s, %v", tt.head, d, answer, err)
				}
			}
			io.Copy(io.Discard, c)
			if d := time.Since(began); d > bodyTimeout+time.Second {
				t.Errorf("%q: the connection was closed after %v", tt.head, d)
			}
			c.Close()
		})
	}
}

func TestSuperfluousBody(t *testing.T) {
	h := New(&fake{}, testCard(), nil)
	if w := do(h, "GET", "/tasks/t1", "whatever", "Content-Type: text/plain"); w.Code != 200 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := do(h, "GET", "/tasks/t1", strings.Repeat("x", 5000)); w.Code != 413 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
