package serve

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aclient"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"
)

// A host sends the spans of its calls and runs to the collector that the file, a flag
// or the environment names, says where they go, and has sent them when it ends.
func TestHostSendsTraces(t *testing.T) {
	var mu sync.Mutex
	var names []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		req := new(collector.ExportTraceServiceRequest)
		if r.URL.Path != "/v1/traces" || err != nil || proto.Unmarshal(body, req) != nil {
			return // of another kind, such as metrics
		}
		mu.Lock()
		defer mu.Unlock()
		for _, of := range req.ResourceSpans {
			for _, in := range of.ScopeSpans {
				for _, span := range in.Spans {
					names = append(names, span.Name)
				}
			}
		}
	}))
	defer s.Close()
	for how, args := range map[string][]string{
		"flag": {"--telemetry-endpoint=" + s.URL, "--telemetry-sample=1"}, "file": {"--file=parley.yaml"}, "environment": nil,
	} {
		t.Run(how, func(t *testing.T) {
			names = nil
			env := inFileDir(t, map[string]string{}, map[string]string{
				"parley.yaml": "version: 1\ntelemetry: {endpoint: " + s.URL + "}\nagents: {echo: {builtin: demo, default: true}}\n",
			})
			if how == "environment" {
				t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", s.URL) // which the exporters read
				env = inFileDir(t, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": s.URL}, nil)
				args = []string{"--file="}
			}
			if how == "flag" {
				args = append(args, "--file=")
			}
			h, err := Open(t.Context(), env, lineOf(t, append(args, "--listen=127.0.0.1:0", "--ephemeral")...), nil)
			if err != nil {
				t.Fatal(err)
			}
			if to := h.telemetry.Traces; to != "http/protobuf to "+s.URL {
				t.Errorf("traces go to %q", to)
			}
			ctx, stop := context.WithCancel(t.Context())
			ran := make(chan error)
			go func() { ran <- h.Run(ctx) }()
			client, err := a2aclient.Dial(t.Context(), h.URL(), nil)
			if err != nil {
				t.Fatal(err)
			}
			m := &a2a.Message{MessageID: "m", Role: a2a.RoleUser, Parts: []*a2a.Part{a2a.TextPart("echo hello")}}
			if _, err := client.SendMessage(t.Context(), &a2a.SendMessageRequest{Message: m}); err != nil {
				t.Fatal(err)
			}
			stop()
			if err := <-ran; err != nil {
				t.Error(err)
			}
			h.Close()
			mu.Lock()
			defer mu.Unlock()
			got := strings.Join(names, ", ")
			if !strings.Contains(got, "SendMessage") || !strings.Contains(got, "invoke_agent ") {
				t.Errorf("the collector has the spans %s", got)
			}
		})
	}
}

func TestTelemetryFlags(t *testing.T) {
	for line, want := range map[string]string{
		"--telemetry-endpoint=collector:4318":          "must be an http or https URL",
		"--telemetry-endpoint=https://me:pw@collector": "without credentials",
		"--telemetry-sample=2":                         "must be a number from 0 to 1",
		"--telemetry-sample=NaN":                       "must be a number from 0 to 1",
		"--telemetry-protocol=smoke":                   "grpc",
		"--trace-url=https://tempo.example/trace/":     "must have {trace}",
		"--trace-url=javascript:alert('{trace}')":      "must be an http or https URL",
		"--trace-url=https://me:pw@tempo/{trace}":      "without credentials",
		"--trace-url=https://{trace}.example/":         "must be an http or https URL",
	} {
		fs := NewFlags()
		if err := fs.Parse([]string{line}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, not that it %s", line, err, want)
		}
	}
}

// A host whose telemetry cannot begin says why, and lets go of what it has opened.
func TestTelemetryThatCannotBegin(t *testing.T) {
	env := inFileDir(t, map[string]string{"OTEL_TRACES_EXPORTER": "console"}, nil)
	_, err := Open(t.Context(), env, lineOf(t, "--listen=127.0.0.1:0", "--ephemeral", "--file="), nil)
	if err == nil || !strings.Contains(err.Error(), "OTEL_TRACES_EXPORTER") {
		t.Errorf("it is open: %v", err)
	}
}
