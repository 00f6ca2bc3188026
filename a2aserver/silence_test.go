package a2aserver

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/a2a"
)

// A silent stream has its connection's goroutines and no more.
func TestSilentStreamsCostNothing(t *testing.T) {
	pipeTest(t, func(t *testing.T, serve func(*fake) (*Server, func() net.Conn)) {
		const n = 50
		left := make(chan time.Duration, n)
		s, dial := serve(streaming(waiting(left, taskAt(1))))
		before := runtime.NumGoroutine()
		var list []net.Conn
		for range n {
			c := dial()
			list = append(list, c)
			writeRequest(c, "GET /tasks/t1:subscribe", "")
			body := bufio.NewReader(response(t, c).Body)
			go func() { _, _ = io.Copy(io.Discard, body) }()
			time.Sleep(time.Second)
		}
		synctest.Wait()
		// Of each: the handler, net/http's reader that waits for the end, and ours. The
		// count is the process's, so it may include a few of other tests.
		if more := runtime.NumGoroutine() - before; more >= 4*n {
			t.Errorf("%d goroutines for %d streams", more, n)
		}
		for _, c := range list {
			c.Close()
			<-left
		}
		synctest.Wait()
		if len(s.open.list) != 0 {
			t.Errorf("%d calls are left", len(s.open.list))
		}
	})
}

// A client that does not even read comments is disconnected within the time limit of a
// write, and its service is canceled then. The comments of others are on time
// meanwhile.
func TestComments(t *testing.T) {
	pipeTest(t, func(t *testing.T, serve func(*fake) (*Server, func() net.Conn)) {
		left := make(chan time.Duration, 2)
		_, dial := serve(streaming(waiting(left, taskAt(1))))
		stuck, fine := dial(), dial()
		writeRequest(stuck, "GET /tasks/t1:subscribe", "")
		stuckBody := bufio.NewReader(response(t, stuck).Body)
		for range 3 {
			if _, err := stuckBody.ReadString('\n'); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Second)
		writeRequest(fine, "GET /tasks/t1:subscribe", "")
		body := bufio.NewReader(response(t, fine).Body)
		began := time.Now()
		for at := 1; at < 6; {
			line, err := body.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(line, ": keep-alive") {
				if d := time.Since(began); d != time.Duration(at)*15*time.Second {
					t.Errorf("comment %d came after %v", at, d)
				}
				at++
			}
		}
		if d := soon(t, left); d != 45*time.Second {
			t.Errorf("the service of the client that does not read was left after %v", d)
		}
		stuck.Close()
		fine.Close()
		<-left
	})
}

