package a2aclient

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"

	"github.com/parley-a2a/parley/a2a"
)

// TransportError is a failure of the network, as opposed to an answer of the
// agent. Neither it nor what it wraps holds a URL's query or a credential.
type TransportError struct {
	// Host is the host and port that was called.
	Host string
	// Unreachable says that there was no connection and nothing was sent, so the call
	// may be repeated. Otherwise the connection broke or was given up, and the agent
	// may have taken the request.
	Unreachable bool
	// Err is the cause, such as a *net.OpError.
	Err error
}

func (e *TransportError) Error() string {
	_, address := errors.AsType[*AddressError](e.Err)
	_, redirect := errors.AsType[*errRedirect](e.Err)
	switch {
	case address:
		return e.Host + " is not called: " + e.Err.Error()
	case e.Unreachable:
		return "cannot reach " + e.Host + ": " + e.Err.Error()
	case redirect:
		return e.Host + " cannot be used: " + e.Err.Error()
	}
	text := strings.TrimPrefix(e.Err.Error(), "net/http: HTTP/1.x transport connection broken: ")
	return "the connection to " + e.Host + " broke: " + strings.Replace(text, "readLoopPeekFailLocked: %!w(<nil>)", "it sent data before it had a request", 1)
}

func (e *TransportError) Unwrap() error { return e.Err }

// CardErrorKind classifies a CardError.
type CardErrorKind int

const (
	// CardNotFound means that the reference leads to no card: the host or the file
	// system says so, or the reference is not valid.
	CardNotFound CardErrorKind = iota
	// CardInvalid means that the document is no agent card.
	CardInvalid
	// CardUnreachable means that the host could not be reached or reports an error of
	// its own. Err is then a *TransportError or an *a2a.Error.
	CardUnreachable
	// CardForbidden means that the host requires credentials, or other ones. Err is
	// then an *a2a.Error with CodeUnauthenticated or CodePermissionDenied.
	CardForbidden
	// CardRefused means that Options.CheckCard refused the card, or that the card names
	// only addresses that are not allowed. Err is CheckCard's error, or wraps an
	// *AddressError.
	CardRefused
)

// CardError says why a reference did not lead to a usable agent card.
type CardError struct {
	Ref  string // as given to Resolve, without a password
	Kind CardErrorKind
	Err  error // says what is wrong; never nil
}

func (e *CardError) Error() string {
	if e.Ref == "" {
		return "agent card: " + e.Err.Error()
	}
	return fmt.Sprintf("agent card %q: %v", e.Ref, e.Err)
}

func (e *CardError) Unwrap() error { return e.Err }

// errRedirect says why a redirect was not followed. It is final.
type errRedirect struct{ text string }

func (e *errRedirect) Error() string { return e.text }

// dialing records whether a request got a connection.
type dialing struct{ asked, got atomic.Bool }

func (d *dialing) watch(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) { d.asked.Store(true) },
		GotConn: func(httptrace.GotConnInfo) { d.got.Store(true) },
	})
}

// transportError wraps an error of http.Client.Do. It removes each *url.Error, whose
// text contains the whole URL, which may hold an API key. After a redirect host is the
// redirect's target.
func (d *dialing) transportError(host string, err error) *TransportError {
	for u, ok := errors.AsType[*url.Error](err); ok; u, ok = errors.AsType[*url.Error](err) {
		if at, bad := url.Parse(u.URL); bad == nil && at.Host != "" {
			host = at.Host
		}
		err = u.Err
	}
	if _, ok := errors.AsType[*AddressError](err); ok {
		return &TransportError{Host: host, Unreachable: !d.got.Load(), Err: err} // after a redirect there was a connection
	}
	unreachable := d.asked.Load() && !d.got.Load()
	if !d.asked.Load() { // a RoundTripper that reports nothing
		unreachable = fromDialing(err)
	}
	return &TransportError{Host: host, Unreachable: unreachable, Err: err}
}

func fromDialing(err error) bool {
	var (
		op     *net.OpError
		dns    *net.DNSError
		record tls.RecordHeaderError
		verify *tls.CertificateVerificationError
		name   x509.HostnameError
	)
	return errors.As(err, &op) && op.Op == "dial" || errors.As(err, &dns) ||
		errors.As(err, &record) || errors.As(err, &verify) || errors.As(err, &name)
}

// temporary reports whether another attempt may succeed later.
func temporary(err error) bool {
	if e := said(err); e != nil {
		return e.Code == a2a.CodeUnavailable || e.Code == a2a.CodeRateLimited
	}
	_, network := errors.AsType[*TransportError](err)
	_, redirect := errors.AsType[*errRedirect](err)
	_, address := errors.AsType[*AddressError](err)
	return network && !redirect && !address
}
