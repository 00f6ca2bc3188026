package a2aclient

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/dialect"
)

// Dial finds the card that ref refers to, as Resolve does, and returns a client for its
// agent. It does not call an agent that has a card.
//
// If a host has no card at either well-known path, or a web page, Dial asks the agent
// at the address itself for a task that does not exist, which changes nothing, until an
// answer shows what the agent speaks. It tries JSON-RPC at the address in 1.0, then in
// 0.3 or 0.1; HTTP+JSON below it in 1.0, then in 0.3; gRPC in 1.0, then in 0.3, if the
// reference is a host without a path or Options.Bindings has it. These are eight
// requests at most, fewer with Options.Bindings or Options.Version. The client's card
// then has what was found, and offers everything: the agent itself must refuse what it
// lacks. A Resolver remembers that card as long as it lives. If nothing is found, the
// error is that of Resolve, and says what was tried.
func (r *Resolver) Dial(ctx context.Context, ref string) (*Client, error) {
	card, from, err := r.find(ctx, ref)
	guessed := false
	if none, ok := errors.AsType[*CardError](err); ok && r.opts.CheckCard == nil && r.opts.From == nil && (none.Kind == CardNotFound || errors.Is(none, errNotJSON)) {
		card, err = r.discover(ctx, ref, none)
		guessed = true
	}
	if err != nil {
		return nil, err
	}
	c, err := newClient(card, from, r.opts, r.http)
	if err != nil {
		return nil, err
	}
	c.guessed = guessed
	return c, nil
}

// discover makes a card for an agent that has none.
func (r *Resolver) discover(ctx context.Context, ref string, none *CardError) (*a2a.AgentCard, error) {
	where, err := parseRef(ref)
	if err != nil || where.base == nil {
		return nil, none
	}
	if err := r.opts.checkVersion(); err != nil {
		return nil, err
	}
	r.mu.Lock()
	card := r.found[where.base.String()]
	r.mu.Unlock()
	if card != nil {
		return card, nil
	}
	card, err = r.ask(ctx, where.base, none)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.found == nil || len(r.found) >= maxCached {
		r.found = map[string]*a2a.AgentCard{}
	}
	r.found[where.base.String()] = card
	return card, nil
}

// ask tries the versions and bindings that an agent may speak at an address.
func (r *Resolver) ask(ctx context.Context, base *url.URL, none *CardError) (*a2a.AgentCard, error) {
	var tried []string
	var second *a2a.AgentCard
	for _, of := range r.guesses(base) {
		card := guessedCard(base, of)
		o := *r.opts
		o.Version = of.version
		c, err := newClient(card, nil, &o, r.http)
		if err != nil {
			return nil, err
		}
		f := c.face.Load()
		v, err := c.probe(ctx, f)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		switch v {
		case spoken:
			return r.tell(ctx, card), nil
		case likely:
			if second == nil {
				second = card
			}
		case unclear:
			if e := said(err); e != nil && (e.Code == a2a.CodeUnauthenticated || e.Code == a2a.CodePermissionDenied) {
				return nil, &CardError{Ref: none.Ref, Kind: CardForbidden, Err: e}
			}
		}
		tried = append(tried, of.version+" over "+of.iface.ProtocolBinding)
	}
	if second != nil {
		return r.tell(ctx, second), nil
	}
	return nil, &CardError{Ref: none.Ref, Kind: none.Kind, Err: fmt.Errorf("%w, and no agent answers at %s: tried %s",
		none.Err, location(base), strings.Join(tried, ", "))}
}

func (r *Resolver) tell(ctx context.Context, card *a2a.AgentCard) *a2a.AgentCard {
	in := card.SupportedInterfaces[0]
	r.opts.logger().InfoContext(ctx, "the agent has no card; calls found out which version it speaks",
		slog.String("host", card.Name), slog.String("binding", in.ProtocolBinding), slog.String("version", in.ProtocolVersion))
	return card
}

// guesses lists the possible versions and bindings at an address, the most usual first.
func (r *Resolver) guesses(base *url.URL) []offer {
	all := []offer{}
	for _, g := range []struct{ binding, versions string }{
		{a2a.BindingJSONRPC, "1.0 0.3 0.1"}, {a2a.BindingHTTPJSON, "1.0 0.3"}, {a2a.BindingGRPC, "1.0 0.3"},
	} {
		versions := strings.Fields(g.versions)
		if r.opts.major() != "" {
			versions = slices.DeleteFunc(versions, func(v string) bool { return !r.opts.takes(v) })
		} else if r.opts.Version != "" {
			versions = []string{dialect.Minor(r.opts.Version)}
		}
		if g.binding == a2a.BindingGRPC && strings.Trim(base.Path, "/") != "" && len(r.opts.Bindings) == 0 {
			continue // gRPC has no paths: it may be another agent of the host
		}
		address := base.String()
		if g.binding == a2a.BindingGRPC {
			address = base.Scheme + "://" + base.Host
		}
		for _, v := range versions {
			if speaks(v, g.binding) {
				all = append(all, offer{&a2a.AgentInterface{URL: address, ProtocolBinding: g.binding, ProtocolVersion: v}, v})
			}
		}
	}
	return r.opts.preferred(all)
}

// guessedCard returns a card for an agent of which only the version and binding are
// known.
func guessedCard(base *url.URL, of offer) *a2a.AgentCard {
	return &a2a.AgentCard{
		Name: base.Host, Description: "An agent without a card.",
		SupportedInterfaces: []*a2a.AgentInterface{of.iface},
		Capabilities:        a2a.AgentCapabilities{Streaming: new(true), PushNotifications: new(true), ExtendedAgentCard: new(true)},
	}
}
