package a2aserver

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/parley-a2a/parley/a2a"
)

// lasting is an Identity that says whether who was let in still would be;
// auth.Guard is one.
type lasting interface {
	// Refused returns why r would not be let in any more, of the code
	// Unauthenticated, and nil where it would, or nobody can say. It is asked again
	// and again while r is answered, so it must cost little.
	Refused(r *http.Request) error
}

// lastsFor is how often that is asked: a stream that began with a key that was
// revoked since ends after this time at the latest, and what the Identity takes to
// hear of it.
const lastsFor = 5 * time.Second

// untilLeft returns a context that also ends where we leave a call that waits: when
// the server drains, with errDraining as its cause, or when the credentials of r
// are not good any more, with what the Identity says. r is nil where nobody was
// asked for any.
func (s *Server) untilLeft(parent context.Context, r *http.Request) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	stop := context.AfterFunc(s.draining, func() { cancel(errDraining) })
	id, ok := s.opts.identity().(lasting)
	if !ok || r == nil {
		return ctx, func() { stop(); cancel(nil) }
	}
	var again *time.Timer // and not a goroutine for each stream
	again = time.AfterFunc(time.Hour, func() {
		if ctx.Err() != nil {
			return
		}
		if err := id.Refused(r); err != nil {
			cancel(err)
			return
		}
		again.Reset(lastsFor)
	})
	again.Reset(lastsFor)
	return ctx, func() { again.Stop(); stop(); cancel(nil) }
}

// leave is how a stream that has begun ends where we leave it: clients are to
// subscribe again, with the last id, but not those that would be refused.
func (s *sse) leave(ctx context.Context) {
	if cause := context.Cause(ctx); errors.Is(cause, a2a.ErrUnauthenticated) {
		e := s.report(cause)
		s.audit.fails(s.ctx, e)
		s.appendFailure(e)
	}
}
