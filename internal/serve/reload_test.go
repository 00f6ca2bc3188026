package serve

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/config"
)

// Services call back at the address in force, also where the description of their agent
// has not changed, and those that were told of another one before are heard, too.
func TestReloadMovesCallbacks(t *testing.T) {
	told := make(chan string, 1)
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if m := regexp.MustCompile(`"callback":"([^"]*)"`).FindSubmatch(body); m != nil {
			told <- string(m[1])
		}
		w.WriteHeader(http.StatusAccepted)
	}))
	defer service.Close()
	file := func(public, own string) string {
		return "version: 1\nauth: {anonymous: true}\npublic_url: " + public + "\nagents: {echo: {default: true, http: {url: " + service.URL + ", callbacks: true" + own + "}}}\n"
	}
	env := inFileDir(t, nil, map[string]string{"parley.yaml": file("https://a.example", "")})
	h, err := Open(t.Context(), env, lineOf(t, "--listen=127.0.0.1:0", "--ephemeral"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	reload := func(text string) {
		t.Helper()
		if err := os.WriteFile("parley.yaml", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if !h.reload(t.Context(), "a test", false) {
			t.Fatal("it is not reloaded")
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	engine := make(chan error, 1)
	go func() { engine <- h.server.Run(ctx) }()
	defer func() { stop(); <-engine }()
	send := func(want string) (*a2a.Task, string) {
		t.Helper()
		res, err := h.server.Engine().SendMessage(t.Context(), &a2a.SendMessageRequest{
			Message:       &a2a.Message{MessageID: want, Role: a2a.RoleUser, Parts: []*a2a.Part{a2a.TextPart("x")}},
			Configuration: &a2a.SendMessageConfiguration{ReturnImmediately: true},
		})
		if err != nil {
			t.Fatal(err)
		}
		at := <-told
		if !strings.HasPrefix(at, want+"/callbacks/echo/") {
			t.Errorf("the service is told %s, want %s", at, want)
		}
		return res.Task, at
	}
	first, at := send("https://a.example")
	reload(file("https://b.example", ""))
	send("https://b.example")
	reload(file("https://b.example", ", callback_url: https://c.example"))
	send("https://c.example")

	q := httptest.NewRequest(http.MethodPost, strings.TrimPrefix(at, "https://a.example"), strings.NewReader(`{"type":"complete"}`))
	w := httptest.NewRecorder()
	h.server.Handler().ServeHTTP(w, q)
	if w.Code != http.StatusOK {
		t.Errorf("the first callback is answered %d: %s", w.Code, w.Body)
	}
	got, err := h.server.Engine().GetTask(t.Context(), &a2a.GetTaskRequest{ID: first.ID})
	if err != nil || got.Status.State != a2a.TaskStateCompleted {
		t.Errorf("the first task is %+v, %v", got, err)
	}
}

// An agent that is another one behind this server is told of a new address on the cards.
func TestReloadMovesPushes(t *testing.T) {
	m := &factory{log: slog.New(slog.DiscardHandler), secret: "a secret of the server", public: "https://a.example", current: map[string]*instance{}}
	c := &config.Agent{Name: "x", Proxy: &config.Proxy{Agent: "http://127.0.0.1:1", Push: true}}
	for _, want := range []struct {
		public string
		isNew  bool
	}{{"https://a.example", true}, {"https://a.example", false}, {"https://b.example", true}, {"https://b.example", false}} {
		m.public = want.public
		n, isNew, err := m.make(c, agent.Lost{}, false)
		if err != nil || isNew != want.isNew {
			t.Fatalf("at %s it is new: %t, %v", want.public, isNew, err)
		}
		if isNew {
			defer n.close()
		}
		m.current["x"] = n
	}
}

// A reload reads the keys of cards, too: one that was taken out of its file, as after a
// theft, is not trusted until the next start.
func TestReloadReadsTheKeysOfCards(t *testing.T) {
	t.Chdir(t.TempDir())
	var keys [2]*auth.Key
	for i := range keys {
		var err error
		if keys[i], err = auth.GenerateKey("EdDSA"); err != nil {
			t.Fatal(err)
		}
	}
	trust := func(k *auth.Key) {
		t.Helper()
		doc, err := k.Public().MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile("trust.jwk", doc, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	behind := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		doc, _, err := auth.SignJSON([]byte(`{"name":"Signed","description":"d","version":"1","capabilities":{},"skills":[],"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],"supportedInterfaces":[{"url":"http://`+r.Host+`","protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}`), keys[0], nil)
		if err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(doc)
	}))
	defer behind.Close()
	trust(keys[0])
	m := &factory{log: slog.New(slog.DiscardHandler), current: map[string]*instance{}}
	reload := func(makes, good bool) {
		t.Helper()
		n, isNew, err := m.make(&config.Agent{Name: "x", Proxy: &config.Proxy{Agent: behind.URL, Verify: []string{"trust.jwk"}}}, agent.Lost{}, false)
		if err != nil {
			t.Fatal(err)
		}
		if isNew != makes {
			t.Errorf("the agent is new: %t", isNew)
		}
		t.Cleanup(func() { _ = n.close() })
		m.current["x"] = n
		if _, err := n.fetch(t.Context()); (err == nil) != good {
			t.Errorf("the card is good: %t, %v", !good, err)
		}
	}
	reload(true, true)
	reload(false, true) // with the card that it has, whether or not the one behind answers
	trust(keys[1])
	reload(true, false)
	trust(keys[0])
	reload(true, true)
}

// The operator hears of settings that wait for the next start: also of those that are
// named elsewhere, or count at once in other places.
func TestReloadNamesWhatWaits(t *testing.T) {
	const oidc = "auth: {oidc: {issuer: \"https://%s.example\", audiences: [us]%s}}\n"
	for _, c := range []struct{ before, after, want string }{
		{"", "auth: {keys: true}\n", "settings=logs"}, // the audit log of callers that are authenticated
		{fmt.Sprintf(oidc, "a", ", client: c"), fmt.Sprintf(oidc, "b", ", client: c"), `settings="auth.oidc (the console's login)"`},
		{fmt.Sprintf(oidc, "a", ""), fmt.Sprintf(oidc, "b", ""), ""},
		{"", "limits: {body: 1MiB}\n", `settings="limits.body (over gRPC and in the console)"`},
		{"", "limits: {bodies: 0}\n", `settings="limits.bodies (whether there is a limit)"`},
		{"", "limits: {bodies: 64MiB}\n", ""},
	} {
		var log strings.Builder
		env := inFileDir(t, nil, map[string]string{"parley.yaml": c.before + small})
		load := func() *Settings {
			t.Helper()
			f, err := env.Load(lineOf(t), false)
			if err != nil {
				t.Fatal(err)
			}
			return f
		}
		h := &Host{atStart: load().untilRestart(), log: slog.New(slog.NewTextHandler(&log, nil))}
		h.stale(load())
		if log.String() != "" {
			t.Errorf("without a change the log has %q", log.String())
		}
		if err := os.WriteFile("parley.yaml", []byte(c.after+small), 0o600); err != nil {
			t.Fatal(err)
		}
		h.stale(load())
		if c.want == "" && log.String() != "" || !strings.HasSuffix(strings.TrimSpace(log.String()), c.want) {
			t.Errorf("from %q to %q the log has %q", c.before, c.after, log.String())
		}
	}
}

// A reload that changes who may call goes on with the keys of an issuer that is down.
func TestReloadWhileTheIssuerIsDown(t *testing.T) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	var down atomic.Bool
	var issuer *httptest.Server
	issuer = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if down.Load() {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]any{
			"issuer": issuer.URL, "jwks_uri": issuer.URL + "/keys",
			"keys": []jose.JSONWebKey{{Key: key.Public(), KeyID: "k", Algorithm: "EdDSA", Use: "sig"}},
		})
	}))
	defer issuer.Close()
	sign, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.EdDSA, Key: jose.JSONWebKey{Key: key, KeyID: "k"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	claims, _ := json.Marshal(map[string]any{"iss": issuer.URL, "aud": "us", "sub": "ada", "exp": time.Now().Add(time.Hour).Unix()})
	signed, err := sign.Sign(claims)
	if err != nil {
		t.Fatal(err)
	}
	token, err := signed.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	oidc := "version: 1\nauth: {oidc: {issuer: \"" + issuer.URL + "\", audiences: [us]}"
	env := inFileDir(t, nil, map[string]string{"parley.yaml": oidc + "}\nagents: {echo: {builtin: demo}}\n"})
	h, err := Open(t.Context(), env, lineOf(t, "--listen=127.0.0.1:0", "--ephemeral"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	calls := func() {
		t.Helper()
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("Authorization", "Bearer "+token)
		if c, err := h.now.guard.Authenticate(r); err != nil || c.Subject != issuer.URL+"#ada" {
			t.Errorf("the caller is %+v, %v", c, err)
		}
	}
	calls()
	down.Store(true)
	if err := os.WriteFile("parley.yaml", []byte(oidc+", grants: [tasks:read]}\nagents: {echo: {builtin: demo}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if !h.reload(t.Context(), "a test", false) {
		t.Fatal("it is not reloaded")
	}
	calls()
}
