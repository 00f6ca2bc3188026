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

// A message that gets no answer may have been taken. It is sent again only
// where the agent says that it knows a message when it comes again: by the retry
// extension on its card (docs/extensions/retry-v1.md).

const (
	// The waits between attempts lie between these.
	minWait, maxWait = 250 * time.Millisecond, 8 * time.Second
	// longestWait is how long an agent may ask to wait; longer, and the caller
	// is told at once.
	longestWait = time.Minute
)

// failures counts attempts in a row that failed.
type failures int

// wait returns how long to wait after the last of them: more after each
// failure and never twice the same, so that the clients of a server that comes
// back do not come all at once.
func (n failures) wait() time.Duration {
	d := maxWait
	if n < 6 {
		d = min(d, minWait<<n)
	}
	return d/2 + rand.N(d/2)
}

// knows returns how long the agent knows a message when it comes again, sent with
// credentials or without; 0 if it does not, or nobody says so.
func (c *Client) knows(credentials bool) time.Duration {
	r, ok := dialect.ReadRetry(c.Card())
	if !ok || !r.Anonymous && !c.authenticated(credentials) {
		return 0
	}
	return r.Window
}

// Repeats returns for how long the agent knows a message of this client's when it
// comes again, so that it may be sent again, the same to the byte and with the
// same id, and is done once: by the retry extension on its card
// (docs/extensions/retry-v1.md). It is 0 if the agent does not say so, not for
// this client, or only for what Options.Token returns. SendMessage does that by itself; this is for programs that may
// have sent a message before they were restarted.
func (c *Client) Repeats() time.Duration { return c.knows(c.creds.any()) }

// authenticated reports whether the agent knows who calls: there are
// credentials, and the card says what they are for. An agent whose card has no
// place for them need not look at them.
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

// heard notes what an attempt to send a message came to: an answer's header, or
// an error.
func (r *sending) heard(k *call, res *http.Response, err error) {
	r.retryAfter = 0
	if !unreachable(err) {
		r.to = k.face
	}
	if res != nil && res.StatusCode >= 400 || res != nil && k.grpc != nil {
		r.retryAfter = wire.RetryAfter(res.Header.Get("Retry-After"), time.Now())
	}
}

// fits reports whether a message may go to a face, after an attempt that may
// have come through. It must have the same names there, and 0.1 has no ids of
// messages.
func (r *sending) fits(f *face) bool {
	return r.to == nil || (r.to.dialect == dialect.V01) == (f.dialect == dialect.V01)
}

// repeatable reports whether a message whose n-th attempt ended with err is to
// be sent again.
func (c *Client) repeatable(ctx context.Context, r *sending, err error) bool {
	return r.window > 0 && c.opts.retries() > 0 && ctx.Err() == nil && r.unanswered(err)
}

// unanswered reports whether err leaves open what became of the message, or says
// that it was not taken for now.
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

// withRetryAfter completes an error of the agent's that does not say when to try
// again by what the header of its answer says.
func withRetryAfter(err error, res *http.Response) error {
	if e := said(err); e != nil && e.Peer && e.RetryAfter == 0 {
		e.RetryAfter = wire.RetryAfter(res.Header.Get("Retry-After"), time.Now())
	}
	return err
}

// permanent reports whether a failure of the network will be the same next
// time: a name that nobody has, or a certificate of somebody else.
func permanent(err error) bool {
	var dns *net.DNSError
	var record tls.RecordHeaderError
	var verify *tls.CertificateVerificationError
	return errors.As(err, &dns) && dns.IsNotFound || errors.As(err, &record) || errors.As(err, &verify)
}

// again waits before a message is sent once more, after n repeats that failed
// like the first attempt, the last of them with err. The error is final.
func (c *Client) again(ctx context.Context, r *sending, op dialect.Op, n failures, err error) error {
	d := max((n + 1).wait(), r.wait(err))
	switch {
	case int(n) >= c.opts.retries():
		return fmt.Errorf("the message got no answer in %d attempts: %w", n+1, err)
	case time.Since(r.since)+d >= r.window:
		return fmt.Errorf("the message got no answer for as long as the agent knows it when it comes again: %w", err)
	}
	r.span.event(telemetry.EventRetry, err)
	c.log.InfoContext(ctx, "a message got no answer and is sent again",
		slog.String("op", op.String()), slog.Int("repeat", int(n)+1), slog.Duration("wait", d), slog.Any("error", err))
	return wake.Pause(ctx, d)
}
