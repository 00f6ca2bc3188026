package a2aclient

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parley-a2a/parley/internal/webhook"
)

const (
	statusEvent = `{"statusUpdate":{"taskId":"t-1","contextId":"c-1","status":{"state":"TASK_STATE_WORKING"}}}`
	taskV03     = `{"kind":"task","id":"t-1","contextId":"c-1","status":{"state":"working"}}`
	keysURL     = "https://agent.example/.well-known/jwks.json"
)

var webhookKeys = sync.OnceValue(func() *webhook.Keys {
	k, err := webhook.GenerateKeys(time.Unix(1_700_000_000, 0))
	if err != nil {
		panic(err)
	}
	return k
})

// receiver is a verifier with a clock and an agent that publishes keys.
type receiver struct {
	t *testing.T
	*WebhookVerifier

	mu      sync.Mutex // protects the fields below
	now     time.Time
	keys    *webhook.Keys
	down    bool
	fetches int
}

func (r *receiver) RoundTrip(req *http.Request) (*http.Response, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fetches++
	if req.URL.String() != keysURL {
		r.t.Errorf("asked for %s", req.URL)
	}
	if r.down {
		return nil, errors.New("down")
	}
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(r.keys.JWKS())), Request: req}, nil
}

func (r *receiver) clock() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.now
}

func (r *receiver) pass(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now = r.now.Add(d)
}

func newReceiver(t *testing.T, o WebhookOptions) *receiver {
	t.Helper()
	r := &receiver{t: t, now: time.Unix(1_700_000_000, 0), keys: webhookKeys()}
	o.Now, o.HTTPClient = r.clock, &http.Client{Transport: r}
	if o.Token == "" && o.Sources == nil {
		o.AnySource = true // see webhook_source_test.go
	}
	v, err := NewWebhookVerifier(o)
	if err != nil {
		t.Fatal(err)
	}
	r.WebhookVerifier = v
	return r
}

// signed is a delivery as Parley sends it now.
func (r *receiver) signed(id, body, token string) http.Header {
	h := http.Header{"Content-Type": {"application/a2a+json"}}
	r.keys.Sign(h, id, r.clock(), []byte(body), token)
	webhook.SetToken(h, token)
	return h
}

// withJWT is a delivery as the samples of 0.1 send it.
func (r *receiver) withJWT(id, task, body string) http.Header {
	h := http.Header{"Content-Type": {"application/json"}}
	if err := r.keys.Bearer(h, id, task, "https://receiver.example", r.clock(), []byte(body)); err != nil {
		r.t.Fatal(err)
	}
	return h
}

func (r *receiver) want(what string, h http.Header, body string, status int) *WebhookDelivery {
	r.t.Helper()
	d, err := r.Verify(r.t.Context(), h, []byte(body))
	var e *WebhookError
	switch {
	case err == nil && status != 200:
		r.t.Errorf("%s: taken, want %d", what, status)
	case err != nil && (!errors.As(err, &e) || e.Status != status):
		r.t.Errorf("%s: %v, want %d", what, err, status)
	}
	return d
}

