package torture

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// balancer stands in front of the replicas and favours none: whatever connection
// a request over HTTP/1.1 came by, the next replica gets it, and so it is with
// each connection over HTTP/2. It passes over those that nobody listens at and
// those that are out, and sends nothing twice.
type balancer struct {
	// set at start, then constant
	listener net.Listener
	targets  []string // addresses of the replicas
	http     *http.Server
	requests chan net.Conn // connections for http
	over     chan struct{} // closed by close
	tasks    sync.WaitGroup

	next atomic.Uint64
	out  []atomic.Bool // those that get nothing new

	mu     sync.Mutex // protects the fields below
	rng    *rand.Rand // nil: connections last as long as their ends want
	whole  bool
	conns  map[net.Conn]bool // over HTTP/2, both sides
	closed bool
}

// replicaHeader says in a response which replica it is from.
const replicaHeader = "Torture-Replica"

// connectWithin is how long a replica that is stopped may keep a connection from
// being made. Where it listens the system answers for it, so that is rare.
const connectWithin = 250 * time.Millisecond

// newBalancer returns a balancer in front of targets. With a seed it cuts some
// connections and requests after a while, as a proxy does that is told to.
func newBalancer(targets []string, seed uint64) (*balancer, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	b := &balancer{
		listener: l, targets: targets, requests: make(chan net.Conn), over: make(chan struct{}),
		out: make([]atomic.Bool, len(targets)), conns: map[net.Conn]bool{},
	}
	if seed != 0 {
		b.rng = rand.New(rand.NewPCG(seed, 1<<33))
	}
	quiet := log.New(io.Discard, "", 0)
	b.http = &http.Server{
		ErrorLog: quiet,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			// Without it net/http closes the request's body with the first byte of the
			// answer; the proxy's transport may still be looking for its end, and then
			// cuts the answer.
			_ = http.NewResponseController(w).EnableFullDuplex()
			// A client that still sends when it is refused gets the answer: if what it sends
			// stayed unread, the connection would be reset.
			body := r.Body
			defer io.Copy(io.Discard, body)
			r.Body = io.NopCloser(body)
			if limit, cut := b.lasts(); cut {
				ctx, cancel := context.WithTimeout(r.Context(), limit)
				defer cancel()
				r = r.WithContext(ctx)
			}
			(&httputil.ReverseProxy{
				Rewrite: func(p *httputil.ProxyRequest) {
					p.Out.URL = &url.URL{Scheme: "http", Host: p.In.Host, Path: p.In.URL.Path, RawPath: p.In.URL.RawPath, RawQuery: p.In.URL.RawQuery}
				},
				Transport: b, FlushInterval: -1, ErrorLog: quiet,
				ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
					if errors.Is(err, errNobody) {
						w.WriteHeader(http.StatusServiceUnavailable) // nothing was sent
						return
					}
					panic(http.ErrAbortHandler) // nobody knows the outcome
				},
			}).ServeHTTP(w, r)
		}),
	}
	b.tasks.Go(func() { _ = b.http.Serve(balanced{b}) }) // until close
	b.tasks.Go(b.run)
	return b, nil
}

func (b *balancer) addr() string { return b.listener.Addr().String() }

// lasts is how long a request or connection lasts, if it is to be cut.
func (b *balancer) lasts() (limit time.Duration, cut bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.rng == nil || b.whole || b.rng.IntN(4) > 0 {
		return 0, false
	}
	return ms(5 + b.rng.IntN(600)), true
}

// calm lets be what comes from now on.
func (b *balancer) calm() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.whole = true
}

// attend leaves out who does not say that it is ready, looking often.
func (b *balancer) attend() {
	client := &http.Client{Timeout: connectWithin, Transport: &http.Transport{DisableKeepAlives: true}}
	for n, target := range b.targets {
		b.tasks.Go(func() {
			tick := time.NewTicker(25 * time.Millisecond)
			defer tick.Stop()
			for {
				res, err := client.Get("http://" + target + "/readyz")
				if err == nil {
					res.Body.Close()
				}
				b.out[n].Store(err != nil || res.StatusCode != http.StatusOK)
				select {
				case <-tick.C:
				case <-b.over:
					return
				}
			}
		})
	}
}

