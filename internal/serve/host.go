package serve

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime"
	"sync/atomic"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aserver"
	"github.com/parley-a2a/parley/agent/httpagent"
	"github.com/parley-a2a/parley/internal/admin"
	"github.com/parley-a2a/parley/internal/audit"
	"github.com/parley-a2a/parley/internal/database"
	"github.com/parley-a2a/parley/internal/failure"
	"github.com/parley-a2a/parley/internal/telemetry/export"
)

// Host is a server with its agents. The fields that can be replaced while it runs are
// in its revision.
type Host struct {
	// set by Open, then constant
	env       *Env
	line      Line
	command   []string // after --
	log       *slog.Logger
	listener  net.Listener
	addr      net.Addr
	store     database.Store
	location  *database.Location
	audit     *AuditLog
	refusals  *audit.Log // of authenticate
	admin     *administration
	pages     *pages // nil: no console
	beside    map[string]http.Handler
	telemetry *export.Telemetry
	metrics   net.Listener   // for operators: metrics, and diagnostics of the process; nil: there is none
	tls       *a2aserver.TLS // nil: no TLS
	server    *parley.Server
	atStart   map[string]any // settings that only take effect at a start
	withdraw  func()         // removes the file of admin.publish; nil before there is one

	view        atomic.Pointer[view] // of the revision in force, set by show
	notReloaded atomic.Bool          // the last reload failed

	// owned by Open, then by the goroutine of background that replaces revisions
	factory *factory
	now     *revision
	printed map[string]bool // findings
}

// minThreads is how many threads run Go code at the same time, at least. On one, an
// fsync would stop the network, too. On two, the runtime's monitor takes the thread of
// each longer fsync away and then polls every 20 µs for the next: a tenth of the
// processor time of a small task. With more threads than processors, a short call does
// not wait behind all goroutines that strangers keep runnable, each of which may run 10
// ms for a large body: the system shares the processors between threads, and prefers
// those that sleep.
const minThreads = 4

// Open starts a host: it listens and has its agents, but accepts no calls before Run.
// command is the command after --, if there is one. The caller closes the host.
func Open(ctx context.Context, env *Env, line Line, command []string) (_ *Host, err error) {
	env.keep(database.Env, UpstreamEnv)
	f, err := env.Load(line, len(command) > 0)
	if err != nil {
		return nil, err
	}
	if runtime.GOMAXPROCS(0) < minThreads && os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(minThreads)
	}
	var level slog.Level
	if err := level.UnmarshalText([]byte(f.logLevel)); err != nil {
		return nil, failure.Usagef("--log-level: %v", err)
	}
	log := slog.New(newLogHandler(env, level, f.logFormat))
	h := &Host{env: env, line: line, command: command, log: log, location: f.location, audit: &AuditLog{}, telemetry: &export.Telemetry{}}
	defer func() {
		if err == nil {
			return
		}
		if h.now != nil {
			h.now.discard(log)
		}
		h.Close()
	}()
	env.Stderr.Hide(f.egress.password())
	agents := f.agents(env, command)
	for i := range agents { // before anything is opened
		if c := agents[i].Exec; c != nil {
			if err := commandFailure(c.Command[0], c.Dir, hasPath(c.Env)); err != nil {
				return nil, err
			}
		}
	}

	if h.listener, err = Listen("parley serve --listen", f.listen); err != nil {
		return nil, err
	}
	h.addr = h.listener.Addr()
	if err := f.admit(f.local(h.addr), h.addr); err != nil {
		return nil, err
	}
	f.location.Migrating = env.Migrating
	if h.store, err = f.location.Open(ctx, log, false); err != nil {
		return nil, storeFailure(f.location, err)
	}
	if err := database.Imported(ctx, h.store.Kept); err != nil {
		return nil, err
	}
	os.Unsetenv(database.Env) // the agent's command must not get the password
	os.Unsetenv(UpstreamEnv)  // nor this token
	records, err := f.audit.Open(f.location.Data, f.auth.any() && !f.location.Memory(), env.Stderr, log)
	if err != nil {
		return nil, err
	}
	h.audit = records
	if err := h.startTelemetry(ctx, &f.telemetry, !f.noConsole); err != nil {
		return nil, err
	}
	h.refusals = audit.New(h.audit.log, nil, h.telemetry.MeterProvider)
	if h.metrics, err = listenForMetrics(f.telemetry.metrics); err != nil {
		return nil, err
	}
	if h.tls, err = f.tls.load(h.audit, log); err != nil {
		return nil, err
	}
	if h.tls != nil {
		h.listener = h.tls.Listener(h.listener)
	}
	h.factory = &factory{log: log, callbacks: map[string]*httpagent.Callbacks{}, own: LocalURL(h.addr, f.tls.given()), meters: h.telemetry.MeterProvider, demo: env.Demo}
	// The same after a restart, and on each server of a database.
	secret, err := h.store.Secret(ctx, "callbacks")
	if err != nil {
		return nil, storeFailure(f.location, err)
	}
	h.factory.secret = a2a.Secret(secret)
	if h.now, err = h.revise(ctx, f, agents, false); err != nil {
		return nil, err
	}
	h.admin = newAdministration(h, h.store)
	if h.beside, err = h.openBeside(ctx); err != nil {
		return nil, err
	}
	if h.server, err = parley.NewHost(h.now.hosted, h.options(h.now)); err != nil {
		return nil, failure.New(failure.CodeServe, err.Error(), err)
	}
	if err := h.server.Engine().Register(ctx); err != nil { // before the server is announced
		return nil, endFailure(h.location, err)
	}
	h.now.commit(h.factory)
	h.now.lookAtModels(ctx)
	h.atStart = f.untilRestart()
	h.admin.attach(h.server.Engine())
	h.show()
	h.measure()
	h.withdraw = h.admin.publish() // before it is announced, too
	return h, nil
}

