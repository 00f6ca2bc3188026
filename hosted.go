package parley

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aserver"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/engine"
)

// Hosted is one agent of a Server that may have several.
type Hosted struct {
	// Name says where the agent is: at /agents/{name}, and over gRPC with the tenant
	// agents/{name}. It is a word of a-z, 0-9 and -, of 63 bytes at most, which neither
	// begins nor ends with -. Tasks belong to the name: if you rename an agent, it
	// loses its tasks, which wait for an agent with the old name. Name may be empty for
	// the only agent of a Server, which is then at /.
	Name string
	// Default says that the agent is at / as well, with the same tasks. At most one
	// agent is the default; an only agent without a name always is. A new default takes
	// over the tasks of the previous one, and those of a Server made by New.
	Default bool
	// Card is as for New. Only its Name is needed; people read that name, and it is
	// independent of Name above.
	Card a2a.AgentCard
	// Agent does the work.
	Agent agent.Agent
	// ExtendedCard and ExtendedCardFor are as in Options, for this agent.
	ExtendedCard    *a2a.AgentCard
	ExtendedCardFor func(context.Context, a2a.Caller) (*a2a.AgentCard, error)
	// Callbacks handles requests below /callbacks/{name}/, or, for a default agent
	// without a name, below /callbacks/default/. It gets the path after the name, with
	// its slash. It authenticates its callers itself: neither Options.Auth nor the
	// limits of callers apply. Nil means no callbacks.
	Callbacks http.Handler
	// Close, if not nil, is called once, after the agent's last run, when Reload has
	// removed the agent or the Server has ended. An Agent that is an io.Closer is
	// closed even without it.
	Close func() error
}

// NewHost is New for any number of agents on one port, with one store. /agents lists
// them for callers. Each has its own cards, tasks and webhooks; they share
// authentication and the limits of callers. Only New accepts Options.ExtendedCard and
// ExtendedCardFor.
func NewHost(agents []Hosted, o *Options) (*Server, error) {
	o = cmp.Or(o, new(Options))
	c, err := cast(agents, o)
	if err != nil {
		return nil, err
	}
	s := newServer(o)
	eo := s.engineOptions(true)
	if s.engine, err = engine.NewHost(s.store, c.agents, eo); err != nil {
		return nil, err
	}
	so, err := s.network(o, c.sign)
	if err != nil {
		return nil, err
	}
	if s.host, err = a2aserver.NewHost(c.routes(s.engine), so); err != nil {
		return nil, err
	}
	s.site = s.host
	return s, nil
}

// company is the agents of a server, in the forms that the engine and the network use.
type company struct {
	hosted []Hosted
	agents []engine.Hosted
	sign   signCard
}

// cast checks agents and completes their cards.
func cast(agents []Hosted, o *Options) (*company, error) {
	if o.ExtendedCard != nil || o.ExtendedCardFor != nil {
		return nil, errors.New("parley: Options.ExtendedCard is for New: agents of a host have one each")
	}
	if len(agents) == 0 {
		return nil, errors.New("parley: a server needs an agent")
	}
	sign, err := o.signer()
	if err != nil {
		return nil, err
	}
	c := &company{hosted: slices.Clone(agents), sign: sign}
	for i := range c.hosted {
		h := &c.hosted[i]
		if h.Name == "" && len(agents) > 1 {
			return nil, errors.New("parley: of several agents each needs a name")
		}
		h.Default = h.Default || h.Name == ""
		if h.Agent == nil {
			return nil, fmt.Errorf("parley: %q has no agent", h.Name)
		}
		own := *o
		own.ExtendedCard, own.ExtendedCardFor = h.ExtendedCard, h.ExtendedCardFor
		full, extended, err := own.cards(h.Card, sign)
		if err != nil {
			return nil, fmt.Errorf("agent %q: %w", h.Name, err)
		}
		c.agents = append(c.agents, engine.Hosted{Name: h.key(), Agent: h.Agent, Card: full, ExtendedCard: extended, Close: h.Close})
	}
	_, err = a2aserver.NewHost(c.routes(nil), nil)
	return c, err
}

// key is the agent's name in the keys of its tasks. It is empty for the default agent,
// so that every default agent shares its tasks with the one before, and with a Server
// of New.
func (h *Hosted) key() string {
	if h.Default {
		return ""
	}
	return h.Name
}

