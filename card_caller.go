package parley

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/parley-a2a/parley/a2a"
)

// extendedCard returns the extended card for a caller.
type extendedCard func(context.Context, a2a.Caller) (*a2a.AgentCard, error)

// extended returns the function that answers GetExtendedAgentCard, or nil if no
// extended card is configured. With Auth, callers without credentials get no extended
// card (specification §3.1.11).
func (o *Options) extended(public *a2a.AgentCard, sign signCard) (extendedCard, error) {
	if o.ExtendedCard != nil && o.ExtendedCardFor != nil {
		return nil, errors.New("parley: ExtendedCard and ExtendedCardFor exclude each other")
	}
	cardFor := o.ExtendedCardFor
	if o.ExtendedCard != nil {
		card, err := extend(*o.ExtendedCard, public, o)
		if err != nil {
			return nil, fmt.Errorf("extended card: %w", err)
		}
		if err := signedBefore(o.ExtendedCard, card); err != nil {
			return nil, fmt.Errorf("extended card: %w", err)
		}
		if sign != nil {
			if err := trySign(card, sign); err != nil {
				return nil, fmt.Errorf("extended card: %w", err)
			}
		}
		cardFor = func(_ context.Context, c a2a.Caller) (*a2a.AgentCard, error) {
			if o.Auth == nil && c.Subject == "" {
				return card, nil // a handler in front has let the caller in, without naming it
			}
			return cut(card, &c), nil
		}
	} else if cardFor != nil {
		cardFor = func(ctx context.Context, c a2a.Caller) (*a2a.AgentCard, error) {
			card, err := o.ExtendedCardFor(ctx, c)
			if err != nil || card == nil {
				return nil, err
			}
			return extend(*card, public, o)
		}
	}
	if cardFor == nil || o.Auth == nil {
		return cardFor, nil
	}
	return func(ctx context.Context, c a2a.Caller) (*a2a.AgentCard, error) {
		if c.Subject == "" {
			return nil, a2a.Errorf(a2a.CodeUnauthenticated, "the extended card is for authenticated callers; the public card says how to authenticate")
		}
		return cardFor(ctx, c)
	}, nil
}

// cut returns the card without the skills that a caller lacks the scopes for.
func cut(card *a2a.AgentCard, c *a2a.Caller) *a2a.AgentCard {
	for _, s := range card.Skills {
		if !useful(s, c) {
			out := *card
			out.Skills = slices.DeleteFunc(slices.Clone(card.Skills), func(s *a2a.AgentSkill) bool { return !useful(s, c) })
			return &out
		}
	}
	return card
}

// useful reports whether a caller has the scopes of one of a skill's requirements,
// which are alternatives. Callers for whom no scopes are configured may do everything
// with their own tasks, but have none of the scopes that the author's card names.
func useful(s *a2a.AgentSkill, c *a2a.Caller) bool {
	if len(s.SecurityRequirements) == 0 {
		return true
	}
	return slices.ContainsFunc(s.SecurityRequirements, func(r a2a.SecurityRequirement) bool {
		for _, scopes := range r {
			for _, scope := range scopes {
				if !slices.Contains(c.Scopes, scope) {
					return false
				}
			}
		}
		return true
	})
}