// Run serves until ctx ends, then drains. It may be called once.
func (h *Host) Run(ctx context.Context) error {
	f := h.now.settings
	if text := f.caution(h.addr, h.now.local, h.now.public); text != "" {
		h.env.Stderr.Note("Warning", "%s", text)
	}
	h.printFindings(h.now)
	h.audit.Event(a2aserver.AuditServerStarted, f.summary(h)...)
	h.audit.signed(h.now.cardKeys)
	stop := h.background(ctx)
	served := make(chan struct{})
	said := make(chan struct{})
	unsaid := context.AfterFunc(ctx, func() {
		defer close(said)
		close(h.admin.draining)
		h.stopping(f.drain, served)
	})
	blind := h.serveMetrics()
	err := h.server.Serve(ctx, h.listener)
	close(served)
	if !unsaid() {
		<-said // before it has stopped, and while there is a log
	}
	blind()
	h.withdraw()
	stop()
	h.stopTelemetry()
	h.audit.Event(a2aserver.AuditServerStopped)
	h.stopped()
	if err = errors.Join(err, h.store.Close()); err != nil {
		return endFailure(h.location, err)
	}
	return nil
}

// Close closes what Open opened. It may be called after Run, which closes the listener
// and the database itself.
func (h *Host) Close() {
	if h.withdraw != nil {
		h.withdraw() // Run may have done so
	}
	_ = h.audit.Close() // what it could not write is logged
	h.stopTelemetry()   // Run may have done so; without Run nothing is left
	if h.store != nil {
		_ = h.store.Close() // Run reports the error; without Run nothing was written
	}
	for _, l := range []net.Listener{h.metrics, h.listener} {
		if l != nil {
			_ = l.Close() // Run closes it, too
		}
	}
}

// openBeside makes the handlers of the paths beside the agents.
func (h *Host) openBeside(ctx context.Context) (map[string]http.Handler, error) {
	beside := map[string]http.Handler{admin.Path: h.admin.handler()}
	pages, err := h.openConsole(ctx)
	if pages != nil {
		beside[ConsolePath] = pages
	}
	if h.telemetry.Scrape != nil {
		beside[metricsPath] = http.HandlerFunc(h.metricsOnMain)
	}
	return beside, err
}
