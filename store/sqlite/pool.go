package sqlite

import (
	"context"
	"fmt"
	"sync"

	"github.com/parley-a2a/parley/store"
)

// pool lends connections that only read.
type pool struct {
	path  string
	mode  string        // argument of openConn
	slots chan struct{} // one token per lent connection

	back chan struct{} // hints that a connection is idle again

	mu     sync.Mutex // protects the fields below
	open   int        // number of connections, idle or lent
	idle   []*conn    // the connection lent last is lent first, because its cache is warm
	closed bool
}

func newPool(path string, limit int) *pool {
	return &pool{path: path, mode: "ro", slots: make(chan struct{}, limit), back: make(chan struct{}, 1)}
}

// get lends a connection. It waits while all are lent.
func (p *pool) get(ctx context.Context) (*conn, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	select {
	case p.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	for {
		c, err := p.take()
		if err == nil && c == nil {
			c, err = openReader(p.path, p.mode)
			more := p.opened(err == nil)
			if err != nil && more {
				// Perhaps the process has no file descriptor left. Wait for a connection that
				// is returned.
				select {
				case <-p.back:
					continue
				case <-ctx.Done():
					err = context.Cause(ctx)
				}
			}
		}
		if err != nil {
			<-p.slots
			return nil, err
		}
		return c, nil
	}
}

// opened counts a new connection if is is true, and reports whether the pool has any
// connections.
func (p *pool) opened(is bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if is {
		p.open++
	}
	return p.open > 0
}

// tell hints that a connection is idle. The caller holds p.mu.
func (p *pool) tell() {
	select {
	case p.back <- struct{}{}:
	default:
	}
}

// take returns an idle connection, or nil if there is none.
func (p *pool) take() (*conn, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, store.ErrClosed
	}
	n := len(p.idle)
	if n == 0 {
		return nil, nil
	}
	c := p.idle[n-1]
	p.idle = p.idle[:n-1]
	if n > 1 {
		p.tell() // other callers may wait for the rest
	}
	return c, nil
}

// put returns a connection to the pool, unless it has grown too large to be kept.
func (p *pool) put(c *conn) {
	if c.grown {
		c = p.shed(c)
	}
	if c != nil {
		p.mu.Lock()
		p.idle = append(p.idle, c)
		p.tell()
		p.mu.Unlock()
	}
	<-p.slots
}

// shed closes a connection that has grown. If it was the last one, shed returns a new one, or
// c itself if no other can be opened (the process may have no file descriptor for it).
func (p *pool) shed(c *conn) *conn {
	p.mu.Lock()
	last := p.open == 1
	if !last {
		p.open--
	}
	p.mu.Unlock()
	var fresh *conn
	if last {
		var err error
		if fresh, err = openReader(p.path, p.mode); err != nil {
			return c
		}
	}
	c.close()
	return fresh
}

// close waits for lent connections and closes all.
func (p *pool) close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	for range cap(p.slots) {
		p.slots <- struct{}{}
	}
	for _, c := range p.idle {
		c.close()
	}
	p.idle = nil
	for range cap(p.slots) {
		<-p.slots // later callers of get find the pool closed rather than full
	}
}

func openReader(path, mode string) (*conn, error) {
	c, err := openConn(path, mode)
	if err != nil {
		return nil, fmt.Errorf("open a reader: %w", err)
	}
	if err := c.Exec("PRAGMA query_only = ON; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -16384"); err != nil {
		c.close()
		return nil, fmt.Errorf("open a reader: %w", err)
	}
	return c, nil
}

// snapshot runs f so that all its reads see one state of the database.
func (c *conn) snapshot(f func() error) error {
	// A BEGIN that returns an interrupt may have worked nevertheless. And a context that
	// ended must not leave the snapshot open: the next user of this connection would read old
	// data, and the write-ahead log could not be cleaned.
	defer func() {
		c.SetInterrupt(context.Background())
		c.rollback()
	}()
	if err := c.stmt("BEGIN").exec(); err != nil {
		return err
	}
	return f()
}
