package a2aserver_test

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aclient"
	"github.com/parley-a2a/parley/agent"
)

// The traceability extension is on the card, and works by each binding of 1.0 and 0.3: a
// client that names it gets the trace with its answer, at once and as a stream, and others
// do not.
func TestTraceabilityOnEveryBinding(t *testing.T) {
	ag := agent.Func(func(ctx context.Context, turn *agent.Turn) error {
		if _, err := agent.Step(ctx, turn, "look it up", func(context.Context) (string, error) { return "x", nil }); err != nil {
			return err
		}
		return turn.Status("found")
	})
	s, err := parley.New(agent.DemoCard(), ag, &parley.Options{Traceability: true, DrainWait: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	at := "http://" + l.Addr().String()
	traced := func(task *a2a.Task) (tools []string) {
		for _, a := range task.Artifacts {
			if a.ArtifactID != a2a.TraceabilityKey {
				continue
			}
			var trace a2a.ResponseTrace
			if err := json.Unmarshal(a.Parts[0].Data, &trace); err != nil {
				t.Error(err)
			}
			for _, step := range trace.Steps {
				tools = append(tools, step.Action.Tool.Name)
			}
		}
		return tools
	}
	for _, wire := range []string{"1.0 JSONRPC", "1.0 HTTP+JSON", "1.0 GRPC", "0.3 JSONRPC", "0.3 HTTP+JSON", "0.3 GRPC"} {
		version, binding, _ := strings.Cut(wire, " ")
		for asked, want := range map[string][]string{a2a.TraceabilityURI: {"look it up"}, "https://example.org/other": nil} {
			c, err := a2aclient.Dial(t.Context(), at, &a2aclient.Options{Version: version, Bindings: []string{binding}, Extensions: []string{asked}})
			if err != nil {
				t.Fatal(err)
			}
			got, err := c.SendMessage(t.Context(), words("hello"))
			if err != nil || got.Task == nil {
				t.Fatalf("%s: %+v, %v", wire, got, err)
			}
			if tools := traced(got.Task); !slices.Equal(tools, want) {
				t.Errorf("%s with %s: the answer tells of %q", wire, asked, tools)
			}
			streamed := new(a2a.Task)
			for el, err := range c.SendStreamingMessage(t.Context(), words("hello")) {
				if err != nil {
					t.Fatalf("%s: %v", wire, err)
				}
				streamed.ApplyEvent(el)
			}
			if tools := traced(streamed); !slices.Equal(tools, want) {
				t.Errorf("%s with %s: the stream tells of %q", wire, asked, tools)
			}
		}
	}

	// The answer says that the extension is active, whichever name the header has.
	for _, header := range []string{"A2A-Extensions", "X-A2A-Extensions"} {
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, at+"/message:send", strings.NewReader(sendBody))
		r.Header.Set("A2A-Version", "1.0")
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set(header, a2a.TraceabilityURI)
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if is := res.Header.Get("A2A-Extensions"); is != a2a.TraceabilityURI {
			t.Errorf("%s: the answer has A2A-Extensions: %q", header, is)
		}
	}
	card, err := a2aclient.Dial(t.Context(), at, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(card.Card().Capabilities.Extensions, func(e *a2a.AgentExtension) bool { return e.URI == a2a.TraceabilityURI }) {
		t.Error("the card does not list the extension")
	}
}
