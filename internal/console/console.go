// Package console is the web console: pages to talk to agents, to watch their tasks
// and to operate a server.
//
// Pages are html/template, embedded, and work without scripts, by reloading. Their live parts
// are fragments of HTML sent over EventSource, each with a position in a task's log. So a
// browser that lost its connection asks for exactly what it missed, by the Last-Event-ID that
// it sends itself, at any replica and after a crash. The same code makes a page and its live
// part from the same entries: see flow. The browser computes nothing from a task's events.
//
// The package sees agents as an [a2a.Service], called as the viewer, and everything
// else through [Options]; it never sees an engine or a store.
package console

import (
	"cmp"
	"context"
	"embed"
	"io/fs"
	"iter"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/admin"
)

// Agent is an agent that people can talk to.
type Agent struct {
	Name    string         // as in addresses; "" for an only agent without one
	Card    *a2a.AgentCard // its texts do not mislead: see CalmCard
	Service a2a.Service
	Model   bool // it is a model, whose tasks use tokens

	ref string // for an agent of another server: its key
}

// Key names the agent in the console's addresses.
func (a Agent) Key() string { return keyOf(a.Name) }

// keyOf names an agent in addresses by its name in the administration.
func keyOf(agent string) string { return cmp.Or(agent, "-") } // no agent has that name

// Options says what a Console shows. All functions may be called by many goroutines
// at once, with a context that carries the viewer as its caller.
type Options struct {
	// Agents returns the agents, the default one first.
	Agents func() []Agent
	// Published returns an agent's card as callers get it at the address of a request; nil if
	// there is none. If Published is nil, pages show Agent.Card.
	Published func(r *http.Request, agent string) []byte
	// Log reads the log of an agent's task after a position, in batches. It ends at the end of
	// the log or, with follow, when the task is terminal. If the viewer may not see the task,
	// the error is TaskNotFound.
	Log func(ctx context.Context, agent, task string, after int64, follow bool) iter.Seq2[[]*a2a.Entry, error]
	// Admin is the server's administration, which checks the viewer's scopes itself. Nil: pages
	// show only what agents tell the viewer.
	Admin admin.API
	// Recent returns samples of the last minutes, oldest first. Nil: there are none.
	Recent func() []Sample
	// Elsewhere finds the agent of another server, by its address or that of its card. Nil:
	// pages call no other server.
	Elsewhere func(ctx context.Context, ref string) (*Foreign, error)
	// Viewer identifies the caller with these Credentials. again says that they were valid
	// before, so that invalid ones do not count as a guess. Nil: the link with the token is the
	// only way in.
	Viewer func(r *http.Request, c Credentials, again bool) (a2a.Caller, error)
	// Login signs people in at an issuer. Nil: there is none.
	Login Login
	// Local is the caller for the link with the token.
	Local a2a.Caller
	// Token opens the console on this machine, in the link that is printed at the start. Empty:
	// there is no such link.
	Token string
	// Secret seals cookies, so that they are valid at every replica and after a restart: at
	// least 32 bytes.
	Secret []byte
	// Trace returns the address of a trace in the operators' trace viewer, by its id. Nil:
	// operators see ids without a link, as other viewers do.
	Trace func(id string) string
	// Name is the server's, for titles. Version is the program's.
	Name, Version string
	// MaxUpload caps a message with its files, in bytes. Zero means 8 MiB.
	MaxUpload int64
	// Logger gets internal errors. Nil discards.
	Logger *slog.Logger
}

// Login signs people in at an issuer.
type Login interface {
	// Name is the issuer's name, for people.
	Name() string
	// Begin returns the address to send the browser to, and the secret data that Finish needs
	// when the browser comes back to the redirect URL.
	Begin(ctx context.Context, redirect string) (to string, pending []byte, err error)
	// Finish returns the tokens for the browser's query, the best one first.
	Finish(ctx context.Context, pending []byte, query string) (tokens []string, err error)
}

