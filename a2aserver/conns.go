package a2aserver

import (
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"time"
)

// conns count the connections of a Port, from before the TLS handshake until
// they are closed, whoever serves them.
type conns struct {
	places  chan struct{} // taken by those there are; nil if there is no limit
	most    int           // from one address; 0 if there is no limit
	trusted func(netip.Addr) bool
	log     *slog.Logger
	closed  chan struct{} // nobody waits for a place anymore
	closing sync.Once

	mu     sync.Mutex // protects the fields below
	from   map[netip.Prefix]int
	warned time.Time // that there is no place
}

func newConns(l *Limits, trusted func(netip.Addr) bool, log *slog.Logger) *conns {
	c := &conns{most: max(l.AddrConnections, 0), trusted: trusted, log: log, closed: make(chan struct{}), from: map[netip.Prefix]int{}}
	if l.Connections > 0 {
		c.places = make(chan struct{}, l.Connections)
	}
	return c
}

// accept takes the next connection that may come in.
func (c *conns) accept(l net.Listener) (net.Conn, *place, error) {
	for {
		if err := c.wait(); err != nil {
			return nil, nil, err
		}
		conn, err := l.Accept()
		if err != nil {
			c.free()
			return nil, nil, err
		}
		p, ok := c.enter(conn.RemoteAddr())
		if ok {
			return conn, p, nil
		}
		c.free()
		conn.Close() // it has said nothing yet that could be answered
	}
}

// wait waits until there is a place, so that who comes stays in the queue of
// the operating system.
func (c *conns) wait() error {
	if c.places == nil {
		return nil
	}
	select {
	case c.places <- struct{}{}:
		return nil
	default:
		c.warn("there are as many connections as there may be; more have to wait", "limit", cap(c.places))
	}
	select {
	case c.places <- struct{}{}:
		return nil
	case <-c.closed:
		return net.ErrClosed
	}
}

func (c *conns) free() {
	if c.places != nil {
		<-c.places
	}
}

// close ends waiting.
func (c *conns) close() { c.closing.Do(func() { close(c.closed) }) }

// warn logs once a minute.
func (c *conns) warn(text string, args ...any) {
	c.mu.Lock()
	now := time.Now()
	again := now.Sub(c.warned) >= time.Minute
	if again {
		c.warned = now
	}
	c.mu.Unlock()
	if again {
		c.log.Warn(text, args...)
	}
}

// enter counts a connection for its address. It reports false if there are too
// many from there.
func (c *conns) enter(remote net.Addr) (*place, bool) {
	p := &place{c: c}
	if c.most == 0 || remote == nil {
		return p, true
	}
	at, err := netip.ParseAddrPort(remote.String())
	if err != nil {
		return p, true // no network
	}
	addr := plainAddr(at.Addr())
	if c.trusted(addr) {
		return p, true
	}
	p.from = network(addr)
	c.mu.Lock()
	ok := c.from[p.from] < c.most
	if ok {
		c.from[p.from]++
	}
	c.mu.Unlock()
	if !ok {
		c.warn("there are as many connections from one address as there may be; more are closed", "address", p.from.Addr().String(), "limit", c.most)
	}
	return p, ok
}

// place is that of a connection.
type place struct {
	c    *conns
	from netip.Prefix // if it is counted
	once sync.Once
}

// leave gives it back; again, it does nothing.
func (p *place) leave() {
	p.once.Do(func() {
		p.c.free()
		if !p.from.IsValid() {
			return
		}
		p.c.mu.Lock()
		defer p.c.mu.Unlock()
		if p.c.from[p.from]--; p.c.from[p.from] <= 0 {
			delete(p.c.from, p.from)
		}
	})
}