func TestWebhookOfEveryVersion(t *testing.T) {
	for _, c := range []struct{ body, task, state string }{
		{statusEvent, "", "TASK_STATE_WORKING"},
		{`{"task":{"id":"t-1","contextId":"c-1","status":{"state":"TASK_STATE_COMPLETED"}}}`, "", "TASK_STATE_COMPLETED"},
		{`{"artifactUpdate":{"taskId":"t-1","contextId":"c-1","artifact":{"artifactId":"a","parts":[{"text":"x"}]}}}`, "", ""},
		{`{"message":{"messageId":"m","taskId":"t-1","role":"ROLE_AGENT","parts":[{"text":"x"}]}}`, "", ""},
		{taskV03, "t-1", "TASK_STATE_WORKING"},
		{`{"kind":"status-update","taskId":"t-1","contextId":"c-1","status":{"state":"completed"},"final":true}`, "", "TASK_STATE_COMPLETED"},
		{`{"id":"t-1","sessionId":"c-1","status":{"state":"input-required","message":{"role":"agent","parts":[{"type":"text","text":"?"}]}}}`, "t-1", "TASK_STATE_INPUT_REQUIRED"},
		{`{"id":"t-1","contextId":"c-1","status":{"state":"TASK_STATE_FAILED"}}`, "t-1", "TASK_STATE_FAILED"},
	} {
		r := newReceiver(t, WebhookOptions{Keys: keysURL, Token: "secret"})
		d := r.want(c.body, r.signed("d-1", c.body, "secret"), c.body, 200)
		if d == nil {
			continue
		}
		if d.ID != "d-1" || d.TaskID != "t-1" || !d.Time.Equal(r.clock()) || d.Duplicate || !d.ByKey || !d.ByToken || (d.Task != nil) == (d.Event != nil) {
			t.Errorf("%s: %+v", c.body, d)
		}
		state := ""
		switch {
		case d.Task != nil:
			state = d.Task.Status.State.String()
		case d.Event.StatusUpdate != nil:
			state = d.Event.StatusUpdate.Status.State.String()
		case d.Event.Task != nil:
			state = d.Event.Task.Status.State.String()
		}
		if (d.Task != nil) != (c.task != "") || state != c.state {
			t.Errorf("%s: task %+v, state %s", c.body, d.Task, state)
		}
	}
	for _, body := range []string{
		"", "null", "[]", "7", "{}", `{"kind":"task"}`, `{"kind":"x"}`, `{"statusUpdate":{}}`, `{"statusUpdate":{"status":{"state":"TASK_STATE_WORKING"}}}`,
		`{"task":null}`, `{"id":"t-1"}`, `{"id":7,"status":{}}`, statusEvent + "x",
	} {
		r := newReceiver(t, WebhookOptions{Token: "secret"})
		r.want(body, r.signed("d-1", body, "secret"), body, 400)
	}
}

func TestWebhookRequiresWhatIsConfigured(t *testing.T) {
	other, err := webhook.GenerateKeys(time.Unix(1_700_000_000, 0))
	if err != nil {
		t.Fatal(err)
	}
	foreign := func(r *receiver) http.Header {
		h := http.Header{}
		other.Sign(h, "d-1", r.clock(), []byte(taskV03), "secret")
		return h
	}
	onlyToken := func(r *receiver) http.Header {
		h := http.Header{}
		(*webhook.Keys)(nil).Sign(h, "d-1", r.clock(), []byte(taskV03), "secret")
		return h
	}
	plain := func(token string) func(*receiver) http.Header {
		return func(*receiver) http.Header {
			h := http.Header{}
			webhook.SetToken(h, token)
			return h
		}
	}
	jwt := func(task, token string) func(*receiver) http.Header {
		return func(r *receiver) http.Header {
			h := r.withJWT("d-1", task, taskV03)
			webhook.SetToken(h, token)
			return h
		}
	}
	both := func(token string) func(*receiver) http.Header {
		return func(r *receiver) http.Header { return r.signed("d-1", taskV03, token) }
	}
	keys, token := WebhookOptions{Keys: keysURL}, WebhookOptions{Token: "secret"}
	pinned := WebhookOptions{PublicKeys: []string{webhookKeys().PublicKey()}}
	all := WebhookOptions{Keys: keysURL, Token: "secret"}
	unsigned := WebhookOptions{Unsigned: true}
	unsignedToken := WebhookOptions{Unsigned: true, Token: "secret"}
	for _, c := range []struct {
		what   string
		opts   WebhookOptions
		header func(*receiver) http.Header
		status int
	}{
		{"keys: signed", keys, both(""), 200},
		{"keys: JWT", keys, jwt("t-1", ""), 200},
		{"keys: JWT without a task", keys, jwt("", ""), 200},
		{"keys: JWT of another task", keys, jwt("t-2", ""), 401},
		{"keys: foreign key", keys, foreign, 401},
		{"keys: token only", keys, onlyToken, 401},
		{"keys: nothing", keys, plain("secret"), 401},
		{"pinned: signed", pinned, both(""), 200},
		{"pinned: foreign key", pinned, foreign, 401},
		{"pinned: JWT", pinned, jwt("t-1", ""), 401},
		{"token: signed", token, both("secret"), 200},
		{"token: by others, too", token, foreign, 200},
		{"token: token only", token, onlyToken, 200},
		{"token: another", token, both("Secret"), 401},
		{"token: in the open", token, plain("secret"), 401},
		{"token: JWT that nobody checks", token, jwt("t-1", "secret"), 401},
		{"all: signed", all, both("secret"), 200},
		{"all: another token", all, both("other"), 401},
		{"all: no token", all, both(""), 401},
		{"all: token only", all, onlyToken, 401},
		{"all: foreign key", all, foreign, 401},
		{"all: JWT and token", all, jwt("t-1", "secret"), 200},
		{"all: JWT and another token", all, jwt("t-1", "other"), 401},
		{"all: JWT alone", all, jwt("t-1", ""), 401},
		{"unsigned: nothing", unsigned, plain(""), 200},
		{"unsigned: signed by whomever", unsigned, foreign, 200},
		{"unsigned: with the token", unsignedToken, plain("secret"), 200},
		{"unsigned: with the token and a JWT of the receiver's", unsignedToken, jwt("", "secret"), 200},
		{"unsigned: with a JWT of the receiver's alone", unsignedToken, jwt("", ""), 401},
		{"unsigned: another token", unsignedToken, plain("other"), 401},
		{"unsigned: no token", unsignedToken, plain(""), 401},
		{"unsigned: signed with another token", unsignedToken, both("other"), 401},
	} {
		r := newReceiver(t, c.opts)
		r.want(c.what, c.header(r), taskV03, c.status)
		if c.status == 200 && !c.opts.Unsigned {
			r = newReceiver(t, c.opts) // or the keys were requested a moment ago
			h := c.header(r)
			r.want(c.what+", another body", h, strings.Replace(taskV03, "working", "failed", 1), 401)
		}
	}
	for _, o := range []WebhookOptions{
		{}, {Keys: "http://agent.example/jwks.json"}, {Keys: "agent.example"}, {Keys: "https://u:p@agent.example/"}, {PublicKeys: []string{"x"}},
		{Keys: keysURL, PublicKeys: []string{webhookKeys().PublicKey()}}, {Token: "a\r\nb"}, {Token: "whsec_?"},
	} {
		if _, err := NewWebhookVerifier(o); err == nil || strings.Contains(err.Error(), "u:p") {
			t.Errorf("%+v: %v", o, err)
		}
	}
	if _, err := NewWebhookVerifier(WebhookOptions{Token: "whsec_?"}); err == nil || err.Error() != "webhook verifier: token: a token that begins with whsec_ continues in base64, with padding" {
		t.Error(err)
	}
}

