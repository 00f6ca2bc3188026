package a2aserver

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/egress"
	"github.com/parley-a2a/parley/internal/webhook"
)

// Egress says which addresses a server may be sent to by those who call it.
type Egress = egress.Policy

// WebhookKeys are what a server signs its webhooks with.
type WebhookKeys = webhook.Keys

// Webhooks posts push notifications to their receivers (specification §4.3.3):
// an a2a.Notifier. What a receiver gets is what the version has in which its
// configuration was made; docs/webhooks.md describes it.
type Webhooks struct {
	policy *Egress
	client *http.Client
	agent  string
	load   func(context.Context) (*WebhookKeys, error) // see LoadKeys
	keys   atomic.Pointer[WebhookKeys]

	loading sync.Mutex // held while keys is set by load
}

var _ a2a.Notifier = (*Webhooks)(nil)

// NewWebhooks returns a sender that goes where policy lets it; nil is https to
// public hosts only. name and version are what it calls itself.
func NewWebhooks(policy *Egress, name, version string) *Webhooks {
	return &Webhooks{
		policy: policy,
		client: policy.Client(&egress.Limits{Body: maxWebhookAnswer}),
		agent:  strings.TrimSuffix(token(name)+"/"+token(version), "/"),
	}
}

// token keeps what a product in a User-Agent may have.
func token(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '-' || r == '_' {
			return r
		}
		return -1
	}, s)
}

// maxWebhookAnswer is what is read of a receiver's answer, which says nothing
// but its status, so that the connection can be used again.
const maxWebhookAnswer = 16 << 10

// SetKeys says what is signed with from now on. Before the first call nothing
// is, but with the tokens of configurations.
func (w *Webhooks) SetKeys(k *WebhookKeys) { w.keys.Store(k) }

// LoadKeys makes load find the keys when they are needed first. Call it before
// anything is sent. If it fails nothing is sent, and it is called again.
func (w *Webhooks) LoadKeys(load func(context.Context) (*WebhookKeys, error)) { w.load = load }

// current returns the keys, or nil if there are none.
func (w *Webhooks) current(ctx context.Context) (*WebhookKeys, error) {
	if k := w.keys.Load(); k != nil || w.load == nil {
		return k, nil
	}
	w.loading.Lock()
	defer w.loading.Unlock()
	if k := w.keys.Load(); k != nil {
		return k, nil
	}
	k, err := w.load(ctx)
	if err != nil {
		return nil, err
	}
	w.keys.Store(k)
	return k, nil
}

// JWKS returns the public keys as a JSON Web Key Set, for
// /.well-known/jwks.json; nil if there are none. w may be nil.
func (w *Webhooks) JWKS(ctx context.Context) ([]byte, error) {
	if w == nil {
		return nil, nil
	}
	k, err := w.current(ctx)
	if k == nil || err != nil {
		return nil, err
	}
	return k.JWKS(), nil
}

// Check implements a2a.Notifier.
func (w *Webhooks) Check(_ context.Context, c *a2a.TaskPushNotificationConfig) (host string, err error) {
	u, err := w.policy.Check(c.URL)
	if err != nil {
		var refused *egress.Refused
		if errors.As(err, &refused) {
			return "", a2a.Invalid("url", "%s", refused.Reason)
		}
		return "", err
	}
	if err := webhook.Authorize(http.Header{}, c.Authentication); err != nil {
		return "", err
	}
	if err := webhook.CheckToken(c.Token); err != nil {
		return "", err
	}
	return u.Host, nil
}

// Notify implements a2a.Notifier.
func (w *Webhooks) Notify(ctx context.Context, n *a2a.Notification) a2a.Outcome {
	keys, err := w.current(ctx)
	if err != nil {
		return a2a.Outcome{Verdict: a2a.DeliverAgain, Reason: "the keys to sign with could not be read"}
	}
	req, err := w.request(ctx, n, keys)
	if err != nil {
		return a2a.Outcome{Verdict: a2a.GiveUp, Reason: err.Error()}
	}
	res, err := w.client.Do(req)
	if err != nil {
		return failedPost(err)
	}
	_, _ = io.Copy(io.Discard, res.Body)
	res.Body.Close()
	return judge(res, time.Now())
}

