package main

import "github.com/parley-a2a/parley/a2a"

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
