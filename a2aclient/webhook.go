package a2aclient

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/webhook"
)

// WebhookOptions says what a receiver of webhooks knows. Each delivery must satisfy
// those of Keys or PublicKeys, Sources, and Token that are set.
//
// An agent signs the webhooks of all its callers with the same keys, and another caller
// may have events for your task's id posted to your receiver. So set Token or Sources
// in addition to keys. The simplest is a token that begins with whsec_ and that you
// make up for each configuration.
type WebhookOptions struct {
	// Keys is the URL of the agent's key set, such as
	// https://agent.example/.well-known/jwks.json. It is fetched with the first
	// delivery, then once an hour, and when a delivery is signed with an unknown key,
	// at most every 30 s. If that fails, the last keys are used for up to a day. The
	// URL is https, or http to this machine.
	Keys string
	// PublicKeys are the agent's Ed25519 keys, whpk_ and base64, if you know them
	// already. They are not joined with Keys: set one of the two.
	PublicKeys []string
	// Token is the token of the push notification configuration. Deliveries are signed
	// with it, or carry it if a JWT is their only signature.
	Token string
	// Sources are the callers whose deliveries are accepted, by the Source of their
	// a2a.TaskPushNotificationConfig. Callers who are listed together can post about
	// each other's tasks: if they do not trust each other, use a verifier for each.
	Sources []string
	// AnySource accepts deliveries that a key has signed for any caller of the agent.
	// It is safe if the agent has no other callers, or if you compare Source in each
	// delivery with the caller that the task belongs to. Servers other than Parley have
	// no sources.
	AnySource bool
	// Unsigned also accepts deliveries without any signature, as other implementations
	// send them; with Token, only those that carry it. Anybody who knows the token can
	// make up and repeat such deliveries.
	Unsigned bool

	// Task reports whether the receiver expects deliveries for a task; those for other
	// tasks are refused (specification §4.3.3 requires that check). Nil takes any task's.
	Task func(ctx context.Context, taskID string) bool
	// Window is how far the time of a delivery may differ from this clock. Zero means 5
	// minutes.
	Window time.Duration
	// Remember is how many deliveries are remembered to find duplicates. Zero means
	// 10,000.
	Remember int
	// MaxBody bounds a delivery, in bytes, for Handler. Zero means 16 MiB, because
	// before 1.0 a delivery is the whole task.
	MaxBody int64
	// HTTPClient fetches the keys. Nil means the default client of Options.HTTPClient.
	HTTPClient *http.Client
	// Now is the clock. Nil means time.Now.
	Now func() time.Time
}

func (o *WebhookOptions) window() time.Duration { return cmp.Or(o.Window, 5*time.Minute) }

func (o *WebhookOptions) remember() int { return cmp.Or(o.Remember, 10_000) }

func (o *WebhookOptions) maxBody() int64 { return cmp.Or(o.MaxBody, 16<<20) }

func (o *WebhookOptions) now() time.Time {
	if o.Now == nil {
		return time.Now()
	}
	return o.Now()
}

// WebhookDelivery is one push notification, as an agent posted it.
type WebhookDelivery struct {
	// ID identifies the delivery, with the same value for each attempt. Empty if the
	// delivery is not signed.
	ID string
	// Time is when it was sent. Zero if the delivery is not signed.
	Time time.Time
	// TaskID is the task it is about. Empty for a message without a task.
	TaskID string
	// Duplicate says that this id came before: the agent did not learn that an earlier
	// attempt had arrived, or somebody else repeated it.
	Duplicate bool
	// ByKey and ByToken say whether a key and the token verified it.
	ByKey, ByToken bool
	// Source is the caller that the delivery was signed for: see
	// WebhookOptions.Sources. Empty if the delivery is not signed, or is signed without
	// a source.
	Source string

	// Event is the event that was posted, as in 1.0.
	Event *a2a.StreamResponse
	// Task is the whole task that was posted, as in versions before 1.0.
	Task *a2a.Task
}

// WebhookError says why a delivery is refused. With Status 425 or 503 another attempt
// may succeed, and Parley makes one.
type WebhookError struct {
	// Status is the HTTP status to answer:
	//
	//	400  it cannot be read
	//	401  it is not signed as required
	//	404  the receiver does not expect deliveries for its task
	//	425  its time is too far from the receiver's, or too old to rule out a duplicate
	//	503  the keys cannot be fetched, or the delivery is being processed
	Status int
	// Reason is for people. It contains no secret.
	Reason string
	// Err is the cause, if there is one.
	Err error
}

func (e *WebhookError) Error() string { return "webhook: " + e.Reason }
func (e *WebhookError) Unwrap() error { return e.Err }

