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
// The tenant of the chosen interface goes into every request in place of the
// request's own (specification §8.3.2). Errors that the agent reported are
// *a2a.Error with Peer set; those concluded here, such as an operation that
// the card rules out, have it unset. Failures of the network are
// *TransportError. A context's error comes back as its cause.
//
// Where the chosen interface cannot be reached, so that nothing was sent, the
// others of the card are tried in their order (§5.2), and the one that answers
// is used from then on. Left out are those with another tenant, those without
// TLS if the chosen one has it or another host name, and those that
// Options.Bindings does not name.
//
// Where the agent does not know the version that the card says, which it shows
// by MethodNotFound or VersionNotSupported or by a page in place of an answer,
// the versions it may speak instead are looked for with GetTask for a task that
// nobody has. The first that is known there is used from then on, and the call
// is made once more in it: the agent has refused it unseen. This happens once
// in a client's life (twice, if what was known fits 0.3 and 0.1 alike), and not
// where Options.Version forces a version.
//
// Redirects are followed as long as they keep the method, on the same host or
// from http to https; to another host only if there are no credentials, and
// without the headers of Options.
type Client struct {
	a2a.Unimplemented // for operations of later versions

	// set by New, then constant
	opts   *Options
	named  *a2a.AgentCard // it has the faces' interfaces
	from   *source        // of that card
	http   *http.Client
	log    *slog.Logger
	faces  []*face // those that may be used, the preferred one first
	tenant string  // of all of them
	creds  *credentials

	withheld []string // credentials that the card has no place for
	lacking  []string // extensions that it requires and nobody declares

	guessed bool // the card is ours: the agent has none

	face   atomic.Pointer[face] // the one in use
	card   atomic.Pointer[a2a.AgentCard]
	lastID atomic.Int64 // of JSON-RPC requests

	learning chan struct{} // holds a token while learn runs; protects the fields below
	learnt   bool          // which version is spoken in place of the card's: once is enough
	guess    bool          // one was adopted that is but likely
}

var _ a2a.Service = (*Client)(nil)

// Dial finds the card that ref refers to, as Resolve does, and returns a
// client for its agent, which is not asked yet. See Resolver.Dial for agents
// without a card.
func Dial(ctx context.Context, ref string, o *Options) (*Client, error) {
	return NewResolver(o).Dial(ctx, ref)
}

// New returns a client for the agent of a card. It chooses the first interface
// of the card, in its order or that of Options.Bindings, whose binding it
// speaks, with the best version it speaks: 1.0, then 1.1, 0.3, 0.2 and 0.1.
// Options.Version replaces that choice. Where there is none, the error is an
// *a2a.Error with CodeVersionNotSupported if it is for the version, else with
// CodeUnsupportedOperation, and says what the card offers. A card without any
// interface is a *CardError. The card must not be changed afterwards.
//
// Where the card comes from is not known here, so that it may name any address:
// for one of somebody else's, use Dial.
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

// Withheld names the credentials of Options that are not sent, since the card's
// security schemes have no place for them, such as "an API key".
func (c *Client) Withheld() []string { return c.withheld }

// Lacking lists the extensions that the card requires, and that neither this package
// supports nor Options.Extensions declares. Calls may be refused for them.
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

// Interface returns the interface of the card that the client uses: the one it
// chose, or another since that could not be reached. It must not be changed.
func (c *Client) Interface() *a2a.AgentInterface { return c.face.Load().iface }

// Version returns the protocol version that the client speaks, such as 0.3. It
// is not that of Interface where Options.Version forces one, or where the agent
// turned out not to know that of its card.
func (c *Client) Version() string { return c.face.Load().version }

// Outdated reports whether that version is before 1.0. Such an agent lists no
// tasks, and a webhook that was made without an id has its task's.
func (c *Client) Outdated() bool { return c.face.Load().dialect < dialect.V10 }

// ChoosesTaskIDs reports whether, in that version, the client gives new tasks their
// ids: a message with Message.TaskID begins that task, if it is not there.
func (c *Client) ChoosesTaskIDs() bool { return c.face.Load().dialect == dialect.V01 }
