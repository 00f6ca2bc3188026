package a2aserver

import (
	"io"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/internal/pb"
	"github.com/parley-a2a/parley/internal/port/porttest"
)

// At the limit of connections one without a request is closed for a new one, whichever
// protocol it speaks. One with a request is not.
func TestIdleConnectionsGiveWay(t *testing.T) {
	idle := map[string]func(*testing.T, net.Conn){
		"nothing said":  func(*testing.T, net.Conn) {},
		"half a header": func(_ *testing.T, c net.Conn) { _, _ = io.WriteString(c, "GET / HT") },
		"HTTP/1": func(t *testing.T, c net.Conn) {
			writeRequest(c, "GET /livez", "")
			_ = response(t, c).Body.Close()
		},
		"HTTP/2, nothing asked": func(t *testing.T, c net.Conn) { dialH2(t, c) },
		"HTTP/2": func(t *testing.T, c net.Conn) {
			h := dialH2(t, c)
			h.ask("GET", "/livez", "", true)
			<-h.data
		},
		"gRPC": func(t *testing.T, c net.Conn) {
			h := dialH2(t, c)
			h.call("GetTask", &pb.GetTaskRequest{Id: "t1"})
			<-h.last
		},
	}
	for name, say := range idle {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := NewPort(New(agreeable{}, testCard(), &Options{Limits: Limits{Connections: 4}}))
				l := porttest.NewPipes()
				ended := make(chan error)
				go func() { ended <- p.Serve(l) }()

				one := l.Dial()
				_, _ = io.WriteString(one, "POST / HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n")
				two, three := dialH2(t, l.Dial()), dialH2(t, l.Dial())
				two.ask("POST", "/", "application/json", false)
				three.call("GetTask", nil)
				synctest.Wait()
				time.Sleep(5 * time.Second) // longer than anything else here

				c := &closing{Conn: l.Dial(), closed: make(chan struct{})}
				say(t, c)
				synctest.Wait()
				for range 2 { // the newcomer is then closed for the next one
					began := time.Now()
					next := &closing{Conn: l.Dial(), closed: make(chan struct{})}
					if took := time.Since(began); took > time.Second || took < time.Second/2 {
						t.Errorf("the newcomer waited %v", took)
					}
					go io.Copy(io.Discard, c)
					<-c.closed
					c.Close()
					c = next
					writeRequest(c, "GET /livez", "")
					if res := response(t, c); res.StatusCode != 200 {
						t.Errorf("the newcomer: %s", res.Status)
					}
					synctest.Wait()
				}
				_, _ = io.WriteString(one, "{}")
				_ = response(t, one).Body.Close()
				for what, h := range map[string]*h2client{"HTTP/2": two, "gRPC": three} {
					select {
					case <-h.ended:
						t.Errorf("the connection over %s, which had a request, was closed", what)
					default:
					}
				}
				_ = p.Close()
				<-ended
				one.Close()
				c.Close()
				synctest.Wait()
				if open := p.port.Open(); open.HTTP+open.Native != 0 {
					t.Errorf("connections are open: %+v", open)
				}
			})
		})
	}
}

// closing tells when a read has failed; two goroutines may read at a time.
type closing struct {
	net.Conn
	once   sync.Once
	closed chan struct{}
}

func (c *closing) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err != nil {
		c.once.Do(func() { close(c.closed) })
	}
	return n, err
}

// By default an address has half of the connections.
func TestConnectionsOfOneAddress(t *testing.T) {
	for l, want := range map[Limits]int{
		{Connections: 10}: 5, {Connections: 1}: 1, {Connections: 10, AddrConnections: -1}: 0, {Connections: 10, AddrConnections: 3}: 3, {AddrConnections: 3}: 3, {}: 0,
	} {
		if got := l.addrConnections(); got != want {
			t.Errorf("%+v: %d, want %d", l, got, want)
		}
	}
}
