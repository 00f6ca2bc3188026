package parley_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
)

// The whole of an agent. README.md shows the same lines.
func ExampleServe() {
	card := a2a.Card{Name: "greeter", Description: "Greets."}
	greeter := agent.Func(func(ctx context.Context, t *agent.Turn) error {
		return t.Reply("hello " + t.Text())
	})
	if err := parley.Serve("127.0.0.1:7275", card, greeter); err != nil {
		log.Fatal(err)
	}
}

// Two agents on one port, of which one is at / as well.
func ExampleNewHost() {
	says := func(word string) agent.Agent {
		return agent.Func(func(ctx context.Context, t *agent.Turn) error { return t.Reply(word + " " + t.Text()) })
	}
	s, err := parley.NewHost([]parley.Hosted{
		{Name: "hello", Default: true, Card: a2a.AgentCard{Name: "Greeter"}, Agent: says("hello")},
		{Name: "bye", Card: a2a.AgentCard{Name: "Leaver"}, Agent: says("good bye")},
	}, nil)
	if err != nil {
		log.Fatal(err)
	}
	// s.Serve runs it; this is what a client finds first.
	for _, path := range []string{"/", "/agents/hello", "/agents/bye"} {
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		line, _, _ := strings.Cut(w.Body.String(), "\n")
		fmt.Println(path, line)
	}
	// Output:
	// / Greeter is an agent that speaks A2A 1.0, 0.3, 0.2, 0.1, 1.1.
	// /agents/hello Greeter is an agent that speaks A2A 1.0, 0.3, 0.2, 0.1, 1.1.
	// /agents/bye Leaver is an agent that speaks A2A 1.0, 0.3, 0.2, 0.1, 1.1.
}
