package engine

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/engine/internal/stored"
	"github.com/parley-a2a/parley/internal/skill"
)

// gate has the promises of the agent's card as checks that run before any look-up
// (specification §3.3.4).
type gate struct {
	streaming bool
	extended  bool
	push      bool
	absent    bool     // the agent is not there
	inputs    []string // media types, lower case; empty: any
	required  []string // extension URIs
	skills    *skill.Set
}

func newGate(card *a2a.AgentCard) gate {
	g := gate{
		streaming: is(card.Capabilities.Streaming),
		extended:  is(card.Capabilities.ExtendedAgentCard),
		push:      is(card.Capabilities.PushNotifications),
	}
	for _, m := range card.DefaultInputModes {
		g.inputs = append(g.inputs, mediaType(m))
	}
	for _, s := range card.Skills {
		for _, m := range s.InputModes {
			g.inputs = append(g.inputs, mediaType(m))
		}
	}
	for _, x := range card.Capabilities.Extensions {
		if x.Required {
			g.required = append(g.required, x.URI)
		}
	}
	g.skills, _ = skill.New(card) // the maker of the card is told of schemas that cannot be used
	return g
}

func is(b *bool) bool { return b != nil && *b }

// send admits a message. The order of the checks is the protocol's: extension,
// capability, validation.
func (g *gate) send(ctx context.Context, a *access, req *a2a.SendMessageRequest, stream bool) error {
	if g.absent {
		return errAbsent()
	}
	declared := a.caller.Extensions
	for _, uri := range g.required {
		if !slices.Contains(declared, uri) {
			return &a2a.Error{
				Code:    a2a.CodeExtensionSupportRequired,
				Message: "this agent requires the extension " + uri + "; support it and list it in A2A-Extensions",
				Meta:    map[string]string{"extension": uri},
			}
		}
	}
	if stream {
		if err := g.stream(); err != nil {
			return err
		}
	}
	if err := req.Validate(); err != nil {
		return err
	}
	if err := g.skill(ctx, a, req.Message); err != nil {
		return err
	}
	if req.Configuration != nil && req.Configuration.TaskPushNotificationConfig != nil && !g.push {
		return a2a.ErrPushNotificationNotSupported
	}
	if err := stored.CheckScheme(req.Message.Parts, "message.parts"); err != nil {
		return err
	}
	for _, p := range req.Message.Parts {
		if !g.accepts(p.MediaType) {
			return &a2a.Error{
				Code:    a2a.CodeContentTypeNotSupported,
				Message: "this agent does not accept parts of type " + p.MediaType + "; it takes " + strings.Join(g.inputs, ", "),
				Meta:    map[string]string{"mediaType": p.MediaType},
			}
		}
	}
	return nil
}

// skill checks the skill that a message names. A skill that is not on the public card may be on
// the extended card, for callers that get that.
func (g *gate) skill(ctx context.Context, a *access, m *a2a.Message) error {
	if g.skills == nil && !g.extended {
		return nil
	}
	call, err := m.Skill()
	if err == nil && call == nil {
		return nil
	}
	if call != nil && !g.skills.Has(call.ID) || g.skills == nil {
		hidden, err := g.hidden(ctx, a)
		if err != nil {
			return err
		}
		if g.skills == nil || hidden.Has(call.ID) {
			return hidden.Check(m)
		}
	}
	return g.skills.Check(m)
}

// hidden returns the skills of the caller's extended card; nil if it gets none.
func (g *gate) hidden(ctx context.Context, a *access) (*skill.Set, error) {
	if !g.extended || a.role.extended == nil || !a.caller.May(a2a.ScopeCardRead) {
		return nil, nil
	}
	card, err := a.role.extended(ctx, a.caller)
	if _, refused := errors.AsType[*a2a.Error](err); refused || err == nil && card == nil {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	set, _ := skill.New(card) // as for the public card
	return set, nil
}

func (g *gate) stream() error {
	if !g.streaming {
		return a2a.Errorf(a2a.CodeUnsupportedOperation, "this agent does not stream; use SendMessage and GetTask")
	}
	return nil
}

// accepts reports whether a part of this media type may come in. A part without one is left to
// the agent.
func (g *gate) accepts(media string) bool {
	if media == "" || len(g.inputs) == 0 {
		return true
	}
	media = mediaType(media)
	major, _, _ := strings.Cut(media, "/")
	return slices.ContainsFunc(g.inputs, func(in string) bool {
		return in == media || in == "*/*" || in == major+"/*"
	})
}

// mediaType drops parameters and case.
func mediaType(s string) string {
	s, _, _ = strings.Cut(s, ";")
	return strings.ToLower(strings.TrimSpace(s))
}
