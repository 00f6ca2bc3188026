package a2aserver

import (
	"context"
	"fmt"
	"net"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aclient"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/pb"
	"github.com/parley-a2a/parley/internal/telemetry/export"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// scraping offers the metrics of a server as Prometheus gets them.
func scraping(t *testing.T) (o *Options, lines func() map[string]string) {
	t.Helper()
	tel, err := export.Start(t.Context(), export.Settings{Service: "parley", Scrape: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tel.Shutdown(context.Background()) })
	return &Options{MeterProvider: tel.MeterProvider}, func() map[string]string {
		w := httptest.NewRecorder()
		tel.Scrape.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
		all := map[string]string{}
		for line := range strings.Lines(w.Body.String()) {
			if name, value, ok := strings.Cut(strings.TrimSpace(line), "} "); ok {
				all[name+"}"] = value
			}
		}
		return all
	}
}

// Each call counts once, by its operation, binding and version, whatever the wire,
// and each stream that ends is not open any more.
func TestMetricsOnEveryWire(t *testing.T) {
	o, lines := scraping(t)
	addr, _ := limitedPort(t, agreeable{}, o)
	want := map[string]int{}
	everyWire(t, addr, func(t *testing.T, wire string, c *a2aclient.Client) {
		asked, binding, _ := strings.Cut(wire, " ")
		d, _ := dialect.ParseVersion(asked)
		for i := range dialect.Operations {
			op := dialect.Operations[i].Op
			if op == dialect.GetExtendedAgentCard || !d.Has(op) || op == dialect.SubscribeToTask {
				continue // agreeable has none
			}
			if op == dialect.ListTasks && d == dialect.V03 && binding == a2a.BindingGRPC {
				continue // nor has the dialect
			}
			if err := ask(t.Context(), c, op); err != nil {
				t.Errorf("%s %s: %v", wire, op, err)
			}
			version := asked
			if m := dialect.Operations[i].Methods; d == dialect.V01 && m[dialect.V01] == m[dialect.V03] {
				version = dialect.V03.Version() // the name is all there is to tell them apart
			}
			want[fmt.Sprintf(`{binding="%s",code="ok",method="%s",version="%s"}`, binding, op, version)]++
		}
	})
	got := lines()
	for range 1000 { // a client may have the end of a stream before the server has counted it
		if open := got[`parley_streams_active{binding="GRPC"}`] + got[`parley_streams_active{binding="JSONRPC"}`] + got[`parley_streams_active{binding="HTTP+JSON"}`]; open == "000" {
			break
		}
		runtime.Gosched()
		got = lines()
	}
	for labels, n := range want {
		if is := got["a2a_server_operation_duration_seconds_count"+labels]; is != fmt.Sprint(n) {
			t.Errorf("%s is counted %q times, want %d", labels, is, n)
		}
	}
	for name, value := range got {
		if strings.HasPrefix(name, "parley_streams_active{") && value != "0" {
			t.Errorf("%s is %s, and no stream is open", name, value)
		}
	}
}

// Refusals are counted by the causes that operators act on.
func TestRefusalsAreMeasured(t *testing.T) {
	o, lines := scraping(t)
	for _, c := range []struct {
		err  *a2a.Error
		want string
	}{
		{&a2a.Error{Code: a2a.CodeUnauthenticated, Message: "who?"}, `parley_auth_failures_total{reason="missing"}`},
		{&a2a.Error{Code: a2a.CodeUnauthenticated, Message: "wrong", Cause: context.Canceled}, `parley_auth_failures_total{reason="invalid"}`},
		{&a2a.Error{Code: a2a.CodePermissionDenied, Message: "no"}, `parley_auth_failures_total{reason="forbidden"}`},
		{&a2a.Error{Code: a2a.CodeRateLimited, Message: "later", Cause: context.Canceled}, `parley_auth_failures_total{reason="blocked"}`},
		{&a2a.Error{Code: a2a.CodeTooLarge, Message: "too much"}, `parley_limited_total{limit="size"}`},
	} {
		own := *o
		own.Identity = refusing{c.err}
		addr, _ := limitedPort(t, agreeable{}, &own)
		cl, err := a2aclient.Dial(t.Context(), "http://"+addr, &a2aclient.Options{Retries: -1})
		if err != nil {
			t.Fatal(err)
		}
		if err := ask(t.Context(), cl, dialect.GetTask); err == nil {
			t.Error("let in")
		}
		if got := lines()[c.want]; got != "1" {
			t.Errorf("%s is %q", c.want, got)
		}
	}
	own := *o
	own.Limits = Limits{Rate: 0.001, Burst: 1}
	addr, _ := limitedPort(t, agreeable{}, &own)
	cl, err := a2aclient.Dial(t.Context(), "http://"+addr, &a2aclient.Options{Retries: -1})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		_ = ask(t.Context(), cl, dialect.GetTask)
	}
	if got := lines()[`parley_limited_total{limit="rate"}`]; got != "2" {
		t.Errorf("limited by rate: %q", got)
	}
}

