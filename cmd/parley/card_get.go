package main

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aclient"
	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/failure"
	"github.com/parley-a2a/parley/internal/output"
	"github.com/parley-a2a/parley/internal/signin"
)

func newCardGet(a *app) *cobra.Command {
	var validate, extended bool
	cmd := a.client(&cobra.Command{
		Use:   "get",
		Short: "Fetch and show an agent card",
		Example: `  parley card get -a localhost:7275
  parley card get -a ./card.json --validate`,
		Args: cobra.NoArgs,
	}, func(ctx context.Context, _ []string) error {
		return a.getCard(ctx, validate, extended)
	})
	cmd.Flags().BoolVar(&validate, "validate", false, "check the card against the protocol's schema; an invalid one is a failure")
	cmd.Flags().BoolVar(&extended, "extended", false, "fetch the extended card, which agents show to authenticated callers")
	return cmd
}

func (a *app) getCard(ctx context.Context, validate, extended bool) error {
	if err := a.wantAgent(ctx); err != nil {
		return err
	}
	o := a.clientOptions()
	var doc []byte
	if o.CheckCard == nil {
		o.CheckCard = func(_ context.Context, fetched []byte) ([]byte, error) {
			doc = fetched
			return fetched, nil
		}
	}
	card, err := a2aclient.Resolve(ctx, a.flags.agentCard, o)
	if err != nil {
		return err
	}
	a.card = card
	var chosen *a2a.AgentInterface
	c, err := a2aclient.New(card, a.clientOptions()) // makes no request
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
		if c, err = a2aclient.NewResolver(a.clientOptions()).Dial(ctx, a.flags.agentCard); err != nil { // Dial knows where the card came from
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
	signatures := "absent"
	switch {
	case a.signedBy != "": // the signed content has no signatures
		signatures = "verified with key " + a.signedBy
	case len(card.Signatures) > 0 && (extended || a.flags.machine()):
		signatures = "present, not verified"
	case len(card.Signatures) > 0:
		signatures = a.judge(ctx, doc)
	}
	return output.Card(a.print, card, chosen, signatures, validate)
}

// judge says whether the signatures of a card are valid, without keys from the user: it uses
// the keys at the host that the card came from. This shows that the card was not changed on the
// way, but not whose it is.
func (a *app) judge(ctx context.Context, doc []byte) string {
	const whose = "; --card-trust FILE says whom to believe"
	from, err := url.Parse(signin.Name(a.flags.agentCard))
	if doc == nil || err != nil || from.Host == "" {
		return "not verified: there is no key to verify with" + whose
	}
	keys := &keysBeside{host: from.Host, remote: a.httpClient()}
	v, err := auth.VerifyJSON(ctx, doc, keys, nil)
	switch {
	case err != nil:
		return "not verified: " + err.Error()
	case v.Good() != nil:
		return "hold, by a key at " + from.Host + whose
	case errors.Is(v.Err(), auth.ErrUnknownKey):
		return "not verified: they name no key at " + from.Host + whose
	}
	return "do not hold: " + strings.ReplaceAll(v.Err().Error(), "\n", "; ")
}

// keysBeside returns the keys that a card's signatures name at the card's own host.
type keysBeside struct {
	host   string
	remote *http.Client
}

func (k *keysBeside) Keys(ctx context.Context, kid, jku string) ([]*auth.Key, error) {
	u, err := url.Parse(jku)
	if err != nil || u.Host != k.host {
		return nil, auth.ErrUnknownKey
	}
	return (&auth.Remote{Allow: []string{jku}, HTTPClient: k.remote}).Keys(ctx, kid, jku)
}
