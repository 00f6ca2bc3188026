package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/spf13/cobra"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aserver"
	"github.com/parley-a2a/parley/internal/failure"
	"github.com/parley-a2a/parley/internal/flagvalue"
	"github.com/parley-a2a/parley/internal/mcpserver"
	"github.com/parley-a2a/parley/internal/plain"
	"github.com/parley-a2a/parley/internal/serve"
)

func newMCP(a *app) *cobra.Command {
	var at string
	o := mcpserver.Options{Wait: 50 * time.Second}
	cmd := a.configured(&cobra.Command{
		Annotations: shared,
		Use:         "mcp",
		Short:       "Offer an agent to MCP clients as tools",
		Long: `Serve an A2A agent as an MCP server, for editors and assistants that call tools: over
standard input and output, or with --http over streamable HTTP.

The tools are send_message (with --skills, one tool for each skill on the agent's
card instead), answer_task, get_task, list_tasks and cancel_task. When a task needs
input, the client asks its user if it can; otherwise the result says how to answer.
Cancelling a call cancels its task; ending the client does not.

Standard output carries the protocol; everything else goes to standard error. With
--http, anybody who can connect to this machine acts with your credentials.`,
		Example: `  parley mcp -a http://127.0.0.1:7275
  parley mcp -a agents.example.org --skills
  parley mcp -a http://127.0.0.1:7275 --http 127.0.0.1:8090`,
		Args: cobra.NoArgs,
	}, func(cmd *cobra.Command, _ []string) error {
		// --timeout is for commands that end on their own.
		if err := a.mcp(cmd.Context(), at, &o); err != nil {
			return a.explain(cmd.Context(), err)
		}
		return nil
	})
	fs := cmd.Flags()
	fs.Var(flagvalue.Address(&at), "http", "serve over streamable HTTP at this `address` or port of this machine; 0 takes a free one")
	fs.BoolVar(&o.Skills, "skills", false, "offer a tool for each skill of the card in place of send_message")
	fs.Var(flagvalue.Duration(&o.Wait), "wait-for", "how long a call waits for its task if the program does not ask for progress")
	return cmd
}

// mcp serves at an address or, if that is "", over standard input and output.
func (a *app) mcp(ctx context.Context, at string, o *mcpserver.Options) error {
	var l net.Listener
	if at != "" {
		if host, _, _ := net.SplitHostPort(at); !a2a.IsLoopback(host) {
			return failure.Usagef("--http %s is not an address of this machine alone, such as 127.0.0.1:8090", plain.Quote(at)).
				WithHint("a server for others needs credentials: parley serve has them, over A2A")
		}
		var err error
		if l, err = serve.Listen("parley mcp --http", at); err != nil {
			if f, ok := errors.AsType[*failure.Error](err); ok {
				f.Code = failure.CodeUsage // as for other values of --http
			}
			return err
		}
		defer l.Close()
	}
	c, err := a.dial(ctx)
	if err != nil {
		return err
	}
	o.Poll, o.Logger = a.flags.pollInterval, a.log
	s := mcpserver.New(c, c.Card(), o)
	if l == nil {
		if a.typed() {
			a.stderr.Note("Note", "waiting for MCP on standard input: an MCP client starts this command (docs/mcp.md); Ctrl-C ends it")
		}
		if err := unwritten(s.Serve(ctx, a.stdin, a.stdout)); err != nil {
			if _, ok := errors.AsType[*failure.Error](err); ok || ctx.Err() != nil {
				return err
			}
			return failure.New(failure.CodeInternal, "standard input has no message of MCP: "+err.Error(), err).
				WithHint("an MCP client starts parley mcp and writes to it; docs/mcp.md shows how to set one up")
		}
		return nil
	}
	fmt.Fprintf(a.stderr, "MCP server of %s at http://%s/mcp\n", plain.Line(c.Card().Name), l.Addr())
	return serveMCP(ctx, l, s)
}

// mcpGrace is how long requests may take to end.
const mcpGrace = 2 * time.Second

func serveMCP(ctx context.Context, l net.Listener, s *mcpserver.Server) error {
	// Calls end with ctx, and streams with the calls or with Close.
	srv := a2aserver.HTTPServer(s.Handler(ctx))
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(a2aserver.LimitWrites(l, 0)) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), mcpGrace)
	defer cancel()
	if srv.Shutdown(late) != nil {
		srv.Close()
	}
	<-ended
	return nil
}
