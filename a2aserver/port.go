package a2aserver

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
)

const (
	// headerTimeout is how long a new connection has to say what it wants.
	headerTimeout = 10 * time.Second
	// idleTimeout is how long a connection may wait for a request.
	idleTimeout = 2 * time.Minute
)

// Port serves one agent, or those of a Host, on one listener with all its bindings: HTTP/1.1, HTTP/2
// in clear or over TLS, and on HTTP/2 also gRPC. The card that is asked for at a
// Port lists a GRPC interface; a Server that is mounted elsewhere has none.
//
// A connection that begins with gRPC is handed to grpc-go, any other stays with
// net/http; see docs/design/0004. On connections that begin with something
// else, gRPC works inside of net/http, at a quarter of the speed. For TLS the
// listener must be [TLS.Listener]'s or of package crypto/tls, and for HTTP/2 over
// TLS offer h2.
type Port struct {
	s      Site
	http   *http.Server
	native *grpc.Server  // connections of its own
	inside *grpc.Server  // requests on connections of net/http
	handed chan net.Conn // from the HTTP server's connections to native
	conns  *conns
	turns  *handshakes

	closing sync.Once
	closed  chan struct{} // no more connections for native
}

// NewPort returns a Port of s, a Server or a Host. What limits connections and
// calls over gRPC as such stays as it is at the time.
func NewPort(s Site) *Port {
	first := s.front()
	trusted := func(a netip.Addr) bool { return s.front().opts.trustsAddr(a) }
	p := &Port{s: s, handed: make(chan net.Conn), closed: make(chan struct{}), turns: newHandshakes(), conns: newConns(first.opts.limits(), trusted, first.log)}
	var err error
	if p.native, err = newGRPC(s); err == nil {
		p.inside, err = newGRPC(s)
	}
	if err != nil {
		panic("a2aserver: the generated descriptors are broken: " + err.Error())
	}
	p.http = HTTPServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, ok := r.Context().Value(onConn{}).(*sniffed); ok && r.TLS == nil {
			r.TLS = c.tls // net/http has not seen it
		}
		if r.ProtoMajor == 2 && r.Context().Err() != nil {
			return // reset before it had its turn; see grpcHandler
		}
		if r.ProtoMajor == 2 && isGRPC(r.Header.Get("Content-Type")) {
			limitBody(w, r)
			front := s.front()
			r, done := front.makesRoom(r)
			defer done()
			p.inside.ServeHTTP(newPaced(w, first.opts.writeTimeout()), r)
			return
		}
		s.ServeHTTP(w, r)
	}))
	p.http.Protocols = new(http.Protocols)
	p.http.Protocols.SetHTTP1(true)
	p.http.Protocols.SetHTTP2(true)
	p.http.Protocols.SetUnencryptedHTTP2(true)
	p.http.BaseContext = func(net.Listener) context.Context {
		return context.WithValue(context.Background(), onPort{}, true)
	}
	p.http.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		return context.WithValue(ctx, onConn{}, c)
	}
	return p
}

// onPort marks the contexts of requests that came through a Port; onConn is the
// key of their connection.
type (
	onPort struct{}
	onConn struct{}
)

func isGRPC(contentType string) bool {
	rest, ok := strings.CutPrefix(contentType, "application/grpc")
	return ok && (rest == "" || rest[0] == '+' || rest[0] == ';')
}

// Serve takes connections from l until Shutdown or Close, and then returns
// http.ErrServerClosed.
func (p *Port) Serve(l net.Listener) error {
	native := make(chan error, 1)
	go func() { native <- p.native.Serve(&handedListener{p, l.Addr()}) }()
	on := &portListener{Listener: l, p: p}
	if t, ok := l.(*tlsListener); ok {
		on.Listener, on.tls = t.below, t.config
	}
	err := p.http.Serve(on)
	p.stopHanding()
	<-native // always after stopHanding
	return err
}

func (p *Port) stopHanding() { p.closing.Do(func() { close(p.closed) }) }

// Shutdown stops taking connections and waits for the calls that are under way,
// until ctx ends: then it returns the context's error, and Close ends them.
// Call [Server.Drain] before, or it waits for all streams.
func (p *Port) Shutdown(ctx context.Context) error {
	p.stopHanding()
	graceful := make(chan struct{})
	go func() {
		p.native.GracefulStop()
		close(graceful)
	}()
	err := p.http.Shutdown(ctx)
	select {
	case <-graceful:
	case <-ctx.Done():
		// Clients that call nothing may take a second to close, which grpc-go
		// waits for.
		if p.s.front().calls.Load() > 0 {
			err = errors.Join(err, ctx.Err())
		}
		p.native.Stop() // ends GracefulStop, too
		<-graceful
	}
	if err == nil {
		p.inside.Stop() // its requests ended with those of net/http
	}
	return err
}

// Close ends everything at once.
func (p *Port) Close() error {
	p.stopHanding()
	p.native.Stop()
	p.inside.Stop()
	return p.http.Close()
}

// portListener gives the HTTP server connections that leave it if they turn out
// to be gRPC.
type portListener struct {
	net.Listener
	p   *Port
	tls *tls.Config // of connections whose handshakes are done in turn, or nil
}

func (l *portListener) Accept() (net.Conn, error) {
	c, place, err := l.p.conns.accept(l.Listener)
	if err != nil {
		return nil, err
	}
	if l.tls != nil {
		c = tls.Server(l.p.turns.conn(c), l.tls)
	}
	return newSniffed(c, l.p, place), nil
}

func (l *portListener) Close() error {
	l.p.conns.close()
	return l.Listener.Close()
}

// handedListener gives grpc-go what Accept of portListener should not have.
type handedListener struct {
	p    *Port
	addr net.Addr
}

func (l *handedListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.p.handed:
		return c, nil
	case <-l.p.closed:
		return nil, net.ErrClosed
	}
}

func (l *handedListener) Close() error {
	l.p.stopHanding()
	return nil
}

func (l *handedListener) Addr() net.Addr { return l.addr }
