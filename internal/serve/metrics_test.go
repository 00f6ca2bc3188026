package serve

import (
	"context"
	"crypto/x509"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aclient"
	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/engine"
	"github.com/parley-a2a/parley/store"
)

// Others than this machine get metrics, and nothing about tasks or memory.
func TestDebuggingIsForThisMachine(t *testing.T) {
	h := fromThisMachine(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "secrets") }))
	for _, c := range []struct {
		remote, host string
		status       int
	}{
		{"127.0.0.1:5000", "127.0.0.1:9464", 200},
		{"127.0.0.1:5000", "localhost:9464", 200},
		{"[::1]:5000", "[::1]:9464", 200},
		{"[::ffff:127.0.0.1]:5000", "localhost", 200},
		{"10.0.0.7:5000", "10.0.0.1:9464", 403},
		{"10.0.0.7:5000", "localhost:9464", 403},
		{"127.0.0.1:5000", "rebound.example:9464", 403},
		{"nonsense", "localhost", 403},
	} {
		r := httptest.NewRequest("GET", "/debug/tasks", nil)
		r.RemoteAddr, r.Host = c.remote, c.host
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != c.status {
			t.Errorf("%s for %s gets %d, want %d", c.remote, c.host, w.Code, c.status)
		}
	}
}

// The table has the task first of which nothing has come for longest, harmless
// whatever is in its ids.
func TestStandings(t *testing.T) {
	now := time.Now()
	got := standings([]engine.Standing{
		{Key: store.Key{ID: "new", Owner: "ann"}, State: a2a.TaskStateWorking, Phase: "running", Waits: engine.WaitsForAgent, Since: now.Add(-time.Second), Attempt: 1},
		{Key: store.Key{ID: "old\x1b[2J\nx"}, Context: "c", Agent: "sums", State: a2a.TaskStateInputRequired, Phase: "running", Waits: engine.WaitsForClient, Since: now.Add(-time.Hour), Attempt: 2, Lost: 1},
	}, now)
	lines := strings.Split(strings.TrimSpace(got), "\n")
	if len(lines) != 5 || lines[0] != "2 tasks in memory" || strings.Contains(got, "\x1b") {
		t.Fatalf("%q", got)
	}
	if f := strings.Fields(lines[3]); f[0] != "1h0m0s" || f[1] != "client" || f[2] != "input_required" || f[4] != "sums" {
		t.Errorf("%q", lines[3])
	}
	if f := strings.Fields(lines[4]); strings.Join(f, " ") != "1s agent working running - new - ann 1 0 0" {
		t.Errorf("%q", lines[4])
	}
	if many := standings(make([]engine.Standing, maxStandings+5), now); !strings.HasSuffix(many, "and 5 more\n") {
		t.Error("the table has no end")
	}
}

// A server measures what it does, offers that at a listener of its own to everybody, at
// the main address to callers with the scope, and not without credentials.
func TestMetricsAreOffered(t *testing.T) {
	env := testEnv(t, t.Output())
	h, err := Open(t.Context(), env, lineOf(t, "--listen=127.0.0.1:0", "--data=d", "--metrics-listen=127.0.0.1:0", "--auth-keys", "--file="), nil)
	if err != nil {
		t.Fatal(err)
	}
	keys := map[string]string{}
	for role, spec := range map[string]auth.KeySpec{"metrics": {Roles: []string{"metrics"}}, "caller": {}, "tenant": {Tenant: "acme", Roles: []string{"metrics"}}} {
		secret, _, err := auth.NewKeys(h.store, nil).Create(t.Context(), spec)
		if err != nil {
			t.Fatal(err)
		}
		keys[role] = secret.Reveal()
	}
	ctx, stop := context.WithCancel(t.Context())
	ran := make(chan error)
	go func() { ran <- h.Run(ctx) }()
	own := "http://" + h.metrics.Addr().String()
	client, err := a2aclient.Dial(t.Context(), h.URL(), &a2aclient.Options{APIKey: keys["caller"]})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"echo hello", "ask"} {
		m := &a2a.Message{MessageID: text, Role: a2a.RoleUser, Parts: []*a2a.Part{a2a.TextPart(text)}}
		if _, err := client.SendMessage(t.Context(), &a2a.SendMessageRequest{Message: m}); err != nil {
			t.Fatal(err)
		}
	}
	const started = `parley_tasks_started_total{agent="default"} 2`
	if code, text := scraped(t, own+"/metrics", ""); code != 200 || !strings.Contains(text, started) || !strings.Contains(text, `parley_build_info{go_version=`) {
		t.Errorf("%d: no %s in\n%s", code, started, text)
	}
	if code, text := scraped(t, own+"/debug/tasks", ""); code != 200 || !strings.HasPrefix(text, "1 task in memory\n") || !strings.Contains(text, "  client  ") {
		t.Errorf("%d: %s", code, text)
	}
	for _, path := range []string{"/livez", "/debug/pprof/", "/debug/pprof/goroutine?debug=1"} {
		if code, text := scraped(t, own+path, ""); code != 200 {
			t.Errorf("%s: %d: %s", path, code, text)
		}
	}
	main := h.URL()
	for role, want := range map[string]int{"": 401, "caller": 403, "tenant": 403, "metrics": 200} {
		if code, text := scraped(t, main+"/metrics", keys[role]); code != want || code == 200 && !strings.Contains(text, started) {
			t.Errorf("%q gets %d at the main address: %s", role, code, text)
		}
	}
	for _, path := range []string{"/debug/tasks", "/debug/pprof/", "/metrics/x"} {
		if code, _ := scraped(t, main+path, keys["metrics"]); code == 200 {
			t.Errorf("the main address has %s", path)
		}
	}
	stop()
	if err := <-ran; err != nil {
		t.Error(err)
	}
	h.Close()
	if _, err := http.Get(own + "/livez"); err == nil {
		t.Error("the listener goes on")
	}
}

