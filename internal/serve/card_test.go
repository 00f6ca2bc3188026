package serve

import (
	"context"
	"errors"
	"iter"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aclient"
	"github.com/parley-a2a/parley/agent"
)

// The server does what each profile's card says, and answers "not supported"
// to the rest.
func TestCardProfilesAreEnforced(t *testing.T) {
	for name, want := range map[string]struct{ streaming, push, extended bool }{
		"all":      {streaming: true, push: true},
		"v1":       {streaming: true, push: true},
		"bare":     {},
		"extended": {streaming: true, push: true, extended: true},
	} {
		for _, binding := range []string{a2a.BindingJSONRPC, a2a.BindingHTTPJSON} {
			t.Run(name+"/"+binding, func(t *testing.T) {
				card, extended := profile(name, agent.ConformanceCard())
				s, err := parley.New(card, agent.Conformance(), &parley.Options{ExtendedCard: extended, CardProfile: cardFor(name)})
				if err != nil {
					t.Fatal(err)
				}
				ctx, stop := context.WithCancel(t.Context())
				ran := make(chan error)
				go func() { ran <- s.Run(ctx) }()
				srv := httptest.NewServer(s.Handler())
				defer func() {
					stop()
					if err := <-ran; err != nil {
						t.Error(err)
					}
					srv.Close()
				}()
				public, err := a2aclient.Resolve(t.Context(), srv.URL, nil)
				if err != nil {
					t.Fatal(err)
				}
				caps := public.Capabilities
				if *caps.Streaming != want.streaming || *caps.ExtendedAgentCard != want.extended || *caps.PushNotifications != want.push {
					t.Errorf("the card says %s", caps.AppendJSON(nil))
				}
				// A client that believes in everything, so that the server has to say no.
				public.Capabilities = a2a.AgentCapabilities{Streaming: new(true), PushNotifications: new(true), ExtendedAgentCard: new(true)}
				for _, i := range public.SupportedInterfaces {
					if i.ProtocolBinding == binding {
						public.SupportedInterfaces = []*a2a.AgentInterface{i}
					}
				}
				c, err := a2aclient.New(public, nil)
				if err != nil {
					t.Fatal(err)
				}
				message := func(id string) *a2a.SendMessageRequest {
					return &a2a.SendMessageRequest{Message: &a2a.Message{MessageID: id, Role: a2a.RoleUser, Parts: []*a2a.Part{a2a.TextPart("x")}}}
				}
				asked, err := c.SendMessage(t.Context(), message("tck-input-required"))
				if err != nil {
					t.Fatal(err)
				}

				outcome := func(what string, err error, supported bool, not error) {
					t.Helper()
					if supported && err != nil || !supported && !errors.Is(err, not) {
						t.Errorf("%s: %v", what, err)
					}
				}
				outcome("stream", firstError(c.SendStreamingMessage(t.Context(), message("tck-stream-001"))), want.streaming, a2a.ErrUnsupportedOperation)
				outcome("subscribe", firstError(c.SubscribeToTask(t.Context(), &a2a.SubscribeToTaskRequest{ID: asked.Task.ID})), want.streaming, a2a.ErrUnsupportedOperation)
				_, err = c.ListTaskPushNotificationConfigs(t.Context(), &a2a.ListTaskPushNotificationConfigsRequest{TaskID: asked.Task.ID})
				outcome("push", err, want.push, a2a.ErrPushNotificationNotSupported)
				more, err := c.GetExtendedAgentCard(t.Context(), &a2a.GetExtendedAgentCardRequest{})
				outcome("extended card", err, want.extended, a2a.ErrUnsupportedOperation)
				if want.extended {
					if err := more.Validate(); err != nil || len(more.Skills) != len(card.Skills)+1 || !strings.HasPrefix(more.SupportedInterfaces[0].URL, srv.URL) {
						t.Errorf("the extended card is %s (%v)", more.AppendJSON(nil), err)
					}
				}
			})
		}
	}
}

// firstError reads the first element of a stream.
func firstError(events iter.Seq2[*a2a.StreamResponse, error]) error {
	for _, err := range events {
		return err
	}
	return nil
}
