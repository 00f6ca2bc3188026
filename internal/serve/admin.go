package serve

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"crypto/tls"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aserver"
	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/engine"
	"github.com/parley-a2a/parley/internal/admin"
	"github.com/parley-a2a/parley/internal/config"
	"github.com/parley-a2a/parley/internal/database"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/plain"
	"github.com/parley-a2a/parley/internal/port"
	"github.com/parley-a2a/parley/internal/wake"
	"github.com/parley-a2a/parley/store"
)

// administration is the host's admin.API.
type administration struct {
	// set by Open, then constant
	h        *Host
	store    database.Store
	engine   *engine.Engine
	keys     *auth.Keys
	token    a2a.Secret
	started  time.Time
	draining chan struct{} // closed when Run ends
	feed     *feed
}

var _ admin.API = (*administration)(nil)

// Admin returns the administration of the host for callers within this process, who are
// identified by the context.
func (h *Host) Admin() admin.API { return h.admin }

// newAdministration returns an administration that attach completes, once the server is
// made.
func newAdministration(h *Host, st database.Store) *administration {
	return &administration{h: h, store: st, keys: auth.NewKeys(st, nil), token: admin.NewToken(), started: time.Now(), draining: make(chan struct{})}
}

// attach connects the server's engine, before it runs.
func (a *administration) attach(e *engine.Engine) {
	a.engine = e
	a.feed = &feed{a: a, name: rand.Text()[:8], told: map[store.Key]store.Row{}, nodes: map[string]string{}}
	e.Observe(a.feed)
}

// handler returns the API over HTTP.
func (a *administration) handler() http.Handler {
	return admin.New(a, admin.Options{
		Identify: a.identify, Draining: a.draining, Logger: a.h.log,
		Challenges: func(status int) []string {
			code := a2a.CodeUnauthenticated
			if status == http.StatusForbidden {
				code = a2a.CodePermissionDenied
			}
			if g := a.h.view.Load().of.guard; g != nil {
				return g.Challenges(&a2a.Error{Code: code})
			}
			return []string{"Bearer"}
		},
	})
}

// identify accepts callers with the token of this start, and callers that the server's
// own guard accepts.
func (a *administration) identify(r *http.Request, again bool) (a2a.Caller, *admin.Error) {
	if given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok && subtle.ConstantTimeCompare([]byte(given), []byte(a.token.Reveal())) == 1 {
		return a2a.Caller{Subject: "local", Via: "token of this machine", Scopes: []string{a2a.ScopeAdminRead, a2a.ScopeAdminWrite}}, nil
	}
	none := admin.Errorf(http.StatusUnauthorized, "the admin API needs credentials with the scope %s: parley key create --role admin makes a key", a2a.ScopeAdminRead)
	g := a.h.view.Load().of.guard
	if g == nil {
		return a2a.Caller{}, none
	}
	var caller a2a.Caller
	var err error
	if again { // a repeated check does not count as a guess
		caller, err = g.Again(r)
	} else {
		caller, err = a.h.authenticate(g, r, "admin")
	}
	var e *a2a.Error
	switch {
	case err == nil && caller.Subject == "":
		return caller, none
	case err == nil:
		return caller, nil
	case !errors.As(err, &e):
		a.h.log.Error("a caller of the admin API could not be identified", "error", err)
		return caller, admin.Errorf(http.StatusInternalServerError, "something went wrong; the server's log says what")
	}
	return caller, admin.Errorf(dialect.HTTPStatus(dialect.V10, e.Code), "%s", e.Message)
}

// record writes to the audit log who did what, with which result.
func (a *administration) record(ctx context.Context, op string, err error, attrs ...slog.Attr) {
	caller := a2a.CallerFrom(ctx)
	outcome := "ok"
	if e, ok := errors.AsType[*admin.Error](err); ok {
		outcome = http.StatusText(e.Status)
	} else if err != nil {
		outcome = "error"
	}
	list := []slog.Attr{slog.String("op", op), slog.String("outcome", outcome), slog.String("subject", caller.Subject), slog.String("via", caller.Via)}
	a.h.audit.Event(a2aserver.AuditAdminCall, append(list, Known(attrs...)...)...)
}

// shownAgents returns the agents of a revision as the administration shows them, without what
// changes while they run.
func (a *administration) shownAgents(r *revision) (list []admin.Agent) {
	for i, n := range r.agents {
		card := &r.hosted[i].Card
		s := admin.Agent{
			Name: n.from.Name, Default: n.from.Default, Kind: kindOf(&n.from), Title: card.Name, Description: card.Description,
			What: a.h.env.Stderr.Redact(n.what), State: admin.AgentReady, Tasks: map[string]int{},
		}
		if !n.from.Default && n.from.Name != "" {
			s.Path = a2aserver.AgentsPath + "/" + n.from.Name
		}
		if n.unknown != nil {
			s.State, s.Reason = admin.AgentAway, a.h.env.Stderr.Redact(plain.Line(n.unknown.Error()))
		} else {
			s.Findings = ofAgent(n.from.Name, cardFindings(card, n.madeUp && n.from.Card.Description == "" && len(n.from.Card.Skills) == 0))
		}
		list = append(list, s)
	}
	return list
}

