package a2aserver

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"math"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/parley-a2a/parley/a2a"
)

// recognizing is an Identity that has a better way than Authenticate to identify the
// caller of a request that it let in before; auth.Guard is one.
type recognizing interface {
	Again(r *http.Request) (a2a.Caller, error)
}

// openCalls are the calls under way that the server may cancel.
type openCalls struct {
	mu     sync.Mutex // protects the fields below
	drains bool       // all are canceled, also those that begin
	list   map[*openCall]struct{}
}

// openCall is a call that waits, for its agent or for events.
type openCall struct {
	s      *Server
	cancel context.CancelCauseFunc
	asked  bool        // credentials were checked, or none are needed
	check  *time.Timer // of the next check of the credentials; nil if there is none
}

// untilCanceled returns a context that also ends when the server cancels a waiting
// call: when it drains, with errDraining as the cause, or when the credentials of q are
// no longer good, with the Identity's error. q is nil if the call needs no credentials.
// No call needs a goroutine for this.
func (s *Server) untilCanceled(parent context.Context, q *request) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	w := &openCall{s: s, cancel: cancel, asked: q == nil || s.opts.Identity != nil}
	if s.open.add(w) {
		cancel(errDraining)
	}
	if !w.asked && s.newest.Load().asks() { // Host.Set finds calls that are in the list already
		cancel(errAsked)
	}
	if q != nil && s.opts.asks() {
		was := a2a.CallerFrom(parent)
		w.check = time.AfterFunc(math.MaxInt64, func() {
			if ctx.Err() != nil {
				return // the call ended during the check before
			}
			if err := s.recheck(parent, q, &was); err != nil {
				cancel(err)
				return
			}
			w.check.Reset(s.opts.recheck())
		})
		w.check.Reset(s.opts.recheck()) // it needs w.check
	}
	return ctx, w.end
}

// end removes the call from the open ones. It may be called more than once.
func (w *openCall) end() {
	w.s.open.mu.Lock()
	delete(w.s.open.list, w)
	w.s.open.mu.Unlock()
	w.cancel(nil)
	if w.check != nil {
		w.check.Stop()
	}
}

// add reports whether the server drains.
func (o *openCalls) add(w *openCall) (drains bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.list == nil {
		o.list = map[*openCall]struct{}{}
	}
	o.list[w] = struct{}{}
	return o.drains
}

// drain cancels all calls, also those that begin later.
func (o *openCalls) drain() {
	o.mu.Lock()
	o.drains = true
	o.mu.Unlock()
	o.cancel(errDraining, func(*openCall) bool { return true })
}

func (o *openCalls) draining() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.drains
}

// cancel cancels the present calls for which which reports true.
func (o *openCalls) cancel(why error, which func(*openCall) bool) {
	o.mu.Lock()
	list := slices.Collect(maps.Keys(o.list))
	o.mu.Unlock()
	for _, w := range list {
		if which(w) {
			w.cancel(why)
		}
	}
}

// errAsked ends calls that began when no credentials were needed.
var errAsked = a2a.Errorf(a2a.CodeUnauthenticated, "the server now requires credentials: call again with yours")

// asks reports whether callers need credentials, and whether these are checked again.
func (o *Options) asks() bool { return o.Identity != nil && o.recheck() >= 0 }

// stillIn returns why a call whose request took long to arrive must not begin: its
// credentials may no longer be good, or the server may ask for credentials by now.
func (x *exchange) stillIn() error {
	switch o := x.s.newest.Load(); {
	case !o.asks():
		return nil
	case x.s.opts.Identity == nil:
		return errAsked
	case time.Since(x.since) < o.recheck():
		return nil
	}
	was := a2a.CallerFrom(x.ctx)
	return x.s.recheck(x.ctx, &x.request, &was)
}

// recheck returns why a caller who was let in with q would not be let in now, or not as
// the same caller. It returns nil if that cannot be found out, because an issuer that
// is down must not end what began with good credentials.
func (s *Server) recheck(ctx context.Context, q *request, was *a2a.Caller) (left error) {
	defer func() {
		if v := recover(); v != nil { // which would end the process here
			s.log.LogAttrs(ctx, slog.LevelError, "credentials cannot be checked again", slog.Any("error", panicError(v)))
		}
	}()
	// The newest Identity decides who is let in.
	id := s.newest.Load().Identity
	if id == nil {
		return nil
	}
	ask := id.Authenticate
	if better, ok := id.(recognizing); ok {
		ask = better.Again
	}
	is, err := ask(q.forIdentity(ctx))
	switch {
	case refused(err):
		return err
	case err != nil:
		s.log.LogAttrs(ctx, slog.LevelDebug, "credentials cannot be checked again", slog.Any("error", err))
		return nil
	case is.Subject != was.Subject || is.Tenant != was.Tenant:
		return a2a.Errorf(a2a.CodeUnauthenticated, "your credentials now belong to another caller")
	case (is.Scopes == nil) != (was.Scopes == nil) || !slices.Equal(is.Scopes, was.Scopes):
		return a2a.Errorf(a2a.CodePermissionDenied, "the permissions of your credentials have changed: call again")
	}
	return nil
}

func refused(err error) bool {
	return errors.Is(err, a2a.ErrUnauthenticated) || errors.Is(err, a2a.ErrPermissionDenied)
}

// leave ends a stream that has begun when the server leaves it. Clients are to
// subscribe again with the last id; those that would be refused get the error.
func (s *sse) leave(ctx context.Context) {
	if cause := context.Cause(ctx); refused(cause) {
		e := s.report(cause)
		s.fails(e)
		s.appendFailure(e)
	}
}
