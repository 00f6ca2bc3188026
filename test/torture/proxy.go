package torture

import (
	"math/rand/v2"
	"net"
	"sync"
	"time"
)

// proxy stands between the clients and the server, and each connection has a
// fate: it is cut (cleanly or not, after a time or in the middle of something),
// it crawls, or it stays open and swallows what is sent.
type proxy struct {
	// set at start, then constant
	listener net.Listener
	target   string
	tasks    sync.WaitGroup

	mu     sync.Mutex // protects the fields below
	rng    *rand.Rand
	links  map[*link]bool
	calmed bool
	closed bool
}

// link is one connection through the proxy.
type link struct {
	p                *proxy
	client, server   net.Conn
	fate             fate
	once             sync.Once
	struck           chan struct{} // closed when the fate has struck
	ended            chan struct{} // closed when the link is over
	afterUp, afterDn int           // bytes to pass before it is cut, if not negative
}

// fate is what becomes of a connection.
type fate int

const (
	spared   fate = iota
	reset         // both ends get a reset
	closed        // both ends see an orderly end
	crawling      // small pieces, late
	hole          // open, and nothing comes through any more
	swallow       // open and silent, and bytes that are sent are taken and lost
	fates
)

// holds is how long a connection through which nothing comes stays open.
const holds = 20 * time.Second

func newProxy(target string, seed uint64) (*proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{listener: l, target: target, rng: rand.New(rand.NewPCG(seed, 1<<32)), links: map[*link]bool{}}
	p.tasks.Go(p.run)
	return p, nil
}

func (p *proxy) addr() string { return p.listener.Addr().String() }

// calm ends all fates: broken connections are cut, and the rest lives.
func (p *proxy) calm() {
	p.mu.Lock()
	p.calmed = true
	var broken []*link
	for l := range p.links {
		if l.fate != spared {
			broken = append(broken, l)
		}
	}
	p.mu.Unlock()
	for _, l := range broken {
		l.end(true)
	}
}

func (p *proxy) close() {
	p.listener.Close()
	p.mu.Lock()
	p.closed = true
	links := make([]*link, 0, len(p.links))
	for l := range p.links {
		links = append(links, l)
	}
	p.mu.Unlock()
	for _, l := range links {
		l.end(true)
	}
	p.tasks.Wait()
}

func (p *proxy) run() {
	for {
		c, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.tasks.Go(func() { p.serve(c) })
	}
}

func (p *proxy) serve(c net.Conn) {
	s, err := net.Dial("tcp", p.target)
	if err != nil {
		abort(c)
		return
	}
	l := &link{p: p, client: c, server: s, struck: make(chan struct{}), ended: make(chan struct{}), afterUp: -1, afterDn: -1}
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		abort(c)
		abort(s)
		return
	}
	p.links[l] = true
	lasts := time.Duration(20+p.rng.IntN(2500)) * time.Millisecond
	if !p.calmed && p.rng.IntN(10) > 0 {
		l.fate = fate(p.rng.IntN(int(fates)))
		switch bytes := p.rng.IntN(6000); p.rng.IntN(4) {
		case 0:
			l.afterUp = bytes / 6
		case 1:
			l.afterDn = bytes
		}
	}
	p.mu.Unlock()

	var pumps sync.WaitGroup
	pumps.Go(func() { l.pump(s, c, l.afterUp) })
	pumps.Go(func() { l.pump(c, s, l.afterDn) })
	t := time.NewTimer(lasts)
	select {
	case <-t.C:
		l.strike()
		// How long a dead connection is kept is for the server and the client
		// to test; here it is closed in the end.
		t.Reset(holds)
		select {
		case <-t.C:
			if l.fate == hole || l.fate == swallow {
				l.end(true)
			}
		case <-l.ended:
		}
	case <-l.ended:
	}
	t.Stop()
	pumps.Wait()
	l.end(false)
	p.mu.Lock()
	delete(p.links, l)
	p.mu.Unlock()
}

// strike lets the fate happen.
func (l *link) strike() {
	switch l.fate {
	case reset:
		l.end(true)
	case closed:
		l.end(false)
	case hole, swallow:
		l.once.Do(func() { close(l.struck) })
	}
}

// end closes both sides, once.
func (l *link) end(hard bool) {
	l.p.mu.Lock()
	select {
	case <-l.ended:
		l.p.mu.Unlock()
		return
	default:
	}
	close(l.ended)
	l.p.mu.Unlock()
	if hard {
		abort(l.client)
		abort(l.server)
		return
	}
	l.client.Close()
	l.server.Close()
}

// pump moves bytes one way. It strikes after some of them, if limit is not
// negative.
func (l *link) pump(to, from net.Conn, limit int) {
	defer l.end(false)
	buf := make([]byte, 16<<10)
	for {
		size := len(buf)
		if l.fate == crawling {
			size = 700
		}
		n, err := from.Read(buf[:size])
		if n > 0 {
			if l.fate == crawling && !l.pause(2*time.Millisecond) {
				return
			}
			if !l.pass(to, buf[:n], &limit) {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// pass hands bytes on, or does not: once something is lost, so is all behind it.
func (l *link) pass(to net.Conn, b []byte, limit *int) bool {
	if l.through() && *limit >= 0 && l.fate != spared && l.fate != crawling {
		if len(b) <= *limit {
			*limit -= len(b)
		} else {
			if _, err := to.Write(b[:*limit]); err != nil {
				return false
			}
			l.strike()
		}
	}
	if l.through() {
		_, err := to.Write(b)
		return err == nil
	}
	if l.fate == swallow {
		return true
	}
	<-l.ended // of a hole, nobody reads
	return false
}

// through reports whether the fate has not struck yet.
func (l *link) through() bool {
	select {
	case <-l.ended:
		return false
	case <-l.struck:
		return false
	default:
		return true
	}
}

func (l *link) pause(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-l.ended:
		return false
	}
}

// abort closes a connection with a reset.
func abort(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	c.Close()
}
