package agent

import (
	"cmp"

	"github.com/parley-a2a/parley/a2a"
)

// ExecCard returns a card for Exec, named after the command. It leaves out the
// arguments, which may not be public.
func ExecCard(argv []string) a2a.AgentCard { return (*ExecOptions)(nil).Card(argv) }

// Card is ExecCard for a command with these options: with mode ExecLines, or with
// Files, the command accepts and returns more than text.
func (o *ExecOptions) Card(argv []string) a2a.AgentCard {
	o = cmp.Or(o, new(ExecOptions))
	name := (&command{argv: argv}).name()
	card := a2a.AgentCard{
		Name:               name,
		Description:        "Runs " + name + ": the text of a message is its input, what it prints is the answer.",
		Version:            "1.0.0",
		Capabilities:       a2a.AgentCapabilities{Streaming: new(true)},
		DefaultInputModes:  []string{"text/plain", "text/*", "application/json"},
		DefaultOutputModes: []string{"text/plain"},
		Skills: []*a2a.AgentSkill{{
			ID:          "run",
			Name:        "Run " + name,
			Description: "Runs the command on the text of the message and streams its output, line by line.",
			Tags:        []string{"command"},
		}},
	}
	if o.Mode == ExecLines {
		card.Description = "Hands each message to " + name + ", which answers as it goes."
		card.Skills[0].Description = "Hands the message to the command and streams what it answers."
	}
	if o.Mode == ExecLines || o.Files {
		card.DefaultInputModes = []string{"text/plain", "application/json", "*/*"}
		card.DefaultOutputModes = []string{"text/plain", "application/json", "*/*"}
	}
	return card
}
