package porttest

import (
	"context"
	"net"
)

// Pipes is a listener whose connections are pipes, so that whole exchanges run
// on fake time.
type Pipes struct {
	conns chan net.Conn
	done  chan struct{}
}

// NewPipes returns a listener.
func NewPipes() *Pipes { return &Pipes{conns: make(chan net.Conn), done: make(chan struct{})} }

func (p *Pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *Pipes) Close() error   { close(p.done); return nil }
func (p *Pipes) Addr() net.Addr { return &net.TCPAddr{} }

// Dial returns the client's end of a connection that was accepted.
func (p *Pipes) Dial() net.Conn {
	client, server := net.Pipe()
	p.conns <- server
	return client
}

// DialContext is Dial for an http.Transport. It ends early when ctx does.
func (p *Pipes) DialContext(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case p.conns <- server:
		return client, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Offer waits until a connection is accepted or the listener is closed.
func (p *Pipes) Offer(server net.Conn) {
	select {
	case p.conns <- server:
	case <-p.done:
	}
}
