package a2aserver

import (
	"bufio"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parley-a2a/parley/a2a"
)

// leased lets everybody in, until it does not.
type leased struct{ over atomic.Bool }

func (l *leased) Authenticate(*http.Request) (a2a.Caller, error) {
	return a2a.Caller{Subject: "key:ada"}, l.Refused(nil)
}

func (l *leased) Refused(*http.Request) error {
	if l.over.Load() {
		return a2a.Errorf(a2a.CodeUnauthenticated, "the key was revoked")
	}
	return nil
}

func (*leased) Challenges(*a2a.Error) []string { return nil }

// A stream outlives its caller's key by seconds, and says why it ends; one whose
// key is good goes on.
func TestStreamsEndWithTheirKey(t *testing.T) {
	pipeTest(t, func(t *testing.T, serve func(*fake) (*Server, func() net.Conn)) {
		left := make(chan time.Duration, 1)
		s, dial := serve(streaming(waiting(left, taskAt(1))))
		id, log := &leased{}, newLines()
		s.opts = &Options{Identity: id}
		s.audit = newAuditor(slog.New(AuditHandler(log)))
		c := dial()
		request(c, "GET /tasks/t1:subscribe", "")
		body := bufio.NewReader(response(t, c).Body)
		for range 6 { // the event, and three times nothing but a keep-alive
			if _, err := body.ReadString('\n'); err != nil {
				t.Fatal(err)
			}
		}
		id.over.Store(true)
		began := time.Now()
		rest, err := io.ReadAll(body)
		if err != nil || !strings.Contains(string(rest), "UNAUTHENTICATED") || !strings.Contains(string(rest), "the key was revoked") {
			t.Errorf("the stream ends with %q, %v", rest, err)
		}
		if d := time.Since(began); d > lastsFor {
			t.Errorf("it ended after %v", d)
		}
		<-left
		list := log.take(t)
		if last := list[len(list)-1]; last["event"] != AuditStreamEnded || last["outcome"] != "UnauthenticatedError" {
			t.Errorf("the audit log says %v", list)
		}
		c.Close()
	})
}

// So does a call that waits for its agent.
func TestWaitingCallsEndWithTheirKey(t *testing.T) {
	pipeTest(t, func(t *testing.T, serve func(*fake) (*Server, func() net.Conn)) {
		left := make(chan time.Duration, 1)
		s, dial := serve(streaming(waiting(left)))
		id := &leased{}
		s.opts = &Options{Identity: id}
		c := dial()
		request(c, "GET /tasks/t1:subscribe", "")
		go func() { time.Sleep(7 * time.Second); id.over.Store(true) }()
		if res := response(t, c); res.StatusCode != http.StatusUnauthorized {
			t.Errorf("got %s", res.Status)
		}
		if d := <-left; d != 10*time.Second {
			t.Errorf("it ended after %v", d)
		}
		c.Close()
	})
}
