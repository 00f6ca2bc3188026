package openai

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/egress"
	"github.com/parley-a2a/parley/internal/wire"
)

// fault is the error of a failed request.
type fault struct {
	public string // for the caller
	cause  error  // for the log
	again  bool   // a retry may succeed
	after  time.Duration
	api    *apiError // the endpoint's error, or nil
	status int       // of HTTP, or 0
}

func (f fault) Error() string { return f.public + ": " + f.cause.Error() }
func (f fault) Unwrap() error { return f.cause }

var (
	errSilent = errors.New("the endpoint sent nothing for too long")
	errLate   = errors.New("the answer took too long")
)

// refused returns the fault for an error status.
func refused(status int, h http.Header, api *apiError) fault {
	f := fault{
		api: api, status: status, after: retryAfter(h, time.Now()),
		cause: fmt.Errorf("status %d: %w", status, api),
	}
	switch {
	case api.has("insufficient_quota", "billing", "credits"), status == http.StatusPaymentRequired:
		f.public = "the agent's account with the model's provider is used up"
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		f.public = "the model's endpoint did not accept the agent's credentials"
		if api.has("moderation", "flagged", "policy") {
			f.public = "the model's provider refused the message for its content"
		}
	case api.has("context_length", "context length", "maximum context", "too many tokens", "prompt is too long"),
		status == http.StatusRequestEntityTooLarge:
		f.public = "the conversation is too long for the model"
	case api.has("content_filter", "content management policy", "content_policy"):
		f.public = "the model's provider refused the message for its content"
	case status == http.StatusTooManyRequests:
		f.public, f.again = "the model's endpoint is busy; try again later", true
	case status == http.StatusRequestTimeout, status == http.StatusConflict, status >= 500:
		f.public, f.again = "the model's endpoint has a problem; try again later", true
	case status == http.StatusNotFound && api.has("model"):
		f.public = "the model's endpoint does not know the model"
	case status == http.StatusNotFound:
		f.public = "there is no chat API at the URL of the model's endpoint; most end in /v1"
	case status >= 300 && status < 400:
		f.public = "the model's endpoint has moved: its operator must correct the agent's configuration"
	default:
		f.public = "the model's endpoint did not accept the request"
	}
	return f
}

// broken returns the fault for a broken connection.
func broken(err error) fault {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err // its URL may have a key in the query
	}
	f := fault{cause: err, again: true, public: "the model's endpoint cannot be reached; try again later"}
	_, refused := errors.AsType[*egress.Refused](err)
	switch {
	case refused:
		f.public, f.again = "the model's endpoint is at an address that this server may not call; its operator can allow it", false
	case errors.Is(err, errSilent):
		f.public = "the model did not answer in time"
	case errors.Is(err, errLate):
		f.public, f.again = "the model did not finish in time", false
	}
	return f
}

// retryAfter returns how long an endpoint asks to wait, 0 if it does not say.
func retryAfter(h http.Header, now time.Time) time.Duration {
	// OpenAI and Azure send this header; it is the more precise one.
	if d, err := time.ParseDuration(h.Get("Retry-After-Ms") + "ms"); err == nil && d > 0 {
		return d
	}
	return wire.RetryAfter(h.Get("Retry-After"), now)
}

// told turns an error into the error of Run: the cause of the turn's context if that
// has ended, otherwise a reason for the caller. Secrets that an endpoint quotes, or
// that are part of an error, are kept out of the log, too.
func (a *Agent) told(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if f, ok := errors.AsType[fault](err); ok {
		return agent.Public(f.public, errors.New(a.without(f.cause.Error())))
	}
	return err
}

// without returns s without the agent's secrets.
func (a *Agent) without(s string) string {
	if k := a.opts.APIKey.Reveal(); k != "" {
		s = strings.ReplaceAll(s, k, "***")
	}
	for _, v := range a.opts.Headers {
		if len(v.Reveal()) > 3 { // shorter ones may be ordinary words
			s = strings.ReplaceAll(s, v.Reveal(), "***")
		}
		if _, token, ok := strings.Cut(v.Reveal(), " "); ok && len(token) > 3 { // Bearer token, Basic token
			s = strings.ReplaceAll(s, token, "***")
		}
	}
	return s
}
