package a2aserver

import (
	"net/http"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/dialect"
)

// Identity identifies the caller of a request; [auth.Guard] is one. Many goroutines
// call its methods at once.
//
// [auth.Guard]: https://pkg.go.dev/github.com/parley-a2a/parley/auth#Guard
type Identity interface {
	// Authenticate returns the caller of r, by its header, its TLS state and its remote
	// address. Of a call over gRPC, r has the metadata as its header and no body.
	// Errors have the codes Unauthenticated; RateLimited, with the time to wait, after
	// too many failures; and Unavailable, if the caller cannot be identified at the
	// moment. Other errors are internal.
	//
	// It is called again while r is being answered: see Options.Recheck. An Identity
	// that has to tell the two apart, for example because it counts wrong credentials,
	// has a method Again of the same form.
	Authenticate(r *http.Request) (a2a.Caller, error)
	// Challenges returns the values of WWW-Authenticate for an answer with e. Its code
	// is Unauthenticated, or PermissionDenied with the missing scope in Meta
	// (specification §7.4).
	Challenges(e *a2a.Error) []string
}

// enter begins the audit record, identifies the caller, reads how many agents the request
// came through, and counts it. Every binding calls it before it reads any of the
// request's body. Without an Identity, a handler in front may have set the caller;
// otherwise every caller is anonymous. The context carries the caller, even if the
// request is refused because there were too many.
func (x *exchange) enter() error {
	x.record()
	caller := a2a.CallerFrom(x.ctx)
	id := x.s.opts.Identity
	if id != nil {
		var err error
		if caller, err = id.Authenticate(x.forIdentity(x.ctx)); err != nil {
			return err
		}
		x.since = time.Now()
	}
	hops := x.s.opts.Limits.countHops(&caller, x.headers)
	if trace := x.headers[dialect.TraceHeader]; len(trace) > 0 {
		caller.Trace, caller.TraceState = dialect.ReadTrace(trace), ""
		if state := x.headers[dialect.TraceStateHeader]; len(state) > 0 && caller.Trace != "" {
			caller.TraceState = dialect.ReadTraceState(state)
		}
	}
	if id != nil || caller.Hops > 0 || caller.Trace != "" {
		x.ctx = a2a.WithCaller(x.ctx, caller)
	}
	if x.s.rates != nil {
		if err := x.s.rates.count(x.key()); err != nil {
			return err
		}
	}
	x.known = hops == nil
	return hops
}

// challenge says in an answer how to authenticate, or which scope is missing.
func (s *Server) challenge(h http.Header, e *a2a.Error) {
	id := s.opts.Identity
	if id == nil || e.Code != a2a.CodeUnauthenticated && e.Code != a2a.CodePermissionDenied {
		return
	}
	for _, c := range id.Challenges(e) {
		h.Add("WWW-Authenticate", c)
	}
}
