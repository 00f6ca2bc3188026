package a2aclient

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"slices"
	"sync/atomic"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/dialect"
)

// Client is an a2a.Service over a network. It is safe for concurrent use.
//
// Every request gets the tenant of the chosen interface in place of its own
// (specification §8.3.2). Errors that the agent reported are *a2a.Error with Peer set;
// those concluded here, such as for an operation that the card rules out, have it
// unset. Failures of the network are *TransportError. If a context ends, the error is
// its cause.
//
// If the chosen interface cannot be reached, so that nothing was sent, the other
// interfaces of the card are tried in their order (§5.2), and the one that answers is
// used from then on. Interfaces are skipped if they have another tenant, if they have
// no TLS while the chosen one has it or another host name, and if Options.Bindings does
// not name their binding.
//
// If the agent does not know the version that its card names (it answers
// MethodNotFound, VersionNotSupported or a web page), the client looks for another
// version with GetTask for a task that does not exist. It uses the first version that
// the agent knows from then on, and repeats the call in it, because the agent has
// refused the first one without acting on it. This happens once in a client's life
// (twice, if the first answers fit 0.3 and 0.1 alike), and not if Options.Version
// forces a version.
//
// Redirects are followed if they keep the method, on the same host or from http to
// https. A redirect to another host is followed only without credentials, and without
// the headers of Options.
type Client struct {
	a2a.Unimplemented // for operations of later versions

	// set by New, then constant
	opts   *Options
	named  *a2a.AgentCard // the card with the interfaces of faces
	from   *source        // of that card
	http   *http.Client
	log    *slog.Logger
	faces  []*face // the usable ones, the preferred one first
	tenant string  // the same for all faces
	creds  *credentials

	withheld []string // credentials that the card has no place for
	lacking  []string // extensions that the card requires and the client does not declare

	guessed bool // this client made the card; the agent has none

	face   atomic.Pointer[face] // the one in use
	card   atomic.Pointer[a2a.AgentCard]
	lastID atomic.Int64 // of JSON-RPC requests

	learning chan struct{} // held while learn runs; protects the fields below
	learnt   bool          // a version in place of the card's was found, which happens once
	guess    bool          // a version was adopted that is only likely
}

var _ a2a.Service = (*Client)(nil)

// Dial finds the card that ref refers to, as Resolve does, and returns a client for its
// agent. It does not call the agent. See Resolver.Dial for agents without a card.
func Dial(ctx context.Context, ref string, o *Options) (*Client, error) {
	return NewResolver(o).Dial(ctx, ref)
}

// New returns a client for the agent of a card. It chooses the first interface of the
// card, in its order or that of Options.Bindings, whose binding it speaks, with the
// best version it speaks: 1.0, then 1.1, 0.3, 0.2 and 0.1. Options.Version replaces
// that choice. If no interface fits, the error says what the card offers; it is an
// *a2a.Error, with CodeVersionNotSupported if only the version does not fit, otherwise
// with CodeUnsupportedOperation. A card without any interface is a *CardError. The card
// must not be changed afterwards.
//
// New does not know where the card comes from, so the card may name any address. Use
// Dial for a card that you did not make yourself.
func New(card *a2a.AgentCard, o *Options) (*Client, error) {
	o = cmp.Or(o, new(Options))
	return newClient(card, nil, o, o.httpClient())
}

// newClient makes a client of a card that came from a source.
func newClient(card *a2a.AgentCard, from *source, o *Options, hc *http.Client) (*Client, error) {
	if err := o.checkCredentials(); err != nil {
		return nil, err
	}
	chosen, err := choose(card, o, from)
	if err != nil {
		return nil, err
	}
	declared, lacking := required(card, o.Extensions)
	if len(declared) > len(o.Extensions) {
		own := *o
		own.Extensions, o = declared, &own
	}
	creds, withheld := credentialsFor(card, o)
	c := &Client{
		withheld: withheld, lacking: lacking,
		opts: o, http: hc, log: o.logger(), named: card, from: from,
		tenant: chosen[0].iface.Tenant, learning: make(chan struct{}, 1),
		creds: creds,
	}
	for _, of := range chosen {
		f, err := newFace(c, card, of.iface, of.version)
		if err != nil {
			return nil, err
		}
		c.faces = append(c.faces, f)
	}
	c.face.Store(c.faces[0])
	c.card.Store(card)
	return c, nil
}

// Card returns the agent's card: the one the client was made from or, once
// GetExtendedAgentCard has been called, that one (§3.1.11). It must not be
// changed.
func (c *Client) Card() *a2a.AgentCard { return c.card.Load() }

// Withheld names the credentials of Options that are not sent, because the card's
// security schemes have no place for them, such as "an API key".
func (c *Client) Withheld() []string { return c.withheld }

// Lacking lists the extensions that the card requires, and that neither this package
// supports nor Options.Extensions declares. The agent may refuse calls without them.
func (c *Client) Lacking() []string { return c.lacking }

// required returns the extensions to declare: those of the caller, and those that the
// card requires and this package supports. The others that it requires are lacking.
func required(card *a2a.AgentCard, own []string) (declared, lacking []string) {
	declared = own
	for _, x := range card.Capabilities.Extensions {
		switch {
		case x == nil || !x.Required || slices.Contains(declared, x.URI):
		case slices.Contains(dialect.Extensions, x.URI):
			declared = append(declared[:len(declared):len(declared)], x.URI)
		default:
			lacking = append(lacking, x.URI)
		}
	}
	return declared, lacking
}

// Interface returns the interface of the card that the client uses: the chosen one, or
// another one if that could not be reached. It must not be changed.
func (c *Client) Interface() *a2a.AgentInterface { return c.face.Load().iface }

// Version returns the protocol version that the client speaks, such as 0.3. It differs
// from that of Interface if Options.Version forces one, or if the agent turned out not
// to know its card's version.
func (c *Client) Version() string { return c.face.Load().version }

// Outdated reports whether that version is before 1.0. Such an agent lists no tasks,
// and a webhook that was created without an id gets its task's id.
func (c *Client) Outdated() bool { return c.face.Load().dialect < dialect.V10 }

// ChoosesTaskIDs reports whether, in that version, the client chooses the ids of new
// tasks: a message with Message.TaskID begins that task if it does not exist.
func (c *Client) ChoosesTaskIDs() bool { return c.face.Load().dialect == dialect.V01 }