func TestWebhookProofsAreNotMixed(t *testing.T) {
	r := newReceiver(t, WebhookOptions{Keys: keysURL, Token: "secret"})
	h := r.withJWT("d-1", "t-1", taskV03)
	(*webhook.Keys)(nil).Sign(h, "d-2", r.clock(), []byte(taskV03), "secret") // another delivery's
	r.want("two ids", h, taskV03, 401)
	r = newReceiver(t, WebhookOptions{Keys: keysURL})
	h = r.withJWT("d-1", "t-1", taskV03)
	h[webhook.HeaderID], h[webhook.HeaderTimestamp], h[webhook.HeaderSignature] = []string{"d-9"}, []string{"1"}, []string{"v1,x"}
	if d := r.want("an unproven id", h, taskV03, 200); d != nil && (d.ID != "d-1" || d.Time.Unix() == 1) {
		t.Errorf("believed %s at %v", d.ID, d.Time)
	}
}

// TestWebhookWithTheClientsOwnJWT: what a client gave as its credentials is not
// taken for a signature of the agent.
func TestWebhookWithTheClientsOwnJWT(t *testing.T) {
	own, err := webhook.GenerateKeys(time.Unix(1_700_000_000, 0))
	if err != nil {
		t.Fatal(err)
	}
	rs256 := http.Header{}
	own.Bearer(rs256, "x", "t-9", "https://idp.example", time.Unix(1, 0), nil)
	for _, credential := range []string{
		rs256.Get("Authorization"),
		"Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJtZSJ9.c2lnbmF0dXJl",
		"Bearer opaque", "Basic dTpw", "Bearer " + strings.Repeat("a.", 5000),
	} {
		r := newReceiver(t, WebhookOptions{Keys: keysURL, Token: "secret"})
		h := r.signed("d-1", statusEvent, "secret")
		h.Set("Authorization", credential)
		if d := r.want(credential, h, statusEvent, 200); d != nil && d.ID != "d-1" {
			t.Errorf("%s: %+v", credential, d)
		}
	}
}

