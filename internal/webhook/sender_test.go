package webhook_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aclient"
	"github.com/parley-a2a/parley/a2aserver"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/egress"
	"github.com/parley-a2a/parley/internal/webhook"
)

// hookKeys are made once: an RSA key takes its time.
var hookKeys = sync.OnceValue(func() *webhook.Keys {
	k, err := webhook.GenerateKeys(time.Now())
	if err != nil {
		panic(err)
	}
	return k
})

// post is what a receiver got.
type post struct {
	method string
	header http.Header
	body   []byte
}

// inbox is a receiver. answer answers the posts; nil means 200.
type inbox struct {
	*httptest.Server
	answer http.HandlerFunc

	mu    sync.Mutex // protects the fields below
	posts []post
	conns int
}

func newInbox(t testing.TB, answer http.HandlerFunc) *inbox {
	in := &inbox{answer: answer}
	in.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		in.mu.Lock()
		in.posts = append(in.posts, post{r.Method, r.Header.Clone(), body})
		in.mu.Unlock()
		if in.answer != nil {
			in.answer(w, r)
		}
	}))
	in.Config.ConnState = countNew(func() {
		in.mu.Lock()
		in.conns++
		in.mu.Unlock()
	})
	in.Start()
	t.Cleanup(in.Close)
	return in
}

func (in *inbox) got() []post {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.posts
}

// localHooks is a sender to receivers on this machine.
func localHooks(keys *webhook.Keys) *webhook.Sender {
	w := webhook.NewSender(&egress.Policy{Loopback: true}, "Parley", "1.2")
	w.SetKeys(keys)
	return w
}

const (
	chunk = `{"taskId":"t1","contextId":"c1","artifact":{"artifactId":"a1","parts":[{"text":"<é> \u0000"}],"metadata":{"a": [1, 2.50]}},"append":true}`
	whole = `{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_AUTH_REQUIRED","timestamp":"2026-01-02T03:04:05.006Z"},` +
		`"artifacts":[{"artifactId":"a1","parts":[{"text":"<é>"}]}],"history":[{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"go"}]}],"metadata":{"a": [1, 2.50]}}`
)

// noticeOf is a notification for a receiver of a version.
func noticeOf(t testing.TB, version, url string) *a2a.Notification {
	t.Helper()
	n := &a2a.Notification{
		ID: "msg_1", Version: a2a.Version(version), Seq: 7,
		Config: &a2a.TaskPushNotificationConfig{ID: "p1", TaskID: "t1", URL: url},
		Event:  &a2a.StreamResponse{Seq: 7, ArtifactUpdate: new(a2a.TaskArtifactUpdateEvent)},
	}
	if err := json.Unmarshal([]byte(chunk), n.Event.ArtifactUpdate); err != nil {
		t.Fatal(err)
	}
	n.Event.ArtifactUpdate.Generation = 9
	if version != "1.0" {
		n.Task = new(a2a.Task)
		if err := json.Unmarshal([]byte(whole), n.Task); err != nil {
			t.Fatal(err)
		}
		n.Task.Generation = 9
	}
	return n
}

func mustDeliver(t testing.TB, w *webhook.Sender, n *a2a.Notification) {
	t.Helper()
	if out := w.Notify(t.Context(), n); out != (a2a.Outcome{}) {
		t.Fatalf("%+v", out)
	}
}

func TestWebhookBodies(t *testing.T) {
	for version, want := range map[string]struct{ media, body, header string }{
		"1.0": {"application/a2a+json",
			`{"artifactUpdate":{"taskId":"t1","contextId":"c1","artifact":{"artifactId":"a1","parts":[{"text":"<é> \u0000"}],"metadata":{"a":[1,2.50]}},"append":true}}`, "1.0"},
		"0.3": {"application/json",
			`{"kind":"task","id":"t1","contextId":"c1","status":{"state":"auth-required","timestamp":"2026-01-02T03:04:05.006Z"},` +
				`"artifacts":[{"artifactId":"a1","parts":[{"kind":"text","text":"<é>"}]}],` +
				`"history":[{"kind":"message","messageId":"m1","role":"user","parts":[{"kind":"text","text":"go"}]}],"metadata":{"a":[1,2.50]}}`, ""},
		"0.1": {"application/json",
			`{"id":"t1","sessionId":"c1","status":{"state":"input-required","timestamp":"2026-01-02T03:04:05.006Z"},` +
				`"artifacts":[{"parts":[{"type":"text","text":"<é>"}],"index":0,"metadata":{"artifactId":"a1"}}],"metadata":{"a":[1,2.50]}}`, ""},
	} {
		in := newInbox(t, nil)
		mustDeliver(t, localHooks(nil), noticeOf(t, version, in.URL+"/hook?q=1"))
		p := in.got()[0]
		if p.method != http.MethodPost || p.header.Get("Content-Type") != want.media || p.header.Get("A2A-Version") != want.header {
			t.Errorf("%s: %s %v", version, p.method, p.header)
		}
		if p.header.Get("User-Agent") != "Parley/1.2" {
			t.Errorf("%s: calls itself %q", version, p.header.Get("User-Agent"))
		}
		var got, expected any
		if err := errors.Join(json.Unmarshal(p.body, &got), json.Unmarshal([]byte(want.body), &expected)); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(expected, got); d != "" {
			t.Errorf("%s: %s\n%s", version, p.body, d)
		}
	}
}

