package a2aserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"runtime/debug"
	"strconv"
	"sync"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/dialect"
)

// exchange is one request of an operation with its answer. It belongs to the
// handler's goroutine.
type exchange struct {
	framing
	s   *Server
	w   http.ResponseWriter
	rc  http.ResponseController
	r   *http.Request
	ctx context.Context // the request's, with the caller

	audit   call
	dialect dialect.Dialect
	query   url.Values // nil where the binding has none
	params  []byte     // of JSON-RPC, or a body; checked
	resumption
	holding // until the request is decoded

	eventful bool // an error before the first event is an event, too
	plain    bool // events are their data and nothing else
	bodyRead bool // in full
	begun    bool // the status line is out: errors can no longer change it

	length [1]string // of the answer, as its header
}

func (s *Server) newExchange(w http.ResponseWriter, r *http.Request, f framing) *exchange {
	x := new(exchange)
	x.init(s, w, r, f)
	return x
}

func (x *exchange) init(s *Server, w http.ResponseWriter, r *http.Request, f framing) {
	x.framing, x.s, x.w, x.rc, x.r, x.ctx = f, s, w, *http.NewResponseController(w), r, r.Context()
}

// enter finds out who calls.
func (x *exchange) enter() (err error) {
	x.audit.begin(x.s, x.binding(), x.r)
	x.ctx, err = x.s.enter(x.ctx, x.r)
	return err
}

// perform calls the service and answers. An error is returned as long as
// nothing was answered.
func (x *exchange) perform(op dialect.Op, req any) error {
	x.audit.asks(req)
	if err := x.s.opts.limits().check(req); err != nil {
		return err
	}
	switch op {
	case dialect.SendMessage, dialect.SendStreamingMessage, dialect.SubscribeToTask:
		if x.s.draining.Err() != nil {
			return errClosing
		}
	}
	if err := takeKey(x.r.Header, req); err != nil {
		return err
	}
	switch op {
	case dialect.SubscribeToTask, dialect.SendStreamingMessage:
		if err := x.resume(req); err != nil {
			return err
		}
		if x.s.streams != nil {
			key := x.s.keyOf(x.ctx, x.r)
			if err := x.s.streams.begin(key); err != nil {
				return err
			}
			defer x.s.streams.end(key)
		}
		return x.named(x.stream(op, req))
	case dialect.SendMessage:
		// It waits for the agent, which may take longer than we live, and longer than
		// a body should be held.
		x.query, x.params = nil, nil
		ctx, cancel := x.s.untilLeft(x.ctx, x.r)
		defer cancel()
		return x.unary(ctx, op, req)
	}
	return x.unary(x.ctx, op, req)
}

func (x *exchange) unary(ctx context.Context, op dialect.Op, req any) error {
	res, err := dialect.Call(ctx, x.s.svc, op, req)
	if err != nil {
		return cause(ctx, err)
	}
	if card, ok := res.(*a2a.AgentCard); ok {
		if res, err = x.extendedCard(op, req, card); err != nil {
			return err
		}
	}
	x.answer(op, req, res)
	return nil
}

// cause replaces the error of a context that we ended by the reason.
func cause(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return context.Cause(ctx)
	}
	return err
}

// buffers are reused by answers; those that grew large are left behind.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

const maxPooled = 256 << 10

func (x *exchange) answer(op dialect.Op, req, res any) {
	p := buffers.Get().(*[]byte)
	*p = x.appendResult((*p)[:0], op, req, res)
	x.audit.gives(res)
	x.audit.succeeds(x.ctx)
	x.write(http.StatusOK, *p)
	if cap(*p) <= maxPooled {
		buffers.Put(p)
	}
}

