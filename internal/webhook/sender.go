package webhook

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"
	"golang.org/x/sync/singleflight"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/budget"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/egress"
	"github.com/parley-a2a/parley/internal/scarce"
	"github.com/parley-a2a/parley/internal/telemetry"
)

// Sender posts push notifications to their receivers (specification §4.3.3): it is an
// a2a.Notifier. A receiver gets the form of the protocol version in which its
// configuration was made; docs/webhooks.md describes it. A Sender may be used
// concurrently.
type Sender struct {
	// set by NewSender, then constant
	policy *egress.Policy
	client *http.Client
	agent  string
	linger time.Duration // for the rest of an answer

	load func(context.Context) (*Keys, error) // see LoadKeys
	keys atomic.Pointer[Keys]

	loads singleflight.Group // calls of load
}

var _ a2a.Notifier = (*Sender)(nil)

// postTime bounds a post from the look-up to the last byte of its answer, redirects
// included.
const postTime = 10 * time.Second

// NewSender returns a Sender that dials the addresses that policy allows; nil is
// https to public hosts only. name and version make its User-Agent.
func NewSender(policy *egress.Policy, name, version string) *Sender {
	client := policy.Client()
	client.Timeout = postTime
	return &Sender{
		policy: policy,
		// Notify bounds the body, because only the status counts. The engine bounds
		// connections for each caller: with a bound for each host, posts of one caller
		// that hang would block those of others to a shared host.
		client: client,
		agent:  strings.Trim(product(name)+"/"+product(version), "/"),
		linger: time.Second,
	}
}

// product keeps the characters that a product in a User-Agent may have.
func product(s string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(letters+".-_", r) {
			return r
		}
		return -1
	}, s)
}

// Check implements a2a.Notifier.
func (s *Sender) Check(_ context.Context, c *a2a.TaskPushNotificationConfig) (host string, err error) {
	u, err := s.policy.Check(c.URL)
	if err != nil {
		if refused, ok := errors.AsType[*egress.Refused](err); ok {
			return "", a2a.Invalid("url", "%s", refused.Reason)
		}
		return "", err
	}
	if err := Authorize(http.Header{}, c.Authentication); err != nil {
		return "", err
	}
	if err := CheckToken(string(c.Token)); err != nil {
		return "", err
	}
	return u.Host, nil
}

