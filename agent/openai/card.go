package openai

import (
	"cmp"

	"github.com/parley-a2a/parley/a2a"
)

// Card returns the card of an agent that New makes with the same arguments. Only you
// know what the model is good at: replace the skill by one that describes your agent.
func Card(model string, o *Options) a2a.AgentCard {
	o = cmp.Or(o, new(Options))
	in := []string{"text/plain", "text/*", "application/json"}
	takes := "text"
	if o.Images {
		in = append(in, "image/png", "image/jpeg", "image/gif", "image/webp")
		takes = "text and images"
	}
	if o.Files {
		in = append(in, "application/pdf")
		takes += " and files"
	}
	return a2a.AgentCard{
		Name:               model,
		Description:        "Answers by the model " + model + ". It takes " + takes + ", and knows what was said before in the same context.",
		Version:            "1.0.0",
		Capabilities:       a2a.AgentCapabilities{Streaming: new(true)},
		DefaultInputModes:  in,
		DefaultOutputModes: []string{"text/plain", "application/json"},
		Skills: []*a2a.AgentSkill{{
			ID:          "chat",
			Name:        "Chat",
			Description: "Answers a message, in text or, where the client accepts JSON first, as a JSON value of the schema in the message's metadata.",
			Tags:        []string{"chat", "model"},
			Examples:    []string{"Explain the offside rule to a child, in three sentences."},
		}},
	}
}