// The time that a call took names the call's trace, if that is kept.
func TestMeasurementsNameTheTrace(t *testing.T) {
	tel, err := export.Start(t.Context(), export.Settings{Service: "parley", Scrape: true})
	if err != nil {
		t.Fatal(err)
	}
	defer tel.Shutdown(context.Background()) //nolint:errcheck // nothing is sent
	addr, _ := limitedPort(t, agreeable{}, &Options{MeterProvider: tel.MeterProvider, TracerProvider: sdktrace.NewTracerProvider()})
	cl, err := a2aclient.Dial(t.Context(), "http://"+addr, &a2aclient.Options{Retries: -1})
	if err != nil {
		t.Fatal(err)
	}
	for _, flags := range []string{"00", "01"} {
		const id = "0af7651916cd43dd8448eb211c80319c"
		if err := ask(a2a.WithCaller(t.Context(), a2a.Caller{Trace: "00-" + id + "-b7ad6b7169203331-" + flags}), cl, dialect.GetTask); err != nil {
			t.Fatal(err)
		}
		r, w := httptest.NewRequest("GET", "/metrics", nil), httptest.NewRecorder()
		r.Header.Set("Accept", "application/openmetrics-text; version=1.0.0")
		tel.Scrape.ServeHTTP(w, r)
		if got, want := strings.Contains(w.Body.String(), `trace_id="`+id+`"`), flags == "01"; got != want {
			t.Errorf("with the flags %s a measurement names the trace: %v", flags, got)
		}
	}
}

// Connections are counted by their protocol, and new ones that met a limit by the
// outcome.
func TestConnectionsAreMeasured(t *testing.T) {
	o, lines := scraping(t)
	addr, _ := limitedPort(t, agreeable{}, o)
	web, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer web.Close()
	writeRequest(web, "GET /livez", "")
	_ = response(t, web).Body.Close()
	over, err := grpc.NewClient("passthrough:///"+addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer over.Close()
	if err := over.Invoke(t.Context(), "/"+dialect.GRPCService+"/GetTask", &pb.GetTaskRequest{Id: "t1"}, new(pb.Task)); err != nil {
		t.Fatal(err)
	}
	got := lines()
	if http, native := got[`parley_connections_open{protocol="http"}`], got[`parley_connections_open{protocol="grpc"}`]; http != "1" || native != "1" {
		t.Errorf("%q connections of http and %q of grpc", http, native)
	}

	o, lines = scraping(t)
	o.Limits = Limits{AddrConnections: 1}
	full, _ := limitedPort(t, agreeable{}, o)
	for range 2 {
		c, err := net.Dial("tcp", full)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		writeRequest(c, "GET /livez", "")
		_, _ = c.Read(make([]byte, 1)) // an answer, or the end
	}
	got = lines()
	if refused, evicted := got[`parley_connections_limited_total{result="refused"}`], got[`parley_connections_limited_total{result="evicted"}`]; refused+evicted != "10" && refused+evicted != "01" { // by how long the first was idle
		t.Errorf("%q were refused and %q evicted", refused, evicted)
	}
}
