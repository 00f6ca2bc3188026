package port

import (
	"container/list"
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/parley-a2a/parley/internal/scarce"
)

// conns counts the connections of a Port, from before the TLS handshake until they are
// closed, for both of its servers. If all slots are in use, a new connection takes the
// slot of the one that has been idle longest, without a request.
type conns struct {
	limits Options
	log    *throttled
	slots  chan struct{}   // one element for each open connection; nil if there is no limit
	closed <-chan struct{} // nobody waits for a slot anymore
	close  func()          // closes it; may be called again

	mu    sync.Mutex // protects the fields below
	open  Open
	from  map[netip.Prefix]*origin
	idle  *list.List  // of *slot, the one that has been idle longest first
	sweep *time.Timer // goes off when the first of idle has been idle for too long; nil if it is not set
}

// Limited says what happened because of a limit of connections.
type Limited uint8

const (
	Evicted Limited = iota // an idle connection was closed for a new one
	Waited                 // none was idle, and new ones had to wait
	Refused                // a new one was closed: its address has as many as it may
)

// Open is how many connections a Port has. Each counts as one of net/http until its
// first bytes show that it is for the native server.
type Open struct {
	HTTP, Native int
	Limit        int // 0 if there is none
}

// origin is an address with connections.
type origin struct {
	open int
	idle *list.List // like that of conns
}

const (
	// leastIdle is how long a connection has to be idle before it is closed for another
	// one: until then its client may be about to use it.
	leastIdle = time.Second
	// longestIdle is how long a connection may be idle. net/http and grpc-go close an
	// idle connection before, in a way that clients can tell from a failure. But they
	// do not regard it as idle while there are answers that the client does not read.
	longestIdle = IdleTimeout + 30*time.Second
	// acceptPause and maxAcceptPause are the first and the longest pause before another
	// connection is accepted after the machine had no room for one.
	acceptPause, maxAcceptPause = 5 * time.Millisecond, time.Second
)

func newConns(o *Options, log *throttled) *conns {
	closed, stop := context.WithCancel(context.Background())
	c := &conns{limits: *o, log: log, closed: closed.Done(), close: stop, from: map[netip.Prefix]*origin{}, idle: list.New()}
	if o.Connections > 0 {
		c.open.Limit, c.slots = o.Connections, make(chan struct{}, o.Connections)
	}
	return c
}

// met notes that a limit was met.
func (c *conns) met(how Limited) {
	if c.limits.Limited != nil {
		c.limits.Limited(how)
	}
}

// accept returns the next connection that is let in.
func (c *conns) accept(l net.Listener) (net.Conn, *slot, error) {
	for pause := acceptPause; ; {
		if err := c.wait(); err != nil {
			return nil, nil, err
		}
		conn, err := l.Accept()
		if err != nil {
			c.free()
			if !scarce.Is(err) {
				return nil, nil, err
			}
			c.log.write(slog.LevelWarn, "the machine cannot open another connection; new ones wait", slog.Any("error", err))
			if c.evictIdle() == 0 {
				pause = acceptPause
			}
			c.pause(pause)
			pause = min(2*pause, maxAcceptPause)
			continue
		}
		pause = acceptPause
		p, ok := c.enter(conn)
		if ok {
			return conn, p, nil
		}
		c.free()
		conn.Close() // it has sent nothing yet that could be answered
	}
}

// wait waits for a slot. Until then new connections stay in the queue of the
// operating system.
func (c *conns) wait() error {
	if c.slots == nil {
		return nil
	}
	for {
		select {
		case c.slots <- struct{}{}:
			return nil
		case <-c.closed:
			return net.ErrClosed
		default:
		}
		in := c.evictIdle()
		if in == 0 {
			c.met(Evicted)
			continue
		}
		c.met(Waited)
		c.log.write(slog.LevelWarn, "too many connections, and none is idle: new ones wait", slog.Int("limit", cap(c.slots)))
		select {
		case c.slots <- struct{}{}:
			return nil
		case <-c.closed:
			return net.ErrClosed
		case <-time.After(in):
		}
	}
}

// pause waits for d, or until close is called.
func (c *conns) pause(d time.Duration) {
	select {
	case <-time.After(d):
	case <-c.closed:
	}
}

func (c *conns) free() {
	if c.slots != nil {
		<-c.slots
	}
}

// evictIdle closes the connection that has been idle longest, if that is long enough:
// then it returns 0. Otherwise it returns when to look again.
func (c *conns) evictIdle() time.Duration {
	c.mu.Lock()
	p, in := oldest(c.idle)
	c.mu.Unlock()
	if in == 0 {
		p.evict()
	}
	return in
}

// closeIdle closes the connections that have been idle for too long.
func (c *conns) closeIdle() {
	c.mu.Lock()
	var list []*slot
	c.sweep = nil
	for e := c.idle.Front(); e != nil; e = e.Next() {
		p := e.Value.(*slot)
		if left := longestIdle - time.Since(p.since); left > 0 {
			c.sweep = time.AfterFunc(left, c.closeIdle)
			break
		}
		list = append(list, p)
	}
	c.mu.Unlock()
	for _, p := range list {
		p.evict()
	}
}