func (b *balancer) close() {
	close(b.over)
	b.listener.Close()
	b.http.Close()
	b.mu.Lock()
	b.closed = true
	for c := range b.conns {
		abort(c)
	}
	b.mu.Unlock()
	b.tasks.Wait()
}

func (b *balancer) run() {
	for {
		c, err := b.listener.Accept()
		if err != nil {
			return
		}
		b.tasks.Go(func() { b.sort(c) })
	}
}

// sort looks how a connection begins.
func (b *balancer) sort(c net.Conn) {
	const preface = "PRI " // HTTP/2's; no request of HTTP/1.1 begins so
	in := bufio.NewReaderSize(c, 4<<10)
	_ = c.SetReadDeadline(time.Now().Add(readyWithin)) // clients that find no server
	begin, err := in.Peek(len(preface))
	_ = c.SetReadDeadline(time.Time{})
	switch {
	case err != nil:
		c.Close()
	case string(begin) == preface:
		b.relay(c, in)
	default:
		select {
		case b.requests <- &begun{c, in}:
		case <-b.over:
			c.Close()
		}
	}
}

// begun is a connection of which something was read.
type begun struct {
	net.Conn
	in *bufio.Reader
}

func (c *begun) Read(p []byte) (int, error) { return c.in.Read(p) }

// balanced is the listener of what speaks HTTP/1.1.
type balanced struct{ b *balancer }

func (l balanced) Accept() (net.Conn, error) {
	select {
	case c := <-l.b.requests:
		return c, nil
	case <-l.b.over:
		return nil, net.ErrClosed
	}
}
func (l balanced) Close() error   { return nil }
func (l balanced) Addr() net.Addr { return l.b.listener.Addr() }

// relay gives a connection to a replica. Where none takes it for now, as on a machine
// so busy that all are late to say that they are ready, it waits for one: it cannot
// answer with 503, and a connection that breaks would be a server's fault.
func (b *balancer) relay(c net.Conn, in io.Reader) {
	s, _, err := b.dial()
	for err != nil {
		select {
		case <-time.After(connectWithin / 10):
			s, _, err = b.dial()
		case <-b.over:
			abort(c)
			return
		}
	}
	if !b.keeps(c, s) {
		return
	}
	defer b.drops(c, s)
	if limit, cut := b.lasts(); cut {
		defer time.AfterFunc(2*limit, func() { abort(c) }).Stop()
	}
	var pumps sync.WaitGroup
	pump := func(to net.Conn, from io.Reader) {
		_, _ = io.Copy(to, from) // whatever ends it, it is over
		c.Close()
		s.Close()
	}
	pumps.Go(func() { pump(s, in) })
	pumps.Go(func() { pump(c, s) })
	pumps.Wait()
}

func (b *balancer) keeps(c, s net.Conn) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		abort(c)
		abort(s)
		return false
	}
	b.conns[c], b.conns[s] = true, true
	return true
}

func (b *balancer) drops(c, s net.Conn) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.conns, c)
	delete(b.conns, s)
}

var errNobody = errors.New("no replica takes connections")

// dial connects to the next replica that can be connected to.
func (b *balancer) dial() (net.Conn, int, error) {
	turn := int(b.next.Add(1) % uint64(len(b.targets)))
	for i := range b.targets {
		n := (turn + i) % len(b.targets)
		if b.out[n].Load() {
			continue
		}
		if c, err := net.DialTimeout("tcp", b.targets[n], connectWithin); err == nil {
			return c, n, nil
		}
	}
	return nil, 0, errNobody
}

// dialled is the key of the connection that a request goes by.
type dialled struct{}

// once takes each request's own connection: dialling comes before, since a
// request that met with an error there is not asked for its body again.
var once = &http.Transport{
	DisableKeepAlives: true, DisableCompression: true,
	DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return ctx.Value(dialled{}).(net.Conn), nil
	},
}

// RoundTrip implements http.RoundTripper.
func (b *balancer) RoundTrip(r *http.Request) (*http.Response, error) {
	c, n, err := b.dial()
	if err != nil {
		return nil, err
	}
	res, err := once.RoundTrip(r.WithContext(context.WithValue(r.Context(), dialled{}, c)))
	if err != nil {
		c.Close()
		return nil, err
	}
	res.Header.Set(replicaHeader, strconv.Itoa(n))
	return res, nil
}
