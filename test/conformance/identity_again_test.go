package conformance

import (
	"context"
	"errors"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aclient"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/store"
)

// Streams, and calls that wait, end within the time in which credentials are asked
// for again once their key is revoked, over every binding, with the error that new
// ones get; those of others go on.
func TestWhatIsOpenEndsWithItsKey(t *testing.T) {
	st := store.NewMemory()
	keys := auth.NewKeys(st, nil)
	guard, err := auth.NewGuard([]auth.Method{keys}, nil)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	release := make(chan struct{})
	ag := agent.Func(func(ctx context.Context, turn *agent.Turn) error {
		if err := turn.Status("working"); err != nil {
			return err
		}
		select {
		case <-release:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		return turn.Complete("done")
	})
	startOn(t, l, a2a.AgentCard{Name: "holder"}, ag, &parley.Options{Store: st, Auth: guard, Recheck: 20 * time.Millisecond})

	const subject = "ann" // of both keys, so that one has the tasks of the other
	leaked, id := newKeyOf(t, keys, subject)
	good, _ := newKeyOf(t, keys, subject)
	open := func(token, binding string) *a2aclient.Client {
		c, err := a2aclient.Dial(t.Context(), "http://"+l.Addr().String(), &a2aclient.Options{
			Bindings: []string{binding}, Header: http.Header{auth.KeyHeader: {token}},
		})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	message := func() *a2a.SendMessageRequest {
		return &a2a.SendMessageRequest{Message: &a2a.Message{MessageID: uuid.NewString(), Role: a2a.RoleUser, Parts: []*a2a.Part{a2a.TextPart("hold")}}}
	}
	bindings := []string{a2a.BindingJSONRPC, a2a.BindingHTTPJSON, a2a.BindingGRPC}
	begun := make(chan struct{}, 8)
	stream := func(c *a2aclient.Client) (states []a2a.TaskState, err error) {
		for ev, err := range c.SendStreamingMessage(t.Context(), message()) {
			if err != nil {
				return states, err
			}
			if ev.StatusUpdate != nil {
				states = append(states, ev.StatusUpdate.Status.State)
				if len(states) == 1 {
					begun <- struct{}{}
				}
			}
		}
		return states, nil
	}
	ends := make(chan error, 8)
	for _, binding := range bindings {
		streams, waits := open(leaked, binding), open(leaked, binding)
		go func() { _, err := stream(streams); ends <- err }()
		go func() { _, err := waits.SendMessage(t.Context(), message()); ends <- err }()
	}
	other, allowed := make(chan []a2a.TaskState, 1), open(good, a2a.BindingJSONRPC)
	go func() {
		states, err := stream(allowed)
		if err != nil {
			t.Errorf("the stream of the good key: %v", err)
		}
		other <- states
	}()
	for range len(bindings) + 1 {
		<-begun
	}
	if _, err := keys.Revoke(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	for range 2 * len(bindings) {
		select {
		case err := <-ends:
			if !errors.Is(err, a2a.ErrUnauthenticated) {
				t.Errorf("ended with %v", err)
			}
		case <-time.After(patience):
			t.Fatal("what was open with a key that was revoked goes on")
		}
	}
	close(release)
	if states := <-other; len(states) == 0 || states[len(states)-1] != a2a.TaskStateCompleted {
		t.Errorf("the stream of the good key had %v", states)
	}
}

func newKeyOf(t *testing.T, keys *auth.Keys, subject string) (token, id string) {
	t.Helper()
	secret, key, err := keys.Create(t.Context(), auth.KeySpec{Subject: subject})
	if err != nil {
		t.Fatal(err)
	}
	return secret.Reveal(), key.ID
}
