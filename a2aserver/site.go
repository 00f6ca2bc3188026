package a2aserver

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"
)

// Site is what a Port serves: a Server, or a Host with several.
type Site interface {
	http.Handler
	// Drain prepares the end: see Server.Drain.
	Drain()

	// front is the agent of calls that name none.
	front() *Server
	// of returns the agent of a call over gRPC that is for a tenant, and the
	// caller's tenant there; nil if there is no such agent.
	of(tenant string) (*Server, string)
}

func (s *Server) front() *Server                     { return s }
func (s *Server) of(tenant string) (*Server, string) { return s, tenant }

// shared is what the agents of a site have together, also with those that come
// after them.
type shared struct {
	draining  context.Context // ends when Drain is called
	stopDrain context.CancelCauseFunc
	agenda    agenda
	stays     stays
	calls     atomic.Int64            // over gRPC, under way
	newest    atomic.Pointer[Options] // which say who is let in by now
}

func newShared(o *Options) *shared {
	sh := &shared{}
	sh.agenda.started = time.Now()
	sh.draining, sh.stopDrain = context.WithCancelCause(context.Background())
	sh.newest.Store(o)
	return sh
}

// Drain prepares the end: /readyz says so, streams end, calls that wait for an
// agent are answered with Unavailable, and new ones of both kinds are refused.
// Tasks are not touched. Call it before [http.Server.Shutdown], which would
// wait for all of them.
func (sh *shared) Drain() {
	sh.stopDrain(errDraining)
	sh.stays.leave(errDraining)
}

// desk counts the calls of callers, at all agents of a site.
type desk struct {
	limits  Limits
	rates   *rates       // nil without a limit
	streams *openStreams // nil without a limit
	bodies  *bodies      // nil without a limit
	audit   *auditor     // nil without Options.Audit
}

// newDesk goes on with what another one has counted, where limits stay the same.
func newDesk(o *Options, before *desk) *desk {
	d := &desk{limits: *o.limits()}
	if before != nil && before.limits.Rate == d.limits.Rate && before.limits.Burst == d.limits.Burst {
		d.rates = before.rates
	} else {
		d.rates = newRates(&d.limits)
	}
	if before != nil && before.limits.Streams == d.limits.Streams {
		d.streams = before.streams
	} else {
		d.streams = newOpenStreams(&d.limits)
	}
	if before != nil && before.bodies != nil && before.limits.Bodies == d.limits.Bodies {
		d.bodies = before.bodies
	} else if most := d.limits.bodies(o.maxBody()); most > 0 {
		d.bodies = newBodies(most)
	}
	if before != nil && before.audit != nil && before.audit.log == o.auditLog() {
		d.audit = before.audit
	} else {
		d.audit = newAuditor(o.auditLog())
	}
	return d
}
