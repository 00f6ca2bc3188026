package torture

import (
	"io"
	"net"
	"sync"
	"time"
)

// line is a replica's way to the database. It can be cut, and mended.
type line struct {
	// set at start, then constant
	listener net.Listener
	dial     func() (net.Conn, error) // to the database
	tasks    sync.WaitGroup

	mu     sync.Mutex // protects the fields below
	state  lineState
	turned chan struct{} // closed when state changes
	conns  map[net.Conn]bool
	closed bool
}

// lineState is what becomes of what goes over a line.
type lineState int

const (
	sound lineState = iota
	torn            // every connection is reset, and so is each new one
	dark            // nothing comes through, and nobody is told; when it is mended all of it does
	slow            // everything comes late
	lineStates
)

func (s lineState) String() string { return [...]string{"sound", "torn", "dark", "slow"}[s] }

// slowness is how late each piece is over a line that is slow.
const slowness = 15 * time.Millisecond

func newLine(dial func() (net.Conn, error)) (*line, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	n := &line{listener: l, dial: dial, turned: make(chan struct{}), conns: map[net.Conn]bool{}}
	n.tasks.Go(n.run)
	return n, nil
}

func (l *line) addr() string { return l.listener.Addr().String() }

// becomes changes what becomes of what goes over it.
func (l *line) becomes(s lineState) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.state = s
	close(l.turned)
	l.turned = make(chan struct{})
	if s == torn {
		l.abortLocked()
	}
}

// tear resets the connections there are, and lets new ones be made.
func (l *line) tear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.abortLocked()
}

func (l *line) abortLocked() {
	for c := range l.conns {
		abort(c)
	}
}

func (l *line) close() {
	l.listener.Close()
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.becomes(torn)
	l.tasks.Wait()
}

func (l *line) run() {
	for {
		c, err := l.listener.Accept()
		if err != nil {
			return
		}
		l.tasks.Go(func() { l.serve(c) })
	}
}

func (l *line) serve(c net.Conn) {
	defer c.Close()
	if !l.keeps(c) {
		return
	}
	defer l.drops(c)
	s, err := l.dial()
	if err != nil {
		abort(c)
		return
	}
	defer s.Close()
	if !l.keeps(s) {
		abort(c)
		return
	}
	defer l.drops(s)
	var pumps sync.WaitGroup
	pumps.Go(func() { l.pump(s, c) })
	pumps.Go(func() { l.pump(c, s) })
	pumps.Wait()
}

// keeps takes a connection in, unless the line is torn: then it is reset.
func (l *line) keeps(c net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || l.state == torn {
		abort(c)
		return false
	}
	l.conns[c] = true
	return true
}

func (l *line) drops(c net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.conns, c)
}

func (l *line) now() (lineState, chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state, l.turned
}

// pump moves bytes one way, as the line lets it. A dark one does not tell either
// end the outcome of the other.
func (l *line) pump(to, from net.Conn) {
	buf := make([]byte, 16<<10)
	for {
		n, err := from.Read(buf)
		for {
			state, turned := l.now()
			if state == dark {
				<-turned
				continue
			}
			if state == slow {
				late := time.NewTimer(slowness)
				select {
				case <-late.C:
				case <-turned:
				}
				late.Stop()
			}
			break
		}
		if n > 0 {
			if _, bad := to.Write(buf[:n]); bad != nil && err == nil {
				err = io.ErrClosedPipe
			}
		}
		if err != nil {
			to.Close()
			from.Close()
			return
		}
	}
}