// A comment is due when nothing has been written for a while, not at fixed times.
func TestCommentsComeAfterSilence(t *testing.T) {
	pipeTest(t, func(t *testing.T, serve func(*fake) (*Server, func() net.Conn)) {
		_, dial := serve(streaming(func(ctx context.Context) elements {
			return func(yield func(*a2a.StreamResponse, error) bool) {
				for seq, pause := range []time.Duration{0, 10, 10, 14, 16, 31, 1} {
					time.Sleep(pause * time.Second)
					if !yield(statusAt(int64(seq)+1, a2a.TaskStateWorking), nil) {
						return
					}
				}
			}
		}))
		c := dial()
		writeRequest(c, "GET /tasks/t1:subscribe", "")
		began := time.Now()
		body := bufio.NewReader(response(t, c).Body)
		var got []int
		for {
			line, err := body.ReadString('\n')
			if err == io.EOF {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			switch {
			case line[0] == ':':
				got = append(got, -int(time.Since(began).Seconds()))
			case strings.HasPrefix(line, "id:"):
				got = append(got, int(time.Since(began).Seconds()))
			}
		}
		want := []int{0, 10, 20, 34, -49, 50, -65, -80, 81, 82}
		if len(got) != len(want) {
			t.Fatalf("events, and comments below zero, at %v, want %v", got, want)
		}
		for i := range want {
			if got[i] != want[i] {
				t.Fatalf("events, and comments below zero, at %v, want %v", got, want)
			}
		}
		c.Close()
	})
}

// The time limit of a write begins with it, whatever was written before, even if
// comments are rarer than that.
func TestStalledReadersHaveOneWritesTime(t *testing.T) {
	for _, keepAlive := range []time.Duration{0, time.Hour, time.Second} {
		pipeTest(t, func(t *testing.T, serve func(*fake) (*Server, func() net.Conn)) {
			left := make(chan time.Duration, 1)
			s, dial := serve(streaming(func(context.Context) elements {
				return func(yield func(*a2a.StreamResponse, error) bool) {
					if !yield(taskAt(1), nil) {
						return
					}
					time.Sleep(123456 * time.Millisecond)
					began := time.Now()
					defer func() { left <- time.Since(began) }()
					for seq := int64(2); yield(statusAt(seq, a2a.TaskStateWorking), nil); seq++ {
					}
				}
			}))
			s.opts = &Options{KeepAlive: keepAlive}
			c := dial()
			writeRequest(c, "GET /tasks/t1:subscribe", "")
			began := time.Now()
			body := bufio.NewReader(response(t, c).Body)
			go func() {
				for time.Since(began) < 123*time.Second {
					if _, err := body.ReadString('\n'); err != nil {
						return
					}
				}
			}()
			time.Sleep(123200 * time.Millisecond) // whatever the reader holds, it stops at the next line
			if d := soon(t, left); d < 29*time.Second || d > 31*time.Second {
				t.Errorf("comments after %v: the iterator was left after %v", keepAlive, d)
			}
			c.Close()
		})
	}
}

// heldWriter holds comments back until hold is closed, and can panic.
type heldWriter struct {
	*httptest.ResponseRecorder
	hold   chan struct{}
	inside atomic.Int32
	panics bool
}

func (w *heldWriter) Write(b []byte) (int, error) {
	if w.inside.Add(1) > 1 {
		panic("two at once")
	}
	defer w.inside.Add(-1)
	if strings.Contains(string(b), "keep-alive") {
		if w.panics {
			panic("a bug")
		}
		<-w.hold
	}
	return w.ResponseRecorder.Write(b)
}

// The handler neither returns nor writes while another goroutine writes its comment.
func TestHandlersWaitForComments(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &heldWriter{ResponseRecorder: httptest.NewRecorder(), hold: make(chan struct{})}
		var released atomic.Bool
		s := New(streaming(func(context.Context) elements {
			return func(yield func(*a2a.StreamResponse, error) bool) {
				if !yield(taskAt(1), nil) {
					return
				}
				time.Sleep(20 * time.Second)
				go func() { // while the handler waits for a lock, fake time stands still
					for range 1000 {
						runtime.Gosched()
					}
					released.Store(true)
					close(w.hold)
				}()
			}
		}), testCard(), nil)
		s.ServeHTTP(w, httptest.NewRequest("GET", "/tasks/t1:subscribe", nil))
		if !released.Load() || w.inside.Load() != 0 {
			t.Error("the handler returned before the comment was out")
		}
		if body := w.Body.String(); !strings.HasSuffix(body, "\n\n: keep-alive\n") {
			t.Errorf("%q", body)
		}
	})
}

// A writer that panics ends its stream, and not the process.
func TestPanicsOfComments(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		left := make(chan time.Duration, 1)
		log := newLines()
		w := &heldWriter{ResponseRecorder: httptest.NewRecorder(), panics: true}
		s := New(streaming(waiting(left, taskAt(1))), testCard(), &Options{Logger: slog.New(slog.NewJSONHandler(log, nil))})
		s.ServeHTTP(w, httptest.NewRequest("GET", "/tasks/t1:subscribe", nil))
		if d := <-left; d != 15*time.Second {
			t.Errorf("it was left after %v", d)
		}
		if list := log.take(t); len(list) != 1 || !strings.Contains(list[0]["error"].(string), "a bug") {
			t.Errorf("the log has %v", list)
		}
	})
}