// Console is an http.Handler for paths without the prefix that it is mounted at; Base is that
// prefix.
type Console struct {
	opts   Options
	prefix string // set by At, before requests come
	mux    *http.ServeMux
	jar    *jar
	log    *slog.Logger
	now    func() time.Time

	streams  streams
	rendered recents[rendered]
	counted  recents[counted]
}

//go:embed static
var static embed.FS

// New returns a console.
func New(o Options) (*Console, error) {
	o.MaxUpload = cmp.Or(o.MaxUpload, 8<<20)
	o.Name = cmp.Or(o.Name, "Parley")
	c := &Console{opts: o, mux: http.NewServeMux(), log: o.Logger, now: time.Now}
	c.log = cmp.Or(c.log, slog.New(slog.DiscardHandler))
	var err error
	if c.jar, err = newJar(o.Secret); err != nil {
		return nil, err
	}
	files, err := fs.Sub(static, "static")
	if err != nil {
		return nil, err
	}
	c.mux.Handle("GET /static/{mark}/{file}", assets(files))
	c.mux.HandleFunc("GET /open", c.open)
	c.mux.HandleFunc("GET /login", c.login)
	c.mux.HandleFunc("POST /login", c.enter)
	c.mux.HandleFunc("GET /login/issuer", c.toIssuer)
	c.mux.HandleFunc("GET /login/back", c.fromIssuer)
	c.mux.HandleFunc("POST /logout", c.leave)
	c.page("GET /{$}", c.home)
	c.page("GET /agents", c.agents)
	c.agentPage("GET /agents/{agent}", c.agent)
	c.agentPage("GET /chat/{agent}", c.chat)
	c.agentPage("POST /chat/{agent}", c.say)
	c.agentPage("GET /tasks/{agent}/{task}", c.task)
	c.page("GET /live", c.live)
	c.page("GET /waiting", c.count)
	c.page("GET /tasks/{agent}/{task}/part", c.part)
	c.page("GET /tasks/{agent}/{task}/artifacts.zip", c.archive)
	c.agentPage("POST /tasks/{agent}/{task}/answer", c.say)
	c.agentPage("POST /tasks/{agent}/{task}/cancel", c.cancel)
	c.agentPage("POST /tasks/{agent}/{task}/retry", c.retry)
	c.agentPage("POST /tasks/{agent}/{task}/resend", c.resend)
	c.page("POST /tasks/{agent}/{task}/delete", c.remove)
	c.page("GET /tasks", c.tasks)
	c.page("GET /tasks/live", c.changes)
	c.page("GET /inbox", c.inbox)
	c.page("GET /elsewhere", c.elsewhere)
	c.operatorPage("GET /webhooks", func(w http.ResponseWriter, r *request) { c.webhooks(w, r, nil) })
	c.operatorPage("POST /webhooks", c.again)
	c.operatorPage("GET /operate", func(w http.ResponseWriter, r *request) { c.operate(w, r, operateData{View: r.FormValue("view")}) })
	c.operatorPage("GET /operate/figures", c.figures)
	c.operatorPage("POST /operate/draft", c.draft)
	c.operatorPage("POST /operate/keys", c.key)
	c.mux.HandleFunc("/", c.nowhere)
	return c, nil
}

// ServeHTTP answers a request, whose path has no prefix.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("X-DNS-Prefetch-Control", "off") // the browser does not look up a link before it is followed
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Permissions-Policy", "camera=(), microphone=(), geolocation=(), interest-cohort=()")
	if !sameSite(r) {
		http.Error(w, "This page cannot be called from another site.", http.StatusForbidden)
		return
	}
	out := &timed{ResponseWriter: w, rc: http.NewResponseController(w)}
	c.mux.ServeHTTP(out, r)
	out.done()
}

// timed gives each write of an answer a deadline.
type timed struct {
	http.ResponseWriter
	rc *http.ResponseController
}

func (t *timed) Unwrap() http.ResponseWriter { return t.ResponseWriter }

