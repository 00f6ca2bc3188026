package parley

import (
	"errors"
	"net/http"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
)

// Hosted is one agent of a Server that may have several.
type Hosted struct {
	// Name is where the agent is: at /agents/{name}, over gRPC with the tenant
	// agents/{name}. It is a word of a-z, 0-9 and -, of 63 bytes at most, which
	// neither begins nor ends with -. Tasks belong to the name: an agent that gets
	// another one does not have those of the old one, which wait for an agent of
	// that name. It may be empty for the only agent of a Server, which is at /.
	Name string
	// Default says that the agent is at / as well, with the same tasks. One agent
	// may be, and an only agent without a name is.
	Default bool
	// Card is as for New: only its Name is needed, which is for people and has
	// nothing to do with Name above.
	Card a2a.AgentCard
	// Agent does the work.
	Agent agent.Agent
	// ExtendedCard is as Options.ExtendedCard, for this agent.
	ExtendedCard *a2a.AgentCard
	// Callbacks is what the agent is called back at, below /callbacks/{name}/, and
	// for the default agent below /callbacks/default/ if it has no name; of the path
	// it gets what comes behind the name, with its slash. It lets callers in by
	// itself: neither Options.Auth nor the limits of callers are in front of it.
	// Nil: there is nothing.
	Callbacks http.Handler
	// Close, if not nil, is called once: after the last run of the agent has ended,
	// when Reload has taken it away or the Server has ended. An Agent that is an
	// io.Closer need not name it here.
	Close func() error
}

// NewHost is New for any number of agents on one port, with one store. Callers
// find them by /agents, which lists those who are there; each has cards, tasks
// and webhooks of its own, and shares who may call and what callers may take.
// Options.ExtendedCard and ExtendedCardFor are for New alone.
func NewHost(agents []Hosted, o *Options) (*Server, error) {
	if len(agents) != 1 || o != nil && (o.ExtendedCard != nil || o.ExtendedCardFor != nil) {
		return nil, errors.New("parley: a server has one agent")
	}
	own := Options{}
	if o != nil {
		own = *o
	}
	own.ExtendedCard = agents[0].ExtendedCard
	return New(agents[0].Card, agents[0].Agent, &own)
}

// Reload replaces the agents of a Server, at once or, with an error, not at all,
// while it runs or before. Runs that are under way go on with the agent that they
// began with, which is closed after the last of them; one that is the same value
// as before, under the same name, is not touched. After an error the agents that
// were not there before are the caller's to close.
//
// Of o counts who may call and what of the network: Auth, Recheck, Limits (but for
// Connections and AddrConnections), MaxBody, Audit, Origins, Hosts, PublicURL,
// TrustedProxies, CardProfile, CardKeys with what belongs to them and
// StrictVersions; also TaskLimits. The rest is as it was when the Server was made.
// It must not be called by several goroutines at once.
func (s *Server) Reload(agents []Hosted, o *Options) error {
	return errors.New("parley: agents cannot be replaced")
}
