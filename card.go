package parley

import (
	"errors"
	"slices"
	"strings"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aserver"
)

// complete returns a copy of an author's card with what it leaves open filled
// in. The copy is what is published and what is enforced, so the card cannot
// promise what the server does not do.
func complete(card a2a.AgentCard) (*a2a.AgentCard, error) {
	if strings.TrimSpace(card.Name) == "" {
		return nil, errors.New("parley: the card needs a name")
	}
	if card.Capabilities.PushNotifications != nil && *card.Capabilities.PushNotifications {
		return nil, errors.New("parley: the card promises push notifications, which this server does not deliver")
	}
	if card.Description == "" {
		card.Description = card.Name
	}
	if card.Version == "" {
		card.Version = "1.0.0"
	}
	if len(card.DefaultInputModes) == 0 {
		card.DefaultInputModes = []string{"text/plain"}
	}
	if len(card.DefaultOutputModes) == 0 {
		card.DefaultOutputModes = []string{"text/plain"}
	}
	if len(card.Skills) == 0 {
		card.Skills = []*a2a.AgentSkill{{
			ID: "main", Name: card.Name, Description: card.Description, Tags: []string{"agent"},
		}}
	}
	caps := &card.Capabilities
	if caps.Streaming == nil {
		caps.Streaming = new(true)
	}
	caps.PushNotifications = new(false)
	if caps.ExtendedAgentCard == nil {
		caps.ExtendedAgentCard = new(false)
	}
	if resume := a2aserver.ResumeExtension(); *caps.Streaming && !slices.ContainsFunc(caps.Extensions, func(e *a2a.AgentExtension) bool {
		return e != nil && e.URI == resume.URI
	}) {
		caps.Extensions = append(slices.Clip(caps.Extensions), resume)
	}
	return &card, nil
}

// extend is complete for an extended card, which takes what it leaves open from
// the public one.
func extend(card a2a.AgentCard, public *a2a.AgentCard) (*a2a.AgentCard, error) {
	caps := &card.Capabilities
	if caps.Streaming == nil {
		caps.Streaming = public.Capabilities.Streaming
	}
	if caps.ExtendedAgentCard == nil {
		caps.ExtendedAgentCard = public.Capabilities.ExtendedAgentCard
	}
	if card.Description == "" {
		card.Description = public.Description
	}
	if card.Version == "" {
		card.Version = public.Version
	}
	if len(card.DefaultInputModes) == 0 {
		card.DefaultInputModes = public.DefaultInputModes
	}
	if len(card.DefaultOutputModes) == 0 {
		card.DefaultOutputModes = public.DefaultOutputModes
	}
	if len(card.Skills) == 0 {
		card.Skills = public.Skills
	}
	return complete(card)
}
