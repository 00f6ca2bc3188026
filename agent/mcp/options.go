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
	// Dir is the directory in which the command runs; "" is this process's.
	Dir string
	// Env are variables of the command in addition to this process's environment, as
	// "NAME=value".
	Env []string

	// URL is the address of a server over streamable HTTP.
	URL string
	// Headers are sent with each request to the URL's own host, but not to the target
	// of a redirect to another host.
	Headers map[string]a2a.Secret
}

// Options adjusts an Agent or Tools. A nil *Options means all defaults.
type Options struct {
	// Tools are the names of the tools that are offered. Empty means all.
	Tools []string
	// Concurrency is how many calls are at work at a time; more wait, first come, first
	// served. A call that waits for its client's answer does not count. Zero means 16.
	Concurrency int
	// Sessions is how many sessions, and so processes of a command, there are at most.
	// Calls share sessions when the limit is reached. A question of a server older than
	// 2026-07-28 does not say which call it belongs to: it is refused if its session is
	// shared at that moment, so a server whose tools ask should have a session for each
	// call. Zero means 1 for a command, so that one process remembers everything, and
	// 64 for a URL.
	Sessions int
	// Timeout is how long a call may go on without progress; questions and their
	// answers do not count. Zero means 5 min; negative means no limit.
	Timeout time.Duration
	// ConnectTimeout bounds opening a session, and each listing of its tools. Zero
	// means 30 s.
	ConnectTimeout time.Duration
	// MaxMessage caps one message of the server, in bytes. Zero means 16 MiB.
	MaxMessage int
	// Grace is how long a command may take to end after its input was closed, and
	// again after SIGTERM, before it is killed. Zero means 2 s.
	Grace time.Duration
	// Client performs the requests to a URL. Its Timeout is ignored, because it would
	// end calls. Nil means a client with 10 s to connect and 30 s for a TLS handshake.
	Client *http.Client
	// Changed is called when the server says that its tools have changed. It must
	// return soon and not call methods of the agent. May be nil.
	Changed func()
	// Logger gets the server's log messages, a command's standard error, and errors.
	// Nil discards.
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

// timeout returns 0 for no limit.
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
