package port

import (
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// reads takes n bytes each second until there are no more, and returns how many.
func reads(c net.Conn, n int) (all int) {
	for b := make([]byte, n); ; time.Sleep(time.Second) {
		k, err := io.ReadFull(c, b)
		if all += k; err != nil {
			return all
		}
	}
}

// A peer has to read at a minimum rate; one that does gets everything.
func TestPeersHaveARate(t *testing.T) {
	const limit, size = 30 * time.Second, 1 << 20
	for rate, whole := range map[int]bool{100_000 / 8: true, minRate: true, minRate / 2: false, 1100: false} {
		synctest.Test(t, func(t *testing.T) {
			near, far := net.Pipe()
			c := newPeerConn(near, limit)
			got := make(chan int)
			go func() { got <- reads(far, rate) }()
			began := time.Now()
			n, err := c.Write(make([]byte, size))
			took := time.Since(began)
			if whole != (err == nil) || whole != (n == size) {
				t.Errorf("at %d bytes a second, %d bytes were written in %v: %v", rate, n, took, err)
			}
			if took > limit+atMinRate(n+WriteSize) {
				t.Errorf("at %d bytes a second, a write of %d bytes took %v", rate, n, took)
			}
			if !whole {
				if !errors.Is(err, os.ErrDeadlineExceeded) {
					t.Error(err)
				}
				if _, err := near.Write([]byte("x")); !errors.Is(err, io.ErrClosedPipe) {
					t.Errorf("the connection goes on: %v", err)
				}
			}
			c.Close()
			<-got
		})
	}
}

// The bound holds for many small writes and for a peer that stalls before each; time in
// which nothing is written counts for the peer.
func TestPace(t *testing.T) {
	const limit = 30 * time.Second
	var p Pace
	now := time.Duration(0)
	write := func(n int, takes time.Duration) (left bool) {
		if allowed := p.Allows(n, limit, now); takes > allowed {
			return true
		}
		p.Wrote(n, now, now+takes)
		now += takes
		return false
	}
	if write(100, 29*time.Second) {
		t.Error("a peer that stalls once is left")
	}
	if !write(100, 2*time.Second) {
		t.Error("a peer that stalls twice is not left")
	}
	now += 25 * time.Second // nothing to write
	if write(100, 10*time.Second) || !write(WriteSize, 30*time.Second) {
		t.Error("a pause does not count for what it is")
	}
	p = Pace{}
	for range 1000 {
		if write(WriteSize, 8*time.Second) {
			t.Fatal("a peer that takes the minimum is left")
		}
	}
}

// toldConn notes the deadlines that are set, and accepts all writes.
type toldConn struct {
	net.Conn
	at []time.Time
}

func (c *toldConn) Write(b []byte) (int, error)        { return len(b), nil }
func (c *toldConn) SetWriteDeadline(t time.Time) error { c.at = append(c.at, t); return nil }
func (c *toldConn) Close() error                       { return nil }

// A busy connection sets a timer once in the time limit of a write, however many
// deadlines are set.
func TestDeadlinesAreToldRarely(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var below toldConn
		c := newPeerConn(&below, 30*time.Second)
		for range 599 {
			time.Sleep(100 * time.Millisecond)
			_ = c.SetWriteDeadline(time.Now().Add(30 * time.Second))
			if _, err := c.Write([]byte("x")); err != nil {
				t.Fatal(err)
			}
			_ = c.SetWriteDeadline(time.Time{})
		}
		if n := len(below.at); n > 3 {
			t.Errorf("it was told %d times in a minute", n)
		}
		// An earlier deadline counts at once.
		_ = c.SetWriteDeadline(time.Now().Add(time.Millisecond))
		if _, err := c.Write([]byte("x")); err != nil || !below.at[len(below.at)-1].Equal(time.Now().Add(time.Millisecond)) {
			t.Errorf("%v, %v", err, below.at)
		}
		_ = c.SetWriteDeadline(time.Unix(1, 0))
		if _, err := c.Write([]byte("x")); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("a write behind its deadline: %v", err)
		}
	})
}

// Writes end at their deadline, whether it was set before they began or while they
// wait, and whatever the connection's last deadline was.
func TestDeadlinesOfPeers(t *testing.T) {
	for name, x := range map[string]struct {
		before, during, want time.Duration
	}{
		"its own":                {0, 0, 30 * time.Second},
		"nearer":                 {10 * time.Second, 0, 10 * time.Second},
		"later":                  {time.Minute, 0, 30 * time.Second},
		"nearer, while it waits": {0, 10 * time.Second, 10 * time.Second},
		"later, while it waits":  {0, time.Minute, 30 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				near, far := net.Pipe()
				defer far.Close()
				c := newPeerConn(near, 30*time.Second)
				go func() { _, _ = far.Read(make([]byte, 1)) }()
				if _, err := c.Write([]byte("x")); err != nil {
					t.Fatal(err)
				}
				time.Sleep(20 * time.Second) // the deadline that it has ends soon
				began := time.Now()
				if x.before > 0 {
					_ = c.SetWriteDeadline(began.Add(x.before))
				}
				if x.during > 0 {
					go func() {
						time.Sleep(time.Second)
						_ = c.SetWriteDeadline(began.Add(x.during))
					}()
				}
				if _, err := c.Write([]byte("x")); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(began) != x.want {
					t.Errorf("%v after %v", err, time.Since(began))
				}
				synctest.Wait()
			})
		})
	}
}
