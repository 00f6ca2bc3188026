package main

import (
	"net/http"
	"strings"
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

// layered is a transport with layers above it. Base and Over let the client choose the
// transport below: see a2aclient.Options.AnyAddress.
type layered struct {
	http.RoundTripper // the whole
	base              *http.Transport
	over              func(http.RoundTripper) http.RoundTripper
}

func (l *layered) Base() *http.Transport                         { return l.base }
func (l *layered) Over(next http.RoundTripper) http.RoundTripper { return l.over(next) }
