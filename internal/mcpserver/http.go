package mcpserver

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-a2a/parley/a2a"
)

const (
	// sessionIdle is how long a session over HTTP may go without a request before it is
	// closed.
	sessionIdle = 30 * time.Minute
	// maxSessions limits the sessions at a time; sessions that begin at the same moment
	// may exceed it.
	maxSessions = 1000
	// maxHello caps a session's first request, in bytes: it is kept as long as the
	// session.
	maxHello = 64 << 10
)

// Handler returns the server over streamable HTTP, for a listener on loopback. It
// refuses requests that name another host and requests from web pages, as the
// protocol's chapter on transports requires. Anybody who can connect acts with the
// client's credentials. All calls end with ctx.
func (s *Server) Handler(ctx context.Context) http.Handler {
	m := s.server(ctx)
	server := func(*http.Request) *mcp.Server { return m }
	// Versions of the protocol from 2026-07-28 on have no sessions; earlier versions
	// require one.
	sessions := mcp.NewStreamableHTTPHandler(server, &mcp.StreamableHTTPOptions{
		SessionTimeout: sessionIdle, MaxRequestBodyBytes: maxMessage, Logger: s.log,
	})
	single := mcp.NewStreamableHTTPHandler(server, &mcp.StreamableHTTPOptions{
		Stateless: true, MaxRequestBodyBytes: maxMessage, PropagateRequestCancellation: true, Logger: s.log,
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !local(r):
			http.Error(w, "this server is for programs of this machine", http.StatusForbidden)
		case r.URL.Path != "/" && r.URL.Path != "/mcp":
			http.NotFound(w, r)
		case r.Header.Get("Mcp-Protocol-Version") >= "2026-07-28":
			single.ServeHTTP(w, r)
		case r.Header.Get("Mcp-Session-Id") != "":
			sessions.ServeHTTP(w, r)
		case len(slices.Collect(m.Sessions())) >= maxSessions:
			http.Error(w, fmt.Sprintf("there are %d sessions, the most allowed: end one with DELETE, or try again later", maxSessions), http.StatusServiceUnavailable)
		default:
			r.Body = http.MaxBytesReader(w, r.Body, maxHello)
			sessions.ServeHTTP(w, r)
		}
	})
}

// local reports whether a request was addressed to this machine, and not sent by a page
// of another site.
func local(r *http.Request) bool {
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		host = r.Host
	}
	if !a2a.IsLoopback(strings.Trim(host, "[]")) {
		return false
	}
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" && site != "none" {
		return false
	}
	for _, origin := range r.Header.Values("Origin") {
		u, err := url.Parse(origin)
		if err != nil || u.Host == "" || u.Host != r.Host {
			return false
		}
	}
	return true
}
