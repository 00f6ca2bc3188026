package serve

import (
	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aserver"
)

// profiles are the values of --card-profile, the default first.
var profiles = []string{"all", "v1", "bare", "extended"}

// cardFor returns the versions for which a --card-profile writes the card.
func cardFor(profile string) a2aserver.CardProfile {
	if profile == "v1" {
		return a2aserver.CardV1
	}
	return a2aserver.CardAll
}

// profile returns an agent's card with the capabilities of a --card-profile,
// and the extended card, if the profile has one. The server enforces what the
// card says.
func profile(name string, card a2a.AgentCard) (a2a.AgentCard, *a2a.AgentCard) {
	switch name {
	case "bare":
		card.Capabilities.Streaming = new(false)
		card.Capabilities.PushNotifications = new(false)
		card.Capabilities.ExtendedAgentCard = new(false)
	case "extended":
		card.Capabilities.ExtendedAgentCard = new(true)
		extended := card
		extended.Name += " (extended)"
		extended.Skills = append(append([]*a2a.AgentSkill(nil), card.Skills...), &a2a.AgentSkill{
			ID: "extended", Name: "Extended card", Tags: []string{"test"},
			Description: "Shows that this is the extended card; it does nothing.",
		})
		return card, &extended
	}
	return card, nil
}