// A client of the version reads each body as the event that was posted.
func TestWebhookBodiesAreReadByTheCodecs(t *testing.T) {
	in := newInbox(t, nil)
	w := localHooks(nil)
	for _, ev := range []*a2a.StreamResponse{
		{Task: noticeOf(t, "0.3", "").Task},
		{Message: &a2a.Message{MessageID: "m", TaskID: "t1", Role: a2a.RoleAgent, Parts: []*a2a.Part{a2a.TextPart("hi")}}},
		{StatusUpdate: &a2a.TaskStatusUpdateEvent{TaskID: "t1", ContextID: "c1", Status: a2a.TaskStatus{State: a2a.TaskStateCompleted}, Generation: 3}},
		{ArtifactUpdate: noticeOf(t, "1.0", "").Event.ArtifactUpdate},
	} {
		n := noticeOf(t, "1.0", in.URL)
		n.Event = ev
		mustDeliver(t, w, n)
		posts := in.got()
		body := posts[len(posts)-1].body
		var members map[string]json.RawMessage
		if err := json.Unmarshal(body, &members); err != nil || len(members) != 1 || bytes.Contains(body, []byte("eneration")) {
			t.Errorf("not exactly one member of 1.0: %s (%v)", body, err)
		}
		els, err := dialect.CodecOf(dialect.V10, a2a.BindingHTTPJSON).DecodeEvent(dialect.SubscribeToTask, &a2a.SubscribeToTaskRequest{}, body)
		if err != nil || len(els) != 1 || els[0].TaskID() != "t1" {
			t.Errorf("%s: %v, %v", body, els, err)
		}
	}
}

func TestWebhookHeaders(t *testing.T) {
	pair := base64.StdEncoding.EncodeToString([]byte("user:pa:ss"))
	for _, c := range []struct {
		scheme, creds, token        string
		authorization, apiKey, sent string
	}{
		{"Bearer", "abc", "tok", "Bearer abc", "", "tok"},
		{"bEARER", "abc", "", "Bearer abc", "", ""},
		{"basic", "user:pa:ss", "", "Basic " + pair, "", ""},
		{"BASIC", pair, "", "Basic " + pair, "", ""},
		{"x-api-key", "k1", "", "ApiKey k1", "k1", ""},
		{"Own", "a b", "", "Own a b", "", ""},
		{"none", "", "tok", "", "", "tok"},
		{"", "", "whsec_c2VjcmV0", "", "", ""}, // used to sign, never sent
	} {
		for _, version := range []string{"1.0", "0.3", "0.1"} {
			in := newInbox(t, nil)
			n := noticeOf(t, version, in.URL)
			n.Config.Token = a2a.Secret(c.token)
			if c.scheme != "" {
				n.Config.Authentication = &a2a.AuthenticationInfo{Scheme: c.scheme, Credentials: a2a.Secret(c.creds)}
			}
			mustDeliver(t, localHooks(hookKeys()), n)
			h := in.got()[0].header
			if h.Get("Authorization") != c.authorization || h.Get("X-API-Key") != c.apiKey {
				t.Errorf("%s, %s %s: %v", version, c.scheme, c.creds, h)
			}
			if h.Get("X-A2A-Notification-Token") != c.sent || h.Get("A2A-Notification-Token") != c.sent {
				t.Errorf("%s, token %q: %v", version, c.token, h)
			}
			if h.Get("Webhook-Id") != "msg_1" || h.Get("Webhook-Timestamp") == "" || !strings.Contains(h.Get("Webhook-Signature"), "v1a,") {
				t.Errorf("%s: not signed: %v", version, h)
			}
		}
	}
}

