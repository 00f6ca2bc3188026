package httpagent

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"

	"go.opentelemetry.io/otel/trace"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/egress"
	"github.com/parley-a2a/parley/internal/telemetry"
	"github.com/parley-a2a/parley/internal/wake"
	"github.com/parley-a2a/parley/internal/wire"
)

// again is the error of a request that may be repeated.
type again struct {
	reason string        // for the caller, if it is not repeated
	cause  error         // for the log
	after  time.Duration // the pause that the service asks for; 0: none
	moved  bool          // a stream got further than the last time
	busy   bool          // the service is working on the same request
}

func (e *again) Error() string { return e.reason }

var (
	errTimeout = errors.New("the service did not answer in time")
	errIdle    = errors.New("the service was silent for too long")
)

const (
	mostPause = 30 * time.Second // between tries; the first is 500 ms, each further one twice as long
	// mostAsked is the longest pause that a service may ask for; a longer one counts as
	// a failure.
	mostAsked = time.Hour
)

// post makes the request of an exchange, repeats it if necessary, and emits the answer.
// Its error is errOver if the turn ended with the answer.
func (r *run) post(ctx context.Context, x *exchange, m *a2a.Message) (record, error) {
	body, err := r.body(ctx, x, m)
	if err != nil {
		return record{}, err
	}
	p := &poster{run: r, x: x, body: body}
	failed, waited := 0, 0 // failed tries, and tries in a row that found the service busy
	var busy time.Time     // when it was first found busy
	for tries := 1; ; tries++ {
		rec, err := p.traced(ctx, tries)
		if ctx.Err() != nil {
			if rec.Location != "" && !goesOn(ctx, err) { // it was accepted at the last moment
				r.stop(ctx, rec.Location)
			}
			return record{}, context.Cause(ctx)
		}
		once, ok := errors.AsType[*again](err)
		if !ok {
			return rec, err
		}
		if once.moved {
			failed = 0
		}
		// The service is busy, as after a restart, when the first request is not
		// answered yet. It may take as long as it could without the restart.
		var over bool
		if once.busy {
			if waited++; waited == 1 {
				busy = time.Now()
			}
			over = r.a.opts.retries() == 0 || time.Since(busy) > r.a.opts.timeout()
		} else {
			failed, waited = failed+1, 0
			over = failed > r.a.opts.retries()
		}
		if over || once.after > mostAsked {
			return record{}, agent.Public(once.reason, once.cause)
		}
		wait := max(once.after, wake.Backoff(cmp.Or(waited, failed)-1, 2*mostPause)/2)
		r.log.Info("retrying the request", "why", once.reason, "error", once.cause, "in", wait)
		if err := r.t.Status(once.reason + "; retrying in " + wait.Round(100*time.Millisecond).String()); err != nil {
			return record{}, err
		}
		if err := r.a.pause(ctx, wait); err != nil {
			return record{}, err
		}
	}
}

// poster makes one request, perhaps several times.
type poster struct {
	*run
	x    *exchange
	body []byte
	last string // id of the last event of a stream

	circles bool // an event's id could not be used as last, so a later one is no sign of progress

	// of the present try, for its span
	status  int    // 0: there was no answer
	failure string // of the network; "" if there was none
}

// traced is try, in a client's span.
func (p *poster) traced(ctx context.Context, tries int) (record, error) {
	ctx, span := telemetry.Start(ctx, telemetry.SpanHTTP, trace.SpanKindClient)
	defer span.End()
	p.status, p.failure = 0, ""
	rec, err := p.try(ctx)
	if !span.IsRecording() {
		return rec, err
	}
	span.SetAttributes(append(telemetry.Server(p.a.url), telemetry.HTTPMethod.String(http.MethodPost), telemetry.URL(p.a.url))...)
	if tries > 1 {
		span.SetAttributes(telemetry.HTTPResend.Int(tries - 1))
	}
	if p.status != 0 {
		span.SetAttributes(telemetry.HTTPStatus.Int(p.status))
	}
	if err != nil && err != errOver {
		telemetry.Fail(span, err)
		switch {
		case p.failure != "":
			span.SetAttributes(telemetry.ErrorType.String(p.failure))
		case p.status >= 300:
			span.SetAttributes(telemetry.ErrorType.String(strconv.Itoa(p.status)))
		}
	}
	return rec, err
}

// try makes the request once.
func (p *poster) try(ctx context.Context) (record, error) {
	if err := p.a.queue.Enter(ctx); err != nil {
		return record{}, err
	}
	defer p.a.queue.Leave()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	clock := time.AfterFunc(p.a.opts.timeout(), func() { cancel(errTimeout) })
	defer clock.Stop()

	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.a.url.String(), bytes.NewReader(p.body))
	if err != nil {
		return record{}, agent.Public("the request could not be made", bare(err))
	}
	req.Header = p.header(ctx, p.x, p.last)
	res, err := p.a.client.Do(req)
	if err != nil {
		return record{}, p.lost(ctx, err, "the service cannot be reached")
	}
	defer res.Body.Close()
	p.status = res.StatusCode
	switch {
	case res.StatusCode == http.StatusAccepted:
		return p.accepted(res)
	case res.StatusCode == http.StatusNoContent:
		return p.all(ctx, []*event{{Type: "complete"}})
	case res.StatusCode/100 != 2:
		return record{}, p.refused(ctx, res)
	}
	if media, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); media == "text/event-stream" {
		clock.Stop()
		if p.a.answer != nil {
			return p.foreignStream(ctx, cancel, res.Body)
		}
		return p.stream(ctx, cancel, res.Body)
	}
	body, err := p.read(ctx, res.Body)
	if err != nil {
		return record{}, err
	}
	body = inUTF8(body, res.Header.Get("Content-Type"))
	var events []*event
	if p.a.answer != nil {
		events, err = p.found(body)
	} else {
		events, err = parseAnswer(body, res.Header.Get("Content-Type"))
	}
	if err != nil {
		return record{}, err
	}
	return p.all(ctx, events)
}