// Notify implements a2a.Notifier.
func (s *Sender) Notify(ctx context.Context, n *a2a.Notification) a2a.Outcome {
	keys, err := s.current(ctx)
	if err != nil {
		return a2a.Outcome{Verdict: a2a.DeliverAgain, Reason: "the keys to sign with could not be read"}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	req, err := s.request(ctx, n, keys)
	if err != nil {
		return a2a.Outcome{Verdict: a2a.GiveUp, Reason: err.Error()}
	}
	span := trace.SpanFromContext(ctx) // of the attempt
	if span.IsRecording() {
		span.SetAttributes(append(telemetry.Server(req.URL), telemetry.HTTPMethod.String(req.Method))...)
	}
	// What is still in memory of the event.
	budget.From(ctx).Set(int64(n.Task.Size()+n.Event.Size()) + req.ContentLength)
	var res *http.Response
	err = scarce.Again(ctx, func() (err error) { // what this machine lacks is not the receiver's fault
		if req.Body, err = req.GetBody(); err == nil {
			res, err = s.client.Do(req)
		}
		return err
	})
	if scarce.Is(err) {
		return a2a.Outcome{Verdict: a2a.DeliverAgain, Reason: "this server had no room for a connection"}
	}
	if err != nil {
		span.SetAttributes(telemetry.ErrorType.String("connection_failed"))
		return failedPost(err)
	}
	defer res.Body.Close()
	span.SetAttributes(telemetry.HTTPStatus.Int(res.StatusCode))
	out := judge(res, time.Now())
	if out.Verdict != a2a.Delivered {
		span.SetAttributes(telemetry.ErrorType.String(strconv.Itoa(res.StatusCode)))
	}
	if res.StatusCode >= 200 {
		// Only the receiver's status matters, but a connection can be used again only
		// if the whole answer was read. A long or slow answer costs more than a new
		// connection.
		defer time.AfterFunc(s.linger, cancel).Stop()
		_, _ = io.CopyN(io.Discard, res.Body, maxAnswer)
	}
	return out
}

// maxAnswer is how many bytes of an answer's body are read.
const maxAnswer = 16 << 10

// request makes the request of one attempt.
func (s *Sender) request(ctx context.Context, n *a2a.Notification, keys *Keys) (*http.Request, error) {
	body, media := notice(n)
	jwt := n.Task != nil && keys != nil && WantsJWT(n.Config.Authentication)
	if jwt {
		// Receivers hash what they have read and written again.
		body = Compact(nil, body)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, n.Config.URL, bytes.NewReader(body))
	if err != nil {
		return nil, errors.New("the URL cannot be used") // its own text contains the URL
	}
	h, at := req.Header, time.Now()
	h.Set("User-Agent", s.agent)
	h.Set("Content-Type", media)
	telemetry.Inject(ctx, h)
	if err := Authorize(h, n.Config.Authentication); err != nil {
		return nil, err
	}
	SetToken(h, string(n.Config.Token))
	id := SourcedID(n.Source, n.ID)
	keys.Sign(h, id, at, body, string(n.Config.Token))
	if n.Task == nil {
		h.Set("A2A-Version", n.Version.String())
	}
	if jwt {
		if err := keys.Bearer(h, id, n.Config.TaskID, n.Config.URL, at, body); err != nil {
			return nil, err
		}
	}
	return req, nil
}

// notice returns the body of a notification: the event in the form of HTTP+JSON,
// whatever the task's binding; before 1.0, the Task.
func notice(n *a2a.Notification) (body []byte, media string) {
	d, _ := dialect.ParseVersion(n.Version.String())
	if n.Task == nil {
		if d != dialect.V11 {
			d = dialect.V10
		}
		body, _ = dialect.CodecOf(d, a2a.BindingHTTPJSON).Events(dialect.SubscribeToTask, &a2a.SubscribeToTaskRequest{}).Append(make([]byte, 0, dialect.EncodedSize(n.Event)), n.Event, 0)
		return body, "application/a2a+json"
	}
	codec := dialect.CodecOf(d, a2a.BindingJSONRPC)
	return codec.AppendResult(make([]byte, 0, dialect.EncodedSize(n.Task)), dialect.GetTask, &a2a.GetTaskRequest{ID: n.Task.ID}, n.Task), "application/json"
}

// SetKeys sets the keys that sign from now on. Before the first call only the tokens of
// configurations sign.
func (s *Sender) SetKeys(k *Keys) { s.keys.Store(k) }

// LoadKeys makes load get the keys when they are needed first. Call it before anything
// is sent. If load fails nothing is sent, and it is called again.
func (s *Sender) LoadKeys(load func(context.Context) (*Keys, error)) { s.load = load }

// loadTimeout is how long reading or making the keys may take.
const loadTimeout = time.Minute

// current returns the keys, or nil if there are none.
func (s *Sender) current(ctx context.Context) (*Keys, error) {
	if k := s.keys.Load(); k != nil || s.load == nil {
		return k, nil
	}
	// Making a key takes seconds on a slow machine and cannot be stopped. A caller that
	// stops waiting must not lose the keys for the others, so no caller's context ends
	// the load. It has a time limit of its own.
	loaded := s.loads.DoChan("", func() (any, error) {
		if k := s.keys.Load(); k != nil {
			return k, nil
		}
		own, cancel := context.WithTimeout(context.WithoutCancel(ctx), loadTimeout)
		defer cancel()
		k, err := s.load(own)
		if err == nil {
			s.keys.Store(k)
		}
		return k, err
	})
	select {
	case r := <-loaded:
		return r.Val.(*Keys), r.Err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// JWKS returns the public keys as a JSON Web Key Set, for
// /.well-known/jwks.json; nil if there are none. s may be nil.
func (s *Sender) JWKS(ctx context.Context) ([]byte, error) {
	if s == nil {
		return nil, nil
	}
	k, err := s.current(ctx)
	if k == nil || err != nil {
		return nil, err
	}
	return k.JWKS(), nil
}