// A receiver that knows only the agent's address can tell its deliveries from others',
// and each attempt of one from the next delivery.
func TestWebhookSignaturesHold(t *testing.T) {
	w := localHooks(hookKeys())
	agent := httptest.NewServer(a2aserver.New(a2a.Unimplemented{}, new(a2a.AgentCard), &a2aserver.Options{Keys: w.JWKS}))
	t.Cleanup(agent.Close)
	const token = "whsec_c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0" // gitleaks:allow
	for _, version := range []string{"1.0", "0.3", "0.1"} {
		v, err := a2aclient.NewWebhookVerifier(a2aclient.WebhookOptions{Keys: agent.URL + "/.well-known/jwks.json", Token: token})
		if err != nil {
			t.Fatal(err)
		}
		in := newInbox(t, func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(503) })
		n := noticeOf(t, version, in.URL)
		n.Config.Token = token
		for range 2 {
			if out := w.Notify(t.Context(), n); out.Verdict != a2a.DeliverAgain {
				t.Fatalf("%+v", out)
			}
		}
		for i, p := range in.got() {
			d, err := v.Verify(t.Context(), p.header, p.body)
			if err != nil || d.ID != "msg_1" || d.Duplicate != (i == 1) || d.TaskID != "t1" || !d.ByKey || !d.ByToken {
				t.Errorf("%s, attempt %d: %+v, %v", version, i+1, d, err)
			}
			if _, err := v.Verify(t.Context(), p.header, append(p.body, ' ')); err == nil {
				t.Errorf("%s: another body passes", version)
			}
		}
	}
}

// The JWT that samples of 0.1 wait for, and that servers of 0.3 still send.
func TestWebhookJWT(t *testing.T) {
	w := localHooks(hookKeys())
	agent := httptest.NewServer(a2aserver.New(a2a.Unimplemented{}, new(a2a.AgentCard), &a2aserver.Options{Keys: w.JWKS}))
	t.Cleanup(agent.Close)
	for _, version := range []string{"0.1", "0.3"} {
		for _, scheme := range []string{"Bearer", "jwt"} {
			in := newInbox(t, nil)
			n := noticeOf(t, version, in.URL+"/hook?secret=1")
			n.Config.Authentication = &a2a.AuthenticationInfo{Scheme: scheme}
			mustDeliver(t, w, n)
			p := in.got()[0]
			if !bytes.Equal(p.body, webhook.Compact(nil, p.body)) || !bytes.Contains(p.body, []byte(`"a":[1,2.50]`)) {
				t.Errorf("not as a receiver would write it again: %s", p.body)
			}
			for _, name := range []string{"Webhook-Id", "Webhook-Timestamp", "Webhook-Signature"} {
				p.header.Del(name)
			}
			v, err := a2aclient.NewWebhookVerifier(a2aclient.WebhookOptions{Keys: agent.URL + "/.well-known/jwks.json", AnySource: true})
			if err != nil {
				t.Fatal(err)
			}
			if d, err := v.Verify(t.Context(), p.header, p.body); err != nil || d.ID != "msg_1" || !d.ByKey {
				t.Errorf("%s, %s: %+v, %v", version, scheme, d, err)
			}
		}
	}
	in := newInbox(t, nil)
	n := noticeOf(t, "1.0", in.URL)
	n.Config.Authentication = &a2a.AuthenticationInfo{Scheme: "Bearer"}
	mustDeliver(t, w, n)
	if a := in.got()[0].header.Get("Authorization"); a != "" {
		t.Errorf("1.0 has no JWT, and got %q", a)
	}
}

func TestWebhookConnectionsAreUsedAgain(t *testing.T) {
	in := newInbox(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, strings.Repeat("thanks ", 1000))
	})
	w := localHooks(hookKeys())
	for range 20 {
		mustDeliver(t, w, noticeOf(t, "1.0", in.URL))
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if len(in.posts) != 20 || in.conns != 1 {
		t.Errorf("%d posts over %d connections", len(in.posts), in.conns)
	}
}

// Posts can be sent at the same time, even while the keys are rotated.
func TestWebhooksAreSentTogether(t *testing.T) {
	in := newInbox(t, nil)
	w := localHooks(hookKeys())
	next, err := hookKeys().Rotate(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	n := noticeOf(t, "0.3", in.URL)
	n.Config.Authentication = &a2a.AuthenticationInfo{Scheme: "Bearer"}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 8 {
				if out := w.Notify(t.Context(), n); out != (a2a.Outcome{}) {
					t.Errorf("%+v", out)
				}
			}
		})
	}
	w.SetKeys(next)
	all.Wait()
	for _, p := range in.got() {
		if got := strings.Count(p.header.Get("Webhook-Signature"), "v1a,"); got != 1 && got != 2 {
			t.Errorf("%d signatures", got)
		}
	}
	if len(in.got()) != 64 {
		t.Errorf("%d posts", len(in.got()))
	}
}

func TestWebhookOfAnAllowedHost(t *testing.T) {
	rule, err := egress.ParseRule("http://10.1.0.0/16:8080")
	if err != nil {
		t.Fatal(err)
	}
	w := webhook.NewSender(&egress.Policy{Allow: []egress.Rule{rule}}, "Parley", "")
	for url, ok := range map[string]bool{"http://10.1.2.3:8080/": true, "https://10.1.2.3:8080/": true, "http://10.1.2.3/": false, "http://10.2.2.3:8080/": false} {
		if _, err := w.Check(t.Context(), &a2a.TaskPushNotificationConfig{URL: url}); (err == nil) != ok {
			t.Errorf("%s: %v", url, err)
		}
	}
	if _, err := egress.ParseRule("not a host"); err == nil {
		t.Error("no host is a rule")
	}
}

