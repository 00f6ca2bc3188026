package torture

import (
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"
)

// TestProxyLosesOnlyEnds: what comes through a connection is the beginning of
// what was sent, whatever its fate. Otherwise the driver would blame the server.
func TestProxyLosesOnlyEnds(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var servers sync.WaitGroup
	servers.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			servers.Go(func() {
				defer c.Close()
				for i := byte(0); ; i++ {
					b := make([]byte, 97)
					for k := range b {
						b[k] = i
					}
					if _, err := c.Write(b); err != nil {
						return
					}
				}
			})
		}
	})
	p, err := newProxy(l.Addr().String(), 7)
	if err != nil {
		t.Fatal(err)
	}
	var clients sync.WaitGroup
	for n := range 60 {
		clients.Go(func() {
			rng := rand.New(rand.NewPCG(7, uint64(n)))
			c, err := net.Dial("tcp", p.addr())
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			if err := c.SetDeadline(time.Now().Add(400 * time.Millisecond)); err != nil {
				t.Error(err)
			}
			total := 0
			for {
				b := make([]byte, 1+rng.IntN(500))
				k, err := io.ReadFull(c, b)
				for i := range k {
					if want := byte((total + i) / 97); b[i] != want {
						t.Errorf("byte %d is %d in place of %d", total+i, b[i], want)
						return
					}
				}
				total += k
				if err != nil {
					return
				}
			}
		})
	}
	clients.Wait()
	p.close()
	l.Close()
	servers.Wait()
}
