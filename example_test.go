package parley_test

import (
	"context"
	"log"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
)

// The whole of an agent. README.md shows the same lines.
func ExampleServe() {
	card := a2a.Card{Name: "greeter", Description: "Greets."}
	log.Fatal(parley.Serve("127.0.0.1:7275", card, agent.Func(func(ctx context.Context, t *agent.Turn) error {
		return t.Reply("hello " + t.Text())
	})))
}
