package a2aclient

import (
	"net/http"
	"sync"
)

// fresh is a transport for HTTP/2 that does not go on with a connection on
// which a call got no answer. All calls to a host share one connection, and if
// that dies without a word TCP may need a quarter of an hour to find out, where
// with HTTP/1 a time limit costs one call its own connection.
type fresh struct {
	base *http.Transport // never used itself

	mu  sync.Mutex // protects the field below
	now *http.Transport
}

func newFresh(base *http.Transport) *fresh { return &fresh{base: base, now: base.Clone()} }

// RoundTrip implements http.RoundTripper. If the call is given up before the
// header of its answer, the next ones have a connection of their own; those
// that are under way on the old one stay there.
func (f *fresh) RoundTrip(req *http.Request) (*http.Response, error) {
	f.mu.Lock()
	t := f.now
	f.mu.Unlock()
	res, err := t.RoundTrip(req)
	if err != nil && req.Context().Err() != nil {
		f.mu.Lock()
		if f.now == t {
			f.now = f.base.Clone()
		}
		f.mu.Unlock()
		t.CloseIdleConnections()
	}
	return res, err
}

// CloseIdleConnections is what http.Client.CloseIdleConnections calls.
func (f *fresh) CloseIdleConnections() {
	f.mu.Lock()
	t := f.now
	f.mu.Unlock()
	t.CloseIdleConnections()
}
