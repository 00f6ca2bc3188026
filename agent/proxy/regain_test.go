package proxy_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/parley-a2a/parley/a2a"
)

// A server that is killed while it passes an answer on finds out from the agent's task
// whether it arrived.
func TestKilledWhileAnswering(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		left  func(task *a2a.Task, sent []*a2a.SendMessageRequest) // what the agent makes of it
		asked bool                                                 // the caller is asked again
		sent  int
	}{
		{"it arrived", func(task *a2a.Task, sent []*a2a.SendMessageRequest) {
			task.History = []*a2a.Message{sent[0].Message, sent[1].Message}
			task.Status = a2a.TaskStatus{State: a2a.TaskStateCompleted}
		}, false, 2},
		{"the agent went on", func(task *a2a.Task, _ []*a2a.SendMessageRequest) {
			task.Status = a2a.TaskStatus{State: a2a.TaskStateCompleted}
		}, false, 2},
		{"it did not arrive", func(task *a2a.Task, sent []*a2a.SendMessageRequest) {
			task.History = []*a2a.Message{sent[0].Message}
		}, false, 3},
		{"nobody knows", func(*a2a.Task, []*a2a.SendMessageRequest) {}, true, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var killed atomic.Bool
			asks := func() *a2a.StreamResponse {
				el := task("up", a2a.TaskStateInputRequired)
				el.Task.Status.Message = &a2a.Message{MessageID: "q", Role: a2a.RoleAgent, Parts: []*a2a.Part{a2a.TextPart("who?")}}
				return el
			}
			up := &puppet{}
			up.get = func(string) (*a2a.Task, error) {
				el := asks()
				if killed.Load() {
					c.left(el.Task, up.messages())
				}
				return el.Task, nil
			}
			up.stream = func(ctx context.Context, req *a2a.SendMessageRequest, yield func(*a2a.StreamResponse, error) bool) {
				switch len(up.messages()) {
				case 1:
					yield(asks(), nil)
				case 2:
					<-ctx.Done()
				default:
					yield(task("up", a2a.TaskStateCompleted), nil)
				}
			}
			front := behind(t, up.serve(t).url, nil, nil)
			client := dial(t, front, nil)
			got := send(t, client, say("x"))
			r := to(got, "me")
			r.Configuration = &a2a.SendMessageConfiguration{ReturnImmediately: true}
			send(t, client, r)
			poll(t, func() bool { return len(up.messages()) == 2 })
			front.kill()
			killed.Store(true)
			front.start()
			client = dial(t, front, nil)
			if c.asked {
				got = await(t, client, got.ID, a2a.TaskState.Interrupted)
				want(t, send(t, client, to(got, "me again")), a2a.TaskStateCompleted, "")
			} else {
				want(t, ended(t, client, got.ID), a2a.TaskStateCompleted, "")
			}
			sent := up.messages()
			if len(sent) != c.sent {
				t.Fatalf("sent %d times, want %d", len(sent), c.sent)
			}
			if c.sent == 3 && (sent[1].Message.MessageID == sent[2].Message.MessageID) == c.asked {
				t.Errorf("sent %s and %s", sent[1].Message.MessageID, sent[2].Message.MessageID)
			}
		})
	}
}
