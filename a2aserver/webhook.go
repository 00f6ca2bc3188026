package a2aserver

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/egress"
	"github.com/parley-a2a/parley/internal/webhook"
)

// Webhooks posts push notifications to their receivers (specification §4.3.3):
// an a2a.Notifier. What a receiver gets is what the version has in which its
// configuration was made; docs/webhooks.md describes it. It may be used
// concurrently.
type Webhooks struct {
	// set by NewWebhooks, then constant
	policy *Egress
	client *http.Client
	agent  string
	linger time.Duration // for the rest of an answer

	load    func(context.Context) (*WebhookKeys, error) // see LoadKeys
	keys    atomic.Pointer[WebhookKeys]
	loading sync.Mutex // held while keys is set by load
}

var _ a2a.Notifier = (*Webhooks)(nil)

// NewWebhooks returns a sender that goes where policy lets it; nil is https to
// public hosts only. name and version are what it calls itself.
func NewWebhooks(policy *Egress, name, version string) *Webhooks {
	return &Webhooks{
		policy: policy,
		client: policy.Client(&egress.Limits{Body: -1}), // Notify bounds it: the status counts, whatever follows
		agent:  strings.Trim(token(name)+"/"+token(version), "/"),
		linger: time.Second,
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
	if err := webhook.CheckToken(string(c.Token)); err != nil {
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
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	req, err := w.request(ctx, n, keys)
	if err != nil {
		return a2a.Outcome{Verdict: a2a.GiveUp, Reason: err.Error()}
	}
	res, err := w.client.Do(req)
	if err != nil {
		return failedPost(err)
	}
	defer res.Body.Close()
	out := judge(res, time.Now())
	if res.StatusCode >= 200 {
		// What a receiver says beyond its status is of no interest, but a
		// connection can be used again only when all of it was read. Neither
		// length nor slowness of an answer is worth more than a new connection.
		defer time.AfterFunc(w.linger, cancel).Stop()
		_, _ = io.CopyN(io.Discard, res.Body, maxWebhookAnswer)
	}
	return out
}

// maxWebhookAnswer is what is read of an answer's body, in bytes.
const maxWebhookAnswer = 16 << 10

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
	webhook.SetToken(h, string(n.Config.Token))
	keys.Sign(h, n.ID, at, body, string(n.Config.Token))
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
