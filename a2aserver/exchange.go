package a2aserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"runtime/debug"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/audit"
	"github.com/parley-a2a/parley/internal/budget"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/webhook"
)

// exchange is one request of an operation and its answer, over any binding. Every
// httpCall and grpcCall has one, and reads and writes for it. It belongs to the
// handler's goroutine.
type exchange struct {
	s *Server
	request
	ctx context.Context // the request's, with the caller

	audit   audit.Record
	span    *callSpan       // nil: not begun yet, or nothing is traced
	since   time.Time       // when the caller was let in
	known   bool            // enter has succeeded
	op      dialect.Op      // 0 until it is known
	dialect dialect.Dialect // for errors, until op is known
	query   url.Values      // nil if the binding has none
	params  []byte          // of JSON-RPC, or a body; checked
	resumption
	holding
}

// answerer sends answers over one binding.
type answerer interface {
	// header sets a header, or metadata, before anything is sent.
	header(name, value string)
	// resumes says in a header that the resume extension is active, though no header
	// asked for it.
	resumes()
	// base returns the agent's URL as the client knows it.
	base() (string, error)
	// document returns an extended card as it is sent, without its signatures.
	document(op dialect.Op, req any, c *a2a.AgentCard) []byte
	// answer sends the result of a call. It returns an error only if nothing was
	// answered.
	answer(op dialect.Op, req, res any) error
	// stream calls the service and sends each event that it yields. Over HTTP it
	// returns an error only if nothing was sent; over gRPC, whose status comes last, at
	// any time.
	stream(op dialect.Op, req any) error
}

func (x *exchange) init(s *Server, ctx context.Context, q request) {
	x.s, x.ctx, x.request = s, ctx, q
	if s.tracing.tracer != nil {
		x.audit.Arrived = time.Now()
	}
	if x.hold == nil {
		x.hold = &x.own
	}
	s.memory.Init(x.hold, x)
}

// key returns the key that the caller is counted by.
func (x *exchange) key() callerKey { return x.s.keyOf(x.ctx, &x.request) }

// BudgetKey implements budget.Caller.
func (x *exchange) BudgetKey() any { return x.key() }

// operation notes which operation a call performs.
func (x *exchange) operation(d dialect.Dialect, op dialect.Op) {
	x.dialect, x.op = d, op
	x.audit.Operation(d, op)
}

// begin adds the call's span to the context, and the caller with what the request says
// about it.
func (x *exchange) begin(req any) {
	caller := a2a.CallerFrom(x.ctx) // a handler in front may have set it
	caller.Extensions = requestedExtensions(x.headers)
	if caller.Trace == "" { // no header has it: look in the request
		caller.Trace, caller.TraceState = dialect.TraceIn(req)
	}
	x.beginSpan(&caller, req)
	x.ctx = a2a.WithCaller(x.ctx, caller)
}

// perform calls the service and answers. It returns an error that still has to be
// answered.
func (x *exchange) perform(to answerer, op dialect.Op, req any) (err error) {
	defer func() { err = dialect.ErrorOf(x.dialect, x.binding, op, err) }()
	x.decoded(op)
	x.audit.Request(req)
	x.begin(req)
	if err := x.stillIn(); err != nil {
		return err
	}
	if err := x.s.opts.Limits.check(req); err != nil {
		return err
	}
	streams := dialect.Get(op).Streams
	if (streams || op == dialect.SendMessage) && x.s.open.draining() {
		return errClosing
	}
	if err := takeKey(x.headers, req); err != nil {
		return err
	}
	x.ctx = budget.With(x.ctx, x.hold)
	if streams {
		if err := x.resume(to, req); err != nil {
			return err
		}
		key := x.key()
		if err := x.s.streams.begin(key, x.s.opts.Limits.Streams); err != nil {
			return err
		}
		defer x.s.streams.end(key)
		return x.named(to.stream(op, req))
	}
	ctx := x.ctx
	if op == dialect.SendMessage {
		// It waits for the agent, which may take longer than this process lives, and
		// longer than a body should be held.
		x.query, x.params = nil, nil
		var cancel context.CancelFunc
		ctx, cancel = x.s.untilCanceled(ctx, &x.request)
		defer cancel()
	}
	return x.unary(ctx, to, op, req)
}

func (x *exchange) unary(ctx context.Context, to answerer, op dialect.Op, req any) error {
	res, err := dialect.Call(ctx, x.s.svc, op, req)
	if err != nil {
		return inWords(cause(ctx, err), errBusy)
	}
	if card, ok := res.(*a2a.AgentCard); ok {
		if res, err = x.extendedCard(to, op, req, card); err != nil {
			return err
		}
	}
	if op == dialect.SendMessage {
		// The answer is in memory already, and its task may no longer be counted:
		// waiting here would only let in the next message.
		x.hold.Set(dialect.EncodedSize(res))
	} else if err := x.makeRoom(ctx, res); err != nil {
		return err
	}
	if source := sourceIn(res); source != "" {
		to.header(webhook.SourceHeader, source)
	}
	return to.answer(op, req, res)
}

// makeRoom waits for the memory that an answer or an event takes until the client
// has read it.
func (x *exchange) makeRoom(ctx context.Context, res any) error {
	if err := x.hold.Ensure(ctx, dialect.EncodedSize(res)); err != nil {
		return cause(ctx, inWords(err, errBusy))
	}
	return nil
}

// extendedCard makes the card to answer with out of the service's extended card.
func (x *exchange) extendedCard(to answerer, op dialect.Op, req any, card *a2a.AgentCard) (*a2a.AgentCard, error) {
	card, err := x.s.reachable(card, to.base, &x.request)
	if err != nil {
		return nil, err
	}
	// The signature covers the document as it is sent. Before 1.0 that has another
	// form, for which a signature of the 1.0 form is invalid.
	return x.s.signed(&x.s.extended, card, func(c *a2a.AgentCard) []byte { return to.document(op, req, c) })
}

// cause replaces the error of a context that we ended with the reason.
func cause(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return context.Cause(ctx)
	}
	return err
}

// failed logs and records an error, and returns what the client may know of it. An
// error that is not an *a2a.Error is internal: the client learns only that.
func (x *exchange) failed(err error) *a2a.Error {
	e := x.report(err)
	x.fails(e)
	return e
}

func (x *exchange) report(err error) *a2a.Error {
	return x.s.report(x.ctx, err, slog.String("method", x.method), slog.String("path", x.path))
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
		e = &a2a.Error{Code: a2a.CodeUnavailable} // the client has disconnected
	default:
		e = &a2a.Error{Code: a2a.CodeInternal, Cause: err}
		level = slog.LevelError
	}
	s.log.LogAttrs(ctx, level, "request failed", append(what, slog.String("code", e.Code.String()), slog.Any("error", err))...)
	return e
}

// panicError keeps the stack for the log.
func panicError(v any) error {
	return fmt.Errorf("panic: %v\n%s", v, debug.Stack())
}
