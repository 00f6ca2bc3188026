package a2aserver

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/parley-a2a/parley/a2a"
)

// recognizing is an Identity that has a better way than Authenticate to say who
// made a request that it let in before; auth.Guard is one.
type recognizing interface {
	Again(r *http.Request) (a2a.Caller, error)
}

// stays are the calls that we may leave.
type stays struct {
	mu   sync.Mutex // protects the fields below and stay.place
	why  error      // set when all are to be left
	list []*stay
}

// stay is a call that waits, for its agent or for events.
type stay struct {
	s      *Server
	place  int // in the list, from 1; 0 is none
	cancel context.CancelCauseFunc
	check  *recheck // nil if nobody asks again
}

// recheck is what it takes to ask again who calls.
type recheck struct {
	item
	every time.Duration
	r     *http.Request
	was   a2a.Caller
}

// untilLeft returns a context that also ends where we leave a call that waits: when
// the server drains, with errDraining as its cause, or when the credentials of r
// are not good any more, with what the Identity says. r is nil where nobody was
// asked for any. A call has no goroutine and no timer for it.
func (s *Server) untilLeft(parent context.Context, r *http.Request) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	w := &stay{s: s, cancel: cancel}
	if why := s.stays.add(w); why != nil {
		cancel(why)
	}
	if every := s.opts.recheck(); s.opts.identity() != nil && r != nil && every >= 0 {
		w.check = &recheck{item: item{who: w}, every: every, r: r, was: a2a.CallerFrom(parent)}
		s.agenda.set(&w.check.item, s.agenda.now()+every)
	}
	return ctx, w.end
}

// due asks for the credentials, and makes the next appointment.
func (w *stay) due(time.Duration) time.Duration {
	go func() { // an Identity may have to ask somebody
		if err := w.s.recheck(w.check.r, &w.check.was); err != nil {
			w.cancel(err)
			return
		}
		w.s.agenda.set(&w.check.item, w.s.agenda.now()+w.check.every)
	}()
	return 0
}

// end may be called more than once.

func (w *stay) end() {
	if w.check != nil {
		w.s.agenda.end(&w.check.item)
	}
	w.s.stays.remove(w)
	w.cancel(nil)
}

// add returns why a call has to be left at once, or nil.
func (a *stays) add(w *stay) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.list = append(a.list, w)
	w.place = len(a.list)
	return a.why
}

func (a *stays) remove(w *stay) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if w.place == 0 {
		return
	}
	last := len(a.list) - 1
	a.list[w.place-1], a.list[last].place = a.list[last], w.place
	a.list[last] = nil
	a.list = a.list[:last]
	w.place = 0
}

// leave leaves all there are and all that come.
func (a *stays) leave(why error) {
	a.mu.Lock()
	if a.why == nil {
		a.why = why
	}
	list := slices.Clone(a.list)
	a.mu.Unlock()
	for _, w := range list {
		w.cancel(why)
	}
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
	// By now others may say who is let in.
	id := s.newest.Load().identity()
	if id == nil {
		return nil
	}
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
