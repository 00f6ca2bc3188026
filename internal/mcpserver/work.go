package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/wake"
)

// work is one call of a tool that waits for a task. It belongs to the goroutine of
// the call, except for its notifications.
type work struct {
	s       *Server
	request *mcp.CallToolRequest
	token   any           // for progress; nil if the client did not ask for any
	wait    time.Duration // 0: do not wait; negative: until the task rests
	skill   string        // the skill of the tool; "": none

	task   *a2a.Task // as far as it is known
	direct *a2a.Message
	size   int // of its events so far, in bytes

	mu       sync.Mutex // held while a notification is sent; protects the fields below
	progress float64
	told     time.Time
}

const (
	// beat is how often a client that asked for progress is told that there is none.
	beat = 15 * time.Second
	// pace is the least time between two notifications.
	pace = 100 * time.Millisecond
	// cancelTime bounds the cancellation of a task whose call was cancelled.
	cancelTime = 10 * time.Second
	// maxQuestions limits the questions of one call to its client.
	maxQuestions = 20
	// maxTask caps the size of a task while a call waits for it, in bytes.
	maxTask = 64 << 20
)

var errLate = errors.New("mcpserver: the task takes longer than the call waits")

func (s *Server) work(r *mcp.CallToolRequest, seconds *int) *work {
	w := &work{s: s, request: r, token: r.Params.GetProgressToken(), wait: s.opts.wait()}
	switch {
	case seconds != nil:
		w.wait = time.Duration(max(0, min(*seconds, 24*3600))) * time.Second
	case w.token != nil:
		w.wait = -1
	}
	return w
}

// run sends a message and returns the result. It passes the task's questions on to the
// client.
func (w *work) run(ctx context.Context, taskID, contextID string, in *sendArgs) (*mcp.CallToolResult, any, error) {
	var parts []*a2a.Part
	if id := w.request.Params.RequestState; id != "" {
		// The client returns with its answer. The id is as good as an argument: the
		// agent decides what the client may do with it.
		t, err := w.s.agent.GetTask(ctx, &a2a.GetTaskRequest{ID: id})
		if err != nil {
			return w.s.failure(err), nil, nil
		}
		a, _ := w.request.Params.InputResponses[answerID].(*mcp.ElicitResult)
		if parts = answer(a); parts == nil || t.Status.State != a2a.TaskStateInputRequired {
			return w.s.result(t, false), nil, nil
		}
		taskID, contextID = t.ID, t.ContextID
	} else {
		var err error
		if parts, err = in.parts(w.request.Params.Arguments); err != nil {
			return nil, nil, err
		}
	}
	for range maxQuestions {
		w.task, w.direct = nil, nil
		m := &a2a.Message{MessageID: uuid.Must(uuid.NewV7()).String(), Role: a2a.RoleUser, TaskID: taskID, ContextID: contextID, Parts: parts}
		if err := w.callSkill(m); err != nil {
			return w.s.failure(err), nil, nil
		}
		if err := w.follow(ctx, &a2a.SendMessageRequest{Message: m}, taskID); err != nil {
			return w.end(ctx, err), nil, nil
		}
		if w.direct != nil {
			return w.s.message(w.direct), nil, nil
		}
		if w.task.Status.State != a2a.TaskStateInputRequired || !elicits(w.request) {
			break
		}
		q := question(w.task)
		if w.request.ProtocolVersion() >= "2026-07-28" {
			// From this version on a server does not send questions, but returns them.
			return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{answerID: q}, RequestState: w.task.ID}, nil, nil
		}
		a, err := w.request.Session.Elicit(ctx, q)
		if err != nil {
			if ctx.Err() != nil {
				return w.end(ctx, err), nil, nil
			}
			w.s.log.Info("the MCP client could not be asked", "error", err)
			break
		}
		if parts = answer(a); parts == nil {
			break
		}
		taskID, contextID = w.task.ID, w.task.ContextID
	}
	return w.s.result(w.task, false), nil, nil
}

// callSkill adds the tool's skill to a message. If the agent's card has schemas for
// skills, the skill is called by id, with the first object among the parts as its
// arguments.
func (w *work) callSkill(m *a2a.Message) error {
	if w.skill == "" {
		return nil
	}
	m.Metadata, _ = json.Marshal(map[string]string{"skillId": w.skill})
	if _, ok := w.s.card.CallableSkills(); !ok || m.TaskID != "" {
		return nil
	}
	var arguments a2a.JSON
	for _, p := range m.Parts {
		if p.Kind == a2a.PartData && p.Data[0] == '{' {
			arguments = p.Data
			break
		}
	}
	return m.CallSkill(w.skill, arguments)
}