func BenchmarkWebhook(b *testing.B) {
	for name, keys := range map[string]*webhook.Keys{"unsigned": nil, "signed": hookKeys()} {
		b.Run(name, func(b *testing.B) {
			s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
			b.Cleanup(s.Close)
			w, n := localHooks(keys), noticeOf(b, "1.0", s.URL)
			b.ReportAllocs()
			for b.Loop() {
				mustDeliver(b, w, n)
			}
		})
	}
}

func TestWebhookCheckNamesTheField(t *testing.T) {
	strict := webhook.NewSender(nil, "Parley", "")
	for field, list := range map[string][]a2a.TaskPushNotificationConfig{
		"url": {
			{}, {URL: "nonsense"}, {URL: "http://example.com/"}, {URL: "https://127.0.0.1/"}, {URL: "https://localhost/"}, {URL: "https://[::ffff:10.0.0.1]/"},
			{URL: "https://169.254.169.254/latest/meta-data"}, {URL: "https://user:pass@example.com/"}, {URL: "ftp://example.com/"}, {URL: "https://2130706433/"},
			{URL: "https://example.com:25/"}, {URL: "https://example.com/\r\nX: y"},
		},
		"authentication.scheme": {
			{URL: "https://example.com/", Authentication: &a2a.AuthenticationInfo{Scheme: "Be arer", Credentials: "x"}},
			{URL: "https://example.com/", Authentication: &a2a.AuthenticationInfo{Scheme: "Bearer\r\nX:", Credentials: "x"}},
		},
		"authentication.credentials": {
			{URL: "https://example.com/", Authentication: &a2a.AuthenticationInfo{Scheme: "Bearer", Credentials: "x\r\nX: y"}},
			{URL: "https://example.com/", Authentication: &a2a.AuthenticationInfo{Scheme: "Basic", Credentials: "alone"}},
			{URL: "https://example.com/", Authentication: &a2a.AuthenticationInfo{Scheme: "Digest"}},
		},
		"token": {
			{URL: "https://example.com/", Token: "a\nb"}, {URL: "https://example.com/", Token: "whsec_?"}, {URL: "https://example.com/", Token: a2a.Secret(strings.Repeat("a", 2000))},
		},
	} {
		for _, c := range list {
			host, err := strict.Check(t.Context(), &c)
			var e *a2a.Error
			if !errors.As(err, &e) || e.Code != a2a.CodeInvalidParams || len(e.Fields) != 1 || e.Fields[0].Field != field || host != "" {
				t.Errorf("%+v: %q, %v, want a word about %s", c, host, err, field)
			}
			if err != nil && strings.Contains(err.Error(), "\n") {
				t.Errorf("%q", err)
			}
		}
	}
	for url, want := range map[string]string{
		"https://Example.COM/hook?x=y":  "example.com",
		"https://example.com:443/":      "example.com",
		"https://example.com:8443/":     "example.com:8443",
		"https://[2606:4700::1111]/":    "[2606:4700::1111]",
		"https://xn--bcher-kva.example": "xn--bcher-kva.example",
	} {
		c := a2a.TaskPushNotificationConfig{URL: url, Token: "t", Authentication: &a2a.AuthenticationInfo{Scheme: "bearer", Credentials: "abc"}}
		if host, err := strict.Check(t.Context(), &c); err != nil || host != want {
			t.Errorf("%s: %q, %v", url, host, err)
		}
	}
}

func TestWebhookWaitsForItsKeys(t *testing.T) {
	in := newInbox(t, nil)
	w := webhook.NewSender(&egress.Policy{Loopback: true}, "", "")
	calls := 0
	w.LoadKeys(func(context.Context) (*webhook.Keys, error) {
		if calls++; calls == 1 {
			return nil, errors.New("disk on fire at /var/lib")
		}
		return hookKeys(), nil
	})
	out := w.Notify(t.Context(), noticeOf(t, "1.0", in.URL))
	if out.Verdict != a2a.DeliverAgain || out.Down || strings.Contains(out.Reason, "var") || len(in.got()) != 0 {
		t.Errorf("%+v, %d posts", out, len(in.got()))
	}
	mustDeliver(t, w, noticeOf(t, "1.0", in.URL))
	mustDeliver(t, w, noticeOf(t, "1.0", in.URL))
	if doc, err := w.JWKS(t.Context()); err != nil || !bytes.Equal(doc, hookKeys().JWKS()) || calls != 2 {
		t.Errorf("%s, %v after %d calls", doc, err, calls)
	}
}
