package a2aserver

import (
	"cmp"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/port"
)

// Server is the http.Handler of one agent. Mount it at the agent's URL.
type Server struct {
	// set by New, then constant
	svc      a2a.Service
	card     *a2a.AgentCard
	opts     *Options
	log      *slog.Logger
	started  time.Time
	resumes  bool // as the card says: see ResumeExtension
	tracing  tracing
	public   signer // of the public card
	extended signer // of extended cards
	*shared
	*quotas

	name string // in a Host; "" elsewhere, and of an agent without one
	at   string // the path of the agent below the Host; "" where it is the Host's own
}

// New returns the handler of svc. Clients get card; if it lists no interfaces, those of
// this handler are added. The card must not be changed afterwards.
func New(svc a2a.Service, card *a2a.AgentCard, o *Options) *Server {
	if svc == nil || card == nil {
		panic("a2aserver: New needs a service and a card")
	}
	o = cmp.Or(o, new(Options))
	if o.Sign != nil && o.publicURL() == "" && len(card.SupportedInterfaces) == 0 {
		panic("a2aserver: a signed card needs Options.PublicURL, or interfaces of its own")
	}
	return newServer(svc, card, o, newShared(o), newQuotas(o, nil))
}

func newServer(svc a2a.Service, card *a2a.AgentCard, o *Options, sh *shared, d *quotas) *Server {
	return &Server{svc: svc, card: card, opts: o, log: o.logger(), started: time.Now(), resumes: canResume(card), tracing: newTracing(o, card), shared: sh, quotas: d}
}

var (
	errDraining = a2a.Errorf(a2a.CodeUnavailable, "the server is shutting down; the task continues when it is back: get it or subscribe to it then")
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
		path = path[1:] // a client may have the agent's URL with a slash at its end
	}
	switch path {
	case "", "/":
		if r.Method == http.MethodPost {
			s.serveRPC(w, r)
		} else {
			s.servePublic(w, r, "/")
		}
	case cardPath, oldCardPath, keysPath, CardKeysPath, "/livez", "/healthz", "/readyz":
		s.servePublic(w, r, path)
	case extendedPath:
		s.serveExtended(w, r)
	default:
		s.serveREST(w, r, path)
	}
}

// servePublic answers what everybody may read, without identifying the caller. If there
// are too many such answers, a probe gets its status only, and all else is refused with
// 503.
func (s *Server) servePublic(w http.ResponseWriter, r *http.Request, path string) {
	closeUnread(w.Header(), r)
	from := s.strangerOf(r)
	switch {
	case s.strangers.Enter(from):
		defer s.strangers.Leave(from)
		out := port.NewWriter(w, s.opts.writeTimeout())
		defer out.Flush() // net/http would do it later, when it is not counted
		w = out
	case isProbe(path):
		w = port.Bodiless{ResponseWriter: w}
	default:
		w.Header().Set("Retry-After", "5")
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	switch path {
	case "/":
		s.serveHint(w, r)
	case cardPath, oldCardPath:
		s.serveCard(w, r, path)
	case keysPath:
		s.serveKeys(w, r)
	case CardKeysPath:
		s.serveCardKeys(w, r)
	case "/livez", "/healthz":
		s.serveProbe(w, r, nil)
	case "/readyz":
		s.serveProbe(w, r, s.ready())
	}
}

func (s *Server) ready() error {
	if s.open.draining() {
		return errors.New("shutting down")
	}
	return s.opts.ready()
}
