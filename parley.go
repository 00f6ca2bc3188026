package parley

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aserver"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/engine"
	"github.com/parley-a2a/parley/internal/interrupt"
	"github.com/parley-a2a/parley/internal/skill"
	"github.com/parley-a2a/parley/store"
	"github.com/parley-a2a/parley/store/sqlite"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
)

// Options adjusts a Server. A nil *Options means all defaults.
type Options struct {
	// Store keeps the tasks. Nil keeps them in memory. The caller closes it
	// after Serve has returned.
	Store store.Store
	// PublicURL is the address that cards advertise, such as
	// https://agents.example.org. If Mount or a proxy puts the agent below a path,
	// include that path. Empty means the address and path of the request.
	PublicURL string
	// TrustedProxies are the addresses of proxies whose Forwarded and X-Forwarded
	// headers are trusted to tell the address of a request, unless PublicURL is set;
	// see [a2aserver.Options]. If there are none, these headers are ignored.
	TrustedProxies []netip.Prefix
	// CardProfile says for which versions of the protocol the card is written. Zero
	// means all. Every version is served either way.
	CardProfile a2aserver.CardProfile
	// ExtendedCard is the answer to GetExtendedAgentCard; New's card must set
	// Capabilities.ExtendedAgentCard. Only Name is needed here, too: the rest is taken
	// from New's card, which is the one that is enforced. With Auth only authenticated
	// callers get it, and they see a skill that requires scopes (SecurityRequirements)
	// only if they have those scopes. Nil: none configured.
	ExtendedCard *a2a.AgentCard
	// ExtendedCardFor returns the extended card for one caller, and replaces
	// ExtendedCard; a nil card means that the caller has none.
	ExtendedCardFor func(context.Context, a2a.Caller) (*a2a.AgentCard, error)
	// StrictVersions refuses v1.0 requests without A2A-Version: 1.0, which the
	// specification requires (§3.6.2) and many clients omit.
	StrictVersions bool
	// Auth authenticates callers; the card lists the schemes that it checks. Nil means
	// that all callers are anonymous and share all tasks, unless a handler in front
	// identifies them (a2a.WithCaller).
	Auth *auth.Guard
	// Recheck is how often the credentials of long calls, such as streams, are checked
	// again; a call ends when its credentials do. Zero means 30 s; negative, never.
	Recheck time.Duration
	// Limits bound the resources of one request and one caller, TaskLimits those of
	// tasks.
	Limits     a2aserver.Limits
	TaskLimits engine.Limits
	// MaxBody caps the body of a request, in bytes. Zero means 8 MiB.
	MaxBody int64
	// Audit gets a record for each call: who did what, or was refused. Nil discards.
	Audit *slog.Logger
	// Requests gets a record for each call when it ends: see [a2aserver.Options]. Nil
	// discards.
	Requests *slog.Logger
	// Origins and Hosts limit calls from browsers; see [a2aserver.Options].
	Origins, Hosts []string
	// Beside are handlers of paths that belong to no agent; see [a2aserver.Options].
	// Only a Server of NewHost uses them.
	Beside map[string]http.Handler
	// Front is the path in Beside to which / redirects browsers; see
	// [a2aserver.Options].
	Front string
	// CardKeys sign the cards, extended ones too. Each key adds a signature of its own,
	// so that you can replace a key while both are valid; at most 8. They need
	// PublicURL, or a card that lists interfaces. An expired key is an error; when the
	// last one expires while the server runs, new cards are not signed.
	CardKeys []*auth.Key
	// CardKeysURL is the URL of the public keys of CardKeys; signatures name it. Empty
	// means a2aserver.CardKeysPath below PublicURL, where this server publishes them.
	CardKeysURL string
	// CardStrict signs cards exactly as §8.4.1 says, without a second signature: see
	// auth.Signatures. The SDKs for JavaScript and Python then cannot verify cards with
	// empty members, which every card that asks for credentials has.
	CardStrict bool
	// Retention deletes tasks that have not changed for long. The zero value keeps all.
	Retention engine.Retention
	// Cache bounds the finished tasks kept in memory, in bytes: see
	// engine.Options. Zero means 64 MiB; negative, no cache.
	Cache int64
	// DeadAfter says that other processes share Store, and after how much silence a
	// process's tasks are taken over: see engine.Options. Zero means that no other
	// process uses Store.
	DeadAfter time.Duration
	// Capacity is how many tasks may run in this process at a time. More wait in Store
	// until this or another process has capacity: see engine.Options. Zero means that
	// all begin at once.
	Capacity int
	// Retries says which repeated messages are recognized and answered with the first
	// answer. The zero value recognizes those of authenticated callers for 24 h. The
	// card lists a2aserver.RetryExtension, with these details, if your card does or if
	// messages of every caller are recognized.
	Retries engine.Retries
	// Egress says which webhook URLs are allowed. Nil means https URLs of public hosts
	// only, so not this machine or its network.
	Egress *a2aserver.Egress
	// DrainWait bounds how long Serve waits for agents and connections when it
	// ends. Zero means 10 s; below zero it does not wait.
	DrainWait time.Duration
	// Logger gets the server's log. Nil discards.
	Logger *slog.Logger
	// TracerProvider makes spans for calls, for agents' runs and for the calls that
	// runs make; see docs/observability.md. The caller shuts it down after Serve has
	// returned. Nil traces nothing.
	TracerProvider trace.TracerProvider
	// MeterProvider measures calls, tasks, commits and webhooks; docs/observability.md
	// lists the metrics. Gauges are read while Run runs. Nil measures nothing.
	MeterProvider metric.MeterProvider
	// Traceability makes agents offer the traceability extension of a2a-samples: a
	// client that asks for it learns which tools and agents were called for an answer.
	// A card that lists a2a.TraceabilityURI offers it without this option.
	Traceability bool
	// TraceContent puts the text of clients, agents and models into spans: see
	// engine.Options.
	TraceContent bool
}