// kindOf returns the kind of an agent.
func kindOf(c *config.Agent) string {
	switch {
	case c.Exec != nil:
		return "exec"
	case c.HTTP != nil:
		return "http"
	case c.OpenAI != nil:
		return "openai"
	case c.Proxy != nil:
		return "proxy"
	case c.MCP != nil:
		return "mcp"
	}
	return c.Builtin
}

// Readiness implements admin.API.
func (a *administration) Readiness(ctx context.Context) (*admin.Readiness, error) {
	if err := admin.May(ctx, a2a.ScopeAdminRead); err != nil {
		return nil, err
	}
	return a.readiness(), nil
}

func (a *administration) readiness() *admin.Readiness {
	r := &admin.Readiness{Ready: true, Version: a.h.env.Version, Node: a.engine.Node(), Started: a.started.UTC().Truncate(time.Millisecond), Now: a.engine.Now()}
	switch trouble := a.engine.Trouble(); {
	case wake.Closed(a.draining):
		r.Ready, r.Reason = false, "shutting down"
	case !a.engine.Registered():
		r.Ready, r.Reason = false, "the server is starting"
	case trouble != nil:
		r.Ready, r.Reason = false, trouble.Error()
	}
	return r
}

// Agents implements admin.API.
func (a *administration) Agents(ctx context.Context) ([]admin.Agent, error) {
	if err := admin.May(ctx, a2a.ScopeAdminRead); err != nil {
		return nil, err
	}
	work, err := a.work(ctx)
	if err != nil {
		return nil, err
	}
	v := a.h.view.Load()
	agents := slices.Clone(v.agents)
	away := v.behind.look(ctx)
	for i := range agents {
		s := &agents[i]
		if err := away[i]; err != nil {
			s.State, s.Reason = admin.AgentAway, a.h.env.Stderr.Redact(plain.Line(err.Error()))
		}
		s.Tasks = map[string]int{}
		s.Card = a.card(ctx, s.Path)
		name := s.Name
		if s.Default {
			name = "" // as in the keys of its tasks
		}
		for _, w := range work {
			if of, _ := engine.AgentOf(w.Tenant); of == name {
				s.Tasks[admin.StateWord(a2a.TaskState(w.State))] += w.Tasks
			}
		}
	}
	return agents, nil
}

// card returns the card of an agent as callers get it; nil if there is none.
func (a *administration) card(ctx context.Context, path string) json.RawMessage {
	address := hostOf(LocalURL(a.h.addr, false))
	return a.cardAt(ctx, &url.URL{Scheme: "http", Host: cmp.Or(a.anotherHost(address), address)}, path)
}

// cardAt is card for clients that use this address.
func (a *administration) cardAt(ctx context.Context, at *url.URL, path string) []byte {
	path += "/.well-known/agent-card.json"
	r, err := http.NewRequestWithContext(port.With(ctx), http.MethodGet, "http://"+at.Host+path, nil)
	if err != nil {
		return nil
	}
	r.RequestURI = at.Path + path
	if at.Scheme == "https" {
		r.TLS = new(tls.ConnectionState)
	}
	r.RemoteAddr = net.JoinHostPort("127.0.0.1", "0")
	w := &answer{header: http.Header{}}
	a.h.server.Handler().ServeHTTP(w, r)
	if w.status/100 != 2 || !json.Valid(w.body) {
		return nil
	}
	return w.body
}

// answer is an http.ResponseWriter for a handler of this process.
type answer struct {
	header http.Header
	status int
	body   []byte
}

func (w *answer) Header() http.Header { return w.header }
func (w *answer) WriteHeader(status int) {
	w.status = cmp.Or(w.status, status)
}
func (w *answer) Write(b []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	w.body = append(w.body, b...)
	return len(b), nil
}

// Nodes implements admin.API.
func (a *administration) Nodes(ctx context.Context) ([]admin.Node, error) {
	if err := admin.May(ctx, a2a.ScopeAdminRead); err != nil {
		return nil, err
	}
	return a.nodes(ctx)
}

