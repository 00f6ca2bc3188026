package parley

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aserver"
)

// complete returns a copy of an author's card with its missing fields filled in. The
// copy is both published and enforced, so the card cannot promise anything that the
// server does not do.
func complete(card a2a.AgentCard, o *Options) (*a2a.AgentCard, error) {
	if strings.TrimSpace(card.Name) == "" {
		return nil, errors.New("parley: the card needs a name")
	}
	if u := a2a.WebURL(o.PublicURL); o.PublicURL != "" && (u == nil || u.User != nil || u.RawQuery != "" || u.Fragment != "") {
		return nil, errors.New("parley: Options.PublicURL must be an http or https URL such as https://agents.example.org, without user, query or fragment")
	}
	card.Description = cmp.Or(card.Description, card.Name)
	card.Version = cmp.Or(card.Version, "1.0.0")
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
	caps.Streaming = cmp.Or(caps.Streaming, new(true))
	caps.PushNotifications = cmp.Or(caps.PushNotifications, new(true))
	caps.ExtendedAgentCard = cmp.Or(caps.ExtendedAgentCard, new(false))
	if resume := a2aserver.ResumeExtension(); *caps.Streaming && extension(caps, resume.URI) < 0 {
		caps.Extensions = append(slices.Clip(caps.Extensions), resume)
	}
	if hops := a2aserver.HopsExtension(o.Limits); extension(caps, hops.URI) < 0 {
		caps.Extensions = append(slices.Clip(caps.Extensions), hops)
	}
	if o.Traceability && extension(caps, a2a.TraceabilityURI) < 0 {
		caps.Extensions = append(slices.Clip(caps.Extensions), a2a.TraceabilityExtension())
	}
	if err := promise(caps, o); err != nil {
		return nil, err
	}
	return &card, nil
}

// promise makes the card state how the engine treats repeated messages. Unless the
// author's card already has the extension, it is added only if repeats are recognized
// for every caller, because a client may rely on it.
func promise(caps *a2a.AgentCapabilities, o *Options) error {
	r := o.retries()
	everybody := r.Anonymous || o.Auth != nil && !o.Auth.Anonymous()
	retry := a2aserver.RetryExtension(r.Window, r.Anonymous)
	at := extension(caps, retry.URI)
	switch on := r.Window >= time.Second; { // the card counts whole seconds
	case on && at < 0 && !everybody:
	case on && at < 0:
		caps.Extensions = append(slices.Clip(caps.Extensions), retry)
	case on:
		retry.Description, retry.Required = caps.Extensions[at].Description, caps.Extensions[at].Required
		caps.Extensions = slices.Clone(caps.Extensions)
		caps.Extensions[at] = retry
	case at >= 0:
		return errors.New("parley: the card promises to know messages that come again, which Options.Retries switches off")
	}
	return nil
}

// extension returns the index of an extension, or -1.
func extension(caps *a2a.AgentCapabilities, uri string) int {
	return slices.IndexFunc(caps.Extensions, func(e *a2a.AgentExtension) bool { return e != nil && e.URI == uri })
}

// extend is complete for an extended card: fields that it leaves empty are taken from
// the public card.
func extend(card a2a.AgentCard, public *a2a.AgentCard, o *Options) (*a2a.AgentCard, error) {
	caps, more := &card.Capabilities, &public.Capabilities
	caps.Streaming = cmp.Or(caps.Streaming, more.Streaming)
	caps.ExtendedAgentCard = cmp.Or(caps.ExtendedAgentCard, more.ExtendedAgentCard)
	caps.PushNotifications = cmp.Or(caps.PushNotifications, more.PushNotifications)
	card.Description = cmp.Or(card.Description, public.Description)
	card.Version = cmp.Or(card.Version, public.Version)
	if len(card.DefaultInputModes) == 0 {
		card.DefaultInputModes = public.DefaultInputModes
	}
	if len(card.DefaultOutputModes) == 0 {
		card.DefaultOutputModes = public.DefaultOutputModes
	}
	if len(card.Skills) == 0 {
		card.Skills = public.Skills
	}
	if o.Auth != nil {
		card.SecuritySchemes, card.SecurityRequirements = public.SecuritySchemes, public.SecurityRequirements
	}
	return complete(card, o)
}