// oldest returns the first of a list of idle connections, and when it may be closed: 0
// means now. conns.mu must be held.
func oldest(idle *list.List) (*slot, time.Duration) {
	first := idle.Front()
	if first == nil {
		return nil, leastIdle
	}
	p := first.Value.(*slot)
	return p, max(leastIdle-time.Since(p.since), 0)
}

// enter counts a connection for its address. It reports false if that has too many,
// none of which is idle.
func (c *conns) enter(conn net.Conn) (*slot, bool) {
	p := &slot{c: c, conn: conn}
	var first *slot
	in := time.Duration(0)
	counts := c.counts(p)
	c.mu.Lock()
	if counts {
		from := c.from[p.from]
		if from == nil {
			from = &origin{idle: list.New()}
			c.from[p.from] = from
		}
		if from.open >= c.limits.AddrConnections {
			first, in = oldest(from.idle)
		}
		if in == 0 {
			from.open++
		}
	}
	if in == 0 {
		c.open.HTTP++
	}
	c.mu.Unlock()
	if in > 0 {
		c.met(Refused)
		c.log.write(slog.LevelWarn, "too many connections from one address, and none is idle: new ones are closed",
			slog.String("address", p.from.Addr().String()), slog.Int("limit", c.limits.AddrConnections))
		return nil, false
	}
	if first != nil {
		c.met(Evicted)
		first.evict()
	}
	p.set(false)
	return p, true
}

// counts reports whether a connection counts for its address, and sets p.from if it
// does.
func (c *conns) counts(p *slot) bool {
	if c.limits.AddrConnections <= 0 {
		return false
	}
	addr, ok := remoteNetwork(p.conn)
	if !ok {
		return false // no network
	}
	if c.limits.Trusted != nil && c.limits.Trusted(addr) || addr.IsLoopback() && !c.limits.LimitLoopback {
		return false
	}
	p.from = Network(addr)
	return true
}

// slot is the slot of a connection.
type slot struct {
	// set by enter, then constant
	c    *conns
	conn net.Conn     // as it was accepted
	from netip.Prefix // if it is counted

	// protected by conns.mu
	released  bool          // the slot was given back
	native    bool          // the connection is the native server's
	calls     int           // under way; without any the connection is idle
	since     time.Time     // when it became idle
	ofAll     *list.Element // in conns.idle; nil while it is busy
	ofAddress *list.Element // in origin.idle; nil while it is busy, or if it is not counted
}

// set notes whether net/http is busy with a request of the connection.
func (p *slot) set(busy bool) {
	p.c.mu.Lock()
	defer p.c.mu.Unlock()
	if p.calls = 0; busy {
		p.calls = 1
	}
	p.listLocked()
}

// count adds n to the calls of the native server.
func (p *slot) count(n int) {
	p.c.mu.Lock()
	defer p.c.mu.Unlock()
	p.calls += n
	p.listLocked()
}

// listLocked lists the connection among the idle ones, as the last one, unless it is
// busy.
func (p *slot) listLocked() {
	if p.released {
		return
	}
	p.unlistLocked()
	if p.calls > 0 {
		return
	}
	p.since = time.Now()
	p.ofAll = p.c.idle.PushBack(p)
	if p.c.sweep == nil {
		p.c.sweep = time.AfterFunc(longestIdle, p.c.closeIdle)
	}
	if p.from.IsValid() {
		p.ofAddress = p.c.from[p.from].idle.PushBack(p)
	}
}

// leave notes that the connection belongs to the native server from now on.
func (p *slot) leave() {
	p.c.mu.Lock()
	defer p.c.mu.Unlock()
	if p.released {
		return
	}
	p.native = true
	p.c.open.HTTP--
	p.c.open.Native++
}

func (p *slot) unlistLocked() {
	if p.ofAll != nil {
		p.c.idle.Remove(p.ofAll)
	}
	if p.ofAddress != nil {
		p.c.from[p.from].idle.Remove(p.ofAddress)
	}
	p.ofAll, p.ofAddress = nil, nil
}

// evict closes the connection. Its server finds it closed.
func (p *slot) evict() {
	conn := p.conn
	if t, ok := conn.(*tls.Conn); ok {
		conn = t.NetConn() // t would write, and wait for that
	}
	conn.Close()
	p.release()
}

// release gives the slot back. Calling it again does nothing.
func (p *slot) release() {
	p.c.mu.Lock()
	if p.released {
		p.c.mu.Unlock()
		return
	}
	p.released = true
	if p.native {
		p.c.open.Native--
	} else {
		p.c.open.HTTP--
	}
	p.unlistLocked()
	if p.from.IsValid() {
		from := p.c.from[p.from]
		if from.open--; from.open <= 0 {
			delete(p.c.from, p.from)
		}
	}
	p.c.mu.Unlock()
	p.c.free()
}