func (o *Options) drainWait() time.Duration { return cmp.Or(o.DrainWait, 10*time.Second) }

func (o *Options) cache() int64 {
	if o.Store == nil && o.Cache == 0 {
		return -1 // without Store the tasks are in memory anyway
	}
	return o.Cache
}

func (o *Options) retries() engine.Retries {
	r := o.Retries
	r.Window = cmp.Or(r.Window, 24*time.Hour)
	return r
}

func (o *Options) logger() *slog.Logger { return cmp.Or(o.Logger, slog.New(slog.DiscardHandler)) }

// Server is one agent, or several, with its engine and network.
type Server struct {
	opts    *Options
	store   store.Store
	engine  *engine.Engine
	memory  *a2aserver.Memory   // for data that callers send and get
	hooks   *a2aserver.Webhooks // nil if the card says that there are none
	site    a2aserver.Site      // host, or the Server of the only agent
	host    *a2aserver.Host     // nil for a Server of New
	guards  guards
	owned   store.Store // closed by Serve; nil if the caller's
	serving atomic.Bool
}

// New joins an agent, its card and a store. The card needs only a Name. New fills in
// the rest (streaming and push notifications on, text in and out), and enforces what
// the card says, with one exception: without Options.Auth its security schemes describe
// a gateway in front of the handler that checks callers; the server itself then treats
// every caller as anonymous. An agent that is an io.Closer is closed when Run ends.
func New(card a2a.AgentCard, ag agent.Agent, o *Options) (*Server, error) {
	o = cmp.Or(o, new(Options))
	if ag == nil {
		return nil, fmt.Errorf("parley: %q has no agent", card.Name)
	}
	sign, err := o.signer()
	if err != nil {
		return nil, err
	}
	full, extended, err := o.cards(card, sign)
	if err != nil {
		return nil, err
	}
	s := newServer(o)
	eo := s.engineOptions(*full.Capabilities.PushNotifications)
	eo.ExtendedCard = extended
	s.engine = engine.New(s.store, ag, full, eo)
	so, err := s.network(o, sign)
	if err != nil {
		return nil, err
	}
	s.site = a2aserver.New(s.engine, full, so)
	return s, nil
}

// cards returns the card that is published and enforced, and the function that returns
// a caller's extended card.
func (o *Options) cards(card a2a.AgentCard, sign signCard) (*a2a.AgentCard, extendedCard, error) {
	author := card
	if o.Auth != nil {
		if err := o.Auth.Declare(&card); err != nil {
			return nil, nil, err
		}
	}
	full, err := complete(card, o)
	if err != nil {
		return nil, nil, err
	}
	if _, err := skill.New(full); err != nil {
		return nil, nil, fmt.Errorf("parley: %w", err)
	}
	if err := signedBefore(&author, full); err != nil {
		return nil, nil, err
	}
	if err := o.signable(full, sign); err != nil {
		return nil, nil, err
	}
	extended, err := o.extended(full, sign)
	return full, extended, err
}

