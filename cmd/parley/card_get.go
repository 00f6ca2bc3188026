package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aclient"
	"github.com/parley-a2a/parley/internal/failure"
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
	if err := a.wantAgent(ctx); err != nil {
		return err
	}
	r := a2aclient.NewResolver(a.clientOptions())
	card, err := r.Resolve(ctx, a.flags.agentCard)
	if err != nil {
		return err
	}
	a.card = card
	var chosen *a2a.AgentInterface
	c, err := a2aclient.New(card, a.clientOptions()) // asks nobody
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
		if a.flags.bearer+a.flags.apiKey != "" && len(card.SecuritySchemes) == 0 { // §12.4
			return failure.Usagef("the agent's card declares no way to give credentials, so its extended card gets none").
				WithHint("leave --bearer, --api-key and their variables out")
		}
		if c, err = r.Dial(ctx, a.flags.agentCard); err != nil { // knows where the card came from
			return err
		}
		if card, err = c.GetExtendedAgentCard(ctx, &a2a.GetExtendedAgentCardRequest{}); err != nil {
			return err
		}
	}
	if validate {
		if err := card.Validate(); err != nil {
			return failure.New(failure.CodeCardInvalid, "the card is not valid: "+err.Error(), err).
				WithHint("each field that is wrong is named by its path; see A2A §4.4")
		}
	}
	return a.print.card(card, chosen, validate)
}
