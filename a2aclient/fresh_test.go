package a2aclient

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parley-a2a/parley/a2a"
)

// TestGRPCLeavesADeadConnection: the first connection takes everything and
// says nothing. That costs the calls that are on it, and not all that follow.
func TestGRPCLeavesADeadConnection(t *testing.T) {
	type number struct{}
	var connections atomic.Int64
	over := make(chan struct{})
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Context().Value(number{}) == int64(1) {
			<-over
			return
		}
		w.Header().Set("Content-Type", "application/grpc")
		w.Header().Set("Grpc-Status", "5")
		w.Header().Set("Grpc-Message", "Task not found")
	}))
	srv.Config.ConnContext = func(ctx context.Context, _ net.Conn) context.Context {
		return context.WithValue(ctx, number{}, connections.Add(1))
	}
	srv.Config.Protocols = new(http.Protocols)
	srv.Config.Protocols.SetUnencryptedHTTP2(true)
	srv.Start()
	defer srv.Close()
	defer close(over)
	c, err := New(&a2a.AgentCard{Name: "x", SupportedInterfaces: []*a2a.AgentInterface{
		{URL: srv.URL, ProtocolBinding: "GRPC", ProtocolVersion: "1.0"},
	}}, &Options{UnaryTimeout: 50 * time.Millisecond, Version: "1.0"})
	if err != nil {
		t.Fatal(err)
	}
	req := &a2a.GetTaskRequest{ID: "t"}
	var lost *TransportError
	if _, err := c.GetTask(t.Context(), req); !errors.As(err, &lost) || lost.Unreachable {
		t.Errorf("on a dead connection: %v", err)
	}
	// The dead one is not asked again, and the next one is kept.
	c.opts.UnaryTimeout = time.Minute
	for range 3 {
		if _, err := c.GetTask(t.Context(), req); !errors.Is(err, a2a.ErrTaskNotFound) {
			t.Errorf("on a new connection: %v", err)
		}
	}
	if n := connections.Load(); n != 2 {
		t.Errorf("%d connections", n)
	}
}
