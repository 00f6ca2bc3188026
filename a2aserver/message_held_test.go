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
	held   int64
	answer string // of SendMessage
}

func (h *holder) SendMessage(ctx context.Context, req *a2a.SendMessageRequest) (*a2a.SendMessageResponse, error) {
	h.held = budget.From(ctx).Held()
	return &a2a.SendMessageResponse{Message: &a2a.Message{MessageID: "m", Role: a2a.RoleAgent, Parts: []*a2a.Part{a2a.TextPart(h.answer)}}}, nil
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

// A message keeps the memory of its body until the service has accepted it; other
// requests free it when they are decoded. At the end nothing is held.
func TestMessagesHoldMemoryUntilTheyAreTaken(t *testing.T) {
	const size = 1 << 20
	h := &holder{answer: "x"}
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

// watcher notes how many bytes are held when an answer is written.
type watcher struct {
	*httptest.ResponseRecorder
	memory *Memory
	used   int64
}

func (w *watcher) Write(b []byte) (int, error) {
	w.used = max(w.used, w.memory.Used())
	return w.ResponseRecorder.Write(b)
}

// The answer to a message is in memory already, so it is counted and sent even without
// room: if it waited uncounted, others could send more.
func TestAnswersToMessagesDoNotWait(t *testing.T) {
	text := strings.Repeat("x", 1<<20)
	memory := NewMemory(&Limits{}, 0)
	s := New(&holder{answer: text}, testCard(), &Options{Memory: memory})
	other := memory.Open("another caller")
	other.Set(memory.Total())
	defer other.Close()
	before := memory.Used()

	ctx, cancel := context.WithCancel(t.Context())
	cancel() // if the answer waited, it would fail at once
	req := httptest.NewRequest("POST", "/message:send", strings.NewReader(`{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}]}}`))
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("A2A-Version", "1.0")
	w := &watcher{httptest.NewRecorder(), memory, 0}
	s.ServeHTTP(w, req.WithContext(ctx))
	if w.Code != 200 || !strings.Contains(w.Body.String(), text) {
		t.Errorf("status %d, %.200s", w.Code, w.Body)
	}
	if held := w.used - before; held < 1<<20 {
		t.Errorf("%d bytes are held while the answer is written", held)
	}
	if n := memory.Used(); n != before {
		t.Errorf("%d bytes are held behind it", n-before)
	}
}
