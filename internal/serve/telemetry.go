package serve

import (
	"context"
	"errors"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/failure"
	"github.com/parley-a2a/parley/internal/flagvalue"
	"github.com/parley-a2a/parley/internal/telemetry/export"
)

// telemetryFlags say where traces are sent. OpenTelemetry's variables set what the
// flags leave out; see docs/observability.md.
type telemetryFlags struct {
	endpoint     string
	protocol     string
	sample       float64
	content      bool
	traceability bool
	metrics      string // an address, metricsMain, or ""
	traceURL     string // contains traceMark, or is ""
}

func (f *telemetryFlags) register(fs *pflag.FlagSet) {
	f.sample = noShare
	fs.Var(flagvalue.Of("URL", &f.endpoint, parseCollector, func(s string) string { return s }), "telemetry-endpoint", "send traces and metrics to the OpenTelemetry collector at this `URL` by OTLP, such as http://127.0.0.1:4318 (default: as OTEL_EXPORTER_OTLP_ENDPOINT says; without either nothing is sent)")
	fs.Var(flagvalue.Choice(&f.protocol, export.HTTP, export.GRPC), "telemetry-protocol", "how: "+export.HTTP+" or "+export.GRPC+" (default: as OTEL_EXPORTER_OTLP_PROTOCOL says, or "+export.HTTP+")")
	fs.Var(flagvalue.Of("share", &f.sample, parseShare, showShare), "telemetry-sample", "`share` of the traces that begin here to keep, from 0 to 1; one that began elsewhere is kept if it was kept there (default: as OTEL_TRACES_SAMPLER says, or all)")
	fs.BoolVar(&f.content, "telemetry-content", false, "put the words of clients, agents and models into traces; they are usually private")
	fs.BoolVar(&f.traceability, "traceability", false, "tell clients that ask for the traceability extension which tools and agents were called for their answer, and how long that took")
	fs.Var(flagvalue.Of("URL", &f.traceURL, parseTraceURL, func(s string) string { return s }), "trace-url", "`URL` of a trace in your viewer, with {trace} for its id, such as https://tempo.example/trace/{trace}; the console shows operators the link on the pages of tasks")
	fs.Var(flagvalue.Of("address", &f.metrics, parseMetricsListen, func(s string) string { return s }), "metrics-listen", "`address` that serves metrics in Prometheus's format (/metrics) to anybody, and /debug/tasks and /debug/pprof/ to this machine. With authentication the main address serves /metrics, too, to callers with the scope metrics:read; the word main serves it there alone")
}

// metricsMain is --metrics-listen for the main address alone.
const metricsMain = "main"

func parseMetricsListen(s string) (string, error) {
	if s == metricsMain || s == "" {
		return s, nil
	}
	return flagvalue.ParseAddress(s)
}

// traceMark stands for the id of a trace in --trace-url.
const traceMark = "{trace}"

func parseTraceURL(s string) (string, error) {
	u := a2a.WebURL(s)
	switch {
	case u == nil || u.User != nil || strings.Contains(u.Host, traceMark):
		return "", errors.New("must be an http or https URL without credentials, such as https://tempo.example/trace/" + traceMark)
	case !strings.Contains(s, traceMark):
		return "", errors.New("must have " + traceMark + " where the id of the trace belongs, such as https://tempo.example/trace/" + traceMark)
	}
	return s, nil
}

// traceAddress returns the function from a trace to its page, for the console; nil if
// none is configured.
func (f *telemetryFlags) traceAddress() func(id string) string {
	if f.traceURL == "" {
		return nil
	}
	return func(id string) string { return strings.ReplaceAll(f.traceURL, traceMark, url.PathEscape(id)) }
}

// noShare means that no share is set.
const noShare = -1

func parseShare(s string) (float64, error) {
	n, err := strconv.ParseFloat(s, 64)
	if err != nil || !(n >= 0 && n <= 1) {
		return 0, errors.New("must be a number from 0 to 1, such as 0.01 for one trace in a hundred")
	}
	return n, nil
}

func showShare(n float64) string {
	if n == noShare {
		return ""
	}
	return strconv.FormatFloat(n, 'g', -1, 64)
}

func parseCollector(s string) (string, error) {
	u := a2a.WebURL(s)
	if u == nil || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", errors.New("must be an http or https URL without credentials, such as http://127.0.0.1:4318; OTEL_EXPORTER_OTLP_HEADERS has those")
	}
	return strings.TrimRight(s, "/"), nil
}

// contentEnv is the variable that tells instrumentations of generative AI to write
// contents into spans.
const contentEnv = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"

// captures reports whether contents go into spans.
func (f *telemetryFlags) captures(e *Env) bool {
	s, _ := e.Lookup(contentEnv)
	return f.content || strings.EqualFold(s, "true") || strings.HasPrefix(strings.ToUpper(s), "SPAN")
}

// startTelemetry starts telemetry, if the flags or the environment ask for it.
func (h *Host) startTelemetry(ctx context.Context, f *telemetryFlags, keep bool) error {
	s := export.Settings{
		Endpoint: f.endpoint, Protocol: f.protocol,
		Scrape:  f.metrics != "",
		Keep:    keep, // the console draws them
		Service: "parley", Version: h.env.Version, Lookup: h.env.Lookup, Logger: h.log,
	}
	if f.sample != noShare {
		s.Sample = &f.sample
	}
	t, err := export.Start(ctx, s)
	if err != nil {
		return failure.Usagef("telemetry: %v", err)
	}
	h.telemetry = t
	return nil
}

// telemetryTime limits the sending of the remaining telemetry when the server ends.
const telemetryTime = 5 * time.Second

// stopTelemetry sends the remaining telemetry.
func (h *Host) stopTelemetry() {
	ctx, cancel := context.WithTimeout(context.Background(), telemetryTime)
	defer cancel()
	if err := h.telemetry.Shutdown(ctx); err != nil {
		h.log.Warn("the last telemetry could not be sent", "error", err)
	}
}
