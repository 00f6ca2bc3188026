package export_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/parley-a2a/parley/internal/telemetry"
	"github.com/parley-a2a/parley/internal/telemetry/export"
	"github.com/parley-a2a/parley/internal/telemetry/metrics"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
)

func env(pairs ...string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1], true
			}
		}
		return "", false
	}
}

// traces starts telemetry without metrics.
func traces(t *testing.T, s export.Settings) (*export.Telemetry, error) {
	t.Helper()
	lookup := s.Lookup
	s.Lookup = func(name string) (string, bool) {
		if name == "OTEL_METRICS_EXPORTER" || lookup == nil {
			return "none", name == "OTEL_METRICS_EXPORTER"
		}
		return lookup(name)
	}
	return export.Start(t.Context(), s)
}

// Telemetry is off unless a setting asks for it, and a setting that cannot be used is
// named in the error.
func TestWhatSwitchesItOn(t *testing.T) {
	const at = "http://127.0.0.1:9"
	const noURL = "OTEL_EXPORTER_OTLP_ENDPOINT is not a URL: expected one without credentials, such as http://127.0.0.1:4318; OTEL_EXPORTER_OTLP_HEADERS has those"
	for _, tt := range []struct {
		name string
		s    export.Settings
		want string // of Traces; "" for off
		err  string
	}{
		{name: "nothing"},
		{name: "endpoint", s: export.Settings{Endpoint: at}, want: "http/protobuf to " + at},
		{name: "grpc", s: export.Settings{Endpoint: at, Protocol: export.GRPC}, want: "grpc to " + at},
		{name: "variable", s: export.Settings{Lookup: env("OTEL_EXPORTER_OTLP_ENDPOINT", at)}, want: "http/protobuf to " + at},
		{name: "of traces", s: export.Settings{Lookup: env("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", at+"/x", "OTEL_EXPORTER_OTLP_ENDPOINT", "http://other")}, want: "http/protobuf to " + at + "/x"},
		{name: "exporter", s: export.Settings{Lookup: env("OTEL_TRACES_EXPORTER", "otlp")}, want: "http/protobuf to http://localhost:4318"},
		{name: "exporter by grpc", s: export.Settings{Lookup: env("OTEL_TRACES_EXPORTER", "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")}, want: "grpc to http://localhost:4317"},
		{name: "none", s: export.Settings{Endpoint: at, Lookup: env("OTEL_TRACES_EXPORTER", "none")}},
		{name: "disabled", s: export.Settings{Endpoint: at, Lookup: env("OTEL_SDK_DISABLED", "True")}},
		{name: "empty", s: export.Settings{Lookup: env("OTEL_EXPORTER_OTLP_ENDPOINT", " ")}},
		{name: "secret", s: export.Settings{Lookup: env("OTEL_EXPORTER_OTLP_ENDPOINT", "http://me:secret@127.0.0.1:9/?key=secret")}, want: "http/protobuf to http://127.0.0.1:9/"},
		{name: "secret without a scheme", s: export.Settings{Lookup: env("OTEL_EXPORTER_OTLP_ENDPOINT", "me:secret@127.0.0.1:9")}, err: noURL},
		{name: "secret with a bad escape", s: export.Settings{Lookup: env("OTEL_EXPORTER_OTLP_ENDPOINT", "http://me:sec%ret@127.0.0.1:9")}, err: noURL},
		{name: "secret in a query", s: export.Settings{Lookup: env("OTEL_EXPORTER_OTLP_ENDPOINT", "127.0.0.1:9?key=secret")}, err: noURL},
		{name: "secret that is not used", s: export.Settings{Endpoint: at, Lookup: env("OTEL_EXPORTER_OTLP_ENDPOINT", "me:secret@127.0.0.1:9")}, want: "http/protobuf to " + at},
		{name: "grpc without a scheme", s: export.Settings{Lookup: env("OTEL_EXPORTER_OTLP_ENDPOINT", "localhost:9", "OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")}, want: "grpc to localhost:9"},
		{name: "exporter unknown", s: export.Settings{Lookup: env("OTEL_TRACES_EXPORTER", "zipkin")}, err: `OTEL_TRACES_EXPORTER is "zipkin": expected otlp or none`},
		{name: "protocol unknown", s: export.Settings{Endpoint: at, Lookup: env("OTEL_EXPORTER_OTLP_PROTOCOL", "smoke")}, err: `OTEL_EXPORTER_OTLP_PROTOCOL is "smoke": expected http/protobuf or grpc`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := traces(t, tt.s)
			if tt.err != "" {
				if err == nil || err.Error() != tt.err {
					t.Fatalf("the error is %v, not %s", err, tt.err)
				}
				return
			}
			if err != nil || got.Traces != tt.want || (got.TracerProvider != nil) != (tt.want != "") {
				t.Fatalf("%+v, %v", got, err)
			}
			if err := got.Shutdown(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// received has the names of the spans that a collector got.
type received struct {
	mu    sync.Mutex
	names []string
	collector.UnimplementedTraceServiceServer
}

func (c *received) add(req *collector.ExportTraceServiceRequest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range req.ResourceSpans {
		for _, s := range r.ScopeSpans {
			for _, span := range s.Spans {
				c.names = append(c.names, span.Name)
			}
		}
	}
}

func (c *received) Export(_ context.Context, req *collector.ExportTraceServiceRequest) (*collector.ExportTraceServiceResponse, error) {
	c.add(req)
	return &collector.ExportTraceServiceResponse{}, nil
}

func (c *received) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		if z, err := gzip.NewReader(bytes.NewReader(body)); err == nil {
			body, _ = io.ReadAll(z)
		}
	}
	req := new(collector.ExportTraceServiceRequest)
	if r.URL.Path != "/v1/traces" || r.Header.Get("Authorization") != "Bearer x" || proto.Unmarshal(body, req) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	c.add(req)
}

// write writes a span.
func write(t *testing.T, to *export.Telemetry, name string) {
	t.Helper()
	_, span := telemetry.Tracer(to.TracerProvider).Start(t.Context(), name)
	span.End()
}

func TestSpansArrive(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "Authorization=Bearer%20x")
	for _, protocol := range []string{export.HTTP, export.GRPC} {
		c := new(received)
		at := ""
		if protocol == export.HTTP {
			s := httptest.NewServer(c)
			defer s.Close()
			at = s.URL
		} else {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			g := grpc.NewServer()
			collector.RegisterTraceServiceServer(g, c)
			go g.Serve(l) //nolint:errcheck // Stop ends it
			defer g.Stop()
			at = "http://" + l.Addr().String()
		}
		out, err := traces(t, export.Settings{Endpoint: at, Protocol: protocol, Service: "test"})
		if err != nil {
			t.Fatal(err)
		}
		write(t, out, "hello")
		if err := out.Shutdown(t.Context()); err != nil || strings.Join(c.names, " ") != "hello" {
			t.Errorf("%s: %v, %v", protocol, c.names, err)
		}
	}
}

// lines counts the lines of a log.
type lines struct {
	mu   sync.Mutex
	text []string
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, string(b))
	return len(b), nil
}

