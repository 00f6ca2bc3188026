package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aclient"
)

func newCardGet(a *app) *cobra.Command {
	var validate, extended bool
	cmd := a.client(&cobra.Command{
		Use:   "get",
		Short: "Fetch an agent's card and show what it says",
		Example: `  parley card get -a localhost:7275
  parley card get -a ./card.json --validate`,
		Args: cobra.NoArgs,
	}, func(ctx context.Context, _ []string) error {
		return a.getCard(ctx, validate, extended)
	})
	cmd.Flags().BoolVar(&validate, "validate", false, "check the card against the protocol's schema; an invalid one is a failure")
	cmd.Flags().BoolVar(&extended, "extended", false, "fetch the extended card, which agents show to those who authenticate")
	return cmd
}

func (a *app) getCard(ctx context.Context, validate, extended bool) error {
	card, err := a.resolve(ctx)
	if err != nil {
		return err
	}
	var chosen *a2a.AgentInterface
	c, err := a2aclient.New(card, a.clientOptions())
	if err == nil {
		in := *c.Interface()
		in.ProtocolVersion = c.Version()
		chosen, a.via = &in, &in
	}
	if extended {
		if err != nil {
			return err
		}
		if offered := card.Capabilities.ExtendedAgentCard; offered == nil || !*offered { // §13.3
			return a2a.Errorf(a2a.CodeUnsupportedOperation, "the agent's card offers no extended card")
		}
		if card, err = c.GetExtendedAgentCard(ctx, &a2a.GetExtendedAgentCardRequest{}); err != nil {
			return err
		}
	}
	if validate {
		if err := card.Validate(); err != nil {
			return newFailure(codeCardInvalid, "the card is not valid: "+err.Error(), err).
				withHint("each field that is wrong is named by its path; see A2A §4.4")
		}
	}
	return a.print.card(card, chosen, validate)
}
