package proxy

import (
	"cmp"
	"context"
	"strings"

	"github.com/parley-a2a/parley/a2a"
)

// Card returns what the agent's card says of what it does, for a card of our own:
// its name, description, version, provider, links, modes and skills. Its address,
// security schemes, capabilities and signatures are left out, because they are not
// true here: the server that runs this agent fills them in. It
// asks the agent, unless that was done before.
func (a *Agent) Card(ctx context.Context) (a2a.AgentCard, error) {
	c, err := a.dial(ctx)
	if err != nil {
		return a2a.AgentCard{}, err
	}
	return rewrite(c.Card()), nil
}

func rewrite(theirs *a2a.AgentCard) a2a.AgentCard {
	card := a2a.AgentCard{
		Name: cmp.Or(theirs.Name, "Agent"), Description: theirs.Description, Version: theirs.Version,
		Provider: theirs.Provider, DocumentationURL: theirs.DocumentationURL, IconURL: theirs.IconURL,
		DefaultInputModes: modes(theirs.DefaultInputModes), DefaultOutputModes: modes(theirs.DefaultOutputModes),
	}
	for _, s := range theirs.Skills {
		if s == nil {
			continue
		}
		own := *s
		own.InputModes, own.OutputModes = modes(s.InputModes), modes(s.OutputModes)
		own.SecurityRequirements = nil // in the names of schemes that are not ours
		own.Unknown = nil              // nobody can say whether it holds here
		card.Skills = append(card.Skills, &own)
	}
	return card
}

// modeWords are what many cards of earlier versions say in place of media types, which
// are enforced here.
var modeWords = map[string]string{"text": "text/plain", "data": "application/json", "json": "application/json", "file": "*/*"}

func modes(theirs []string) (ours []string) {
	for _, m := range theirs {
		ours = append(ours, cmp.Or(modeWords[strings.ToLower(m)], m))
	}
	return ours
}
