package a2aserver

import (
	"context"
	"fmt"
	"iter"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/budget"
)

// holder notes what its calls hold when they come in.
type holder struct {
	a2a.Unimplemented
	held int64
}

func (h *holder) SendMessage(ctx context.Context, req *a2a.SendMessageRequest) (*a2a.SendMessageResponse, error) {
	h.held = budget.From(ctx).Held()
	return &a2a.SendMessageResponse{Message: &a2a.Message{MessageID: "m", Role: a2a.RoleAgent, Parts: []*a2a.Part{a2a.TextPart("x")}}}, nil
}

func (h *holder) SendStreamingMessage(ctx context.Context, req *a2a.SendMessageRequest) iter.Seq2[*a2a.StreamResponse, error] {
	h.held = budget.From(ctx).Held()
	return func(yield func(*a2a.StreamResponse, error) bool) {
		yield(&a2a.StreamResponse{Message: &a2a.Message{MessageID: "m", Role: a2a.RoleAgent, Parts: []*a2a.Part{a2a.TextPart("x")}}}, nil)
	}
}

func (h *holder) CancelTask(ctx context.Context, req *a2a.CancelTaskRequest) (*a2a.Task, error) {
	h.held = budget.From(ctx).Held()
	return nil, a2a.ErrTaskNotFound
}

// A message keeps the memory of its body until the service has taken it, and other
// requests give it back when they are decoded. At the end nothing is held.
func TestMessagesHoldMemoryUntilTheyAreTaken(t *testing.T) {
	const size = 1 << 20
	h := &holder{}
	memory := NewMemory(&Limits{}, 0)
	s := New(h, testCard(), &Options{Memory: memory})
	text := strings.Repeat("x", size)
	message := fmt.Sprintf(`{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":%q}]}}`, text)
	for _, c := range []struct {
		path, body string
		holds      bool
	}{
		{"/message:send", message, true},
		{"/message:stream", message, true},
		{"/", `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":` + message + "}", true},
		{"/tasks/x:cancel", fmt.Sprintf(`{"metadata":{"x":%q}}`, text), false},
	} {
		h.held = -1
		req := httptest.NewRequest("POST", c.path, strings.NewReader(c.body))
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("A2A-Version", "1.0")
		s.ServeHTTP(httptest.NewRecorder(), req)
		if c.holds && h.held < size || !c.holds && h.held != 0 {
			t.Errorf("%s holds %d bytes", c.path, h.held)
		}
		if n := memory.Used(); n != 0 {
			t.Errorf("behind %s %d bytes are held", c.path, n)
		}
	}
}
