package torture

import (
	"context"
	"net/http"
	"strings"
)

// tracing sees which replica a stream is from.
type tracing struct {
	base http.RoundTripper
	w    *world
}

// newTransport is what a client's requests over HTTP/1.1 go by.
func (w *world) newTransport() http.RoundTripper {
	base := &http.Transport{MaxIdleConnsPerHost: 4}
	if !w.many {
		return base
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
	return res, nil
}
