package conformance

// The conformance tests check the rows of the protocol's
// checklist that a test can decide; rules.md says which test checks which row. They speak raw JSON over real HTTP, by hand and not through the
// project's own client or codecs, so that they see the mistakes of those.

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/test/fixtures"
)

// patience is how long anything may take before a test calls it lost. No test
// waits for it to pass.
const patience = 30 * time.Second

// obj is a JSON object as these tests write and read it. Numbers that are read
// are json.Number.
type obj = map[string]any

// start runs an agent on a loopback port until the test ends.
func start(t *testing.T, card a2a.AgentCard, ag agent.Agent, o *parley.Options) (url string) {
	t.Helper()
	s, err := parley.New(card, ag, o)
	if err != nil {
		t.Fatal(err)
	}
	addr, _ := fixtures.Serve(t, "", s.Serve)
	return "http://" + addr
}

// startOn is start on a listener.
func startOn(t *testing.T, l net.Listener, card a2a.AgentCard, ag agent.Agent, o *parley.Options) {
	t.Helper()
	s, err := parley.New(card, ag, o)
	if err != nil {
		t.Fatal(err)
	}
	fixtures.ServeOn(t, l, s.Serve)
}

// each runs f against an agent of its own for each binding, in parallel.
func each(t *testing.T, card a2a.AgentCard, ag func() agent.Agent, f func(t *testing.T, w *wire)) {
	t.Helper()
	t.Parallel()
	for _, binding := range []string{jsonrpc, rest, grpcBinding} {
		t.Run(binding, func(t *testing.T) {
			t.Parallel()
			f(t, dial(t, binding, start(t, card, ag(), nil)))
		})
	}
}

// eachDemo is each with the demo agent.
func eachDemo(t *testing.T, f func(t *testing.T, w *wire)) {
	t.Helper()
	each(t, choosy(), agent.Demo, f)
}

// choosy is the demo agent's card, without the word that it accepts every media type.
func choosy() a2a.AgentCard {
	card := agent.DemoCard()
	card.DefaultInputModes = slices.DeleteFunc(card.DefaultInputModes, func(m string) bool { return m == "*/*" })
	return card
}

// withoutPush is that card, with push notifications switched off.
func withoutPush() a2a.AgentCard {
	card := choosy()
	card.Capabilities.PushNotifications = new(false)
	return card
}

// dial makes a wire to a running agent.
func dial(t *testing.T, binding, url string) *wire {
	transport := &http.Transport{MaxIdleConnsPerHost: 16}
	t.Cleanup(transport.CloseIdleConnections)
	w := &wire{binding: binding, url: url, client: &http.Client{Transport: transport}}
	if binding == grpcBinding {
		w.grpc = dialGRPC(t, hostOf(url))
	}
	return w
}

// held is an agent whose tasks say that they work, and go on when told.
type held struct {
	started chan string   // gets the id of each task
	release chan struct{} // one value for each task that may end
}

func newHeld() *held {
	return &held{started: make(chan string, 16), release: make(chan struct{}, 16)}
}

func (h *held) Run(ctx context.Context, t *agent.Turn) error {
	if err := t.Status("held"); err != nil {
		return err
	}
	h.started <- t.Task().ID
	select {
	case <-h.release:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	w := t.Artifact("result")
	for i := range 2 {
		if err := w.Add(a2a.TextPart("part " + strconv.Itoa(i))); err != nil {
			return err
		}
	}
	return w.Last(a2a.TextPart("part 2"))
}

// receive takes a value, or fails the test.
func receive[T any](t *testing.T, from <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(patience):
		t.Fatalf("nothing came: %s", what)
		panic("unreachable")
	}
}

// say is a message of the user with one text part; more members may be given
// as pairs of name and value.
func say(text string, more ...any) obj {
	m := obj{"messageId": rand.Text(), "role": "ROLE_USER", "parts": []any{obj{"text": text}}}
	for i := 0; i < len(more); i += 2 {
		m[more[i].(string)] = more[i+1]
	}
	return m
}

// in returns what stands at a path such as "status.message.parts.0.text", or
// nil if there is nothing.
func in(v any, path string) any {
	for _, step := range strings.Split(path, ".") {
		switch at := v.(type) {
		case obj:
			v = at[step]
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i >= len(at) {
				return nil
			}
			v = at[i]
		default:
			return nil
		}
	}
	return v
}

// text returns the string at a path, or "".
func text(v any, path string) string {
	s, _ := in(v, path).(string)
	return s
}

// list returns the array at a path, or nil.
func list(v any, path string) []any {
	a, _ := in(v, path).([]any)
	return a
}

// has tells whether an object has a member at all, null included.
func has(v any, member string) bool {
	o, _ := v.(obj)
	_, ok := o[member]
	return ok
}

// compact is the JSON of a value, for messages and comparisons.
func compact(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// equal compares two values as JSON.
func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if g, w := compact(got), compact(want); g != w {
		t.Errorf("%s is %s, want %s", what, g, w)
	}
}

func terminal(state string) bool {
	switch state {
	case "TASK_STATE_COMPLETED", "TASK_STATE_FAILED", "TASK_STATE_CANCELED", "TASK_STATE_REJECTED":
		return true
	}
	return false
}
