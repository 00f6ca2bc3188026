package port

import (
	"context"
	"crypto/tls"
	"errors"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/parley-a2a/parley/internal/queue"
)

const (
	// HeaderTimeout is how long a client may take for its handshake and for a request's
	// header.
	HeaderTimeout = 10 * time.Second
	// IdleTimeout is how long a connection may wait for a request.
	IdleTimeout = 2 * time.Minute
)

// Options are the limits of a Port.
type Options struct {
	// Connections is how many connections there may be at a time. Beyond that, a new
	// one replaces the one that has been idle longest, for a second at least; if none
	// is idle, new ones have to wait. Zero means no limit.
	Connections int
	// AddrConnections is how many of them may come from one address, of IPv6 from its
	// first 64 bits. Beyond that, a new one replaces an idle one of that address in the
	// same way; if none is idle, it is closed. Zero means no limit.
	AddrConnections int
	// LimitLoopback applies AddrConnections to the addresses of this machine, too.
	LimitLoopback bool
	// Trusted reports whether an address is exempt from AddrConnections. Nil: none is.
	Trusted func(netip.Addr) bool
	// WriteTimeout bounds every single write to a peer, of 32 KiB at most, and how
	// far a peer may fall behind 4 KiB/s. It must be positive.
	WriteTimeout time.Duration
	// Limited is called when a limit of connections is met. It must not block. Nil: it
	// is not called.
	Limited func(Limited)
	// Busy reports whether calls of the native server are under way. Nil: never.
	Busy func() bool
	// Log gets records about connections, one a minute of each kind. It must not be
	// nil.
	Log *slog.Logger
}

// Port serves one listener with net/http, in HTTP/1.1 and HTTP/2, in clear or over TLS,
// and with a native server. For TLS the listener must be [TLS.Listener]'s or of package
// crypto/tls, and must offer h2 for HTTP/2 over TLS.
type Port struct {
	http   *http.Server
	native Native
	claims func(contentType string) bool
	handed chan net.Conn // from the HTTP server's connections to native
	conns  *conns
	turns  *queue.Fair[netip.Prefix] // of handshakes
	log    *throttled
	limit  time.Duration // of each write
	busy   func() bool

	closed      <-chan struct{} // no more connections for native
	stopHanding func()          // closes it; may be called again
}

// New returns a Port for h. A connection of HTTP/2 whose first request has a content
// type that claims reports true for goes to native.
func New(h http.Handler, native Native, claims func(contentType string) bool, o Options) *Port {
	closed, stop := context.WithCancel(context.Background())
	p := &Port{native: native, claims: claims, handed: make(chan net.Conn), closed: closed.Done(), stopHanding: stop, turns: newTurns(), log: newThrottled(o.Log), limit: o.WriteTimeout, busy: o.Busy}
	p.conns = newConns(&o, p.log)
	p.http = HTTPServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, ok := r.Context().Value(onConn{}).(*sniffed); ok && r.TLS == nil {
			r.TLS = c.tls // net/http has not seen it
		}
		h.ServeHTTP(w, r)
	}))
	p.http.Protocols = new(http.Protocols)
	p.http.Protocols.SetHTTP1(true)
	p.http.Protocols.SetHTTP2(true)
	p.http.Protocols.SetUnencryptedHTTP2(true)
	p.http.ErrorLog = log.New(httpLog{p.log}, "", 0)
	idles := p.http.ConnState
	p.http.ConnState = func(c net.Conn, state http.ConnState) {
		idles(c, state)
		if c, ok := c.(*sniffed); ok && (state == http.StateActive || state == http.StateIdle) && !c.left.Load() {
			c.slot.set(state == http.StateActive)
		}
	}
	p.http.BaseContext = func(net.Listener) context.Context { return With(context.Background()) }
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

// With returns a context for requests of net/http that come through a Port.
func With(ctx context.Context) context.Context { return WithMount(ctx, "") }

// WithMount is With for a handler that is mounted at a path of the server; the paths of
// gRPC are not below it.
func WithMount(ctx context.Context, path string) context.Context {
	return context.WithValue(ctx, onPort{}, path)
}

// Mount returns the path of WithMount, or "".
func Mount(ctx context.Context) string {
	path, _ := ctx.Value(onPort{}).(string)
	return path
}

// Serves reports whether a request of net/http came through a Port, by its context.
func Serves(ctx context.Context) bool { return ctx.Value(onPort{}) != nil }

// HTTPServer returns a server for h with the limits of a Port: 10 s for a request's
// header of at most 64 KiB, 2 minutes for an idle connection, and none for an
// answer, whose writes have limits of their own.
func HTTPServer(h http.Handler) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: HeaderTimeout,
		IdleTimeout:       IdleTimeout,
		MaxHeaderBytes:    64 << 10,
		ConnState: func(c net.Conn, state http.ConnState) {
			if state == http.StateIdle {
				// The limit of a stream's last write would hit the next
				// handler that uses the connection.
				_ = c.SetWriteDeadline(time.Time{})
			}
		},
	}
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

// Shutdown stops taking connections and waits for the calls that are under way,
// until ctx ends: then it returns the context's error, and Close ends them.
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
		// Clients without a call may take a second to close, which grpc-go waits for.
		if p.busy != nil && p.busy() {
			err = errors.Join(err, ctx.Err())
		}
		p.native.Stop() // ends GracefulStop, too
		<-graceful
	}
	return err
}

// Close ends everything at once.
func (p *Port) Close() error {
	p.stopHanding()
	p.native.Stop()
	return p.http.Close()
}

// portListener gives the HTTP server its connections, of which those that the native
// server claims leave it again.
type portListener struct {
	net.Listener
	p   *Port
	tls *tls.Config // of connections whose handshakes are done in turn, or nil
}

func (l *portListener) Accept() (net.Conn, error) {
	c, slot, err := l.p.conns.accept(l.Listener)
	if err != nil {
		return nil, err
	}
	c = newPeerConn(c, l.p.limit)
	if l.tls != nil {
		c = tls.Server(newHandshakeConn(c, l.p.turns), l.tls)
	}
	return &sniffed{Conn: c, p: l.p, slot: slot}, nil
}

func (l *portListener) Close() error {
	l.p.conns.close()
	return l.Listener.Close()
}

// handedListener gives the native server the connections that it has claimed.
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

// Open returns how many connections there are.
func (p *Port) Open() Open {
	p.conns.mu.Lock()
	defer p.conns.mu.Unlock()
	return p.conns.open
}
