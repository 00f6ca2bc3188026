package egress

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// An HTTP/2 connection that accepts no more data is closed: if only the request were
// given up, the next ones would use it too, each with a goroutine that stays.
func TestUnreadConnectionIsClosed(t *testing.T) {
	srv := httptest.NewUnstartedServer(nil)
	srv.StartTLS() // for its certificate
	defer srv.Close()
	synctest.Test(t, func(t *testing.T) {
		closed := make(chan struct{})
		p := &Policy{Dial: func(context.Context, string, string) (net.Conn, error) {
			near, far := net.Pipe()
			go func() {
				_, _ = io.CopyN(io.Discard, tls.Server(far, &tls.Config{Certificates: srv.TLS.Certificates, NextProtos: []string{"h2"}}), 100) // and then no more
			}()
			return &closing{Conn: near, closed: closed}, nil
		}}
		client := p.Client()
		client.Transport.(*judging).TLSClientConfig.InsecureSkipVerify = true
		defer client.CloseIdleConnections()
		if res, err := client.Post("https://8.8.8.8/", "text/plain", strings.NewReader(strings.Repeat("x", 1<<20))); err == nil {
			t.Errorf("got %v", res)
		}
		select {
		case <-closed:
		case <-time.After(time.Hour):
			t.Error("the connection is open")
		}
	})
}

// closing closes a channel when it is closed.
type closing struct {
	net.Conn
	once   sync.Once
	closed chan struct{}
}

func (c *closing) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}
