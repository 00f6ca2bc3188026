package a2aclient

import (
	"context"
	"errors"

	"github.com/parley-a2a/parley/a2a"
)

// checkedCard parses a card's document if Options.CheckCard lets it pass.
func (o *Options) checkedCard(ctx context.Context, doc []byte) (*a2a.AgentCard, error) {
	if o.CheckCard != nil {
		var err error
		if doc, err = o.CheckCard(ctx, doc); err != nil {
			return nil, &CardError{Kind: CardRefused, Err: err}
		}
	}
	return parseCard(doc)
}

// checkedExtendedCard is checkedCard for what an agent answers.
func (o *Options) checkedExtendedCard(ctx context.Context, doc []byte) (*a2a.AgentCard, error) {
	card, err := o.checkedCard(ctx, doc)
	var e *CardError
	if errors.As(err, &e) && e.Kind == CardInvalid {
		return nil, &a2a.Error{Code: a2a.CodeInvalidAgentResponse, Message: "the agent's extended card cannot be read", Cause: err}
	}
	return card, err
}