func (t *timed) Write(b []byte) (n int, err error) {
	for first := true; first || len(b) > 0 && err == nil; first = false {
		_ = t.rc.SetWriteDeadline(time.Now().Add(writeTime)) // writers in tests have no deadline
		var m int
		m, err = t.ResponseWriter.Write(b[:min(len(b), 32<<10)])
		n, b = n+m, b[m:]
	}
	return n, err
}

// done flushes the response, so that no later write waits without a deadline.
func (t *timed) done() {
	_ = t.rc.SetWriteDeadline(time.Now().Add(writeTime))
	_ = t.rc.Flush()
	_ = t.rc.SetWriteDeadline(time.Time{}) // the connection may be reused
}

// policy allows pages only what the server itself sends: no script or style in a page, no
// frame, no request to another origin.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; media-src 'self'; " +
	"connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// sameSite reports whether a request that changes or reads something comes from a page of the
// console, or from no page. Links may be followed from anywhere.
func sameSite(r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site")
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return site == "" || site == "same-origin" || site == "none" || r.Header.Get("Sec-Fetch-Mode") == "navigate"
	}
	if origin := r.Header.Get("Origin"); origin != "" {
		_, host, ok := strings.Cut(origin, "://")
		return ok && (strings.EqualFold(host, r.Host) || strings.EqualFold(origin, asked(r).Scheme+"://"+asked(r).Host))
	}
	return site == "" || site == "same-origin"
}

// assets serves the files that come with the program. Their addresses change with their
// content, so browsers may cache them; modules import each other by relative addresses.
func assets(files fs.FS) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		keep := "public, max-age=31536000, immutable"
		if r.PathValue("mark") != mark() {
			keep = "no-store" // of a page that a server of another version made
		}
		w.Header().Set("Cache-Control", keep)
		http.ServeFileFS(w, r, files, r.PathValue("file"))
	})
}

// nowhere answers requests for which there is no page.
func (c *Console) nowhere(w http.ResponseWriter, r *http.Request) {
	c.fail(w, r, http.StatusNotFound, "There is no such page", "The console has nothing at this address.")
}

// find returns the agent with a key; nil if there is none that the viewer may call. An error
// says why an agent of another server cannot be reached.
func (c *Console) find(r *request, key string) (*Agent, error) {
	if strings.HasPrefix(key, foreignMark) {
		return c.foreign(r, key)
	}
	for _, a := range c.opts.Agents() {
		if a.Key() == key {
			return &a, nil
		}
	}
	return nil, nil
}

// agentPage registers the handler of a page of an agent.
func (c *Console) agentPage(pattern string, f func(http.ResponseWriter, *request, *Agent)) {
	c.page(pattern, func(w http.ResponseWriter, r *request) {
		if a := c.called(w, r); a != nil {
			f(w, r, a)
		}
	})
}

// operatorPage registers the handler of a page for operators. Other viewers are told why they
// cannot see it.
func (c *Console) operatorPage(pattern string, f func(http.ResponseWriter, *request)) {
	c.page(pattern, func(w http.ResponseWriter, r *request) {
		switch {
		case c.opts.Admin == nil:
			c.fail(w, r.Request, http.StatusNotFound, "There is nothing to operate here", "This server has no administration.")
		case !c.seesAll(r):
			c.fail(w, r.Request, http.StatusForbidden, "You are not an operator of this server", "Log in with a key that has the scope admin:read: parley key create --role admin makes one.")
		default:
			f(w, r)
		}
	})
}

// called returns the agent in the path. If there is none, it answers the request and returns
// nil.
func (c *Console) called(w http.ResponseWriter, r *request) *Agent {
	a, err := c.find(r, r.PathValue("agent"))
	switch {
	case err != nil && r.ctx.Err() == nil:
		c.fail(w, r.Request, http.StatusBadGateway, "The agent cannot be reached", reason(err))
	case err == nil && a == nil:
		c.noAgent(w, r)
	}
	return a
}

func (c *Console) noAgent(w http.ResponseWriter, r *request) {
	c.fail(w, r.Request, http.StatusNotFound, "There is no such agent", "Choose one of the list of agents.")
}
