package draft

import (
	"cmp"
	"strings"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/config"
	"github.com/parley-a2a/parley/internal/failure"
	"github.com/parley-a2a/parley/internal/keyfile"
	"github.com/parley-a2a/parley/internal/plain"
)

// IsCard reports whether name is the name of a card's file.
func IsCard(name string) bool {
	return !strings.Contains(name, "://") && strings.HasSuffix(strings.ToLower(name), ".json")
}

// cardOf copies a card's fields into the agent. alone says that nothing else describes the
// agent: it is then a proxy of the agent that the card names.
func cardOf(name string, agent *config.Agent, alone bool) error {
	doc, err := keyfile.Read(name, keyfile.MaxCard)
	if err != nil {
		return failure.Usagef("%v", err)
	}
	card := new(a2a.AgentCard)
	if err := card.UnmarshalJSON(doc); err != nil {
		return failure.Usagef("%s is not a card: %v", plain.Quote(name), err)
	}
	if alone {
		if len(card.SupportedInterfaces) == 0 {
			return failure.Usagef("%s says what the agent's card says, and nothing what the agent is", plain.Quote(name)).
				WithHint("name its command: parley init %s -- ./agent.py", plain.Quote(name))
		}
		// The proxy fetches its card itself, and follows changes.
		*agent = config.Agent{Name: slug(card.Name), Proxy: &config.Proxy{Agent: card.SupportedInterfaces[0].URL}}
		return nil
	}
	c := &agent.Card
	c.Name, c.Description, c.Version = card.Name, card.Description, card.Version
	c.DocumentationURL, c.IconURL = card.DocumentationURL, card.IconURL
	c.InputModes, c.OutputModes = card.DefaultInputModes, card.DefaultOutputModes
	if p := card.Provider; p != nil && p.Organization != "" && p.URL != "" {
		c.Organization, c.OrganizationURL = p.Organization, p.URL
	}
	for _, s := range card.Skills {
		c.Skills = append(c.Skills, config.Skill{
			ID: s.ID, Name: cmp.Or(s.Name, s.ID), Description: cmp.Or(s.Description, s.Name, s.ID), Tags: s.Tags, Examples: s.Examples,
			InputModes: s.InputModes, OutputModes: s.OutputModes,
		})
	}
	return nil
}
