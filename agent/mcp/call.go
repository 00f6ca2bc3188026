package mcp

import (
	"context"
	"errors"
	"maps"
	"net"
	"strconv"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"go.opentelemetry.io/otel/trace"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/telemetry"
	"github.com/parley-a2a/parley/internal/wake"
)

// caller is the party that a call is made for. Its methods are called in the goroutine
// that called Tools.call.
type caller interface {
	// asked answers a question of the tool. Its error ends the call.
	asked(ctx context.Context, q *mcp.ElicitParams) (*mcp.ElicitResult, error)
	// moved receives the latest progress.
	moved(p *mcp.ProgressNotificationParams) error
}

// call is one call under way.
type call struct {
	ctx  context.Context // of the request; it ends when nothing listens any more
	asks chan *question
	news chan *mcp.ProgressNotificationParams // capacity 1: the latest progress
	done chan struct{}                        // closed when there is a result
	res  *mcp.CallToolResult
	err  error // both are set before done is closed
}

// question is a question of the server, with the channel for its answer.
type question struct {
	ctx    context.Context // of the server's request
	params *mcp.ElicitParams
	answer chan *mcp.ElicitResult // capacity 1
}

// ask passes the question to the maker of the call, and returns the answer.
func (c *call) ask(ctx context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	q := &question{ctx, p, make(chan *mcp.ElicitResult, 1)}
	select {
	case c.asks <- q:
	case <-c.ctx.Done():
		return &mcp.ElicitResult{Action: "cancel"}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	select {
	case a := <-q.answer:
		return a, nil
	case <-c.ctx.Done():
		return &mcp.ElicitResult{Action: "cancel"}, nil
	}
}

// progress keeps the latest progress until it is passed on.
func (c *call) progress(p *mcp.ProgressNotificationParams) {
	for {
		select {
		case c.news <- p:
			return
		default:
		}
		select {
		case <-c.news:
		default:
		}
	}
}

const (
	maxTries   = 3 // of a call whose sessions die
	retryPause = 200 * time.Millisecond
	// drainPatience is how long a call that must not be repeated may go on when the
	// server stops.
	drainPatience = 5 * time.Second
)

// errSilent says that a call took too long. errUnknown says that a call that must not
// be repeated may have been carried out.
var (
	errSilent  = errors.New("mcp: the tool was silent for too long")
	errUnknown = errors.New("mcp: it is not known whether the tool was called")
)

// connectError says that no session could be opened.
type connectError struct{ cause error }

func (e *connectError) Error() string { return "connect to MCP server: " + e.cause.Error() }
func (e *connectError) Unwrap() error { return e.cause }

// Unsent tells openai.Toolbox that the tool was not called.
func (e *connectError) Unsent() bool { return true }

// call calls a tool. If its session dies and the call may be repeated, call tries again
// on another session. who may be nil.
func (t *Tools) call(ctx context.Context, p *mcp.CallToolParams, once bool, who caller) (*mcp.CallToolResult, error) {
	for try := 1; ; try++ {
		res, err := t.tryCall(ctx, p, once, who)
		switch {
		case err == nil:
			return res, nil
		case ctx.Err() != nil || !errors.As(err, new(*lostError)) && !errors.As(err, new(*connectError)):
			return nil, err
		case once && !unsent(err):
			return nil, errors.Join(errUnknown, err)
		case try == maxTries || hopeless(err):
			return nil, err
		}
		t.log.Info("an MCP session was lost; the tool is called again", "tool", p.Name, "error", err)
		if err := wake.Pause(ctx, time.Duration(try*try)*t.pause); err != nil {
			return nil, &connectError{err}
		}
	}
}

// lostError says that a call got no answer.
type lostError struct{ cause error }

func (e *lostError) Error() string { return e.cause.Error() }
func (e *lostError) Unwrap() error { return e.cause }

// unsent reports whether the tool was certainly not called.
func unsent(err error) bool {
	var op *net.OpError
	return errors.As(err, new(*connectError)) || errors.Is(err, mcp.ErrSessionMissing) || errors.As(err, &op) && op.Op == "dial"
}

// tryCall calls a tool on one session, within a client span.
func (t *Tools) tryCall(ctx context.Context, p *mcp.CallToolParams, once bool, who caller) (*mcp.CallToolResult, error) {
	s, err := t.take(ctx)
	if err != nil {
		return nil, err
	}
	defer t.leave(s)
	ctx, span := telemetry.Start(ctx, telemetry.SpanCallTool+" "+p.Name, trace.SpanKindClient)
	defer span.End()
	res, err := t.callOn(ctx, s, p, once, who)
	if span.IsRecording() {
		t.describe(ctx, span, s, p, res, err)
	}
	return res, err
}

func (t *Tools) callOn(ctx context.Context, s *session, p *mcp.CallToolParams, once bool, who caller) (*mcp.CallToolResult, error) {
	// The call outlives ctx: a call that must not be repeated has some time left when
	// the server stops.
	own, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	c := &call{ctx: own, asks: make(chan *question), news: make(chan *mcp.ProgressNotificationParams, 1), done: make(chan struct{})}
	token := t.begin(s, c)
	defer t.end(s, token)

	params := *p
	params.Meta = maps.Clone(p.Meta)
	if params.Meta == nil {
		params.Meta = mcp.Meta{}
	}
	params.Meta[metaLogLevel] = "info"
	if parent, state := telemetry.Outgoing(ctx); parent != "" { // without a prefix, as the convention for MCP says
		params.Meta["traceparent"] = parent
		if state != "" {
			params.Meta["tracestate"] = state
		}
	}
	params.SetProgressToken(token)

	lasts, end := context.WithCancel(ctx) // while the call goes on
	defer end()
	go func() {
		defer close(c.done)
		defer end()
		c.err = safely(func() (err error) {
			c.res, err = s.cs.CallTool(own, &params)
			return err
		})
	}()
	err := t.follow(ctx, lasts, c, once, who)
	if err == nil {
		return c.res, answered(c.err)
	}
	cancel() // sends notifications/cancelled
	t.giveUp(s, c, err)
	return nil, err
}

func (t *Tools) begin(s *session, c *call) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.tokens++
	token := "c" + strconv.FormatUint(t.tokens, 10)
	s.calls[token] = c
	return token
}

