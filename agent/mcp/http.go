package mcp

import (
	"bytes"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/egress"
	"github.com/parley-a2a/parley/internal/upload"
)

var errLongBody = errors.New("mcp: the server sent an answer that is too long")

// httpClient returns a client that adds the server's headers, and refuses answers that
// are too long. When until ends, its requests end. The caller's client is copied, not
// changed.
func httpClient(until context.Context, s *Server, at *url.URL, o *Options) *http.Client {
	var c http.Client
	if given := o.Client; given != nil {
		c = *given
		c.Timeout = 0 // it would end calls, which Options bound
	}
	next := c.Transport
	if next == nil {
		t := egress.Unjudged()
		t.TLSHandshakeTimeout = 30 * time.Second
		next = t
	}
	theirs := c.CheckRedirect
	c.CheckRedirect = func(req *http.Request, via []*http.Request) error {
		if err := checkRedirect(req, via); err != nil || theirs == nil {
			return err
		}
		return theirs(req, via)
	}
	c.Transport = &bounded{next: next, at: at, headers: s.Headers, most: int64(o.maxMessage()), slots: make(chan struct{}, max(minRequests, 4*o.concurrency(), 4*o.sessions(s))), until: until}
	return &c
}

var errRedirect = errors.New("mcp: the server redirects to another host, which is not followed: use that address if you trust it")

// checkRedirect follows redirects on the server's own host only: the operator named
// this server, and it must not lead requests into the network.
func checkRedirect(req *http.Request, via []*http.Request) error {
	from, to := via[0].URL, req.URL
	switch same := strings.EqualFold(from.Host, to.Host); {
	case len(via) >= 10:
		return errors.New("mcp: the server redirects in circles")
	case same && from.Scheme == to.Scheme:
		return nil
	case from.Scheme == "http" && to.Scheme == "https" && strings.EqualFold(from.Hostname(), to.Hostname()) &&
		(from.Port() == "" || from.Port() == "80") && (to.Port() == "" || to.Port() == "443"):
		return nil
	}
	return errRedirect
}

// bounded is the transport of a session over HTTP.
type bounded struct {
	next    http.RoundTripper
	at      *url.URL
	headers map[string]a2a.Secret
	most    int64
	slots   chan struct{}   // one for each request without an answer yet
	until   context.Context // ends every request: see Tools.Close
}

// minRequests is how many requests may wait for their answers, at least. Each of them
// may use a connection. A server that asks questions without reading the answers uses
// them all up; then its questions stay unanswered.
const minRequests = 256

var errUnread = errors.New("mcp: the server does not read its input")

func (b *bounded) RoundTrip(req *http.Request) (*http.Response, error) {
	select {
	case b.slots <- struct{}{}:
		defer func() { <-b.slots }()
	default:
		return nil, errUnread
	}
	if len(b.headers) > 0 && req.URL.Scheme == b.at.Scheme && req.URL.Host == b.at.Host { // not at a redirect's target
		req = req.Clone(req.Context())
		for name, value := range b.headers {
			req.Header.Set(name, value.Reveal())
		}
	}
	ctx, cancel := context.WithCancel(req.Context())
	over := context.AfterFunc(b.until, cancel)
	resp, err := upload.RoundTrip(b.next, req.WithContext(ctx))
	if err != nil {
		over()
		cancel()
		return nil, err
	}
	limited := &body{ReadCloser: resp.Body, left: b.most, over: func() { over(); cancel() }}
	if kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); kind == "text/event-stream" {
		limited.pace = newPace(req.Context(), linesOfEvent)
	}
	resp.Body = limited
	return resp, nil
}

func (b *bounded) CloseIdleConnections() {
	if c, ok := b.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// body is the body of an answer. Its request lasts until it is closed.
type body struct {
	io.ReadCloser
	left int64 // how many bytes it may still have
	pace *pace // of a stream, whose events are limited one by one, and in their rate; or nil
	over func()
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.pace != nil {
		b.pace.wait(bytes.Count(p[:n], []byte{'\n'}))
	} else if b.left -= int64(n); b.left < 0 {
		return 0, errLongBody
	}
	return n, err
}

func (b *body) Close() error {
	defer b.over()
	return b.ReadCloser.Close()
}
