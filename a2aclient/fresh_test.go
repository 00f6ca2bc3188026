package a2aclient

import (
	"errors"
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/parley-a2a/parley/a2a"
)

// TestGRPCLeavesADeadConnection: the first connection takes everything and
// says nothing. That costs the calls that are on it, and not all that follow.
func TestGRPCLeavesADeadConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		over := make(chan struct{})
		c, p := inMemory(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Context().Value(connNumber{}) == int64(1) {
				<-over
				return
			}
			w.Header().Set("Content-Type", "application/grpc")
			w.Header().Set("Grpc-Status", "5")
			w.Header().Set("Grpc-Message", "Task not found")
		}), a2a.BindingGRPC, &Options{Version: "1.0"})
		defer close(over)
		req := &a2a.GetTaskRequest{ID: "t"}
		var lost *TransportError
		if _, err := c.GetTask(t.Context(), req); !errors.As(err, &lost) || lost.Unreachable {
			t.Errorf("on a dead connection: %v", err)
		}
		// The dead one is not asked again, and the next one is kept.
		for range 3 {
			if _, err := c.GetTask(t.Context(), req); !errors.Is(err, a2a.ErrTaskNotFound) {
				t.Errorf("on a new connection: %v", err)
			}
		}
		if n := p.accepted.Load(); n != 2 {
			t.Errorf("%d connections", n)
		}
	})
}