func TestWebhookWindow(t *testing.T) {
	const w = 5 * time.Minute
	for _, c := range []struct {
		skew   time.Duration
		status int
	}{{0, 200}, {w, 200}, {-w, 200}, {w + time.Second, 425}, {-w - time.Second, 425}, {24 * time.Hour, 425}} {
		for _, jwt := range []bool{false, true} {
			r := newReceiver(t, WebhookOptions{Keys: keysURL})
			h := r.signed("d-1", statusEvent, "")
			if jwt {
				h = r.withJWT("d-1", "t-1", statusEvent)
			}
			r.pass(c.skew)
			r.want(c.skew.String(), h, statusEvent, c.status)
		}
	}
}

func TestWebhookTokenExpires(t *testing.T) {
	r := newReceiver(t, WebhookOptions{Keys: keysURL, Window: time.Hour})
	h := r.withJWT("d-1", "t-1", statusEvent)
	r.pass(5 * time.Minute)
	r.want("in its last second", h, statusEvent, 200)
	r.pass(time.Second)
	r.want("expired", h, statusEvent, 425)
}

func TestWebhookDuplicates(t *testing.T) {
	r := newReceiver(t, WebhookOptions{Keys: keysURL})
	first := r.signed("d-1", statusEvent, "")
	if d := r.want("first", first, statusEvent, 200); d.Duplicate {
		t.Error("the first is a duplicate")
	}
	if d := r.want("replayed", first, statusEvent, 200); !d.Duplicate {
		t.Error("a replay is not a duplicate")
	}
	r.pass(time.Hour)
	again := r.want("tried again", r.signed("d-1", statusEvent, ""), statusEvent, 200)
	if !again.Duplicate {
		t.Error("another attempt is not a duplicate")
	}
	if d := r.want("another", r.signed("d-2", statusEvent, ""), statusEvent, 200); d.Duplicate {
		t.Error("another delivery is a duplicate")
	}
	r.Forget(again)
	if d := r.want("forgotten", r.signed("d-1", statusEvent, ""), statusEvent, 200); d.Duplicate {
		t.Error("a forgotten one is a duplicate")
	}
	h := r.withJWT("", "t-1", statusEvent) // as the samples: without an id
	r.want("without an id", h, statusEvent, 200)
	if d := r.want("the same token", h, statusEvent, 200); !d.Duplicate {
		t.Error("a replayed token is not a duplicate")
	}
}

// TestWebhookTokensInOtherWords: a token without an id is known again, however it is
// written.
func TestWebhookTokensInOtherWords(t *testing.T) {
	r := newReceiver(t, WebhookOptions{Keys: keysURL})
	h := r.withJWT("", "t-1", statusEvent)
	r.want("first", h, statusEvent, 200)
	token := strings.TrimPrefix(h.Get("Authorization"), "Bearer ")
	words := []string{"bearer " + token, "BEARER " + token, "Bearer " + token + " ", "Bearer  " + token}
	// The last letter of a part may have bits that nobody reads.
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	for part := range 3 {
		parts := strings.Split(token, ".")
		p := parts[part]
		end := p[len(p)-1]
		raw, err := base64.RawURLEncoding.DecodeString(p)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range letters {
			parts[part] = p[:len(p)-1] + string(c)
			if b, err := base64.RawURLEncoding.DecodeString(parts[part]); err == nil && bytes.Equal(b, raw) && byte(c) != end {
				words = append(words, "Bearer "+strings.Join(parts, "."))
			}
		}
	}
	if len(words) < 8 {
		t.Fatalf("only %d spellings", len(words))
	}
	for _, w := range words {
		h := h.Clone()
		h.Set("Authorization", w)
		d, err := r.Verify(t.Context(), h, []byte(statusEvent))
		if err == nil && !d.Duplicate {
			t.Errorf("%.12s…%s is new", w, w[len(w)-4:])
		}
	}
}

// TestWebhookClockThatIsSetBack: what was pushed out when it was too old is not new
// again when the clock is set back.
func TestWebhookClockThatIsSetBack(t *testing.T) {
	r := newReceiver(t, WebhookOptions{Token: "secret", Remember: 2})
	old := r.signed("d-1", statusEvent, "secret")
	r.want("new", old, statusEvent, 200)
	r.pass(10 * time.Minute)
	for _, id := range []string{"e-1", "e-2"} {
		r.want(id, r.signed(id, statusEvent, "secret"), statusEvent, 200)
	}
	r.pass(-10 * time.Minute)
	r.want("replayed", old, statusEvent, 425)
}

