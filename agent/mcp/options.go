package mcp

import (
	"cmp"
	"log/slog"
	"net/http"
	"time"

	"github.com/parley-a2a/parley/a2a"
)

// Server says where an MCP server is: Command or URL.
type Server struct {
	// Command is a program and its arguments, which speaks the protocol on its
	// standard input and output. No shell is involved. It runs in a process group
	// of its own.
	Command []string
	// Dir is where the command runs; "" is this process's.
	Dir string
	// Env is what the command has in addition to this process's environment, as
	// "NAME=value".
	Env []string

	// URL is the address of a server over streamable HTTP.
	URL string
	// Headers go with each request to the URL, and nowhere else: not to where it
	// redirects.
	Headers map[string]a2a.Secret
}

// Options adjusts an Agent or Tools. A nil *Options means all defaults.
type Options struct {
	// Tools are the names of those that are offered. Empty means all.
	Tools []string
	// Concurrency is how many calls are at work at a time; more wait, first come,
	// first served. A call that waits for an answer of its client does not count.
	// Zero means 16.
	Concurrency int
	// Sessions is how many sessions, with a command processes, there are at most.
	// Calls share one where there are no more. A question of a server that is
	// older than 2026-07-28 does not say which call it belongs to: where a session
	// is shared at that moment it is refused, so a server whose tools ask should
	// have a session for each call. Zero means 1 for a command, which keeps what
	// the process remembers in one place, and 64 for a URL.
	Sessions int
	// Timeout is how long a call may go on without progress, questions and their
	// answers not counted. Zero means 5 min; negative means no limit.
	Timeout time.Duration
	// ConnectTimeout bounds the beginning of a session and each list of its
	// tools. Zero means 30 s.
	ConnectTimeout time.Duration
	// MaxMessage caps one message of the server, in bytes. Zero means 16 MiB.
	MaxMessage int
	// Grace is how long a command may take to end after its input was closed, and
	// again after SIGTERM, before it is killed. Zero means 2 s.
	Grace time.Duration
	// Client performs the requests to a URL. Its Timeout does not count, for it would
	// end calls. Nil means one of our own: 10 s to connect, 30 s for a TLS handshake.
	Client *http.Client
	// Changed is called when the server says that its tools are others now. It
	// must return soon and not call methods of the agent. Nil: nobody is told.
	Changed func()
	// Logger gets the server's log messages, what a command prints on standard error,
	// and what goes wrong. Nil discards.
	Logger *slog.Logger
}

func (o *Options) concurrency() int { return cmp.Or(max(o.Concurrency, 0), 16) }

func (o *Options) sessions(s *Server) int {
	switch {
	case o.Sessions > 0:
		return o.Sessions
	case len(s.Command) > 0:
		return 1
	}
	return 64
}

// timeout is 0 where there is none.
func (o *Options) timeout() time.Duration {
	return max(cmp.Or(o.Timeout, 5*time.Minute), 0)
}

func (o *Options) connectTimeout() time.Duration {
	return cmp.Or(max(o.ConnectTimeout, 0), 30*time.Second)
}

func (o *Options) maxMessage() int { return cmp.Or(max(o.MaxMessage, 0), 16<<20) }

func (o *Options) grace() time.Duration { return cmp.Or(max(o.Grace, 0), 2*time.Second) }

func (o *Options) changed() {
	if o.Changed != nil {
		o.Changed()
	}
}

func (o *Options) logger() *slog.Logger { return cmp.Or(o.Logger, slog.New(slog.DiscardHandler)) }
