package a2aserver

import (
	"context"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"
)

// maxStalled is how many calls of a connection may be given up because their
// client did not read. What they had sent stays in memory as long as the
// connection, for grpc-go has no way to take it back.
const maxStalled = 16

// line is a connection of grpc-go's, as its calls share it.
type line struct {
	conn    net.Conn
	written atomic.Int64 // bytes
	read    atomic.Int64 // bytes
	calls   atomic.Int64 // under way
	stalled atomic.Int64 // calls that were given up
}

// stall notes that a call was given up. The connection is closed if it serves no
// other call, or has been through that often.
func (l *line) stall() {
	if l.stalled.Add(1) >= maxStalled || l.calls.Load() <= 1 {
		l.conn.Close()
	}
}

// onLine is what grpc-go keeps of a connection for us.
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

// paced is the writer of a call inside of net/http. Whoever does not read it
// loses its stream.
type paced struct {
	http.ResponseWriter
	rc    *http.ResponseController
	limit time.Duration // of each write
}

func newPaced(w http.ResponseWriter, limit time.Duration) *paced {
	return &paced{w, http.NewResponseController(w), limit}
}

func (w *paced) Write(b []byte) (n int, err error) {
	for {
		piece := b[n:min(len(b), n+writeSize)]
		_ = w.rc.SetWriteDeadline(time.Now().Add(w.limit)) // HTTP/2 has deadlines
		k, err := w.ResponseWriter.Write(piece)
		if n += k; err != nil || n == len(b) {
			return n, err
		}
	}
}

// Flush ends with no limit: one that passes while nothing is written would end
// the stream.
func (w *paced) Flush() {
	_ = w.rc.SetWriteDeadline(time.Now().Add(w.limit))
	_ = w.rc.Flush() // the next write fails, too
	_ = w.rc.SetWriteDeadline(time.Time{})
}
