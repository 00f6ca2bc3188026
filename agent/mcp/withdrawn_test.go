package mcp

import (
	"context"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-a2a/parley/a2a"
)

// A task does not wait for an answer any more once its tool has taken the question back.
func TestQuestionIsTakenBack(t *testing.T) {
	s, srv := overHTTP(t, "old")
	back := make(chan struct{})
	mcp.AddTool(srv.srv, &mcp.Tool{Name: "impatient"}, func(ctx context.Context, r *mcp.CallToolRequest, _ empty) (*mcp.CallToolResult, any, error) {
		asking, stop := context.WithCancel(ctx)
		go func() {
			<-back
			stop()
		}()
		if _, err := r.Session.Elicit(asking, &mcp.ElicitParams{Message: "Where to?", RequestedSchema: askSchema}); err == nil {
			return text("answered"), nil, nil
		}
		select {
		case <-srv.let:
			return text("went on without"), nil, nil
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
	})
	w := newWorld(t, s, &Options{Concurrency: 1}, nil)
	asking := w.send(tool("impatient", `{}`))
	want(t, asking, a2a.TaskStateInputRequired, "Where to?")
	close(back)
	eventually(t, "the task is at work", func() bool {
		task, err := w.GetTask(t.Context(), &a2a.GetTaskRequest{ID: asking.ID})
		return err == nil && task.Status.State == a2a.TaskStateWorking
	})
	waits := w.begin(tool("hold", `{}`)) // for the place of the call that goes on
	close(srv.let)
	want(t, w.rest(asking.ID), a2a.TaskStateCompleted, "went on without")
	want(t, w.rest(waits), a2a.TaskStateCompleted, "held")
}