// all emits an answer in one piece.
func (p *poster) all(ctx context.Context, events []*event) (record, error) {
	p.artifacts.anew()
	for _, ev := range events {
		if ev.asks() {
			return record{Asks: ev, Artifacts: p.artifacts.names}, nil
		}
		if over, err := p.say(ctx, ev); over || err != nil {
			return record{}, cmp.Or(err, errOver)
		}
	}
	return record{}, bad("it does not end") // parseAnswer prevents it
}

// read reads an answer in one piece.
func (p *poster) read(ctx context.Context, from io.Reader) ([]byte, error) {
	most := p.a.opts.maxAnswer()
	body, err := io.ReadAll(io.LimitReader(from, most+1))
	switch {
	case int64(len(body)) > most:
		return nil, bad("it is larger than the limit of %d bytes", most)
	case err != nil:
		return nil, p.lost(ctx, err, "the service's answer broke off")
	}
	return body, p.room.take(len(body))
}

// inUTF8 returns an answer in UTF-8. Some servers send ISO 8859-1 by default, and
// declare it.
func inUTF8(body []byte, media string) []byte {
	if _, params, _ := mime.ParseMediaType(media); !strings.EqualFold(params["charset"], "iso-8859-1") {
		return body
	}
	var out bytes.Buffer
	for _, c := range body {
		out.WriteRune(rune(c))
	}
	return out.Bytes()
}

// lost returns the error that follows from an error of the network.
func (p *poster) lost(ctx context.Context, err error, reason string) error {
	p.failure = "connection_broken"
	switch cause := context.Cause(ctx); {
	case cause == errTimeout, cause == errIdle:
		p.failure = "timeout"
		return agent.Public(cause.Error(), bare(err)) // a service may take this long, but no longer
	case cause != nil:
		p.failure = "canceled"
		return cause
	}
	if _, ok := errors.AsType[*egress.Refused](err); ok {
		return agent.Public("the service is at an address that this server may not call; its operator can allow it", bare(err))
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return agent.Public(reason, bare(err))
	}
	return &again{reason: reason, cause: bare(err)}
}

// bare returns a client's error without the URL, which may contain credentials.
func bare(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

// refused returns the error that follows from a refusal of the service.
func (p *poster) refused(ctx context.Context, res *http.Response) error {
	reason := fmt.Sprintf("the service answered with status %d", res.StatusCode)
	body, _ := io.ReadAll(io.LimitReader(res.Body, maxRefusal)) // as much as arrives
	cause := fmt.Errorf("the service answered with %s, %s: %s", res.Status, cut(res.Header.Get("Content-Type")), p.a.shown(body))
	switch s := res.StatusCode; {
	case s == http.StatusRequestTimeout, s == http.StatusConflict, s == http.StatusTooEarly, s == http.StatusTooManyRequests,
		s >= 500 && s != http.StatusNotImplemented && s != http.StatusHTTPVersionNotSupported:
		return &again{reason: reason, cause: cause, after: wire.RetryAfter(res.Header.Get("Retry-After"), time.Now()), busy: s == http.StatusConflict}
	case s/100 == 3:
		return agent.Public(reason+", a redirect, which is not followed", cause)
	}
	// The service may give a reason meant for the caller.
	if media, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); media == "application/json" {
		if evs, err := parseJSON(body); err == nil && (evs[0].Type == "fail" || evs[0].Type == "reject") {
			_, err := p.say(ctx, evs[0])
			return cmp.Or(err, errOver)
		}
	}
	return agent.Public(reason, cause)
}

const (
	maxRefusal = 64 << 10 // of the body of a refusal that is read, in bytes
	maxShown   = 1 << 10  // of that body that is logged, in bytes
)

// shown returns the beginning of a body for the log: on one line, without control
// characters and without the values of the configured headers.
func (a *Agent) shown(body []byte) string {
	text := strings.ToValidUTF8(string(body), "\ufffd")
	for _, value := range a.opts.Headers {
		for _, secret := range append(strings.Fields(value.Reveal()), value.Reveal()) {
			if len(secret) > 3 { // shorter ones may be ordinary words
				text = strings.ReplaceAll(text, secret, "[redacted]")
			}
		}
	}
	text = strings.Join(strings.Fields(strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) {
			return ' '
		}
		return c
	}, text)), " ")
	if len(text) > maxShown {
		text = strings.ToValidUTF8(text[:maxShown], "") + "…"
	}
	return text
}
