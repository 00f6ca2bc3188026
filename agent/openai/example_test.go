package openai_test

import (
	"fmt"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/agent/openai"
)

// A model on this machine, as an agent that knows who it is. parley.New takes it
// with its card.
func Example() {
	o := &openai.Options{
		System: "You are the help desk of a bicycle shop. Answer in one paragraph.",
		APIKey: a2a.Secret(""), // where the endpoint wants one
	}
	ag, err := openai.New("http://localhost:11434/v1", "qwen3:8b", o)
	if err != nil {
		panic(err)
	}
	var _ agent.Agent = ag
	card := openai.Card("qwen3:8b", o)
	card.Name = "Bicycle help desk"
	fmt.Println(card.DefaultInputModes)
	// Output: [text/plain text/* application/json]
}
