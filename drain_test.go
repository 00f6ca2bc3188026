package parley_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/agent"
)

// TestServeEndsWithAClientThatHoldsOn: a client that is gone without a word, in
// the middle of a request, must not turn a clean stop into a failure.
func TestServeEndsWithAClientThatHoldsOn(t *testing.T) {
	s, err := parley.New(agent.DemoCard(), agent.Demo(), &parley.Options{DrainWait: 10 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, l) }()
	c, err := net.Dial("tcp", l.Addr().String())
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
	if err := receive(t, ended, "the end of Serve"); err != nil {
		t.Errorf("Serve: %v", err)
	}
}
