// A program that is an agent: go run ./examples/go
package main

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
)

var card = a2a.Card{Name: "Shopper", Description: "Writes a shopping list, one item a message.", Version: "1.0.0"}

// shop asks until nothing more is wanted. The server may be killed while it waits:
// it runs again from the top, and each Ask that has been answered returns at once.
func shop(ctx context.Context, t *agent.Turn) error {
	list := []string{t.Text()}
	for {
		more, err := t.Ask(ctx, "What else? (nothing)")
		if err != nil {
			return err
		}
		if more.Text() == "nothing" {
			return t.Complete(fmt.Sprintf("%d: %s", len(list), strings.Join(list, ", ")))
		}
		list = append(list, more.Text())
	}
}

func main() {
	if err := parley.Serve("127.0.0.1:7275", card, agent.Func(shop)); err != nil {
		log.Fatal(err)
	}
}
