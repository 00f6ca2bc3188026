package a2aclient

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/telemetry"
	"github.com/parley-a2a/parley/internal/wake"
	"github.com/parley-a2a/parley/internal/wire"
)

// The agent may have taken a message that got no answer. The message is sent again only
// if the agent recognizes repeated messages, which it says by the retry extension on
// its card (docs/extensions/retry-v1.md).

const (
	// The waits between attempts are between these.
	minWait, maxWait = 250 * time.Millisecond, 8 * time.Second
	// longestWait is the longest wait that an agent may ask for; beyond it, the caller
	// gets the error at once.
	longestWait = time.Minute
)

// failures counts attempts in a row that failed.
type failures int

// wait returns how long to wait after the last of them: longer after each failure, and
// randomized, so that the clients of a server that comes back do not all come at once.
func (n failures) wait() time.Duration {
	d := maxWait
	if n < 6 {
		d = min(d, minWait<<n)
	}
	return d/2 + rand.N(d/2)
}

// knows returns how long the agent recognizes a repeated message, sent with or without
// credentials; 0 if it does not, or does not say so.
func (c *Client) knows(credentials bool) time.Duration {
	r, ok := dialect.ReadRetry(c.Card())
	if !ok || !r.Anonymous && !c.authenticated(credentials) {
		return 0
	}
	return r.Window
}

// Repeats returns for how long the agent recognizes a message that this client repeats,
// byte for byte and with the same id, and acts on it only once: by the retry extension
// on its card (docs/extensions/retry-v1.md). It is 0 if the agent does not promise
// that, or not to this client, or only with a token from Options.Token. SendMessage
// repeats messages by itself; Repeats is for programs that may have sent a message
// before they were restarted.
func (c *Client) Repeats() time.Duration { return c.knows(c.creds.any()) }

// authenticated reports whether the agent knows who calls: there are credentials, and
// the card has a scheme. An agent whose card has no scheme need not look at
// credentials.
func (c *Client) authenticated(credentials bool) bool {
	if len(c.Card().SecuritySchemes) == 0 {
		return false
	}
	if credentials {
		return true
	}
	for name := range c.opts.Header {
		if strings.EqualFold(name, "Authorization") {
			return true
		}
	}
	return false
}

// heard notes the outcome of an attempt to send a message: an answer's header, or an
// error.
func (r *sending) heard(k *call, res *http.Response, err error) {
	r.retryAfter = 0
	if !unreachable(err) {
		r.to = k.face
	}
	if res != nil && res.StatusCode >= 400 || res != nil && k.grpc != nil {
		r.retryAfter = wire.RetryAfter(res.Header.Get("Retry-After"), time.Now())
	}
}

// fits reports whether a message may go to a face after an attempt that may have
// reached the agent. Both versions must have the same names, and 0.1 has no message
// ids.
func (r *sending) fits(f *face) bool {
	return r.to == nil || (r.to.dialect == dialect.V01) == (f.dialect == dialect.V01)
}

// repeatable reports whether a message may be sent again after an attempt that ended
// with err.
func (c *Client) repeatable(ctx context.Context, r *sending, err error) bool {
	return r.window > 0 && c.opts.retries() > 0 && ctx.Err() == nil && r.unanswered(err)
}

// unanswered reports whether err leaves open whether the message was taken, or says
// that the agent is busy.
func (r *sending) unanswered(err error) bool {
	if e := said(err); e != nil {
		wait := r.wait(err)
		busy := e.Code == a2a.CodeUnavailable || e.Code == a2a.CodeRateLimited && wait > 0
		return e.Peer && busy && wait <= longestWait
	}
	return temporary(err) && !permanent(err)
}

// wait returns how long the agent asked to wait, in the header of its answer or
// in the error.
func (r *sending) wait(err error) time.Duration { return max(r.retryAfter, askedToWait(err)) }

// askedToWait returns how long the agent asked to wait with an error.
func askedToWait(err error) time.Duration {
	if e := said(err); e != nil {
		return e.RetryAfter
	}
	return 0
}

// withRetryAfter completes an agent's error that does not say when to try again, from
// the header of its answer.
func withRetryAfter(err error, res *http.Response) error {
	if e := said(err); e != nil && e.Peer && e.RetryAfter == 0 {
		e.RetryAfter = wire.RetryAfter(res.Header.Get("Retry-After"), time.Now())
	}
	return err
}

// permanent reports whether a failure of the network will be the same next time: an
// unknown host name, or a wrong certificate.
func permanent(err error) bool {
	var dns *net.DNSError
	var record tls.RecordHeaderError
	var verify *tls.CertificateVerificationError
	return errors.As(err, &dns) && dns.IsNotFound || errors.As(err, &record) || errors.As(err, &verify)
}

// again waits before a message is sent once more. All n+1 attempts so far have failed,
// the last with err. Its own error is final.
func (c *Client) again(ctx context.Context, r *sending, op dialect.Op, n failures, err error) error {
	d := max((n + 1).wait(), r.wait(err))
	switch {
	case int(n) >= c.opts.retries():
		return fmt.Errorf("the message got no answer in %d attempts: %w", n+1, err)
	case time.Since(r.since)+d >= r.window:
		return fmt.Errorf("the message got no answer within the time for which the agent recognizes repeated messages: %w", err)
	}
	r.span.event(telemetry.EventRetry, err)
	c.log.InfoContext(ctx, "a message got no answer and is sent again",
		slog.String("op", op.String()), slog.Int("repeat", int(n)+1), slog.Duration("wait", d), slog.Any("error", err))
	return wake.Pause(ctx, d)
}
