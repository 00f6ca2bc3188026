package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"golang.org/x/net/netutil"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/engine"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/plain"
	"github.com/parley-a2a/parley/internal/port"
	"github.com/parley-a2a/parley/internal/telemetry/metrics"
)

// Bounds of the metrics listener.
const (
	metricsConnections = 64
	metricsRead        = 10 * time.Second
	metricsWrite       = 2 * time.Minute // pprof collects for the requested time, up to this
	maxStandings       = 1000
)

// metricsPath is the path of metrics.
const metricsPath = "/metrics"

// measure provides the host's own metrics, until telemetry stops.
func (h *Host) measure() {
	if h.audit.file != nil {
		h.audit.file.Measure(h.telemetry.MeterProvider)
	}
	metrics.New(h.telemetry.MeterProvider).Observe(func(_ context.Context, is metrics.Reading) {
		successful := 1.
		if h.notReloaded.Load() {
			successful = 0
		}
		is.Set(metrics.ReloadSuccessful, successful)
		is.Set(metrics.ReloadSuccess, float64(h.view.Load().of.read.Unix()))
		if leaf := h.certificate(); leaf != nil {
			is.Set(metrics.CertificateStart, float64(leaf.NotBefore.Unix()))
			is.Set(metrics.CertificateExpiry, float64(leaf.NotAfter.Unix()))
		}
	}, metrics.ReloadSuccessful, metrics.ReloadSuccess, metrics.CertificateStart, metrics.CertificateExpiry)
}

// metricsOnMain serves metrics at the main address. Callers need the scope for metrics;
// without authentication the server must be reachable from this machine only.
func (h *Host) metricsOnMain(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != metricsPath || r.Method != http.MethodGet && r.Method != http.MethodHead {
		http.NotFound(w, r)
		return
	}
	if status, err := h.admitsToMetrics(w.Header(), r); err != nil {
		http.Error(w, err.Error(), status)
		return
	}
	h.telemetry.Scrape.ServeHTTP(w, r)
}

func (h *Host) admitsToMetrics(to http.Header, r *http.Request) (status int, _ error) {
	now := h.view.Load().of
	if now.guard == nil {
		if !now.local {
			return http.StatusForbidden, fmt.Errorf("metrics are not for everybody: have callers authenticated, or give them a listener of their own (--metrics-listen)")
		}
		return 0, nil
	}
	caller, err := h.authenticate(now.guard, r, "metrics")
	switch known, ok := errors.AsType[*a2a.Error](err); {
	case ok:
		for _, c := range now.guard.Challenges(known) {
			to.Add("WWW-Authenticate", c)
		}
		return dialect.HTTPStatus(dialect.V10, known.Code), errors.New(known.Message)
	case err != nil:
		return http.StatusServiceUnavailable, errors.New("your credentials cannot be checked at the moment: try again shortly")
	case caller.Tenant == "" && caller.May(a2a.ScopeMetricsRead, a2a.ScopeAdminRead), now.local && caller.Subject == "":
		return 0, nil
	}
	return http.StatusForbidden, fmt.Errorf("metrics need the scope %s: parley key create --role metrics makes a key that has it", a2a.ScopeMetricsRead)
}

// listenForMetrics opens the listener for operators; nil if addr names none.
func listenForMetrics(addr string) (net.Listener, error) {
	if addr == "" || addr == metricsMain {
		return nil, nil
	}
	return Listen("parley serve --metrics-listen", addr)
}

// serveMetrics starts to answer requests of operators; stop ends it.
func (h *Host) serveMetrics() (stop func()) {
	if h.metrics == nil {
		return func() {}
	}
	h.log.Info("metrics are offered", "at", "http://"+h.metrics.Addr().String()+metricsPath)
	srv := port.HTTPServer(h.metricsHandler(h.telemetry.Scrape))
	srv.ReadTimeout, srv.WriteTimeout = metricsRead, metricsWrite
	var work sync.WaitGroup
	work.Go(func() { _ = srv.Serve(netutil.LimitListener(h.metrics, metricsConnections)) }) // until it is closed
	return func() {
		_ = srv.Close() // a scraper asks again
		work.Wait()
	}
}

// metricsHandler serves metrics to everybody who can reach the listener, and
// diagnostics of tasks and memory to this machine only.
func (h *Host) metricsHandler(scrape http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", scrape)
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n")) })
	debug := func(pattern string, f http.HandlerFunc) { mux.Handle(pattern, fromThisMachine(f)) }
	debug("GET /debug/tasks", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = w.Write([]byte(standings(h.server.Standings(), time.Now())))
	})
	debug("GET /debug/pprof/", pprof.Index)
	debug("GET /debug/pprof/cmdline", pprof.Cmdline)
	debug("GET /debug/pprof/profile", pprof.Profile)
	debug("GET /debug/pprof/symbol", pprof.Symbol)
	debug("GET /debug/pprof/trace", pprof.Trace)
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("/metrics\n/livez\n/debug/tasks\n/debug/pprof/\n"))
	})
	return mux
}

// fromThisMachine refuses requests from other machines, because memory and tasks hold
// callers' data. It also refuses requests for other host names, which a web page could
// use to reach this machine through its visitor.
func fromThisMachine(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		peer, err := netip.ParseAddrPort(r.RemoteAddr)
		host := r.Host
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
		_, notIP := netip.ParseAddr(strings.Trim(host, "[]"))
		if err != nil || !peer.Addr().Unmap().IsLoopback() || notIP != nil && host != "localhost" {
			http.Error(w, "this is for this machine only: ask from here, at 127.0.0.1 (in Kubernetes by kubectl port-forward)", http.StatusForbidden)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// standings formats a table of tasks; the one without an event for longest is first.
func standings(all []engine.Standing, now time.Time) string {
	slices.SortFunc(all, func(a, b engine.Standing) int {
		return cmp.Or(a.Since.Compare(b.Since), a.Key.Compare(b.Key))
	})
	var b strings.Builder
	fmt.Fprintf(&b, "%s in memory\n\n", plain.Count(len(all), "task"))
	more := max(len(all)-maxStandings, 0)
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "QUIET FOR\tWAITS FOR\tSTATE\tPHASE\tAGENT\tTASK\tCONTEXT\tCALLER\tATTEMPT\tLOST\tUNSAVED")
	for _, s := range all[:len(all)-more] {
		state := "-"
		if s.State != 0 {
			state = strings.ToLower(strings.TrimPrefix(s.State.String(), "TASK_STATE_"))
		}
		fmt.Fprintf(w, "%v\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%d\t%d\t%d\n", now.Sub(s.Since).Round(time.Millisecond), s.Waits, state, s.Phase,
			word(s.Agent), word(s.ID), word(s.Context), word(s.Owner), s.Attempt, s.Lost, s.Unsaved)
	}
	_ = w.Flush() // to memory
	if more > 0 {
		fmt.Fprintf(&b, "and %d more\n", more)
	}
	return b.String()
}

// word formats a foreign text for a cell of a table.
func word(s string) string {
	if s == "" {
		return "-"
	}
	return strings.Join(strings.Fields(plain.Text(s)), " ")
}