func (a *administration) nodes(ctx context.Context) ([]admin.Node, error) {
	all, err := a.store.AllNodes(ctx)
	if err != nil {
		return nil, a.failed("read nodes", err)
	}
	var list []admin.Node
	dead := a.engine.DeadBefore()
	for _, n := range all {
		is := admin.Node{Name: n.Name, This: n.Name == a.engine.Node(), State: admin.NodeAlive, Beat: n.Beat}
		switch {
		case is.This:
			is.Tasks = a.engine.AtWork()
		case n.Left:
			is.State = admin.NodeLeft
		case n.Beat.Before(dead) || !a.h.location.Shared():
			is.State = admin.NodeSilent
		}
		list = append(list, is)
	}
	return list, nil
}

// Store implements admin.API.
func (a *administration) Store(ctx context.Context) (*admin.Store, error) {
	if err := admin.May(ctx, a2a.ScopeAdminRead); err != nil {
		return nil, err
	}
	l := a.h.location
	s := &admin.Store{Kind: "sqlite", Where: a.h.env.Stderr.Redact(l.String()), Shared: l.Shared()}
	switch {
	case l.Memory():
		s.Kind = "memory"
	case l.Shared():
		s.Kind = "postgres"
	default:
		s.Bytes = l.Size()
	}
	if free, ok := freeSpace(l.Data); ok && !l.Memory() && !l.Shared() {
		s.Free = free
	}
	if err := a.engine.Trouble(); err != nil {
		s.Trouble = err.Error()
	}
	if st, ok := a.store.(interface{ Stats() store.Stats }); ok {
		n := st.Stats()
		s.Commits, s.Entries = n.Commits, n.Entries
	}
	return s, nil
}

// Settings implements admin.API.
func (a *administration) Settings(ctx context.Context) ([]admin.Setting, error) {
	if err := admin.May(ctx, a2a.ScopeAdminRead); err != nil {
		return nil, err
	}
	return a.h.view.Load().settings, nil
}

// CheckSettings implements admin.API. It does not look for variables and files that the
// draft names, because its sender must not learn what exists on the machine.
func (a *administration) CheckSettings(ctx context.Context, yaml []byte) ([]admin.Finding, error) {
	if err := admin.May(ctx, a2a.ScopeAdminRead); err != nil {
		return nil, err
	}
	_, err := config.Parse(DefaultFile, yaml, &config.Options{Check: CheckValue(), Given: a.h.line.Sets, Elsewhere: true})
	var wrong *config.Error
	switch {
	case err == nil:
		return nil, nil
	case !errors.As(err, &wrong):
		return nil, admin.Invalid("body", "cannot be read: %v", err)
	}
	var list []admin.Finding
	for _, p := range wrong.Problems {
		list = append(list, admin.Finding{Field: p.Path, Message: p.Message, Line: p.Line, Column: p.Column})
	}
	return list, nil
}

// failed returns the error for a store that could not be read or written.
func (a *administration) failed(what string, err error) error {
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, store.ErrNotFound), errors.Is(err, a2a.ErrTaskNotFound):
		return admin.Errorf(http.StatusNotFound, "there is no such task")
	case errors.Is(err, store.ErrClosed):
		return admin.Errorf(http.StatusServiceUnavailable, "the server is stopping")
	case errors.Is(err, store.ErrUnreachable):
		return &admin.Error{Status: http.StatusServiceUnavailable, Message: "the database cannot be reached at the moment; try again shortly", Cause: err}
	}
	a.h.log.Error("a call of the admin API failed", "what", what, "error", err)
	return &admin.Error{Status: http.StatusInternalServerError, Message: what + ": something went wrong; the server's log says what", Cause: err}
}

// publish writes the file in which the users of this machine find the API. If it
// cannot, the server runs without it.
func (a *administration) publish() (remove func()) {
	name := a.h.location.AdminFile()
	if name == "" {
		return func() {}
	}
	l := &admin.Local{URL: a.h.URL(), Token: a.token, PID: os.Getpid(), Audit: a.h.audit.where()}
	console, link := a.h.console()
	l.Console = a2a.Secret(cmp.Or(link, console))
	l.Host = a.anotherHost(hostOf(l.URL))
	err := os.MkdirAll(filepath.Dir(name), 0o700)
	if err == nil {
		remove, err = l.Write(name)
	}
	if err != nil {
		a.h.log.Warn("parley admin cannot find this server", "error", err)
		return func() {}
	}
	return remove
}

// anotherHost returns a host name that requests may have; "" if they may have this
// address.
func (a *administration) anotherHost(address string) string {
	hosts := a.h.view.Load().hosts
	host, _, err := net.SplitHostPort(address)
	if len(hosts) == 0 || err == nil && slices.ContainsFunc(hosts, func(h string) bool { return strings.EqualFold(h, host) }) {
		return ""
	}
	return hosts[0]
}
