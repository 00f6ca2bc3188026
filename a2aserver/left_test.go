package a2aserver

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/audit"
	"github.com/parley-a2a/parley/internal/pb"
)

// leased lets everybody in as ada, until the test sets another answer.
type leased struct {
	says  atomic.Pointer[func() (a2a.Caller, error)]
	asked atomic.Int64
}

func (l *leased) Authenticate(r *http.Request) (a2a.Caller, error) {
	l.asked.Add(1)
	if r.Header.Get("Authorization") != "Bearer key" {
		return a2a.Caller{}, a2a.Errorf(a2a.CodeUnauthenticated, "who are you?")
	}
	if f := l.says.Load(); f != nil {
		return (*f)()
	}
	return ada()
}

func (*leased) Challenges(*a2a.Error) []string { return []string{"Bearer"} }

func (l *leased) from(f func() (a2a.Caller, error)) { l.says.Store(&f) }

func ada() (a2a.Caller, error) {
	return a2a.Caller{Subject: "key:ada", Tenant: "acme", Scopes: a2a.OwnScopes, Via: "key 1"}, nil
}

func revoked() (a2a.Caller, error) {
	return a2a.Caller{}, a2a.Errorf(a2a.CodeUnauthenticated, "the key was revoked")
}

// lease makes id the Identity of s.
func lease(s *Server, id *leased, log io.Writer) {
	s.opts = &Options{Identity: id, KeepAlive: 7 * time.Second}
	s.newest.Store(s.opts)
	s.audit = audit.New(slog.New(AuditHandler(log)), nil, nil)
}

const withKey = " HTTP/1.1\r\nAuthorization: Bearer key\r\nA2A-Version: "

// leasedDoors are subscriptions to t1 over HTTP, one for each form.
var leasedDoors = map[string]struct{ head, body, says string }{
	"JSON-RPC":  {"POST /" + withKey + "1.0", rpcSubscribe, `event: error` + "\n" + `data: {"jsonrpc":"2.0","id":"s","error":{"code":`},
	"HTTP+JSON": {"GET /tasks/t1:subscribe" + withKey + "1.0", "", `event: error` + "\n" + `data: {"error":{"code":401`},
	"JSON-RPC of 0.3": {"POST /" + withKey + "0.3", `{"jsonrpc":"2.0","id":"s","method":"tasks/resubscribe","params":{"id":"t1"}}`,
		`event: error` + "\n" + `data: {"jsonrpc":"2.0","id":"s","error":{"code":`},
	"JSON-RPC of 0.1": {"POST /" + withKey + "0.1", `{"jsonrpc":"2.0","id":"s","method":"tasks/resubscribe","params":{"id":"t1"}}`,
		`data: {"jsonrpc":"2.0","id":"s","error":{"code":`},
}

func leasedRequest(c net.Conn, head, body string) {
	fmt.Fprintf(c, "%s\r\nHost: h\r\nContent-Length: %d\r\n\r\n%s", head, len(body), body)
}

// soon returns what arrives within an hour; without a limit the bubble's timers would
// run for ever.
func soon[T any](t *testing.T, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(time.Hour):
		t.Fatal("nothing came within an hour")
		panic("not reached")
	}
}

