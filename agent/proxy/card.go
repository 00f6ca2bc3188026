package proxy

import (
	"cmp"
	"context"
	"strings"

	"github.com/parley-a2a/parley/a2a"
)

// Card returns a card made from the agent's card, with the same name, description,
// version, provider, links, modes and skills. Its address, security schemes,
// capabilities and signatures are left out, because they are not true here: the server
// that runs this agent fills them in. Card asks the agent for its card, unless that was
// done before.
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
		own.SecurityRequirements = nil // they name schemes of the other agent
		own.Unknown = nil              // it may not be true here
		card.Skills = append(card.Skills, &own)
	}
	return card
}

// modeWords are words that many cards of earlier versions use in place of media types,
// which are enforced here.
var modeWords = map[string]string{"text": "text/plain", "data": "application/json", "json": "application/json", "file": "*/*"}

func modes(theirs []string) (ours []string) {
	for _, m := range theirs {
		ours = append(ours, cmp.Or(modeWords[strings.ToLower(m)], m))
	}
	return ours
}
