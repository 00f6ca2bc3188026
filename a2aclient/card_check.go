package a2aclient

import (
	"context"

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
