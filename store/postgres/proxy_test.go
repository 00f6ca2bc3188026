package postgres

import (
	"io"
	"net"
	"sync"
	"testing"
)

// proxy is the network between a store and its server. A test may delay or cut it.
type proxy struct {
	l  net.Listener
	to string

	mu     sync.Mutex // protects the fields below
	moved  sync.Cond  // hold has changed, or it is over
	conns  map[net.Conn]struct{}
	hold   bool // delay all pieces
	down   bool // refuse new connections
	left   int  // number of pieces sent to the server before the cut; below zero: no cut
	reach  bool // the last piece reaches the server, whose answer is lost
	cuts   int
	barred int // refused connections
	all    sync.WaitGroup
}

func newProxy(t testing.TB, to string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{l: l, to: to, conns: map[net.Conn]struct{}{}, left: -1}
	p.moved.L = &p.mu
	p.all.Go(p.accept)
	t.Cleanup(func() {
		l.Close()
		p.set(func() { p.hold, p.down = false, true })
		p.cut()
		p.all.Wait()
	})
	return p
}

func (p *proxy) address() string { return p.l.Addr().String() }

func (p *proxy) set(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
	p.moved.Broadcast()
}

// cut ends all connections.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cutLocked()
}

func (p *proxy) cutLocked() {
	for c := range p.conns {
		c.Close()
	}
}

// cutAfter cuts after that many pieces were sent to the server. The last piece reaches it or
// not.
func (p *proxy) cutAfter(pieces int, reach bool) { p.set(func() { p.left, p.reach = pieces, reach }) }

func (p *proxy) accept() {
	for {
		client, err := p.l.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.to)
		p.mu.Lock()
		if err != nil || p.down {
			p.barred++
			client.Close()
			if err == nil {
				server.Close()
			}
			p.mu.Unlock()
			continue
		}
		p.conns[client], p.conns[server] = struct{}{}, struct{}{}
		p.mu.Unlock()
		p.all.Go(func() { p.copy(server, client, true) })
		p.all.Go(func() { p.copy(client, server, false) })
	}
}

func (p *proxy) copy(to, from net.Conn, up bool) {
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		to.Close()
		from.Close()
		delete(p.conns, to)
		delete(p.conns, from)
	}()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		if !p.pass(to, buf[:n], up) {
			return
		}
	}
}

// pass forwards a piece, unless the network is cut at it.
func (p *proxy) pass(to io.Writer, b []byte, up bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.hold && !p.down {
		p.moved.Wait()
	}
	cut := false
	if up && p.left >= 0 {
		p.left--
		cut = p.left < 0
	}
	if !cut || p.reach {
		if _, err := to.Write(b); err != nil {
			return false
		}
	}
	if cut {
		p.cuts++
		p.cutLocked()
	}
	return !cut
}