// end returns the result of a call that stopped waiting for its task.
func (w *work) end(ctx context.Context, err error) *mcp.CallToolResult {
	switch {
	case errors.Is(err, errLate):
		return w.s.result(w.task, true)
	case ctx.Err() == nil:
		res := w.s.failure(err)
		if w.task != nil && w.task.ID != "" {
			res.Content = append(res.Content, &mcp.TextContent{Text: fmt.Sprintf("The task %s goes on: look at it with get_task.", w.task.ID)})
			res.StructuredContent = summary(w.task)
		}
		return res
	}
	if w.task != nil && w.task.ID != "" && !w.task.Status.State.Terminal() && w.s.wished(ctx, w.request.Session) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelTime)
		defer cancel()
		if _, err := w.s.agent.CancelTask(ctx, &a2a.CancelTaskRequest{ID: w.task.ID}); err != nil {
			w.s.log.Info("a task could not be cancelled", "task", w.task.ID, "error", err)
		}
	}
	return w.s.failure(context.Canceled) // the client does not read it
}

// follow sends req, or subscribes to the task with this id, and returns when the task
// rests or when the agent answered without a task. errLate says that the wait is over.
func (w *work) follow(ctx context.Context, req *a2a.SendMessageRequest, id string) error {
	began := time.Now()
	var beats sync.WaitGroup
	defer beats.Wait()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	beats.Go(func() {
		for wake.Pause(ctx, beat) == nil {
			w.tell(ctx, "still at work", true)
		}
	})
	var asked *a2a.TaskStatus
	var late *time.Timer
	for ev, err := range w.s.events(ctx, req, id) {
		if ctx.Err() != nil {
			break
		}
		if err != nil {
			return err
		}
		if ev.Message != nil {
			w.direct = ev.Message
			return nil
		}
		if req != nil && id != "" && w.task == nil && ev.Task != nil && ev.State().Interrupted() {
			// The task may be in the state of its last question: its artifacts
			// count, its state does not, unless nothing follows.
			before := *ev.Task
			asked = &ev.Task.Status
			before.Status = a2a.TaskStatus{State: a2a.TaskStateWorking, Timestamp: asked.Timestamp}
			ev = &a2a.StreamResponse{Task: &before}
		}
		if err := w.apply(ctx, ev); err != nil {
			return err
		}
		if rests(w.task) {
			return nil
		}
		if w.wait < 0 {
			continue
		}
		// It waits at least until the ids are known, which are needed to go on.
		left := w.wait - time.Since(began)
		if left <= 0 {
			return errLate
		}
		if late == nil {
			late = time.AfterFunc(left, func() { stop(errLate) })
			defer late.Stop()
		}
	}
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case asked != nil:
		w.task.Status = *asked
		return nil
	}
	return a2a.Errorf(a2a.CodeInvalidAgentResponse, "the agent stopped answering before the task ended")
}

// apply applies an event to the task, and notifies the client.
func (w *work) apply(ctx context.Context, ev *a2a.StreamResponse) error {
	if w.size += size(ev); w.size > maxTask {
		return a2a.Errorf(a2a.CodeTooLarge, "the task has more than %d bytes, which is too much for a tool's result", maxTask)
	}
	if w.task == nil {
		w.task = new(a2a.Task)
	}
	w.task.ApplyEvent(ev)
	switch {
	case ev.StatusUpdate != nil && ev.StatusUpdate.Status.Message != nil:
		w.tell(ctx, cut(ev.StatusUpdate.Status.Message.Text(), 1000), false)
	case ev.StatusUpdate != nil:
		w.tell(ctx, shortState(ev.StatusUpdate.Status.State), false)
	case ev.ArtifactUpdate != nil && ev.ArtifactUpdate.Artifact != nil:
		for _, p := range ev.ArtifactUpdate.Artifact.Parts {
			if p.Kind == a2a.PartText && p.Text != "" {
				w.tell(ctx, cut(p.Text, 1000), false)
				return nil
			}
		}
		w.tell(ctx, "the artifact "+cut(ev.ArtifactUpdate.Artifact.Name, 200), false)
	}
	return nil
}

// size returns roughly how many bytes an event adds to its task.
func size(ev *a2a.StreamResponse) int {
	n := 0
	add := func(parts []*a2a.Part) {
		for _, p := range parts {
			n += 64 + len(p.Text) + len(p.Raw) + len(p.URL) + len(p.Data)
		}
	}
	if u := ev.ArtifactUpdate; u != nil && u.Artifact != nil {
		add(u.Artifact.Parts)
	}
	if u := ev.StatusUpdate; u != nil && u.Status.Message != nil {
		add(u.Status.Message.Parts)
	}
	return n
}

// tell sends a progress notification, if the client asked for them and did not get one
// a moment ago.
func (w *work) tell(ctx context.Context, text string, must bool) {
	if w.token == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !must && time.Since(w.told) < pace {
		return
	}
	w.told = time.Now()
	w.progress++
	if err := w.request.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
		ProgressToken: w.token, Progress: w.progress, Message: text,
	}); err != nil {
		w.s.log.Debug("progress could not be told", "error", err)
	}
}

// rests reports whether a task has ended or waits for its client.
func rests(t *a2a.Task) bool {
	return t != nil && (t.Status.State.Terminal() || t.Status.State.Interrupted())
}