// routes returns the routes of the agents. Without an engine their services implement
// nothing.
func (c *company) routes(e *engine.Engine) (all []a2aserver.Route) {
	for i, h := range c.hosted {
		r := a2aserver.Route{Name: h.Name, Default: h.Default, Service: a2a.Unimplemented{}, Card: c.agents[i].Card, Callbacks: h.Callbacks}
		if e != nil {
			r.Service = e.Agent(c.agents[i].Name)
		}
		all = append(all, r)
	}
	return all
}

// Reload replaces the agents of a Server of NewHost, while it runs or before. It
// replaces all of them at once or, if it returns an error, none. Runs that have begun
// go on with the agent that they began with, which is closed after the last of them. An
// agent that is the same value as before, under the same name, is left alone. Do not
// pass an agent again that an earlier Reload removed. After an error the caller must
// close the agents that are new in this call.
//
// These fields of o take effect: Auth, Recheck, Limits (but for Connections,
// AddrConnections, and whether Bodies has a limit at all), MaxBody (but for gRPC),
// Audit, Requests, Origins, Hosts, PublicURL, TrustedProxies, CardProfile, CardKeys,
// CardKeysURL, CardStrict, StrictVersions and TaskLimits. The other options stay as
// they were when the Server was made. Only one goroutine at a time may call Reload.
func (s *Server) Reload(agents []Hosted, o *Options) error {
	if s.host == nil {
		return errors.New("parley: only a server of NewHost can be reloaded")
	}
	o = cmp.Or(o, new(Options))
	is := *s.opts
	is.Auth, is.Recheck = o.Auth, o.Recheck
	is.Limits, is.TaskLimits, is.MaxBody = o.Limits, o.TaskLimits, o.MaxBody
	is.Audit, is.Requests, is.Origins, is.Hosts = o.Audit, o.Requests, o.Origins, o.Hosts
	is.PublicURL, is.TrustedProxies, is.StrictVersions = o.PublicURL, o.TrustedProxies, o.StrictVersions
	is.CardProfile, is.CardKeys, is.CardKeysURL, is.CardStrict = o.CardProfile, o.CardKeys, o.CardKeysURL, o.CardStrict
	is.ExtendedCard, is.ExtendedCardFor = o.ExtendedCard, o.ExtendedCardFor
	c, err := cast(agents, &is)
	if err != nil {
		return err
	}
	so, err := s.network(&is, c.sign)
	if err != nil {
		return err
	}
	if err := s.engine.Replace(c.agents, &is.TaskLimits); err != nil {
		return err
	}
	s.guards.replace(is.Auth)
	s.memory.Resize(a2aserver.NewMemory(&is.Limits, is.MaxBody).Total())
	return s.host.Set(c.routes(s.engine), so) // cast has checked all of it
}

// guards runs the background work of the Guard that is in use.
type guards struct {
	mu   sync.Mutex      // protects the fields below
	ctx  context.Context // of Run; nil before
	next *auth.Guard     // the Guard in use; may be nil
	stop context.CancelFunc
	errs []error
	all  sync.WaitGroup
}

// begin runs the Guard's background work until ctx ends.
func (g *guards) begin(ctx context.Context) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ctx = ctx
	g.startLocked()
}

// replace puts another Guard in place of the one in use.
func (g *guards) replace(by *auth.Guard) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if by == g.next {
		return
	}
	if by != nil && g.next != nil {
		by.Inherit(g.next) // an issuer may be down just now
	}
	g.next = by
	if g.ctx != nil && g.ctx.Err() == nil {
		g.stop()
		g.startLocked()
	}
}

func (g *guards) startLocked() {
	var ctx context.Context
	ctx, g.stop = context.WithCancel(g.ctx)
	if is := g.next; is != nil {
		g.all.Go(func() {
			if err := is.Run(ctx); err != nil {
				g.mu.Lock()
				g.errs = append(g.errs, err)
				g.mu.Unlock()
			}
		})
	}
}

// end waits for every Guard that ran, after begin's ctx has ended.
func (g *guards) end() error {
	g.mu.Lock() // a replace under way must first start the goroutine that is waited for
	g.stop()
	g.mu.Unlock()
	g.all.Wait()
	return errors.Join(g.errs...)
}
