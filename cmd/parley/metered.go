package main

import (
	"net/http"
	"strings"

	"github.com/parley-a2a/parley/internal/wirelog"
)

// metered shows the progress of large bodies, in both directions. Streams show theirs
// elsewhere.
type metered struct {
	next http.RoundTripper
	a    *app
}

func (m *metered) RoundTrip(req *http.Request) (*http.Response, error) {
	line := func(text string) { m.a.stderr.Note("Note", "%s", text) }
	if req.Body != nil && req.ContentLength > 0 {
		copied := *req // req must not be changed
		copied.Body = m.a.screen.Meter(req.Body, "sending", req.ContentLength, line)
		req = &copied
	}
	res, err := m.next.RoundTrip(req)
	if err == nil && strings.HasPrefix(res.Header.Get("Content-Type"), "application/json") {
		res.Body = m.a.screen.Meter(res.Body, "receiving", res.ContentLength, line)
	}
	return res, err
}

// Base and Over let the client choose the transport below: see
// a2aclient.Options.AnyAddress.
func (m *metered) Base() *http.Transport {
	if t, ok := m.next.(*http.Transport); ok {
		return t
	}
	return m.next.(*wirelog.Transport).Base()
}

func (m *metered) Over(next http.RoundTripper) http.RoundTripper {
	if w, ok := m.next.(*wirelog.Transport); ok {
		next = w.Over(next)
	}
	return &metered{next: next, a: m.a}
}
