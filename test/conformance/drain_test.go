package conformance

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/test/fixtures"
)

// TestServeEndsWithAClientThatHoldsOn: a client that is gone without a word, in
// the middle of a request, must not turn a clean stop into a failure.
func TestServeEndsWithAClientThatHoldsOn(t *testing.T) {
	s, err := parley.New(agent.DemoCard(), agent.Demo(), &parley.Options{DrainWait: 10 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	addr, stop := fixtures.Serve(t, "", s.Serve)
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	// The server says 100 Continue when it begins to read the body.
	if _, err := io.WriteString(c, "POST / HTTP/1.1\r\nHost: here\r\nContent-Type: application/json\r\nContent-Length: 100\r\nExpect: 100-continue\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(c).ReadString('\n'); err != nil || !strings.Contains(line, "100") {
		t.Fatalf("got %q, %v", line, err)
	}
	stop()
}

// TestServeDoesNotWait: with a DrainWait below zero nobody is waited for, not
// even an agent that does not end.
func TestServeDoesNotWait(t *testing.T) {
	working, release := make(chan struct{}), make(chan struct{})
	defer close(release)
	s, err := parley.New(a2a.AgentCard{Name: "stubborn"}, agent.Func(func(context.Context, *agent.Turn) error {
		close(working)
		<-release
		return nil
	}), &parley.Options{DrainWait: -1})
	if err != nil {
		t.Fatal(err)
	}
	addr, stop := fixtures.Serve(t, "", func(ctx context.Context, l net.Listener) error {
		if err := s.Serve(ctx, l); err == nil {
			t.Error("Serve does not say that an agent was left behind")
		}
		return nil
	})
	body := strings.NewReader(`{"message":{"messageId":"1","role":"ROLE_USER","parts":[{"text":"go"}]},"configuration":{"returnImmediately":true}}`)
	resp, err := http.Post("http://"+addr+"/message:send", "application/json", body)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	receive(t, working, "the start of the agent")
	stop()
}
