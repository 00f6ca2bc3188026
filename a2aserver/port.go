package a2aserver

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/parley-a2a/parley/internal/budget"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/port"
	"github.com/parley-a2a/parley/internal/telemetry/metrics"
	"github.com/parley-a2a/parley/internal/wire"
	"google.golang.org/grpc"
)

// Port serves one agent, or those of a Host, on one listener with all its bindings:
// HTTP/1.1, HTTP/2 in clear or over TLS, and on HTTP/2 also gRPC. A card that is
// requested at a Port lists a GRPC interface; a Server that is mounted elsewhere has
// none.
//
// A connection that begins with gRPC is handed to grpc-go; any other stays with net/http,
// see docs/design/0004. On those, gRPC works inside of net/http, at a quarter of the
// speed. For TLS the listener must be [TLS.Listener]'s or of package crypto/tls, and must
// offer h2 for HTTP/2 over TLS.
type Port struct {
	s      Site
	port   *port.Port
	inside *grpc.Server // requests on connections of net/http
	blind  func()       // stops observing how many connections there are
}

// NewPort returns a Port of s, a Server or a Host. The limits of connections and of
// calls over gRPC do not change after that.
func NewPort(s Site) *Port {
	o := s.front().opts
	native, err := newGRPC(s, grpc.NumStreamWorkers(lineWorkers))
	p := &Port{s: s}
	if err == nil {
		// A separate server: GracefulStop would close the requests inside of net/http
		// at once (grpc-go's serverHandlerTransport.Drain).
		p.inside, err = newGRPC(s)
	}
	if err != nil {
		panic("a2aserver: the generated descriptors are broken: " + err.Error())
	}
	l := &o.Limits
	meter := metrics.New(o.MeterProvider)
	limited := meter.Counter(metrics.ConnectionsLimited)
	p.port = port.New(p.handler(), native, isGRPC, port.Options{
		Connections:     l.Connections,
		AddrConnections: l.addrConnections(),
		LimitLoopback:   l.AddrConnections > 0,
		Trusted:         func(a netip.Addr) bool { return s.front().opts.trustsAddr(a) },
		WriteTimeout:    o.writeTimeout(),
		Limited: func(how port.Limited) {
			limited.Add(context.Background(), 1, metrics.ConnectionsLimited.Labels[0].Values[how])
		},
		Busy: func() bool { return s.front().calls.Load() > 0 },
		Log:  s.front().log,
	})
	p.blind = meter.Observe(func(_ context.Context, is metrics.Reading) {
		open := p.port.Open()
		is.Set(metrics.ConnectionsOpen, float64(open.HTTP), "http")
		is.Set(metrics.ConnectionsOpen, float64(open.Native), "grpc")
		if open.Limit > 0 {
			is.Set(metrics.ConnectionsLimit, float64(open.Limit))
		}
	}, metrics.ConnectionsOpen, metrics.ConnectionsLimit)
	return p
}

// handler serves the requests of net/http.
func (p *Port) handler() http.Handler {
	limit := p.s.front().opts.writeTimeout()
	// A message has 5 bytes before it. The limit of grpc-go does not change with
	// Host.Set.
	most := p.s.front().opts.maxBody() + 5
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor == 2 && r.Context().Err() != nil {
			return // reset before it had its turn; see grpcHandler
		}
		if r.ProtoMajor != 2 || !isGRPC(r.Header.Get("Content-Type")) {
			p.s.ServeHTTP(w, r)
			return
		}
		limitBody(w, r)
		front := p.s.front()
		// grpc-go reads all that arrives into memory, even while nothing reads it
		// there, and keeps 16 KiB for each Read until its message is complete.
		r.Body = &wire.Gathered{ReadCloser: http.MaxBytesReader(w, r.Body, most)}
		r, done := front.holdBody(w, r, most, false)
		defer done()
		// grpc-go's handler returns before its answer is written. The memory of a
		// message is held until grpc-go has flushed it, or the answer is over.
		hold := front.memory.Open(nil)
		defer hold.Close()
		to := port.NewWriter(w, limit)
		to.HoldUntilFlush(hold)
		p.inside.ServeHTTP(to, r.WithContext(budget.With(r.Context(), hold)))
	})
}

func isGRPC(contentType string) bool {
	rest, ok := strings.CutPrefix(contentType, "application/grpc")
	return ok && (rest == "" || rest[0] == '+' || rest[0] == ';')
}

// Mount adds the Port to mux below path, which has no slash at its end, for an
// http.Server of the caller's own. gRPC has only its own paths, which are beside path,
// and needs HTTP/2. The first Port of a mux has them; those mounted after it have no
// gRPC, and their cards do not list it. Limits of connections and of writes are those
// of that server.
func (p *Port) Mount(mux *http.ServeMux, path string) {
	inside := p.handler()
	if hasGRPC(mux) {
		mux.Handle(path+"/", http.StripPrefix(path, inside))
		return
	}
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		inside.ServeHTTP(w, r.WithContext(port.WithMount(r.Context(), path)))
	})
	mux.Handle(path+"/", http.StripPrefix(path, h))
	for _, service := range []string{dialect.GRPCService, dialect.GRPCServiceV03} {
		mux.Handle("/"+service+"/", h)
	}
}

// hasGRPC reports whether a Port is mounted in mux: its patterns must differ.
func hasGRPC(mux *http.ServeMux) bool {
	at := "/" + dialect.GRPCService + "/"
	_, pattern := mux.Handler(&http.Request{Method: http.MethodPost, URL: &url.URL{Path: at + "GetTask"}})
	return pattern == at
}

// Serve takes connections from l until Shutdown or Close, and then returns
// http.ErrServerClosed.
func (p *Port) Serve(l net.Listener) error {
	defer p.blind()
	return p.port.Serve(l)
}

// Shutdown stops taking connections and waits for the calls that are under way,
// until ctx ends: then it returns the context's error, and Close ends them.
// Call [Server.Drain] before, or it waits for all streams.
func (p *Port) Shutdown(ctx context.Context) error {
	err := p.port.Shutdown(ctx)
	if err == nil {
		p.inside.Stop() // its requests ended with those of net/http
	}
	return err
}

// Close ends everything at once.
func (p *Port) Close() error {
	p.inside.Stop()
	return p.port.Close()
}

// HTTPServer returns a server for h with limits that suit a Server: 10 s for a
// request's header of at most 64 KiB, 2 minutes for an idle connection, and
// none for an answer, whose writes a Server limits one by one.
func HTTPServer(h http.Handler) *http.Server { return port.HTTPServer(h) }

// LimitWrites returns a listener whose connections have the limits of a [Port] on
// writes, for HTTP servers that are no Port: a peer that takes longer than limit for a
// piece of 32 KiB, or takes all pieces at less than 4 KiB/s, loses the connection. A
// limit of 0 is 30 s.
func LimitWrites(l net.Listener, limit time.Duration) net.Listener {
	return port.LimitWrites(l, (&Options{WriteTimeout: limit}).writeTimeout())
}

// TLS is a server's side of TLS, from files that are read again when they change, so
// that a renewed certificate needs no restart. Its Listener is for a Port.
type TLS = port.TLS

// TLSFiles are the files of a server's side of TLS, all in PEM, at most 1 MiB each.
type TLSFiles = port.TLSFiles

// LoadTLS reads the files.
func LoadTLS(f TLSFiles) (*TLS, error) { return port.LoadTLS(f) }
