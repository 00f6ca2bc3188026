package a2aserver

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/parley-a2a/parley/a2a"
)

// recognizing is an Identity that has a better way than Authenticate to say who
// made a request that it let in before; auth.Guard is one.
type recognizing interface {
	Again(r *http.Request) (a2a.Caller, error)
}

// untilLeft returns a context that also ends where we leave a call that waits: when
// the server drains, with errDraining as its cause, or when the credentials of r
// are not good any more, with what the Identity says. r is nil where nobody was
// asked for any.
func (s *Server) untilLeft(parent context.Context, r *http.Request) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	stop := context.AfterFunc(s.draining, func() { cancel(errDraining) })
	every := s.opts.recheck()
	if s.opts.identity() == nil || r == nil || every < 0 {
		return ctx, func() { stop(); cancel(nil) }
	}
	caller := a2a.CallerFrom(parent)
	var again *time.Timer // and not a goroutine for each stream
	again = time.AfterFunc(time.Hour, func() {
		if ctx.Err() != nil {
			return
		}
		if err := s.recheck(r, &caller); err != nil {
			cancel(err)
			return
		}
		again.Reset(every)
	})
	again.Reset(every)
	return ctx, func() { again.Stop(); stop(); cancel(nil) }
}

// recheck returns why a caller who was let in with r would not be now, or not as
// the same; nil also where nobody can say, for an issuer that is down must not end
// what was begun with good credentials.
func (s *Server) recheck(r *http.Request, was *a2a.Caller) (left error) {
	defer func() {
		if v := recover(); v != nil { // which would end the process here
			s.log.LogAttrs(r.Context(), slog.LevelError, "credentials cannot be checked again", slog.Any("error", panicError(v)))
		}
	}()
	id := s.opts.identity()
	ask := id.Authenticate
	if better, ok := id.(recognizing); ok {
		ask = better.Again
	}
	is, err := ask(r)
	switch {
	case refused(err):
		return err
	case err != nil:
		s.log.LogAttrs(r.Context(), slog.LevelDebug, "credentials cannot be checked again", slog.Any("error", err))
		return nil
	case is.Subject != was.Subject || is.Tenant != was.Tenant:
		return a2a.Errorf(a2a.CodeUnauthenticated, "your credentials are somebody else's by now")
	case (is.Scopes == nil) != (was.Scopes == nil) || !slices.Equal(is.Scopes, was.Scopes):
		return a2a.Errorf(a2a.CodePermissionDenied, "what your credentials allow has changed: call again")
	}
	return nil
}

func refused(err error) bool {
	return errors.Is(err, a2a.ErrUnauthenticated) || errors.Is(err, a2a.ErrPermissionDenied)
}

// leave is how a stream that has begun ends where we leave it: clients are to
// subscribe again, with the last id, but not those that would be refused.
func (s *sse) leave(ctx context.Context) {
	if cause := context.Cause(ctx); refused(cause) {
		e := s.report(cause)
		s.audit.fails(s.ctx, e)
		s.appendFailure(e)
	}
}
