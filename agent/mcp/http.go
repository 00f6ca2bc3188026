package mcp

import (
	"crypto/tls"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/parley-a2a/parley/a2a"
)

var errLongBody = errors.New("mcp: the server sent an answer that is too long")

// httpClient returns a client that adds the server's headers, and takes no answer
// that is too long. The caller's is copied, not changed.
func httpClient(s *Server, at *url.URL, o *Options) *http.Client {
	var c http.Client
	if given := o.client(); given != nil {
		c = *given
	}
	next := c.Transport
	if next == nil {
		next = &http.Transport{
			DialContext:         (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
			TLSClientConfig:     &tls.Config{MinVersion: tls.VersionTLS12},
			TLSHandshakeTimeout: 30 * time.Second,
			IdleConnTimeout:     90 * time.Second,
			ForceAttemptHTTP2:   true,
		}
	}
	c.Transport = &bounded{next: next, at: at, headers: s.Headers, most: int64(o.maxMessage())}
	return &c
}

// bounded is the transport of a session over HTTP.
type bounded struct {
	next    http.RoundTripper
	at      *url.URL
	headers map[string]a2a.Secret
	most    int64
}

func (b *bounded) RoundTrip(req *http.Request) (*http.Response, error) {
	if len(b.headers) > 0 && req.URL.Scheme == b.at.Scheme && req.URL.Host == b.at.Host { // not where it redirects
		req = req.Clone(req.Context())
		for name, value := range b.headers {
			req.Header.Set(name, value.Reveal())
		}
	}
	resp, err := b.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	// The events of a stream are bounded one by one.
	if kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); kind != "text/event-stream" {
		resp.Body = &boundedBody{resp.Body, b.most}
	}
	return resp, nil
}

func (b *bounded) CloseIdleConnections() {
	if c, ok := b.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

type boundedBody struct {
	io.ReadCloser
	left int64
}

func (b *boundedBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		var one [1]byte
		if n, err := b.ReadCloser.Read(one[:]); n == 0 {
			return 0, err
		}
		return 0, errLongBody
	}
	if int64(len(p)) > b.left {
		p = p[:b.left]
	}
	n, err := b.ReadCloser.Read(p)
	b.left -= int64(n)
	return n, err
}
