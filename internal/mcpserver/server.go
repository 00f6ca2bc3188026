package mcpserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/wake"
)

// Server is an MCP server whose tools call an agent. It serves many sessions at once.
type Server struct {
	agent a2a.Service
	card  *a2a.AgentCard
	opts  *Options
	log   *slog.Logger

	mu    sync.Mutex // protects the fields below
	calls map[*mcp.ServerSession]*calls
	n     int // calls under way, of all sessions
}

// maxCalls limits the calls under way at a time: each has a stream of the agent, and
// its task, in memory.
const maxCalls = 100

// calls are a session's calls under way.
type calls struct {
	n        int
	canceled chan struct{} // gets a value for each that the client cancelled
}

// New returns a server for an agent, with its card. It does not call the agent before a
// tool is called.
func New(agent a2a.Service, card *a2a.AgentCard, o *Options) *Server {
	o = cmp.Or(o, new(Options))
	return &Server{agent: agent, card: card, opts: o, log: o.logger(), calls: map[*mcp.ServerSession]*calls{}}
}

// server returns the SDK's server. All its calls end with until, because the SDK waits
// for them, even if no client waits for their results.
func (s *Server) server(until context.Context) *mcp.Server {
	version := cmp.Or(s.card.Version, "1")
	m := mcp.NewServer(&mcp.Implementation{Name: "parley", Title: cut(s.card.Name, 200), Version: cut(version, 100)}, &mcp.ServerOptions{
		Instructions: "An agent that works on tasks: " + cut(s.card.Name, 200) + ". A task may take long; get_task looks at it, answer_task answers what it asks.",
		Capabilities: &mcp.ServerCapabilities{}, // no log
	})
	m.AddReceivingMiddleware(s.watch(until))
	s.addTools(m)
	return m
}

// Serve serves one client, which writes to in and reads from out, until in or ctx ends.
// Requests that came before the end of in are answered, except those that take longer
// than Options.Wait. Nothing else may write to out. Serve closes in if it can, because
// a read may be waiting for more.
func (s *Server) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	err := s.server(ctx).Run(ctx, &lasting{
		IOTransport: mcp.IOTransport{Reader: input{in}, Writer: output{out}, MaxLineLength: maxMessage},
		until:       ctx, wait: s.opts.wait() + answerTime, asked: map[jsonrpc.ID]bool{}, answered: make(chan struct{}, 1),
	})
	if errors.Is(err, context.Canceled) || errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// answerTime is how long writing an answer may take after the end of the wait.
const answerTime = 300 * time.Millisecond

// maxMessage caps one message of a client, in bytes; messages contain files.
const maxMessage = 16 << 20

// lasting is a client that gets its answers before the SDK learns of the end of input,
// after which the SDK writes nothing.
type lasting struct {
	mcp.IOTransport
	mcp.Connection // of the transport
	until          context.Context
	wait           time.Duration
	answered       chan struct{} // gets a hint when a request was answered

	mu        sync.Mutex // protects the fields below
	asked     map[jsonrpc.ID]bool
	questions int // to the client, which cannot answer them after its end
}

func (l *lasting) Connect(ctx context.Context) (_ mcp.Connection, err error) {
	l.Connection, err = l.IOTransport.Connect(ctx)
	return l, err
}

func (l *lasting) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := l.Connection.Read(ctx)
	if err != nil {
		for late := time.After(l.wait); l.owes(); {
			select {
			case <-l.answered:
			case <-late:
				return m, err
			case <-l.until.Done():
				return m, err
			}
		}
		return m, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch m := m.(type) {
	case *jsonrpc.Request:
		if m.IsCall() && m.Method != "subscriptions/listen" { // it lasts as long as its client
			l.asked[m.ID] = true
		}
	case *jsonrpc.Response:
		l.questions--
	}
	return m, nil
}

func (l *lasting) Write(ctx context.Context, m jsonrpc.Message) error {
	if q, ok := m.(*jsonrpc.Request); ok && q.IsCall() {
		l.mu.Lock()
		l.questions++ // before the client has it, because it may answer at once
		l.mu.Unlock()
	}
	err := l.Connection.Write(ctx, m)
	if a, ok := m.(*jsonrpc.Response); ok {
		l.mu.Lock()
		delete(l.asked, a.ID)
		l.mu.Unlock()
	}
	wake.Nudge(l.answered)
	return err
}

// owes reports whether requests are unanswered, and none of them waits for the client.
func (l *lasting) owes() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.asked) > 0 && l.questions <= 0 // below zero: the client answered a question that was not asked
}

type input struct{ io.Reader }

func (i input) Close() error {
	if c, ok := i.Reader.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

type output struct{ io.Writer }

func (output) Close() error { return nil }

// errOver is the cause of the end of a call that its client did not cancel.
var errOver = errors.New("mcpserver: the server or its client left")

// watch ends calls when their time is up, and notes which cancellations the client
// asked for, because a context also ends for other reasons.
func (s *Server) watch(until context.Context) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, r mcp.Request) (res mcp.Result, err error) {
			// No input of an agent or client may end the calls of others.
			defer func() {
				if p := recover(); p != nil {
					s.log.Error("a call panicked", "method", method, "panic", p, "stack", string(debug.Stack()))
					res, err = nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "internal error"}
				}
			}()
			session, ok := r.GetSession().(*mcp.ServerSession)
			switch {
			case !ok:
			case method == "notifications/cancelled":
				s.note(session)
			case method == "tools/call":
				if !s.begin(session) {
					return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{
						Text: fmt.Sprintf("%d calls are under way, the most allowed: try again when one has ended, or have calls wait for less with wait_seconds", maxCalls),
					}}}, nil
				}
				defer s.end(session)
				var cancel context.CancelCauseFunc
				ctx, cancel = context.WithCancelCause(ctx)
				defer cancel(nil)
				defer context.AfterFunc(until, func() { cancel(errOver) })()
			}
			return next(ctx, method, r)
		}
	}
}

func (s *Server) note(session *mcp.ServerSession) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.calls[session]; c != nil {
		wake.Nudge(c.canceled)
	}
}

// begin reports whether another call may begin; call end after it.
func (s *Server) begin(session *mcp.ServerSession) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.n == maxCalls {
		return false
	}
	s.n++
	c := s.calls[session]
	if c == nil {
		c = &calls{canceled: make(chan struct{}, 64)}
		s.calls[session] = c
	}
	c.n++
	return true
}

func (s *Server) end(session *mcp.ServerSession) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n--
	c := s.calls[session]
	if c.n--; c.n == 0 {
		delete(s.calls, session)
	}
}

// wished reports whether the client cancelled the call whose context has ended. Its
// notification and the end of the context come at the same time. A notification alone
// proves nothing: it may be for another call that was already answered. If the
// connection ended, the SDK sets a cause.
func (s *Server) wished(ctx context.Context, session *mcp.ServerSession) bool {
	if context.Cause(ctx) != context.Canceled {
		return false
	}
	s.mu.Lock()
	c := s.calls[session]
	s.mu.Unlock()
	if c == nil {
		return false
	}
	select {
	case <-c.canceled:
		return true
	case <-time.After(500 * time.Millisecond):
		return false
	}
}