// If a collector is away, hangs, refuses, or answers too much or nonsense, spans and
// metrics are lost: no writer waits, Shutdown does not either, and there is one line in
// the log.
func TestACollectorInTrouble(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	for name, how := range map[string]http.HandlerFunc{
		"away": nil,
		"hangs": func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // so that the server sees the client leave
			<-r.Context().Done()
		},
		"refuses": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = io.WriteString(w, strings.Repeat("no! ", 1<<20))
		},
		"talks nonsense": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/x-protobuf")
			_, _ = io.WriteString(w, strings.Repeat("\xff\x00nonsense", 1000))
		},
		"busy": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "3600")
			w.WriteHeader(http.StatusServiceUnavailable)
		},
		"never ends": func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				if _, err := w.Write(make([]byte, 1<<16)); err != nil {
					return
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			at := "http://" + closed.Addr().String()
			asked := make(chan struct{}, 1)
			if how != nil {
				s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					select {
					case asked <- struct{}{}:
					default:
					}
					how(w, r)
				}))
				defer s.Close()
				at = s.URL
			}
			log := new(lines)
			out, err := export.Start(t.Context(), export.Settings{Endpoint: at, Logger: slog.New(slog.NewTextHandler(log, nil))})
			if err != nil {
				t.Fatal(err)
			}
			measured := metrics.New(out.MeterProvider).Counter(metrics.WebhookDead)
			for range 10_000 { // five times what the queue holds
				write(t, out, "lost")
				measured.Add(t.Context(), 1)
			}
			if how != nil {
				<-asked
			}
			// As at the end of a server whose time to stop is over.
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if err := out.Shutdown(ctx); err != nil && !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			log.mu.Lock()
			defer log.mu.Unlock()
			if len(log.text) > 1 || len(log.text) == 1 && len(log.text[0]) > 1000 {
				t.Errorf("the log has %d lines: %.2000q", len(log.text), log.text)
			}
		})
	}
}

// The log tells of lost spans, in one line a minute.
func TestLossesAreLogged(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }))
	defer s.Close()
	log := new(lines)
	out, err := traces(t, export.Settings{Endpoint: s.URL, Logger: slog.New(slog.NewTextHandler(log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		write(t, out, "lost")
		if p, ok := out.TracerProvider.(interface{ ForceFlush(context.Context) error }); ok {
			_ = p.ForceFlush(t.Context()) // the log has the error
		}
	}
	if err := out.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if len(log.text) != 1 || !strings.Contains(log.text[0], "telemetry cannot be sent; tasks continue without it") || !strings.Contains(log.text[0], "lost=1") {
		t.Errorf("%q", log.text)
	}
}
