package port

import (
	"errors"
	"net"
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// A connection gets the deadline in force when a read or write begins to wait, and each
// new one while it waits.
func TestLateDeadline(t *testing.T) {
	var told []int
	d := &lateDeadline{set: func(at time.Time) error { told = append(told, int(at.Unix()-1e9)); return nil }}
	to := func(list ...int64) {
		for _, at := range list {
			if err := d.to(time.Unix(1e9+at, 0)); err != nil {
				t.Fatal(err)
			}
		}
	}
	want := func(what string, list ...int) {
		t.Helper()
		if !slices.Equal(told, list) {
			t.Fatalf("%s: told of %v, want %v", what, told, list)
		}
		told = nil
	}
	to(1, 2, 3)
	want("before anything waits")
	d.begin()
	want("with the first read", 3)
	to(4, 5)
	want("while it waits", 4, 5)
	d.begin()
	d.end()
	to(6)
	want("while one of two waits", 6)
	d.end()
	d.begin()
	d.end()
	want("with one deadline twice")
	_ = d.to(time.Unix(1, 0))
	if err := d.begin(); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("what is over before it begins waits:", err)
	}
	want("of what is over")
	to(8)
	d.begin()
	want("with what comes after that", 8)
	d.end()
	d.set = func(time.Time) error { return net.ErrClosed }
	if to(9); !errors.Is(d.begin(), net.ErrClosed) {
		t.Error("a connection that is closed begins to wait")
	}
}

// Reads and writes of a Port's connections end at their deadline, whether it was set
// before they began or while they wait.
func TestDeadlinesOfSniffedConnections(t *testing.T) {
	for name, wait := range map[string]struct {
		deadline func(net.Conn, time.Time) error
		do       func(net.Conn) error
	}{
		"read":         {net.Conn.SetReadDeadline, func(c net.Conn) error { _, err := c.Read(make([]byte, 1)); return err }},
		"write":        {net.Conn.SetWriteDeadline, func(c net.Conn) error { _, err := c.Write(make([]byte, 1)); return err }},
		"both, reads":  {net.Conn.SetDeadline, func(c net.Conn) error { _, err := c.Read(make([]byte, 1)); return err }},
		"both, writes": {net.Conn.SetDeadline, func(c net.Conn) error { _, err := c.Write(make([]byte, 1)); return err }},
	} {
		for _, before := range []bool{true, false} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					near, far := net.Pipe()
					defer near.Close()
					defer far.Close()
					c := &sniffed{Conn: newPeerConn(near, time.Hour)}
					began, at := time.Now(), time.Now().Add(time.Minute)
					_ = wait.deadline(c, began.Add(time.Hour))
					if before {
						_ = wait.deadline(c, at)
					} else {
						go func() {
							synctest.Wait()
							_ = wait.deadline(c, at)
						}()
					}
					if err := wait.do(c); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(began) != time.Minute {
						t.Errorf("%v after %v", err, time.Since(began))
					}
				})
			})
		}
	}
}
