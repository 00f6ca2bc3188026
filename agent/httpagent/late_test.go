package httpagent

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/agent"
)

type transport func(*http.Request) *http.Response

func (f transport) RoundTrip(req *http.Request) (*http.Response, error) { return f(req), nil }

// A service that accepts a message while its task is canceled is told to stop; one whose
// server stops is not, for the message is sent again.
func TestAcceptedWhileCanceled(t *testing.T) {
	for name, c := range map[string]struct {
		cause error
		want  string
	}{
		"canceled": {agent.ErrCanceled, "POST / DELETE /jobs/1"},
		"draining": {agent.ErrDraining, "POST /"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			var got []string
			callbacks, err := NewCallbacks("http://front.test/callbacks", "0123456789abcdef")
			if err != nil {
				t.Fatal(err)
			}
			a, err := New("http://service.test/", &Options{Callbacks: callbacks, Client: &http.Client{Transport: transport(func(req *http.Request) *http.Response {
				got = append(got, req.Method+" "+req.URL.Path)
				cancel(c.cause)
				return &http.Response{StatusCode: http.StatusAccepted, Header: http.Header{"Location": {"/jobs/1"}}, Body: http.NoBody, Request: req}
			})}})
			if err != nil {
				t.Fatal(err)
			}
			h := &host{disk: newDisk(), attempt: 1, crash: func(error) {}}
			if err := a.Run(ctx, agent.NewTurn(h)); !errors.Is(err, c.cause) {
				t.Errorf("Run = %v", err)
			}
			if all := strings.Join(got, " "); all != c.want {
				t.Errorf("got %q, want %q", all, c.want)
			}
		})
	}
}
