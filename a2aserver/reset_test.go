package a2aserver

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/dialect"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// never is an Identity that must not be asked.
type never struct{ t *testing.T }

func (n never) Authenticate(*http.Request) (a2a.Caller, error) {
	n.t.Error("somebody asks who calls")
	return a2a.Caller{}, nil
}
func (never) Challenges(*a2a.Error) []string { return nil }

// over is a call that has been reset.
type over struct {
	grpc.ServerStream
	ctx context.Context
}

func (s over) Context() context.Context { return s.ctx }

// Calls that were reset before their turn are not authenticated or served.
func TestResetCallsCostNothing(t *testing.T) {
	s := New(&fake{}, testCard(), &Options{Identity: never{t}})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := grpcHandler(s, dialect.V10, dialect.ListTasks)(nil, over{ctx: ctx}); status.Code(err) != codes.Canceled {
		t.Errorf("gRPC: %v", err)
	}
	p := NewPort(s)
	for _, contentType := range []string{"application/json", "application/grpc"} {
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/tasks", nil)
		r.Proto, r.ProtoMajor, r.ProtoMinor = "HTTP/2.0", 2, 0
		r.Header.Set("Content-Type", contentType)
		w := httptest.NewRecorder()
		p.handler().ServeHTTP(w, r)
		if w.Body.Len() > 0 {
			t.Errorf("%s: answered with %s", contentType, w.Body)
		}
	}
}
