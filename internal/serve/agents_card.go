package serve

import (
	"encoding/json"
	"slices"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/config"
)

// withCard returns a card with the file's values, and the extended card if the file has
// skills that need scopes, which only the extended card lists.
func withCard(card a2a.AgentCard, c *config.Agent, schemes []string) (a2a.AgentCard, *a2a.AgentCard) {
	said := &c.Card
	replace := func(to *string, with string) {
		if with != "" {
			*to = with
		}
	}
	if own := c.Exec != nil || c.HTTP != nil || c.OpenAI != nil; own {
		replace(&card.Name, c.Name) // other kinds get a name from their upstream
	}
	replace(&card.Name, said.Name)
	replace(&card.Description, said.Description)
	replace(&card.Version, said.Version)
	replace(&card.DocumentationURL, said.DocumentationURL)
	replace(&card.IconURL, said.IconURL)
	if said.Organization != "" || said.OrganizationURL != "" {
		card.Provider = &a2a.AgentProvider{Organization: said.Organization, URL: said.OrganizationURL}
	}
	if len(said.InputModes) > 0 {
		card.DefaultInputModes = said.InputModes
	}
	if len(said.OutputModes) > 0 {
		card.DefaultOutputModes = said.OutputModes
	}
	if said.Streaming != nil {
		card.Capabilities.Streaming = said.Streaming
	}
	if said.PushNotifications != nil {
		card.Capabilities.PushNotifications = said.PushNotifications
	}
	if len(said.Skills) == 0 {
		return card, nil
	}
	all := make([]*a2a.AgentSkill, len(said.Skills))
	scoped := func(s *a2a.AgentSkill) bool { return len(s.SecurityRequirements) > 0 }
	for i := range said.Skills {
		all[i] = skill(&said.Skills[i], schemes)
	}
	card.Skills = slices.DeleteFunc(slices.Clone(all), scoped)
	extended := card
	extended.Skills = all
	declareSchemas(&card, said.Skills)
	if len(card.Skills) == len(all) {
		return card, nil
	}
	card.Capabilities.ExtendedAgentCard = new(true)
	extended.Capabilities.ExtendedAgentCard = card.Capabilities.ExtendedAgentCard
	declareSchemas(&extended, said.Skills)
	return card, &extended
}

// declareSchemas declares on a card that its skills can be called by id, if one of them
// has a schema.
func declareSchemas(card *a2a.AgentCard, said []config.Skill) {
	if schemas := schemasOf(said, card.Skills); len(schemas) > 0 {
		card.Capabilities.Extensions = append(slices.Clone(card.Capabilities.Extensions), a2a.SkillsExtension(schemas))
	}
}

// schemasOf returns the schemas of the arguments of the skills that a card shows.
func schemasOf(said []config.Skill, shown []*a2a.AgentSkill) map[string]a2a.JSON {
	schemas := map[string]a2a.JSON{}
	for i := range said {
		on := slices.ContainsFunc(shown, func(s *a2a.AgentSkill) bool { return s.ID == said[i].ID })
		if doc, err := json.Marshal(said[i].InputSchema); err == nil && said[i].InputSchema != nil && on {
			schemas[said[i].ID] = doc
		}
	}
	return schemas
}

func skill(s *config.Skill, schemes []string) *a2a.AgentSkill {
	out := &a2a.AgentSkill{
		ID: s.ID, Name: s.Name, Description: s.Description, Tags: s.Tags, Examples: s.Examples,
		InputModes: s.InputModes, OutputModes: s.OutputModes,
	}
	if len(s.Scopes) == 0 {
		return out
	}
	for _, scheme := range schemes { // they are alternatives
		out.SecurityRequirements = append(out.SecurityRequirements, a2a.SecurityRequirement{scheme: s.Scopes})
	}
	return out
}
