package failure_test

import (
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/a2aclient"
	"github.com/parley-a2a/parley/internal/failure"
)

// Python's http.server answers a handshake with a page alone, without a status line, and
// other programs do not know HTTP.
func TestNetworkHint(t *testing.T) {
	for _, c := range []struct{ scheme, says, want string }{
		{"https", "<!DOCTYPE HTML>\n", "write http://"},
		{"http", "SSH-2.0-OpenSSH_9.6\r\n", "does not speak HTTP"},
	} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		go func() {
			peer, err := l.Accept()
			if err != nil {
				return
			}
			defer peer.Close()
			_, _ = io.WriteString(peer, c.says)
			_, _ = io.Copy(io.Discard, peer)
		}()
		resp, err := http.Get(c.scheme + "://" + l.Addr().String())
		if err == nil {
			resp.Body.Close()
			t.Fatalf("%q is taken for an answer", c.says)
		}
		if got := failure.NetworkHint(err); !strings.Contains(got, c.want) {
			t.Errorf("hint %q of %v", got, err)
		}
	}
}

// The client replaces net/http's words for a peer that speaks before it has a request.
func TestNetworkHintLooksForCauses(t *testing.T) {
	err := &a2aclient.TransportError{Host: "a.example", Err: errors.New("net/http: HTTP/1.x transport connection broken: readLoopPeekFailLocked: %!w(<nil>)")}
	if got := failure.NetworkHint(err); !strings.Contains(got, "does not speak HTTP") {
		t.Errorf("hint %q of %v", got, err)
	}
}
