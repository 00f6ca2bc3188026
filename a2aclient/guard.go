package a2aclient

import (
	"errors"
	"net/http"
	"net/http/httptrace"
	"sync"
	"sync/atomic"

	"github.com/parley-a2a/parley/internal/egress"
	"github.com/parley-a2a/parley/internal/upload"
)

// guard is a transport that only goes to addresses that their namer may send it to (see
// Options.AnyAddress). For addresses that a document named it uses separate transports,
// so that no request reuses a connection that was allowed for another.
type guard struct {
	// set at start, then constant
	own    http.RoundTripper                         // for addresses that the caller named
	base   *http.Transport                           // below own; nil: own is of an unknown kind
	adapt  func(*http.Transport) http.RoundTripper   // turns a copy of base into the argument of over
	over   func(http.RoundTripper) http.RoundTripper // adds the layers that own has above base
	lookup egress.Resolver                           // nil: the system's

	mu     sync.Mutex // protects the field below
	judged map[egress.Reach]http.RoundTripper
}

// layer is a RoundTripper above an *http.Transport, such as one that logs.
type layer interface {
	Base() *http.Transport
	Over(http.RoundTripper) http.RoundTripper
}

func newGuard(rt http.RoundTripper, lookup egress.Resolver) *guard {
	if rt == nil {
		rt = http.DefaultTransport
	}
	g := &guard{
		own: rt, lookup: lookup,
		adapt: func(t *http.Transport) http.RoundTripper { return t },
		over:  func(rt http.RoundTripper) http.RoundTripper { return rt },
	}
	switch t := rt.(type) {
	case *http.Transport:
		g.base = t
	case layer:
		g.base, g.over = t.Base(), t.Over
	}
	return g
}

// with returns a guard whose transports are adapted copies. If the transport is of an
// unknown kind, it cannot be copied, and with returns g itself.
func (g *guard) with(adapt func(*http.Transport) http.RoundTripper) *guard {
	if g.base == nil {
		return g
	}
	return &guard{own: g.over(adapt(g.base.Clone())), base: g.base, adapt: adapt, over: g.over, lookup: g.lookup}
}

// RoundTrip implements http.RoundTripper.
func (g *guard) RoundTrip(req *http.Request) (*http.Response, error) {
	j, _ := req.Context().Value(journeyKey{}).(*journey)
	if j == nil {
		return upload.RoundTrip(g.own, req)
	}
	from := j.from.Load()
	if err := from.check(req.URL); err != nil {
		if req.Body != nil {
			_ = req.Body.Close() // as RoundTrip must
		}
		return nil, err
	}
	rt, proxied := g.own, g.proxied(req)
	judged := !proxied && from != nil && from.reach != egress.Anywhere && !from.isHome(req.URL)
	if judged {
		rt = g.judgedBy(from.reach)
	}
	var reach atomic.Int32
	reach.Store(int32(egress.ReachOfURL(req.URL)))
	if !proxied {
		req = req.WithContext(httptrace.WithClientTrace(req.Context(), &httptrace.ClientTrace{
			GotConn: func(i httptrace.GotConnInfo) {
				if a := egress.AddrOf(i.Conn); a.IsValid() {
					reach.Store(int32(egress.ReachOf(a)))
				}
			},
		}))
	}
	res, err := upload.RoundTrip(rt, req)
	if err == nil {
		j.arrived(req.URL, egress.Reach(reach.Load()))
	} else if refused, ok := errors.AsType[*egress.Refused](err); ok && judged {
		err = from.refuse(req.URL, "the URL "+refused.Reason)
	}
	return res, err
}

// proxied reports whether the connection would not show a request's destination,
// because of an HTTP proxy or a transport of an unknown kind.
func (g *guard) proxied(req *http.Request) bool {
	if g.base == nil {
		return true
	}
	if g.base.Proxy == nil {
		return false
	}
	u, err := g.base.Proxy(req)
	return err == nil && u != nil
}

// judgedBy returns the transport that dials only addresses within a reach.
func (g *guard) judgedBy(r egress.Reach) http.RoundTripper {
	g.mu.Lock()
	defer g.mu.Unlock()
	if known := g.judged[r]; known != nil {
		return known
	}
	p := r.Policy()
	p.Resolver, p.Dial = g.lookup, g.base.DialContext
	t := g.base.Clone()
	t.DialContext, t.DialTLSContext = p.DialContext, nil
	//lint:ignore SA1019 a caller may still set it, and it would be used in place of DialContext
	t.DialTLS = nil
	if g.judged == nil {
		g.judged = map[egress.Reach]http.RoundTripper{}
	}
	rt := g.over(g.adapt(t))
	g.judged[r] = rt
	return rt
}

// CloseIdleConnections implements the method that http.Client.CloseIdleConnections
// calls.
func (g *guard) CloseIdleConnections() {
	g.mu.Lock()
	all := []http.RoundTripper{g.own}
	for _, rt := range g.judged {
		all = append(all, rt)
	}
	g.mu.Unlock()
	for _, rt := range all {
		if c, ok := rt.(interface{ CloseIdleConnections() }); ok {
			c.CloseIdleConnections()
		}
	}
}