func newServer(o *Options) *Server {
	s := &Server{opts: o, store: o.Store, memory: a2aserver.NewMemory(&o.Limits, o.MaxBody)}
	if s.store == nil {
		s.store = store.NewMemory()
		s.owned = s.store
	}
	s.guards.next = o.Auth
	return s
}

func (s *Server) engineOptions(push bool) *engine.Options {
	o := s.opts
	eo := &engine.Options{
		Logger:    o.Logger,
		DrainWait: o.drainWait(),
		Retention: o.Retention,
		Retries:   o.retries(),
		Limits:    o.TaskLimits,
		DeadAfter: o.DeadAfter,
		Capacity:  o.Capacity,
		Cache:     o.cache(),
		Memory:    s.memory,

		TracerProvider: o.TracerProvider,
		MeterProvider:  o.MeterProvider,
		TraceContent:   o.TraceContent,
	}
	if push {
		s.hooks = a2aserver.NewWebhooks(o.Egress, "Parley", "")
		s.hooks.LoadKeys(func(ctx context.Context) (*a2aserver.WebhookKeys, error) {
			k, _, err := keysOf(ctx, s.store, time.Now())
			return k, err
		})
		eo.Push = s.hooks
	}
	return eo
}

// network returns the options of a2aserver.
func (s *Server) network(o *Options, sign signCard) (*a2aserver.Options, error) {
	so := &a2aserver.Options{
		MaxBody:        o.MaxBody,
		PublicURL:      o.PublicURL,
		TrustedProxies: o.TrustedProxies,
		CardProfile:    o.CardProfile,
		StrictVersions: o.StrictVersions,
		Keys:           s.hooks.JWKS,
		Logger:         o.Logger,
		Ready: func() error {
			if !s.serving.Load() || !s.engine.Registered() {
				return errors.New("the server is starting")
			}
			return s.engine.Trouble()
		},
		Limits: o.Limits,
		Memory: s.memory,
		Audit:  o.Audit,

		Requests: o.Requests,
		Origins:  o.Origins,
		Hosts:    o.Hosts,
		Beside:   o.Beside,
		Front:    o.Front,

		TracerProvider: o.TracerProvider,
		MeterProvider:  o.MeterProvider,
	}
	if o.Auth != nil {
		so.Identity, so.Recheck = o.Auth, o.Recheck
	}
	if sign != nil {
		var err error
		so.Sign = sign
		if so.CardKeys, err = auth.KeySet(o.CardKeys).JWKS(); err != nil {
			return nil, fmt.Errorf("card keys: %w", err)
		}
	}
	return so, nil
}

// Handler returns the http.Handler of the whole Server. Use it to mount the agent in a
// server of your own, while Run runs. It does not serve gRPC; Serve and Mount do.
func (s *Server) Handler() http.Handler { return s.site }

// Mount puts the agent into mux, below a path such as "/agents/weather", or at "/",
// with all its bindings. They answer while Run runs. Options.PublicURL, if set, must
// end in the path. The agents of a Server of NewHost are at agents/{name} below the
// path.
//
// gRPC has fixed paths outside this path, so only the first Server of a mux has gRPC;
// use NewHost to serve several agents over gRPC. gRPC needs HTTP/2; without TLS, turn
// it on with http.Protocols.SetUnencryptedHTTP2.
func (s *Server) Mount(mux *http.ServeMux, path string) {
	a2aserver.NewPort(s.site).Mount(mux, strings.TrimRight(path, "/"))
}

