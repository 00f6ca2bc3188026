package a2aserver

import (
	"context"
	"net"
	"sync/atomic"

	"github.com/parley-a2a/parley/internal/port"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"
)

// maxStalled is how many calls of a connection may be given up because their client did
// not read. Messages already handed to grpc-go stay in memory as long as the
// connection, because grpc-go cannot take them back.
const maxStalled = 16

// line is a connection of grpc-go, shared by its calls.
type line struct {
	*port.Conn
	remote  string       // address
	stalled atomic.Int64 // calls that were given up
}

func newLine(on *port.Conn) *line { return &line{Conn: on, remote: on.RemoteAddr().String()} }

// stall notes that a call was given up. It closes the connection if that serves no
// other call, or if maxStalled calls were given up.
func (l *line) stall() {
	if l.stalled.Add(1) >= maxStalled || l.Calls() <= 1 {
		l.Close()
	}
}

// wasted notes that a call came to nothing. There is no line inside of net/http.
func (l *line) wasted() {
	if l != nil {
		l.Wasted()
	}
}

// handshaken are the credentials of a gRPC server whose connections have completed
// their handshake.
type handshaken struct {
	credentials.TransportCredentials
}

func (h handshaken) ServerHandshake(c net.Conn) (net.Conn, credentials.AuthInfo, error) {
	on, ok := c.(*port.Conn)
	if !ok {
		return h.TransportCredentials.ServerHandshake(c)
	}
	if state := on.TLS(); state != nil {
		info := credentials.TLSInfo{State: *state, CommonAuthInfo: credentials.CommonAuthInfo{SecurityLevel: credentials.PrivacyAndIntegrity}}
		return c, onLine{info, newLine(on)}, nil
	}
	_, info, err := h.TransportCredentials.ServerHandshake(c)
	return c, onLine{info, newLine(on)}, err
}

// onLine is the AuthInfo in which grpc-go keeps a connection's line for us.
type onLine struct {
	credentials.AuthInfo
	line *line
}

// lineOf returns a call's connection; nil for a call inside of net/http.
func lineOf(ctx context.Context) *line {
	if p, ok := peer.FromContext(ctx); ok {
		if on, ok := p.AuthInfo.(onLine); ok {
			return on.line
		}
	}
	return nil
}

// tlsOf returns the TLS state of a call's connection.
func tlsOf(p *peer.Peer) (credentials.TLSInfo, bool) {
	info := p.AuthInfo
	if on, ok := info.(onLine); ok {
		info = on.AuthInfo
	}
	t, ok := info.(credentials.TLSInfo)
	return t, ok
}