// TestWebhookTimesAtTheEdge: no time that can be written overflows into the window.
func TestWebhookTimesAtTheEdge(t *testing.T) {
	r := newReceiver(t, WebhookOptions{Token: "secret"})
	for _, at := range []int64{0, 1, 1 << 31, 1 << 32, 1 << 53, 1<<62 - 1, 1<<63 - 1} {
		h := http.Header{}
		h["Webhook-Id"] = []string{"d-1"}
		h["Webhook-Timestamp"] = []string{strconv.FormatInt(at, 10)}
		mac := hmac.New(sha256.New, []byte("secret"))
		mac.Write([]byte("d-1." + strconv.FormatInt(at, 10) + "." + statusEvent))
		h["Webhook-Signature"] = []string{"v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))}
		r.want(strconv.FormatInt(at, 10), h, statusEvent, 425)
	}
	if len(r.seen.known) > 0 {
		t.Error("a refused delivery is remembered")
	}
}

// TestWebhookMemoryIsBounded: what had to be forgotten cannot be replayed.
func TestWebhookMemoryIsBounded(t *testing.T) {
	r := newReceiver(t, WebhookOptions{Token: "secret", Remember: 3})
	var all []http.Header
	for i := range 10 {
		h := r.signed("d-"+string(rune('0'+i)), statusEvent, "secret")
		all = append(all, h)
		r.want("new", h, statusEvent, 200)
		r.pass(time.Second)
	}
	if len(r.seen.known) > 3 || len(r.seen.order) > 3 {
		t.Errorf("remembers %d ids", len(r.seen.known))
	}
	for i, h := range all {
		if i < 7 {
			r.want("replayed after it was forgotten", h, statusEvent, 425)
		} else if d := r.want("replayed", h, statusEvent, 200); d != nil && !d.Duplicate {
			t.Errorf("%d is new again", i)
		}
	}
	r.want("an old one that is sent again", r.signed("d-0", statusEvent, "secret"), statusEvent, 200)
	r.pass(time.Hour)
	for _, id := range []string{"e-1", "e-2", "e-3"} { // pushes out what no window holds any more
		r.want(id, r.signed(id, statusEvent, "secret"), statusEvent, 200)
	}
}

// Deliveries that could not be processed take no room from those that were.
func TestWebhookFailuresPushNothingOut(t *testing.T) {
	r := newReceiver(t, WebhookOptions{Token: "secret", Remember: 3})
	r.want("processed", r.signed("d-1", statusEvent, "secret"), statusEvent, 200)
	for range 10 {
		r.pass(time.Second)
		r.Forget(r.want("failed", r.signed("d-2", statusEvent, "secret"), statusEvent, 200))
	}
	if d := r.want("tried again", r.signed("d-1", statusEvent, "secret"), statusEvent, 200); !d.Duplicate {
		t.Error("it would be processed twice")
	}
}

func TestWebhookOfAnotherTask(t *testing.T) {
	r := newReceiver(t, WebhookOptions{Token: "secret", Task: func(_ context.Context, id string) bool { return id == "t-2" }})
	h := r.signed("d-1", statusEvent, "secret")
	r.want("another's", h, statusEvent, 404)
	mine := strings.Replace(statusEvent, "t-1", "t-2", 1)
	r.want("ours, after it was not", r.signed("d-1", mine, "secret"), mine, 200)
}

func FuzzWebhookBody(f *testing.F) {
	f.Add([]byte(statusEvent))
	f.Add([]byte(taskV03))
	f.Add([]byte(`{"id":"t-1","status":{"state":"working"},"artifacts":[{"index":0,"parts":[{"type":"text","text":"x"}]}]}`))
	f.Add([]byte(`{"Kind":"task","ID":"a","id":"b","status":null}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		var d WebhookDelivery
		if d.read(body) == nil && ((d.Task == nil) == (d.Event == nil) || d.TaskID == "" && (d.Event == nil || d.Event.Message == nil)) {
			t.Errorf("%s: %+v", body, d)
		}
	})
}
