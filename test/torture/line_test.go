package torture

import (
	"io"
	"net"
	"testing"
	"time"
)

// TestLineIsCutAndMended: bytes that were held back while the line was cut arrive
// whole when it is mended; a torn line resets, and accepts no connection.
func TestLineIsCutAndMended(t *testing.T) {
	far := make(chan net.Conn, 9)
	l, err := newLine(func() (net.Conn, error) {
		near, other := net.Pipe()
		far <- other
		return near, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	dial := func() net.Conn {
		t.Helper()
		c, err := net.Dial("tcp", l.addr())
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	comes := func(c net.Conn, want string, within time.Duration) bool {
		_ = c.SetReadDeadline(time.Now().Add(within))
		got := make([]byte, len(want))
		_, err := io.ReadFull(c, got)
		return err == nil && string(got) == want
	}
	c := dial()
	defer c.Close()
	d := <-far
	send := func(to net.Conn, text string) {
		t.Helper()
		if _, err := io.WriteString(to, text); err != nil {
			t.Fatal(err)
		}
	}
	send(c, "hello")
	if !comes(d, "hello", time.Minute) {
		t.Fatal("nothing comes over a sound line")
	}
	l.becomes(dark)
	send(c, "are you")
	if comes(d, "a", 30*time.Millisecond) {
		t.Error("something comes over a dark line")
	}
	send(c, " there")
	l.becomes(slow)
	if !comes(d, "are you there", time.Minute) {
		t.Error("what a dark line held back does not come")
	}
	l.becomes(torn)
	if comes(c, "x", time.Minute) {
		t.Error("something comes over a torn line")
	}
	if e, err := net.Dial("tcp", l.addr()); err == nil { // it may be reset before it is there
		defer e.Close()
		if comes(e, "x", time.Minute) {
			t.Error("something comes over a new connection of a torn line")
		}
	}
	l.becomes(sound)
	e := dial()
	defer e.Close()
	send(<-far, "again")
	if !comes(e, "again", time.Minute) {
		t.Error("nothing comes over a line that was mended")
	}
}
