package proxy_test

import (
	"context"
	"iter"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aserver"
)

// puppet is an agent whose every answer a test makes up.
type puppet struct {
	a2a.Unimplemented
	url    string
	card   a2a.AgentCard
	stream func(ctx context.Context, req *a2a.SendMessageRequest, yield func(*a2a.StreamResponse, error) bool)
	get    func(id string) (*a2a.Task, error)
	list   func() []*a2a.Task
	cancel func(id string) (*a2a.Task, error)

	mu       sync.Mutex // protects the fields below
	sent     []*a2a.SendMessageRequest
	canceled []string
	headers  []http.Header
}

func (p *puppet) serve(t *testing.T) *puppet {
	t.Helper()
	if p.card.Name == "" {
		p.card = a2a.AgentCard{Name: "puppet", Version: "1", Capabilities: a2a.AgentCapabilities{Streaming: new(true)}}
	}
	h := a2aserver.New(p, &p.card, nil)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		p.headers = append(p.headers, r.Header.Clone())
		p.mu.Unlock()
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	p.url = s.URL
	return p
}

func (p *puppet) messages() []*a2a.SendMessageRequest {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]*a2a.SendMessageRequest(nil), p.sent...)
}

func (p *puppet) cancels() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.canceled)
}

func (p *puppet) SendStreamingMessage(ctx context.Context, req *a2a.SendMessageRequest) iter.Seq2[*a2a.StreamResponse, error] {
	p.mu.Lock()
	p.sent = append(p.sent, req)
	p.mu.Unlock()
	return func(yield func(*a2a.StreamResponse, error) bool) { p.stream(ctx, req, yield) }
}

func (p *puppet) SendMessage(ctx context.Context, req *a2a.SendMessageRequest) (*a2a.SendMessageResponse, error) {
	for el, err := range p.SendStreamingMessage(ctx, req) {
		if err != nil {
			return nil, err
		}
		return &a2a.SendMessageResponse{Task: el.Task, Message: el.Message}, nil
	}
	return nil, a2a.Errorf(a2a.CodeInternal, "nothing to say")
}

func (p *puppet) GetTask(_ context.Context, req *a2a.GetTaskRequest) (*a2a.Task, error) {
	if p.get == nil {
		return nil, a2a.ErrTaskNotFound
	}
	return p.get(req.ID)
}

func (p *puppet) ListTasks(context.Context, *a2a.ListTasksRequest) (*a2a.ListTasksResponse, error) {
	if p.list == nil {
		return nil, a2a.ErrUnsupportedOperation
	}
	tasks := p.list()
	return &a2a.ListTasksResponse{Tasks: tasks, TotalSize: int32(len(tasks)), PageSize: 50}, nil
}

func (p *puppet) CancelTask(_ context.Context, req *a2a.CancelTaskRequest) (*a2a.Task, error) {
	p.mu.Lock()
	p.canceled = append(p.canceled, req.ID)
	p.mu.Unlock()
	if p.cancel == nil {
		return nil, a2a.ErrTaskNotCancelable
	}
	return p.cancel(req.ID)
}

// task makes an element of a task.
func task(id string, state a2a.TaskState) *a2a.StreamResponse {
	return &a2a.StreamResponse{Task: &a2a.Task{ID: id, ContextID: "c", Status: a2a.TaskStatus{State: state, Timestamp: time.Now()}}}
}

func status(id string, state a2a.TaskState, text string) *a2a.StreamResponse {
	s := a2a.TaskStatus{State: state, Timestamp: time.Now()}
	if text != "" {
		s.Message = &a2a.Message{MessageID: "m-" + text, Role: a2a.RoleAgent, Parts: []*a2a.Part{a2a.TextPart(text)}}
	}
	return &a2a.StreamResponse{StatusUpdate: &a2a.TaskStatusUpdateEvent{TaskID: id, ContextID: "c", Status: s}}
}

func chunk(id, artifact, text string, add, last bool) *a2a.StreamResponse {
	return &a2a.StreamResponse{ArtifactUpdate: &a2a.TaskArtifactUpdateEvent{TaskID: id, ContextID: "c", Append: add, LastChunk: last,
		Artifact: &a2a.Artifact{ArtifactID: artifact, Name: artifact, Parts: []*a2a.Part{a2a.TextPart(text)}}}}
}

// says streams these elements and then stays silent until the reader leaves.
func says(els ...*a2a.StreamResponse) func(context.Context, *a2a.SendMessageRequest, func(*a2a.StreamResponse, error) bool) {
	return func(ctx context.Context, _ *a2a.SendMessageRequest, yield func(*a2a.StreamResponse, error) bool) {
		for _, el := range els {
			if !yield(el, nil) {
				return
			}
		}
		if n := len(els); n == 0 || !els[n-1].State().Terminal() {
			<-ctx.Done()
		}
	}
}