// A stream outlives its caller's key by half a minute at most and says why it ends; one
// whose key is good continues for days.
func TestStreamsEndWithTheirKey(t *testing.T) {
	for name, door := range leasedDoors {
		t.Run(name, func(t *testing.T) {
			pipeTest(t, func(t *testing.T, serve func(*fake) (*Server, func() net.Conn)) {
				left := make(chan time.Duration, 1)
				s, dial := serve(streaming(waiting(left, taskAt(1))))
				id, log := &leased{}, newLines()
				lease(s, id, log)
				c := dial()
				leasedRequest(c, door.head, door.body)
				res := response(t, c)
				if res.StatusCode != http.StatusOK {
					t.Fatal(res.Status)
				}
				rest := make(chan string)
				go func() {
					b, err := io.ReadAll(res.Body)
					if err != nil {
						t.Error(err)
					}
					rest <- string(b)
				}()
				time.Sleep(24 * time.Hour)
				if n := id.asked.Load(); n < 2880 || n > 2881 {
					t.Errorf("it was asked %d times in a day", n)
				}
				id.from(revoked)
				began := time.Now()
				got := soon(t, rest)
				if d := time.Since(began); d > 30*time.Second {
					t.Errorf("it ended after %v", d)
				}
				if at := strings.LastIndex(got, door.says); at < 0 || !strings.Contains(got[at:], "the key was revoked") || strings.Count(got[at:], "data:") != 1 {
					t.Errorf("it ends with %q", got[max(0, len(got)-500):])
				}
				<-left
				synctest.Wait()
				list := log.take(t)
				if last := list[len(list)-1]; last["event"] != AuditStreamEnded || last["outcome"] != "UnauthenticatedError" || last["subject"] != "key:ada" {
					t.Errorf("the audit log says %v", list)
				}
				c.Close()
			})
		})
	}
}

// Over gRPC the stream ends with that status, on connections of both kinds.
func TestGRPCStreamsEndWithTheirKey(t *testing.T) {
	var left chan time.Duration
	svc := func() *fake {
		left = make(chan time.Duration, 1)
		return streaming(waiting(left, taskAt(1)))
	}
	grpcPipe(t, svc, func(t *testing.T, s *Server, _ *fake, c *h2client, _ bool) {
		synctest.Wait() // until every goroutine has read the options
		id, log := &leased{}, newLines()
		lease(s, id, log)
		c.call("SubscribeToTask", &pb.SubscribeToTaskRequest{Id: "t1"}, "authorization", "Bearer key")
		time.Sleep(time.Hour)
		synctest.Wait()
		if len(c.data) == 0 || len(left) > 0 {
			t.Fatal("the stream does not continue")
		}
		id.from(revoked)
		began := time.Now()
		soon(t, left)
		if d := time.Since(began); d > 30*time.Second {
			t.Errorf("it ended after %v", d)
		}
		if last := soon(t, c.last); !strings.Contains(last, "grpc-status: 16\n") || !strings.Contains(last, "the key was revoked") {
			t.Errorf("it ended with %q", last)
		}
		synctest.Wait()
		list := log.take(t)
		if last := list[len(list)-1]; last["event"] != AuditStreamEnded || last["outcome"] != "UnauthenticatedError" {
			t.Errorf("the audit log says %v", list)
		}
	})
}