// Without authentication metrics are at the main address only if that is this
// machine's; off, there are none.
func TestMetricsWithoutAuthentication(t *testing.T) {
	for args, want := range map[string]int{"": 404, "--metrics-listen=main": 200, "--metrics-listen=main --listen=0.0.0.0:0 --allow-anonymous": 403} {
		line := append([]string{"--listen=127.0.0.1:0", "--ephemeral", "--file="}, strings.Fields(args)...)
		h, err := Open(t.Context(), testEnv(t, t.Output()), lineOf(t, line...), nil)
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ran := make(chan error)
		go func() { ran <- h.Run(ctx) }()
		if code, text := scraped(t, h.URL()+"/metrics", ""); code != want {
			t.Errorf("%q: %d, want %d: %s", args, code, want, text)
		}
		stop()
		if err := <-ran; err != nil {
			t.Error(err)
		}
		h.Close()
	}
}

// Metrics show a failed reload and an expiring certificate before a restart or a client does,
// and a renewed certificate even without calls.
func TestMetricsOfTheHost(t *testing.T) {
	renew := func(year int) (cert, key string) {
		c, key := issue(t, nil, func(c *x509.Certificate) {
			c.NotBefore, c.NotAfter = time.Unix(1e9, 0), time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC)
		})
		return c.pem, key
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cert, key := renew(2040)
	env := inFileDir(t, nil, map[string]string{"parley.yaml": small, "cert.pem": cert, "key.pem": key})
	h, err := Open(t.Context(), env, lineOf(t, "--listen=127.0.0.1:0", "--ephemeral", "--metrics-listen=127.0.0.1:0", "--tls-cert=cert.pem", "--tls-key=key.pem", "--audit-log=audit.jsonl"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	has := func(line string) bool {
		w := httptest.NewRecorder()
		h.telemetry.Scrape.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
		return strings.Contains(w.Body.String(), "\n"+line+"\n")
	}
	const expiry = "parley_tls_certificate_expiry_timestamp_seconds "
	for _, line := range []string{"parley_config_last_reload_successful 1", "parley_tls_certificate_not_before_timestamp_seconds 1e+09", expiry + "2.2089888e+09", "parley_audit_lost_total 0"} {
		if !has(line) {
			t.Errorf("at the start it does not have %s", line)
		}
	}
	h.now.read = time.Unix(0, 0)
	write("parley.yaml", "version: 2\n")
	if h.reload(t.Context(), "a test", false) || !has("parley_config_last_reload_successful 0") || !has("parley_config_last_reload_success_timestamp_seconds 0") {
		t.Error("a reload that failed is not seen")
	}
	write("parley.yaml", small)
	if !h.reload(t.Context(), "a test", false) || !has("parley_config_last_reload_successful 1") || has("parley_config_last_reload_success_timestamp_seconds 0") {
		t.Error("a reload that worked is not seen")
	}
	cert, key = renew(2050)
	write("cert.pem", cert)
	write("key.pem", key)
	for !has(expiry + "2.524608e+09") { // the files are looked at once a second
		if t.Context().Err() != nil {
			t.Fatal("a certificate that was renewed is not seen")
		}
	}
}

// scraped asks an address, and returns the status and the text.
func scraped(t *testing.T, url, key string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(b)
}
