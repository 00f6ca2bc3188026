package a2aserver

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/port"
	"github.com/parley-a2a/parley/internal/port/porttest"
	"github.com/parley-a2a/parley/internal/wire"
)

func writeRequest(c net.Conn, head, body string) {
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

// waiting yields the elements and then waits until its caller has left. It sends the
// time that passed to left.
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
		l := porttest.NewPipes()
		var srv *http.Server
		defer func() { srv.Close() }()
		test(t, func(f *fake) (*Server, func() net.Conn) {
			s := New(f, testCard(), nil)
			srv = HTTPServer(s)
			go srv.Serve(l)
			return s, l.Dial
		})
	})
}

func TestSilentStreamsAreKeptAlive(t *testing.T) {
	pipeTest(t, func(t *testing.T, serve func(*fake) (*Server, func() net.Conn)) {
		left := make(chan time.Duration, 1)
		_, dial := serve(streaming(waiting(left, taskAt(1))))
		c := dial()
		writeRequest(c, "GET /tasks/t1:subscribe", "")
		body := bufio.NewReader(response(t, c).Body)
		began := time.Now()
		for i, want := range []string{"id: 1\n", "data: ", "\n", ": keep-alive\n", ": keep-alive\n"} {
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

// In 0.1 a comment is a block of its own: if it were not, the first clients would not
// find the data of the next event after it.
func TestSilentStreamsOf01AreKeptAlive(t *testing.T) {
	pipeTest(t, func(t *testing.T, serve func(*fake) (*Server, func() net.Conn)) {
		left := make(chan time.Duration, 1)
		_, dial := serve(streaming(waiting(left, taskAt(1))))
		c := dial()
		writeRequest(c, "POST /", `{"jsonrpc":"2.0","id":1,"method":"tasks/sendSubscribe","params":{"id":"t1","message":{"role":"user","parts":[{"type":"text","text":"hi"}]}}}`)
		body := bufio.NewReader(response(t, c).Body)
		for i, want := range []string{"data: ", "\n", ": keep-alive\n", "\n", ": keep-alive\n", "\n"} {
			line, err := body.ReadString('\n')
			if err != nil || !strings.HasPrefix(line, want) {
				t.Fatalf("line %d: %q, %v", i, line, err)
			}
		}
		c.Close()
		<-left
	})
}

// An error before the first event is an ordinary answer even if the service takes long
// to return after it: no comment opens the stream meanwhile.
func TestNoCommentBehindAnEarlyError(t *testing.T) {
	pipeTest(t, func(t *testing.T, serve func(*fake) (*Server, func() net.Conn)) {
		_, dial := serve(streaming(func(context.Context) elements {
			return func(yield func(*a2a.StreamResponse, error) bool) {
				time.Sleep(10 * time.Second)
				yield(nil, a2a.ErrTaskNotFound)
				time.Sleep(10 * time.Second)
			}
		}))
		c := dial()
		writeRequest(c, "GET /tasks/t1:subscribe", "")
		res := response(t, c)
		body, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode != http.StatusNotFound || res.Header.Get("Content-Type") != mediaJSON || !strings.HasPrefix(string(body), "{") {
			t.Errorf("%s, %s: %s, %v", res.Status, res.Header.Get("Content-Type"), body, err)
		}
	})
}

// A stream without a first event is opened all the same, and a later error is an event
// in it.
func TestSilenceBeforeTheFirstEvent(t *testing.T) {
	pipeTest(t, func(t *testing.T, serve func(*fake) (*Server, func() net.Conn)) {
		_, dial := serve(streaming(func(context.Context) elements {
			return func(yield func(*a2a.StreamResponse, error) bool) {
				time.Sleep(20 * time.Second)
				yield(nil, a2a.ErrTaskNotFound)
			}
		}))
		c := dial()
		writeRequest(c, "POST /", rpcSubscribe)
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

// A reader that stops reading loses its connection after the time limit of one write,
// and the service is canceled then.
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
		writeRequest(c, "GET /tasks/t1:subscribe", "")
		if d := <-left; d != 30*time.Second {
			t.Errorf("the iterator was left after %v", d)
		}
		c.Close()
	})
}

// A slow reader gets everything as long as it reads at minRate; otherwise it is cut
// off.
func TestSlowReaderGetsAll(t *testing.T) {
	const size = 1 << 20
	large := statusAt(1, a2a.TaskStateWorking)
	large.StatusUpdate.Metadata = a2a.JSON(`{"x":"` + strings.Repeat("x", size) + `"}`)
	task := &a2a.Task{ID: "t1", Metadata: large.StatusUpdate.Metadata}
	pipeTest(t, func(t *testing.T, serve func(*fake) (*Server, func() net.Conn)) {
		f := streaming(func(context.Context) elements { return yields(large) })
		f.get = func(context.Context, *a2a.GetTaskRequest) (*a2a.Task, error) { return task, nil }
		_, dial := serve(f)
		for _, target := range []string{"/tasks/t1:subscribe", "/tasks/t1"} {
			for _, pause := range []time.Duration{7 * time.Second, 20 * time.Second} { // for each 32 KiB
				c := dial()
				writeRequest(c, "GET "+target, "")
				body := response(t, c).Body
				began, n := time.Now(), int64(0)
				for err := error(nil); err == nil; {
					time.Sleep(pause)
					var m int64
					m, err = io.CopyN(io.Discard, body, port.WriteSize)
					n += m
				}
				took := time.Since(began)
				if whole := n >= size; whole != (atMinRate(port.WriteSize) > pause) || took > time.Minute+atMinRate(size) {
					t.Errorf("%s, %v for each piece: %d bytes in %v", target, pause, n, took)
				}
				c.Close()
			}
		}
	})
}

// When a client disconnects, its service is canceled, even if the request has a body
// that it should not have.
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
			writeRequest(c, head, "{}")
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
		writeRequest(begun, "POST /message:stream", "{}")
		writeRequest(silent, "GET /tasks/t1:subscribe", "")
		writeRequest(unary, "POST /", `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{}}`)
		body := response(t, begun).Body
		synctest.Wait()
		go s.Drain() // pipes have no buffer: it continues while we read

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
		writeRequest(late, "POST /message:send", "{}")
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
				writeRequest(c, "GET "+target, "")
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

// A request that does not arrive costs a minute at most, whether its body is used or
// not, and one that is refused is not waited for.
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
		{"GET /livez HTTP/1.1\r\n" + half, "ok", 0},
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