// Other answers of the Identity that end a stream, and those that do not.
func TestStreamsEndWithWhatLetThemIn(t *testing.T) {
	as := func(change func(*a2a.Caller)) func() (a2a.Caller, error) {
		return func() (a2a.Caller, error) {
			c, _ := ada()
			change(&c)
			return c, nil
		}
	}
	fails := func(err error) func() (a2a.Caller, error) {
		return func() (a2a.Caller, error) { return a2a.Caller{}, err }
	}
	for name, c := range map[string]struct {
		says func() (a2a.Caller, error)
		with string // the error; "" goes on
	}{
		"another subject":         {as(func(c *a2a.Caller) { c.Subject = "key:eve" }), "UNAUTHENTICATED"},
		"another tenant":          {as(func(c *a2a.Caller) { c.Tenant = "" }), "UNAUTHENTICATED"},
		"fewer scopes":            {as(func(c *a2a.Caller) { c.Scopes = c.Scopes[1:] }), "PERMISSION_DENIED"},
		"no scopes":               {as(func(c *a2a.Caller) { c.Scopes = []string{} }), "PERMISSION_DENIED"},
		"no bound":                {as(func(c *a2a.Caller) { c.Scopes = nil }), "PERMISSION_DENIED"},
		"refused":                 {fails(a2a.Errorf(a2a.CodePermissionDenied, "not any more")), "PERMISSION_DENIED"},
		"the same in another way": {as(func(c *a2a.Caller) { c.Via = "key 2" }), ""},
		"an issuer that is down":  {fails(a2a.Errorf(a2a.CodeUnavailable, "later")), ""},
		"too many":                {fails(a2a.ErrRateLimited), ""},
		"an error of ours":        {fails(errors.New("a disk")), ""},
		"a panic":                 {func() (a2a.Caller, error) { panic("a bug") }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			pipeTest(t, func(t *testing.T, serve func(*fake) (*Server, func() net.Conn)) {
				left := make(chan time.Duration, 1)
				s, dial := serve(streaming(waiting(left, taskAt(1))))
				id := &leased{}
				lease(s, id, io.Discard)
				conn := dial()
				leasedRequest(conn, leasedDoors["HTTP+JSON"].head, "")
				body := bufio.NewReader(response(t, conn).Body)
				rest := make(chan string, 1)
				go func() { b, _ := io.ReadAll(body); rest <- string(b) }()
				id.from(c.says)
				time.Sleep(5 * time.Minute)
				synctest.Wait()
				if c.with == "" {
					if len(rest) > 0 || id.asked.Load() < 10 {
						t.Errorf("it ended, or nobody asked: %d times", id.asked.Load())
					}
					conn.Close()
					<-left
					return
				}
				if got := soon(t, rest); !strings.Contains(got, c.with) {
					t.Errorf("it ended with %q", got)
				}
				<-left
				conn.Close()
			})
		})
	}
}

// A call that waits for its agent ends with its key too. A stream without an event so
// far is answered like a new call.
func TestWaitingCallsEndWithTheirKey(t *testing.T) {
	for name, head := range map[string]string{"a call": "POST /message:send" + withKey + "1.0", "a stream": "GET /tasks/t1:subscribe" + withKey + "1.0"} {
		t.Run(name, func(t *testing.T) {
			pipeTest(t, func(t *testing.T, serve func(*fake) (*Server, func() net.Conn)) {
				left := make(chan time.Duration, 1)
				f := streaming(waiting(left))
				f.send = func(ctx context.Context, _ *a2a.SendMessageRequest) (*a2a.SendMessageResponse, error) {
					began := time.Now()
					<-ctx.Done()
					left <- time.Since(began)
					return nil, ctx.Err()
				}
				s, dial := serve(f)
				id := &leased{}
				lease(s, id, io.Discard)
				s.opts.KeepAlive = time.Hour // or the stream begins
				s.opts.Recheck = 5 * time.Second
				c := dial()
				body := ""
				if name == "a call" {
					body = "{}"
				}
				leasedRequest(c, head, body)
				time.AfterFunc(7*time.Second, func() { id.from(revoked) })
				if res := response(t, c); res.StatusCode != http.StatusUnauthorized || res.Header.Get("WWW-Authenticate") != "Bearer" {
					t.Errorf("got %s %v", res.Status, res.Header)
				}
				if d := <-left; d != 10*time.Second {
					t.Errorf("it ended after %v", d)
				}
				c.Close()
			})
		})
	}
}

// If Recheck is below zero, callers are not checked again.
func TestStreamsThatAreNotAskedAgain(t *testing.T) {
	pipeTest(t, func(t *testing.T, serve func(*fake) (*Server, func() net.Conn)) {
		left := make(chan time.Duration, 1)
		s, dial := serve(streaming(waiting(left, taskAt(1))))
		id := &leased{}
		lease(s, id, io.Discard)
		s.opts.Recheck = -1
		c := dial()
		leasedRequest(c, leasedDoors["HTTP+JSON"].head, "")
		go func() { _, _ = io.Copy(io.Discard, response(t, c).Body) }()
		time.Sleep(time.Hour)
		if n := id.asked.Load(); n != 1 {
			t.Errorf("it was asked %d times", n)
		}
		c.Close()
		<-left
	})
}
