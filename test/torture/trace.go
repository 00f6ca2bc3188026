package torture

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/parley-a2a/parley/a2a"
)

// tracing sees which replica a stream is from, and in a strict world each request
// that fails.
type tracing struct {
	base http.RoundTripper
	w    *world
}

// newTransport is what a client's requests go by, or nil for the library's own.
func (w *world) newTransport(binding string) http.RoundTripper {
	base := &http.Transport{MaxIdleConnsPerHost: 4}
	switch {
	case !w.many || binding == a2a.BindingGRPC && !w.strict:
		return nil
	case binding == a2a.BindingGRPC:
		base.Protocols = new(http.Protocols)
		base.Protocols.SetUnencryptedHTTP2(true)
	}
	return &tracing{base, w}
}

// followed is the key of the segment that a request's stream is for.
type followed struct{}

// following says that streams of ctx are of a segment.
func following(ctx context.Context, s *segment) context.Context {
	return context.WithValue(ctx, followed{}, s)
}

// RoundTrip implements http.RoundTripper.
func (t *tracing) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := t.base.RoundTrip(req)
	if err != nil {
		t.fails(req, err)
		return nil, err
	}
	s, ok := req.Context().Value(followed{}).(*segment)
	if ok && strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		n := res.Header.Get(replicaHeader)
		if was := s.replica; was != "" && n != "" && was != n && s.last > 0 {
			t.w.count.elsewhere.Add(1)
		}
		s.replica = n
	}
	switch code := res.StatusCode; {
	case code == http.StatusServiceUnavailable:
		t.w.count.refused.Add(1)
	case code == http.StatusInternalServerError, code == http.StatusBadGateway, code == http.StatusGatewayTimeout:
		t.fails(req, fmt.Errorf("HTTP status %d", code))
	}
	if t.w.strict {
		res.Body = &watched{res.Body, t, req}
	}
	return res, nil
}

// fails notes a request that failed, unless its client has given it up.
func (t *tracing) fails(req *http.Request, err error) {
	if t.w.strict && req.Context().Err() == nil {
		t.w.violate(Service, "a request failed: %s %s: %v", req.Method, req.URL.Path, err)
	}
}

// watched is the body of a response, which ends in good order.
type watched struct {
	io.ReadCloser
	t   *tracing
	req *http.Request
}

func (b *watched) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && err != io.EOF && !errors.Is(err, http.ErrBodyReadAfterClose) {
		b.t.fails(b.req, err)
	}
	return n, err
}
