package webhook

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"syscall"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/egress"
	"github.com/parley-a2a/parley/internal/wire"
)

// judge returns the outcome for an answer.
func judge(res *http.Response, at time.Time) a2a.Outcome {
	out := a2a.Outcome{Reason: "the receiver answered " + strconv.Itoa(res.StatusCode)}
	switch code := res.StatusCode; {
	case code >= 200 && code < 300:
		return a2a.Outcome{}
	case code == http.StatusGone:
		out.Verdict = a2a.DisableConfig
	case code == http.StatusRequestTimeout, code == http.StatusTooEarly, code == http.StatusTooManyRequests:
		out.Verdict, out.After = a2a.DeliverAgain, wire.RetryAfter(res.Header.Get("Retry-After"), at)
	case code >= 500:
		out.Verdict, out.After = a2a.DeliverAgain, wire.RetryAfter(res.Header.Get("Retry-After"), at)
		out.Down = true
	default:
		out.Verdict = a2a.GiveUp
		if code >= 300 && code < 400 {
			out.Reason += ", a redirect that is not followed"
		}
	}
	return out
}

// failedPost returns the outcome if there was no answer. The text of net/http contains
// the URL, which may be a secret, so it is not passed on.
func failedPost(err error) a2a.Outcome {
	if refused, ok := errors.AsType[*egress.Refused](err); ok {
		return a2a.Outcome{Verdict: a2a.GiveUp, Reason: "the URL " + refused.Reason}
	}
	if outer, ok := errors.AsType[*url.Error](err); ok {
		err = outer.Err // otherwise it would answer Timeout, and it knows only of some
	}
	return a2a.Outcome{Verdict: a2a.DeliverAgain, Down: true, Reason: whyNoAnswer(err)}
}

func whyNoAnswer(err error) string {
	dns, lookup := errors.AsType[*net.DNSError](err)
	_, cert := errors.AsType[*tls.CertificateVerificationError](err)
	_, alert := errors.AsType[tls.AlertError](err)
	timeout, timed := errors.AsType[net.Error](err)
	switch {
	case lookup && dns.IsNotFound:
		return "the host was not found"
	case lookup:
		return "the host could not be looked up"
	case cert:
		return "the host's certificate is not trusted"
	case alert, errors.Is(err, http.ErrSchemeMismatch):
		return "the host does not speak TLS as we do"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "the connection was refused"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return "the host cannot be reached"
	case errors.Is(err, context.DeadlineExceeded), timed && timeout.Timeout():
		return "the receiver did not answer in time"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the receiver closed the connection"
	}
	return "the connection failed"
}
