package failure_test

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/internal/failure"
)

// Python's http.server answers a handshake with a page alone, without a status line.
func TestTLSHintOfAServerWithoutTLS(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		_, _ = io.WriteString(c, "<!DOCTYPE HTML>\n")
		_, _ = io.Copy(io.Discard, c)
	}()
	resp, err := http.Get("https://" + l.Addr().String())
	if err == nil {
		resp.Body.Close()
		t.Fatal("TLS was spoken with a server that has none")
	}
	if got := failure.TLSHint(err); !strings.Contains(got, "write http://") {
		t.Errorf("hint %q of %v", got, err)
	}
}
