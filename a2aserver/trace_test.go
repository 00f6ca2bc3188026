package a2aserver

import (
	"context"
	"testing"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aclient"
)

func TestTracesOnEveryWire(t *testing.T) {
	const trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	var got string
	svc := &fake{send: func(ctx context.Context, _ *a2a.SendMessageRequest) (*a2a.SendMessageResponse, error) {
		got = a2a.CallerFrom(ctx).Trace
		return &a2a.SendMessageResponse{Task: doneTask()}, nil
	}}
	addr, _ := limitedPort(t, svc, nil)
	everyWire(t, addr, func(t *testing.T, wire string, c *a2aclient.Client) {
		req := &a2a.SendMessageRequest{Message: &a2a.Message{MessageID: "m", Role: a2a.RoleUser, Parts: []*a2a.Part{a2a.TextPart("x")}}}
		for came, want := range map[string]string{trace: trace, "": "", "00-who-knows": ""} {
			_, err := c.SendMessage(a2a.WithCaller(t.Context(), a2a.Caller{Trace: came}), req)
			if err != nil || got != want {
				t.Errorf("%s: the trace %q of an agent that calls is %q to the one that is called, %v", wire, came, got, err)
			}
		}
	})
}