func (t *Tools) end(s *session, token string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(s.calls, token)
}

// follow serves a call until it is done, and then returns nil. An error is the reason
// to give the call up.
func (t *Tools) follow(ctx, lasts context.Context, c *call, once bool, who caller) error {
	silence, pace, last := wake.Stopped(), wake.Stopped(), wake.Stopped()
	defer silence.Stop()
	defer pace.Stop()
	defer last.Stop()
	alive := func() {
		if d := t.opts.timeout(); d > 0 {
			silence.Reset(d)
		}
	}
	alive()
	news, stop, told, asked := c.news, ctx.Done(), 0, 0
	for {
		select {
		case <-c.done:
			return nil
		case q := <-c.asks:
			if asked++; asked > maxRounds {
				return errAsked
			}
			silence.Stop()
			a, err := t.answer(lasts, q, who)
			if err != nil {
				select {
				case <-c.done: // it did not wait for the answer
					return nil
				default:
				}
				if !errors.Is(err, errWithdrawn) {
					return err
				}
			} else {
				q.answer <- a
			}
			alive()
		case p := <-news:
			alive()
			if who == nil {
				continue
			}
			if err := who.moved(p); err != nil {
				return err
			}
			alive() // passing it on may have taken time
			told++
			news = nil // until the pace allows it
			pace.Reset(paceAfter(told))
		case <-pace.C:
			news = c.news
		case <-silence.C:
			return errSilent
		case <-stop:
			if !once || context.Cause(ctx) != agent.ErrDraining {
				return context.Cause(ctx)
			}
			stop = nil
			last.Reset(t.patience)
		case <-last.C:
			return context.Cause(ctx)
		}
	}
}

var errAsked = agent.Public("the tool asked too often", nil)

// paceAfter returns how long progress is not passed on after told times, so that a tool
// with too much progress does not fill the log.
func paceAfter(told int) time.Duration {
	switch {
	case told < 100:
		return 250 * time.Millisecond
	case told < 1000:
		return 2 * time.Second
	}
	return 15 * time.Second
}

var errWithdrawn = errors.New("mcp: the server withdrew its question")

// answer gets the answer to a question.
func (t *Tools) answer(ctx context.Context, q *question, who caller) (*mcp.ElicitResult, error) {
	if who == nil {
		return &mcp.ElicitResult{Action: "cancel"}, nil
	}
	asking, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(q.ctx, func() { cancel(errWithdrawn) })()
	a, err := who.asked(asking, q.params)
	if err != nil && context.Cause(asking) == errWithdrawn {
		err = errWithdrawn
	}
	return a, err
}

// giveUp ends a call without its result.
func (t *Tools) giveUp(s *session, c *call, why error) {
	t.mu.Lock()
	s.orphans = time.Now().Add(orphanTime)
	if why == errSilent { // perhaps the server hangs, not only the tool
		s.retired = true
	}
	t.mu.Unlock()
	select {
	case <-c.done:
		return
	case <-time.After(time.Second):
	}
	// The server does not read its input.
	t.retire(s)
	if s.proc != nil {
		s.proc.close()
	}
	<-c.done
}

// answered distinguishes a server's error answer from a session that died.
func answered(err error) error {
	var rpc *jsonrpc.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &rpc) && !errors.Is(err, mcp.ErrConnectionClosed) && !errors.Is(err, mcp.ErrSessionMissing) && !ours(rpc.Code):
		return err
	}
	return &lostError{err}
}

// ours reports whether the SDK uses this code for a condition on this side: it is
// closing, the peer is closing, or the transport refuses.
func ours(code int64) bool { return code <= -32003 && code >= -32005 }