// request makes the request of one attempt.
func (w *Webhooks) request(ctx context.Context, n *a2a.Notification, keys *WebhookKeys) (*http.Request, error) {
	body, media := notice(n)
	jwt := n.Task != nil && keys != nil && webhook.WantsJWT(n.Config.Authentication)
	if jwt {
		// Receivers hash what they read and write again.
		body = webhook.Compact(nil, body)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, n.Config.URL, bytes.NewReader(body))
	if err != nil {
		return nil, errors.New("the URL cannot be used") // its own words have the URL in them
	}
	h, at := req.Header, time.Now()
	h.Set("User-Agent", w.agent)
	h.Set("Content-Type", media)
	if err := webhook.Authorize(h, n.Config.Authentication); err != nil {
		return nil, err
	}
	webhook.SetToken(h, n.Config.Token)
	keys.Sign(h, n.ID, at, body, n.Config.Token)
	if n.Task == nil {
		h.Set("A2A-Version", n.Version)
	}
	if jwt {
		if err := keys.Bearer(h, n.ID, n.Config.TaskID, n.Config.URL, at, body); err != nil {
			return nil, err
		}
	}
	return req, nil
}

// notice is the body of a notification: the event as HTTP+JSON has it, whatever
// binding the task came by, or before 1.0 the Task.
func notice(n *a2a.Notification) (body []byte, media string) {
	if n.Task == nil {
		body, _ = dialect.CodecOf(dialect.V10, a2a.BindingHTTPJSON).Events(dialect.SubscribeToTask, &a2a.SubscribeToTaskRequest{}).Append(nil, n.Event, 0)
		return body, "application/a2a+json"
	}
	d := dialect.V03
	if n.Version == "0.1" {
		d = dialect.V01
	}
	codec := dialect.CodecOf(d, a2a.BindingJSONRPC)
	return codec.AppendResult(nil, dialect.GetTask, &a2a.GetTaskRequest{ID: n.Task.ID}, n.Task), "application/json"
}

// judge says what follows from an answer.
func judge(res *http.Response, at time.Time) a2a.Outcome {
	out := a2a.Outcome{Reason: "the receiver answered " + strconv.Itoa(res.StatusCode)}
	switch code := res.StatusCode; {
	case code >= 200 && code < 300:
		return a2a.Outcome{}
	case code == http.StatusGone:
		out.Verdict = a2a.DisableConfig
	case code == http.StatusRequestTimeout, code == http.StatusTooEarly, code == http.StatusTooManyRequests:
		out.Verdict, out.After = a2a.DeliverAgain, retryAfter(res.Header.Get("Retry-After"), at)
	case code >= 500:
		out.Verdict, out.After = a2a.DeliverAgain, retryAfter(res.Header.Get("Retry-After"), at)
		out.Down = true
	default:
		out.Verdict = a2a.GiveUp
		if code >= 300 && code < 400 {
			out.Reason += ", a redirect that is not followed"
		}
	}
	return out
}

// retryAfter reads seconds or a date; 0 if it says nothing.
func retryAfter(v string, at time.Time) time.Duration {
	if n, err := strconv.ParseUint(v, 10, 31); err == nil {
		return time.Duration(n) * time.Second
	}
	if when, err := http.ParseTime(v); err == nil {
		return max(when.Sub(at), 0)
	}
	return 0
}

// failedPost says what follows from no answer. The words of net/http have the
// URL in them, which may be a secret, so they stay here.
func failedPost(err error) a2a.Outcome {
	var refused *egress.Refused
	if errors.As(err, &refused) {
		return a2a.Outcome{Verdict: a2a.GiveUp, Reason: "the URL " + refused.Reason}
	}
	out := a2a.Outcome{Verdict: a2a.DeliverAgain, Down: true, Reason: "the connection failed"}
	var (
		dns     *net.DNSError
		timeout interface{ Timeout() bool }
		cert    *tls.CertificateVerificationError
	)
	switch {
	case errors.Is(err, egress.ErrTooLarge):
		out.Reason = "the receiver's answer is too large"
	case errors.As(err, &dns):
		out.Reason = "the host was not found"
	case errors.As(err, &cert):
		out.Reason = "the host's certificate is not trusted"
	case errors.Is(err, syscall.ECONNREFUSED):
		out.Reason = "the connection was refused"
	case errors.As(err, &timeout) && timeout.Timeout():
		out.Reason = "the receiver did not answer in time"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		out.Reason = "the receiver closed the connection"
	}
	return out
}

const keysPath = "/.well-known/jwks.json"

// serveKeys answers with the keys that receivers verify webhooks with.
func (s *Server) serveKeys(w http.ResponseWriter, r *http.Request) {
	if !s.onlyGet(w, r, "GET, HEAD") {
		return
	}
	doc, err := s.opts.keys(r.Context())
	switch {
	case err != nil:
		s.log.Error("the keys of webhooks could not be read", "error", err)
		writeText(w, http.StatusServiceUnavailable, "the keys cannot be read at the moment; try again shortly\n")
		return
	case doc == nil:
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "application/jwk-set+json")
	h.Set("Cache-Control", "public, max-age=300") // a receiver asks anew for a key it does not know
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(doc))
}