// Run resumes the work that earlier processes left unfinished, keeps the agent running
// until ctx ends, and then drains: readiness goes false, streams end, running work is
// left for the next start. Call it once: a second call returns an error. Serve calls
// it.
func (s *Server) Run(ctx context.Context) error {
	if s.serving.Swap(true) {
		return errors.New("parley: a Server runs once; make another one")
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// The network drains first: callers that wait get a clear answer, and readiness
	// goes false before the agents are told to stop.
	defer context.AfterFunc(ctx, s.site.Drain)()
	s.guards.begin(ctx)
	err := s.engine.Run(ctx)
	s.site.Drain()
	cancel() // if the engine ended by itself
	err = errors.Join(err, s.guards.end())
	if s.owned != nil {
		err = errors.Join(err, s.owned.Close())
	}
	return err
}

// Engine returns the engine that runs the tasks. Its methods for operators do not check
// the caller.
func (s *Server) Engine() *engine.Engine { return s.engine }

// Left returns how many tasks were running when Run ended; they resume with the next
// Run on the same store. Call it after Run or Serve.
func (s *Server) Left() int { return s.engine.Left() }

// Standings returns the state of each task that this process has in memory.
func (s *Server) Standings() []engine.Standing { return s.engine.Standings() }

// Serve runs the agent on l, over all bindings, until ctx ends. Then it drains as Run
// does, and closes the connections; those still open after DrainWait are cut. It
// returns nil after a clean end.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	port := a2aserver.NewPort(s.site)
	served := make(chan error, 1)
	go func() {
		err := port.Serve(l)
		cancel() // a listener that fails also ends the agent
		served <- err
	}()
	// Agents and connections share DrainWait, which starts when ctx ends.
	bye, done := context.WithCancel(context.WithoutCancel(ctx))
	defer done()
	context.AfterFunc(ctx, func() { time.AfterFunc(s.opts.drainWait(), done) })
	err := s.Run(ctx)
	cancel() // if Run ended by itself

	if shut := port.Shutdown(bye); shut != nil {
		if errors.Is(shut, context.Canceled) {
			// Some client never finished its request. This is not the operator's error,
			// and no task is lost.
			s.opts.logger().Warn("connections did not end in time and were closed", "wait", s.opts.drainWait())
			shut = nil
		}
		err = errors.Join(err, shut, port.Close())
	}
	if lost := <-served; !errors.Is(lost, http.ErrServerClosed) {
		err = errors.Join(err, lost)
	}
	return err
}

// Serve runs an agent at addr until the process is told to stop (SIGINT or SIGTERM),
// and returns nil after a clean end. A second signal ends it at once. It keeps tasks in
// .parley/parley.db below the working directory, as parley serve does. Only one process
// at a time can use that file, and interrupted work resumes at the next start. The
// address and the log go to standard error. Everybody who can reach addr may call; to
// serve callers on other machines use New with Options.Auth. At a loopback address it
// answers only requests for localhost and its addresses. A task that reaches 64 MiB
// fails.
func Serve(addr string, card a2a.AgentCard, ag agent.Agent) error {
	ctx, stop := interrupt.Context()
	defer stop()
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	st, err := sqlite.Open(serveStore, &sqlite.Options{Logger: log})
	if err != nil {
		return errors.Join(fmt.Errorf("open the tasks in %s: %w", serveStore, err), l.Close())
	}
	s, err := New(card, ag, &Options{Store: st, Logger: log, Hosts: ownHosts(l.Addr()), TaskLimits: engine.Limits{TaskBytes: 64 << 20}})
	if err == nil {
		err = s.engine.Register(ctx) // fails on a full disk
	}
	if err != nil {
		return errors.Join(err, st.Close(), l.Close())
	}
	fmt.Fprintf(os.Stderr, "%s is at http://%s and keeps its tasks in %s\n", card.Name, reachable(l.Addr()), serveStore)
	return errors.Join(s.Serve(ctx, l), st.Close())
}

// serveStore is the file in which Serve keeps tasks, as parley serve does.
const serveStore = ".parley/parley.db"

// reachable returns an address by which this machine can connect to a listener.
func reachable(at net.Addr) string {
	tcp, ok := at.(*net.TCPAddr)
	if !ok || !tcp.IP.IsUnspecified() {
		return at.String()
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(tcp.Port))
}

// ownHosts returns the host names of a server that only its own machine can reach, and
// none for other servers. It keeps out web pages whose site points its own host name at
// the visitor's machine.
func ownHosts(at net.Addr) []string {
	if tcp, ok := at.(*net.TCPAddr); ok && tcp.IP.IsLoopback() {
		return []string{"localhost", "127.0.0.1", "::1", tcp.IP.String()}
	}
	return nil
}