// fail answers with an error. What is not an *a2a.Error is internal: it goes
// to the log, and the client learns nothing but that.
func (x *exchange) fail(err error) {
	e := x.report(err)
	x.audit.fails(x.ctx, e)
	x.s.challenge(x.w.Header(), e)
	if n := dialect.RetryAfter(e); n > 0 {
		x.w.Header().Set("Retry-After", strconv.FormatInt(n, 10))
	}
	if x.eventful && x.status(e) == http.StatusOK {
		// The clients of versions before 1.0 stop at anything else, and the
		// error is lost on them (DIALECTS 4.5, 8.4).
		s := &sse{exchange: x}
		s.appendFailure(e)
		s.flush(true)
		return
	}
	x.write(x.status(e), x.appendError(nil, e))
}

func (x *exchange) report(err error) *a2a.Error {
	return x.s.report(x.ctx, err, slog.String("method", x.r.Method), slog.String("path", x.r.URL.Path))
}

// report logs an error and returns what the client may know of it.
func (s *Server) report(ctx context.Context, err error, what ...slog.Attr) *a2a.Error {
	var e *a2a.Error
	level := slog.LevelDebug
	switch {
	case errors.As(err, &e):
		if e.Code == a2a.CodeInternal {
			level = slog.LevelError
		}
	case ctx.Err() != nil:
		e = &a2a.Error{Code: a2a.CodeUnavailable} // the client is gone
	default:
		e = &a2a.Error{Code: a2a.CodeInternal, Cause: err}
		level = slog.LevelError
	}
	s.log.LogAttrs(ctx, level, "request failed", append(what, slog.String("code", e.Code.String()), slog.Any("error", err))...)
	return e
}

// Values of headers that nobody writes to. Lists of their own would be made with
// each answer.
var (
	jsonMedia = []string{mediaJSON}
	a2aMedia  = []string{mediaA2A}
	noStore   = []string{"no-store"} // tasks change, and are somebody's
	noSniff   = []string{"nosniff"}
)

// write sends a whole answer.
func (x *exchange) write(status int, body []byte) {
	h := x.w.Header()
	x.length[0] = strconv.Itoa(len(body))
	h["Content-Type"] = x.media()
	h["Content-Length"] = x.length[:]
	h["Cache-Control"] = noStore
	h["X-Content-Type-Options"] = noSniff
	if !x.bodyRead {
		closeUnread(h, x.r)
	}
	x.begun = true
	x.w.WriteHeader(status)
	if x.send(body) != nil {
		return // the client is gone; there is nobody to tell
	}
	// Everything is out: other handlers may use the connection unhurried.
	_ = x.rc.SetWriteDeadline(time.Time{})
}

// writeSize is how much has to go out within the time limit of a write, in
// bytes: a slow reader is welcome as long as it reads.
const writeSize = 32 << 10

// send writes and flushes.
func (x *exchange) send(b []byte) error {
	for {
		n := min(len(b), writeSize)
		x.extendDeadline()
		if _, err := x.w.Write(b[:n]); err != nil {
			return err
		}
		if b = b[n:]; len(b) == 0 {
			break
		}
	}
	// Not later, with the handler's end, which has no time limit.
	if err := x.rc.Flush(); !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	return nil // a writer that does not hold anything back
}

func (x *exchange) extendDeadline() {
	// Writers in tests have no deadlines, and need none.
	_ = x.rc.SetWriteDeadline(time.Now().Add(x.s.opts.writeTimeout()))
}

// protect is deferred: a panic becomes an internal error, or, if the answer
// has begun, cuts the connection, so that nobody takes it for complete.
func (x *exchange) protect() {
	defer x.audit.ends(x.ctx)
	v := recover()
	if v == nil {
		return
	}
	if v == http.ErrAbortHandler {
		panic(v)
	}
	err := panicError(v)
	if x.begun {
		x.audit.fails(x.ctx, x.report(err))
		panic(http.ErrAbortHandler)
	}
	x.fail(err)
}

// panicError keeps the stack for the log.
func panicError(v any) error {
	return fmt.Errorf("panic: %v\n%s", v, debug.Stack())
}
