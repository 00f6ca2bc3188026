package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-a2a/parley/internal/scarce"
)

// session is a connection to the server, or one that is being opened.
type session struct {
	tools *Tools

	ready chan struct{}      // closed when opening has ended; then cs or err is set
	cs    *mcp.ClientSession // set before ready is closed, then constant
	err   error
	proc  *process // of a command; set before ready is closed

	// protected by Tools.mu
	busy    int              // calls and lists that use it or are about to
	calls   map[string]*call // by progress token
	retired bool             // takes no more calls, and is closed after the last
	orphans time.Time        // until then, a question may belong to a call that was given up
}

// orphanTime is how long a cancelled call may still ask questions.
const orphanTime = time.Minute

// impl is the name that servers are told.
var impl = &mcp.Implementation{Name: "parley", Version: "1"}

// open connects, and then waits for the end of the connection. It owns everything that
// belongs to the session.
func (s *session) open() {
	t := s.tools
	err := s.connect("")
	if errors.Is(err, context.DeadlineExceeded) {
		// Some servers of older versions do not answer a question about their versions
		// that comes before the handshake.
		err = s.connect("2025-11-25")
	}
	if err != nil {
		s.err = err
		t.drop(s)
		close(s.ready)
		return
	}
	s.wantLog()
	close(s.ready)
	err = s.cs.Wait()
	t.drop(s)
	s.cs.Close()
	if s.proc != nil {
		s.proc.close()
	}
	t.log.Debug("MCP session ended", "error", err)
}

// connect opens the connection, in the given version of the protocol, or in the best if
// it is "".
func (s *session) connect(version string) error {
	t := s.tools
	var proc *process
	var transport mcp.Transport
	if len(t.server.Command) > 0 {
		err := scarce.Again(t.ctx, func() (err error) {
			proc, err = startProcess(&t.server, t.opts)
			return err
		})
		if err != nil {
			return err
		}
		// The process closes its input itself, as the first step of its end.
		in := newFrames(proc.Out, t.opts.maxMessage(), t.log)
		in.pace = newPace(t.ctx, 1)
		transport = &mcp.IOTransport{
			Reader:        io.NopCloser(in),
			Writer:        proc.In,
			MaxLineLength: t.opts.maxMessage() + 1,
		}
	} else {
		transport = &mcp.StreamableClientTransport{
			Endpoint:     t.server.URL,
			HTTPClient:   t.http,
			MaxEventSize: t.opts.maxMessage(),
		}
	}
	co := &mcp.ClientOptions{
		// Roots and sampling are not offered.
		Capabilities: &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{
			Form: &mcp.FormElicitationCapabilities{}, URL: &mcp.URLElicitationCapabilities{},
		}},
		// The rounds of a call are made in this package, which records them.
		MultiRoundTrip:              &mcp.MultiRoundTripOptions{Disabled: true},
		ElicitationHandler:          s.elicited, // makes the SDK announce elicitation; receive handles it
		ProgressNotificationHandler: s.progressed,
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) {
			t.stale()
			t.opts.changed()
		},
	}
	s.takeLog(co)
	client := mcp.NewClient(impl, co)
	client.AddReceivingMiddleware(s.receive)
	var o *mcp.ClientSessionOptions
	if version != "" {
		o = &mcp.ClientSessionOptions{ProtocolVersion: version}
	}
	ctx, cancel := context.WithTimeout(t.ctx, t.opts.connectTimeout()/2)
	defer cancel()
	var cs *mcp.ClientSession
	err := safely(func() (err error) {
		cs, err = client.Connect(ctx, transport, o)
		return err
	})
	if err != nil {
		if proc != nil {
			proc.close()
			// The end of its output does not say why.
			if errors.Is(err, mcp.ErrConnectionClosed) && proc.Cause != nil {
				return fmt.Errorf("the command ended: %w", proc.Cause)
			}
		}
		return err
	}
	s.cs, s.proc = cs, proc
	return nil
}

// close ends the connection; open does the rest.
func (s *session) close() {
	<-s.ready
	switch {
	case s.proc != nil:
		s.proc.close() // the connection ends with its pipes
	case s.cs != nil:
		s.cs.Close()
	}
}

// receive handles requests of the server. Questions bypass the SDK, which would read
// them before they are validated; nothing that a server sends may end this process.
func (s *session) receive(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, r mcp.Request) (res mcp.Result, err error) {
		panicked := safely(func() error {
			if q, ok := r.(*mcp.ElicitRequest); ok {
				if q.Params == nil {
					return errQuestion
				}
				res, err = s.elicited(ctx, q)
				return nil
			}
			res, err = next(ctx, method, r)
			return nil
		})
		if panicked != nil {
			s.tools.log.Warn("what an MCP server sent cannot be read", "method", method, "error", panicked)
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "this cannot be read"}
		}
		return res, err
	}
}

// safely turns a panic into an error, for code that trusts too much what a server sent.
func safely(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("mcp: what the server sent cannot be read: %v", r)
		}
	}()
	return f()
}

// elicited is called for a question of a server, in versions that do not say which call
// a question belongs to.
func (s *session) elicited(ctx context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	c := s.only()
	if c == nil {
		s.tools.log.Warn("a question of an MCP server was refused: several calls share its session, and it may be of any of them")
		return &mcp.ElicitResult{Action: "cancel"}, nil
	}
	return c.ask(ctx, r.Params)
}

// only returns the session's call if it has exactly one.
func (s *session) only() *call {
	s.tools.mu.Lock()
	defer s.tools.mu.Unlock()
	if len(s.calls) != 1 || time.Now().Before(s.orphans) {
		return nil
	}
	for _, c := range s.calls {
		return c
	}
	return nil
}

func (s *session) progressed(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
	token, _ := r.Params.ProgressToken.(string)
	s.tools.mu.Lock()
	c := s.calls[token]
	s.tools.mu.Unlock()
	if c != nil {
		c.progress(r.Params)
	}
}

// cut returns s as valid text of at most so many bytes, and its full size if it was
// longer.
func cut(s string, most int) string {
	if len(s) <= most {
		return strings.ToValidUTF8(s, "\uFFFD")
	}
	return strings.ToValidUTF8(s[:most], "") + fmt.Sprintf(" … (%d bytes)", len(s))
}
