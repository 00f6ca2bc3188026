package a2aserver

import (
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/parley-a2a/parley/a2a"
)

// Server is the http.Handler of one agent. Mount it where the agent's URL is.
type Server struct {
	// set by New, then constant
	svc      a2a.Service
	card     *a2a.AgentCard
	opts     *Options
	log      *slog.Logger
	started  time.Time
	resumes  bool   // as the card says: see ResumeExtension
	public   signer // of the public card
	extended signer // of extended cards
	*shared
	*desk

	name string // in a Host; "" elsewhere, and of an agent without one
	at   string // the path of the agent below the Host; "" where it is the Host's own

	openDoor bool // nobody wants to know who calls
}

// New returns the handler of svc. The card is what clients get to see; if it
// lists no interfaces, those of this handler are added. It must not be changed
// afterwards.
func New(svc a2a.Service, card *a2a.AgentCard, o *Options) *Server {
	if svc == nil || card == nil {
		panic("a2aserver: New needs a service and a card")
	}
	if o != nil && o.Sign != nil && o.publicURL() == "" && len(card.SupportedInterfaces) == 0 {
		panic("a2aserver: a signed card needs Options.PublicURL, or interfaces of its own")
	}
	return newServer(svc, card, o, newShared(o), newDesk(o, nil))
}

func newServer(svc a2a.Service, card *a2a.AgentCard, o *Options, sh *shared, d *desk) *Server {
	s := &Server{svc: svc, card: card, opts: o, log: o.logger(), started: time.Now(), resumes: canResume(card), shared: sh, desk: d}
	s.openDoor = o.identity() == nil && s.rates == nil && s.audit == nil && (o == nil || len(o.Hosts) == 0)
	return s
}

var (
	errDraining = a2a.Errorf(a2a.CodeUnavailable, "the server is shutting down; the task goes on when it is back: get it or subscribe to it then")
	errClosing  = a2a.Errorf(a2a.CodeUnavailable, "the server is shutting down: try again later")
)

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	limitBody(w, r)
	if !s.fromBrowser(w, r) {
		return
	}
	path := r.URL.EscapedPath()
	if strings.HasPrefix(path, "//") {
		path = path[1:] // whoever knows the agent's URL with a slash at its end
	}
	switch path {
	case "", "/":
		if r.Method == http.MethodPost {
			s.serveRPC(w, r)
		} else {
			s.serveHint(w, r)
		}
	case cardPath, oldCardPath:
		s.serveCard(w, r, path)
	case extendedPath:
		s.serveExtended(w, r)
	case keysPath:
		s.serveKeys(w, r)
	case CardKeysPath:
		s.serveCardKeys(w, r)
	case "/livez":
		s.serveProbe(w, r, nil)
	case "/readyz":
		s.serveProbe(w, r, s.ready())
	default:
		s.serveREST(w, r, path)
	}
}

func (s *Server) ready() error {
	if s.draining.Err() != nil {
		return errors.New("shutting down")
	}
	return s.opts.ready()
}

// HTTPServer returns a server for h with limits that suit a Server: 10 s for a
// request's header of at most 64 KiB, 2 minutes for an idle connection, and
// none for an answer, whose writes a Server limits one by one.
func HTTPServer(h http.Handler) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    64 << 10,
		ConnState: func(c net.Conn, state http.ConnState) {
			if state == http.StateIdle {
				// The limit of a stream's last write would hit the next
				// handler that uses the connection.
				_ = c.SetWriteDeadline(time.Time{})
			}
		},
	}
}
