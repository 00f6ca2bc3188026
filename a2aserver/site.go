package a2aserver

import (
	"net/http"
	"sync/atomic"

	"github.com/parley-a2a/parley/internal/audit"
	"github.com/parley-a2a/parley/internal/port"
	"github.com/parley-a2a/parley/internal/queue"
)

// Site is what a Port serves: a Server, or a Host with several.
type Site interface {
	http.Handler
	// Drain prepares the shutdown: see Server.Drain.
	Drain()

	// front returns the agent of calls that name none.
	front() *Server
	// of returns the agent of a gRPC call for a tenant, and the caller's tenant there;
	// nil if there is no such agent.
	of(tenant string) (*Server, string)
}

func (s *Server) front() *Server                     { return s }
func (s *Server) of(tenant string) (*Server, string) { return s, tenant }

// shared has what the agents of a site share, also with those that replace them.
type shared struct {
	streams   openStreams
	open      openCalls
	calls     atomic.Int64            // over gRPC, under way
	newest    atomic.Pointer[Options] // the current ones, which decide who is let in
	strangers port.Strangers
}

func newShared(o *Options) *shared {
	sh := &shared{}
	sh.newest.Store(o)
	return sh
}

// Drain prepares the shutdown: /readyz reports it, streams end, calls that wait for an
// agent are answered with Unavailable, and new ones of both kinds are refused. Tasks
// are not touched. Call it before [http.Server.Shutdown], which would wait for all of
// them.
func (sh *shared) Drain() { sh.open.drain() }

// quotas counts the calls of callers, at all agents of a site.
type quotas struct {
	limits Limits
	rates  *rates  // nil without a limit
	memory *Memory // nil without a limit
	turns  *queue.Fair[callerKey]
	audit  *audit.Log // nil without Options.Audit, Options.Requests and Options.MeterProvider
}

// newQuotas continues the counts of before, if the limits stay the same.
func newQuotas(o *Options, before *quotas) *quotas {
	d := &quotas{limits: o.Limits}
	if before != nil && before.limits.Rate == d.limits.Rate && before.limits.Burst == d.limits.Burst {
		d.rates = before.rates
	} else {
		d.rates = newRates(&d.limits)
	}
	switch {
	case o.Memory != nil:
		d.memory = o.Memory
	case before != nil && before.memory.Total() == d.limits.bodies(o.maxBody()):
		d.memory = before.memory
	default:
		d.memory = NewMemory(&d.limits, o.maxBody())
	}
	if before != nil {
		d.turns = before.turns
	} else {
		d.turns = newTurns()
	}
	if before != nil && before.audit.WritesTo(o.Audit, o.Requests, o.MeterProvider) {
		d.audit = before.audit
	} else {
		d.audit = audit.New(o.Audit, o.Requests, o.MeterProvider)
	}
	return d
}
