package parley

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/store"
)

// Options adjusts a Server. A nil *Options means all defaults.
type Options struct {
	// Store keeps the tasks. Nil keeps them in memory. The caller closes it
	// after Serve has returned.
	Store store.Store
	// PublicURL is the address that cards advertise, such as
	// https://agents.example.org. Empty means the listener's.
	PublicURL string
	// ExtendedCard is what GetExtendedAgentCard answers. Nil: none configured.
	ExtendedCard *a2a.AgentCard
	// Logger gets the server's log. Nil discards.
	Logger *slog.Logger
}

// Server is an agent with everything around it: engine and network.
type Server struct{}

// New joins an agent, its card and a store. Of the card only Name and
// Description are needed; what is missing is filled in (streaming on, text in
// and out, no push notifications), and what it says is enforced.
func New(card a2a.AgentCard, ag agent.Agent, o *Options) (*Server, error) {
	return nil, errors.New("not yet")
}

// Handler returns the agent's one http.Handler. It answers while Serve runs.
func (s *Server) Handler() http.Handler { return nil }

// Serve runs the agent on l until ctx ends, then drains: readiness goes
// false, streams end, running work is left for the next start.
func (s *Server) Serve(ctx context.Context, l net.Listener) error { return nil }