// WebhookVerifier verifies deliveries. It may be used by many goroutines at once, and
// need not be closed. It keeps its memory of deliveries only in this process.
type WebhookVerifier struct {
	opts   WebhookOptions
	pinned *webhook.KeySet // nil if there are none
	keys   *keyFetcher     // nil if none are fetched
	seen   deliveries
}

// NewWebhookVerifier makes a verifier. The error says which option is wrong.
func NewWebhookVerifier(o WebhookOptions) (*WebhookVerifier, error) {
	v := &WebhookVerifier{opts: o}
	v.seen.max = o.remember()
	switch {
	case o.Keys != "" && len(o.PublicKeys) > 0:
		return nil, errors.New("webhook verifier: set Keys or PublicKeys, not both")
	case o.Keys == "" && len(o.PublicKeys) == 0 && o.Token == "" && !o.Unsigned:
		return nil, errors.New("webhook verifier: set Keys, PublicKeys or Token, or nothing can be verified")
	case v.anyCaller() && !o.AnySource:
		return nil, errors.New("webhook verifier: the agent's keys sign for all of its callers: set Token to the token of your configuration, or Sources to its Source")
	case len(o.Sources) > 0 && o.AnySource:
		return nil, errors.New("webhook verifier: set Sources or AnySource, not both")
	}
	for _, s := range o.Sources {
		if !webhook.ValidSource(s) {
			return nil, errors.New("webhook verifier: a source has 32 characters: take it from the server's answer to the configuration")
		}
	}
	if err := webhook.CheckToken(o.Token); err != nil {
		return nil, errors.New("webhook verifier: " + err.Error()) // the error contains nothing of the token
	}
	var err error
	if len(o.PublicKeys) > 0 {
		if v.pinned, err = webhook.ParsePublicKeys(o.PublicKeys); err != nil {
			return nil, errors.New("webhook verifier: " + err.Error())
		}
	}
	if o.Keys != "" {
		v.keys, err = newKeyFetcher(&o)
	}
	return v, err
}

// anyCaller reports whether only a key would verify a delivery.
func (v *WebhookVerifier) anyCaller() bool {
	o := &v.opts
	return (o.Keys != "" || len(o.PublicKeys) > 0) && o.Token == "" && len(o.Sources) == 0
}

// Verify verifies a delivery by its headers and its body, byte for byte as they came,
// and remembers its id: the next delivery with that id is a Duplicate, which is no
// error. The error is a *WebhookError, or the cause of ctx.
//
// If the delivery cannot be processed after all, call Forget, so that the next attempt
// is no Duplicate. Handler calls both.
func (v *WebhookVerifier) Verify(ctx context.Context, h http.Header, body []byte) (*WebhookDelivery, error) {
	d, err := v.judge(ctx, h, body)
	if err != nil || d.ID == "" {
		return d, err
	}
	known, err := v.seen.add(d.ID, d.Time, false)
	if err != nil {
		return nil, err
	}
	d.Duplicate = known != nil
	return d, nil
}

// Forget removes a delivery from the memory, so that its next attempt is no Duplicate.
func (v *WebhookVerifier) Forget(d *WebhookDelivery) { v.seen.forget(d.ID) }

// judge is Verify without the memory.
func (v *WebhookVerifier) judge(ctx context.Context, h http.Header, body []byte) (*WebhookDelivery, error) {
	p, err := v.prove(ctx, h, body)
	if err != nil {
		return nil, err
	}
	d := &WebhookDelivery{ID: p.id, Time: p.at, ByKey: p.byKey, ByToken: p.byToken, Source: webhook.SourceOf(p.id)}
	if p.id != "" {
		if now, w := v.opts.now(), v.opts.window(); d.Time.Before(now.Add(-w)) || d.Time.After(now.Add(w)) || !p.expires.IsZero() && now.After(p.expires) {
			return nil, &WebhookError{Status: http.StatusTooEarly, Reason: "the delivery's time differs too much from ours"}
		}
	}
	if err := d.read(body); err != nil {
		return nil, &WebhookError{Status: http.StatusBadRequest, Reason: "the body is neither an event nor a task", Err: err}
	}
	if p.taskID != "" && p.taskID != d.TaskID {
		return nil, &WebhookError{Status: http.StatusUnauthorized, Reason: "the signature is for another task"}
	}
	if v.opts.Task != nil && !v.opts.Task(ctx, d.TaskID) {
		return nil, &WebhookError{Status: http.StatusNotFound, Reason: "the task is not one of ours"}
	}
	return d, nil
}
