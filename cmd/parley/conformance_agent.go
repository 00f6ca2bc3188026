package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aserver"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/failure"
	"github.com/parley-a2a/parley/internal/flagvalue"
	"github.com/parley-a2a/parley/internal/serve"
)

// conformanceAgentFlags determine the agent's card, which the server enforces.
type conformanceAgentFlags struct {
	listen      string
	card        string
	noStreaming bool
	noPush      bool
	extended    bool
	extensions  []string
	anyInput    bool
	scheme      bool
}

func newConformanceAgent(a *app) *cobra.Command {
	f := conformanceAgentFlags{listen: serve.DefaultListen, card: "all"}
	cmd := &cobra.Command{
		Use:   "agent",
		Short: "Run the agent that conformance kits drive",
		Long: `Run the agent that conformance kits for A2A drive, until interrupted: the first word of
a message, or the prefix of its messageId, says what happens (docs/conformance-runner.md).
The flags, in any combination, set what its card says, and the server does what the
card says. Tasks are kept in memory, and webhooks may go to this machine. Everybody may
call: it is for tests.`,
		Example: `  parley conformance agent
  parley conformance agent --listen 127.0.0.1:9999 --card v1 --no-push
  parley conformance agent --require-extension urn:example:required --any-input`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.conformanceAgent(cmd.Context(), &f) },
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.Var(flagvalue.Address(&f.listen), "listen", "`address` to serve at, or just a port of this machine; 0 takes a free one")
	fs.Var(flagvalue.Choice(&f.card, "all", "v1"), "card", "versions the card is for: all, or v1 for a card without members of older versions")
	fs.BoolVar(&f.noStreaming, "no-streaming", false, "support no streams: neither SendStreamingMessage nor SubscribeToTask")
	fs.BoolVar(&f.noPush, "no-push", false, "support no webhooks: no operation on push notification configs")
	fs.BoolVar(&f.extended, "extended-card", false, "offer an extended card, which needs no credentials")
	fs.StringArrayVar(&f.extensions, "require-extension", nil, "`URI` of an extension that clients must declare; may be repeated")
	fs.BoolVar(&f.anyInput, "any-input", false, "accept every media type: the card says */*")
	fs.BoolVar(&f.scheme, "grpc-scheme", false, "put http:// before the card's gRPC address, as some clients of 0.3 need")
	return cmd
}

// conformanceCard returns the card for the flags.
func (f *conformanceAgentFlags) conformanceCard() (a2a.AgentCard, *a2a.AgentCard) {
	card := agent.ConformanceCard()
	card.Capabilities.Streaming = new(!f.noStreaming)
	card.Capabilities.PushNotifications = new(!f.noPush)
	card.Capabilities.ExtendedAgentCard = new(f.extended)
	for _, uri := range f.extensions {
		card.Capabilities.Extensions = append(card.Capabilities.Extensions, &a2a.AgentExtension{URI: uri, Required: true, Description: "Required, so that kits can see what happens without it"})
	}
	if f.anyInput {
		card.DefaultInputModes = []string{"*/*"}
	}
	if !f.extended {
		return card, nil
	}
	extended := card
	extended.Name += " (extended)"
	extended.Skills = append(extended.Skills[:len(extended.Skills):len(extended.Skills)], &a2a.AgentSkill{
		ID: "extended", Name: "Extended card", Description: "Shows that this is the extended card; it does nothing.", Tags: []string{"test"},
	})
	return card, &extended
}

func (a *app) conformanceAgent(ctx context.Context, f *conformanceAgentFlags) error {
	l, err := serve.Listen("parley conformance agent --listen", f.listen)
	if err != nil {
		return err
	}
	defer l.Close()
	card, extended := f.conformanceCard()
	o := &parley.Options{ExtendedCard: extended, Egress: &a2aserver.Egress{Loopback: true}}
	if f.card == "v1" {
		o.CardProfile = a2aserver.CardV1
	}
	at := l.Addr().String()
	if f.scheme {
		card.SupportedInterfaces = schemed(at, f.card == "v1")
	}
	s, err := parley.New(card, agent.Conformance(), o)
	if err != nil {
		return failure.New(failure.CodeServe, err.Error(), err)
	}
	if err := a.say("Serving the conformance agent at %s", serve.LocalURL(l.Addr(), false)); err != nil {
		return err
	}
	if err := s.Serve(ctx, l); err != nil && ctx.Err() == nil {
		return failure.New(failure.CodeServe, err.Error(), err)
	}
	return nil
}

// schemed returns the interfaces, with a scheme in each address.
func schemed(at string, onlyV1 bool) (list []*a2a.AgentInterface) {
	versions := []dialect.Dialect{dialect.V10, dialect.V03}
	if onlyV1 {
		versions = versions[:1]
	}
	for _, v := range versions {
		for _, b := range []string{a2a.BindingJSONRPC, a2a.BindingHTTPJSON, a2a.BindingGRPC} {
			list = append(list, &a2a.AgentInterface{URL: "http://" + at, ProtocolBinding: b, ProtocolVersion: v.Version()})
		}
	}
	return list
}
