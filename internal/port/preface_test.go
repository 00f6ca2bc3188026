package port

import (
	"bytes"
	"io"
	"net"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// head is an HTTP/2 connection up to its first request, in frames.
func head(t testing.TB, contentType string, more ...func(*http2.Framer)) []byte {
	t.Helper()
	var buf, block bytes.Buffer
	buf.Write(clientPreface)
	f := http2.NewFramer(&buf, nil)
	enc := hpack.NewEncoder(&block)
	for _, h := range [][2]string{
		{":method", "POST"}, {":scheme", "http"}, {":authority", "x"},
		{":path", "/a.Service/Method"}, {"content-type", contentType}, {"te", "trailers"},
	} {
		if err := enc.WriteField(hpack.HeaderField{Name: h[0], Value: h[1]}); err != nil {
			t.Fatal(err)
		}
	}
	_ = f.WriteSettings()
	for _, m := range more {
		m(f)
	}
	b := block.Bytes()
	_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: b[:3], PadLength: 7, Priority: http2.PriorityParam{Weight: 9}})
	_ = f.WriteContinuation(1, true, b[3:])
	return buf.Bytes()
}

// In whatever pieces it is read, and wherever the acknowledgement of our SETTINGS is,
// the connection is recognised and replayed without the acknowledgement.
func TestPrefaceInPieces(t *testing.T) {
	ack := func(f *http2.Framer) { _ = f.WriteSettingsAck() }
	ping := func(f *http2.Framer) { _ = f.WritePing(false, [8]byte{1, 2, 3}) }
	window := func(f *http2.Framer) { _ = f.WriteWindowUpdate(0, 100) }
	for _, contentType := range []string{"application/grpc", "application/grpc+proto", "application/json", "application/grpc-web"} {
		want := head(t, contentType, window)
		var tail bytes.Buffer
		f := http2.NewFramer(&tail, nil)
		_ = f.WriteData(1, true, []byte("body"))
		_ = f.WriteSettingsAck() // that of the server that gets the connection
		rest := tail.Bytes()
		ackThen := append([]byte{0, 0, 0, 4, 1, 0, 0, 0, 0}, rest...)
		for name, sent := range map[string][]byte{
			"ack early": append(head(t, contentType, ack, window), rest...),
			"ack last":  append(head(t, contentType, window), ackThen...),
			"ping":      append(head(t, contentType, ping, window, ack), rest...),
		} {
			for _, size := range []int{1, 2, 7, 100, 1 << 20} {
				client, server := net.Pipe()
				go func() { // what the server says
					_, _ = io.Copy(io.Discard, client)
				}()
				go func() {
					for b := sent; len(b) > 0; b = b[min(size, len(b)):] {
						if _, err := client.Write(b[:min(size, len(b))]); err != nil {
							return
						}
					}
				}()
				first := make([]byte, 3)
				if _, err := io.ReadFull(server, first); err != nil {
					t.Fatal(err)
				}
				h, err := peekHTTP2(server, first)
				if err != nil {
					t.Fatal(err)
				}
				if h.content != contentType {
					t.Errorf("%s is taken for %q", contentType, h.content)
				}
				got := make([]byte, len(want)+len(rest))
				if _, err := io.ReadFull(h, got); err != nil {
					t.Fatal(err)
				}
				client.Close()
				more, _ := io.ReadAll(h)
				if got = append(got, more...); !bytes.Equal(got, append(bytes.Clone(want), rest...)) {
					t.Errorf("%s, %s, in pieces of %d: got %d bytes, want %d\n%x\n%x", contentType, name, size, len(got), len(want)+len(rest), got, want)
				}
				server.Close()
			}
		}
	}
}

// FuzzPreface reads any bytes: it must not hang or panic, and what is not HTTP/2 comes
// through unchanged.
func FuzzPreface(f *testing.F) {
	f.Add([]byte("POST / HTTP/1.1\r\n\r\n"))
	f.Add([]byte("PRI * HTTP/2.0\r\n\r\n"))
	f.Add(head(f, "application/grpc"))
	f.Add(append(bytes.Clone(clientPreface), 0xff, 0xff, 0xff, 1, 4, 0, 0, 0, 1))
	f.Add(append(bytes.Clone(clientPreface), 0, 0, 1, 1, 0x2c, 0, 0, 0, 1, 9))
	f.Fuzz(func(t *testing.T, sent []byte) {
		if len(sent) == 0 {
			return
		}
		conn := &saidAll{r: bytes.NewReader(sent)}
		h, err := peekHTTP2(conn, nil)
		if err != nil {
			return
		}
		got, err := io.ReadAll(h)
		if err == nil && !bytes.HasPrefix(sent, clientPreface) && !bytes.Equal(got, sent) {
			t.Fatalf("%q became %q", sent, got)
		}
	})
}

// saidAll is a connection whose client has said everything.
type saidAll struct {
	net.Conn
	r io.Reader
}

func (c *saidAll) Read(p []byte) (int, error)       { return c.r.Read(p) }
func (c *saidAll) Write(p []byte) (int, error)      { return len(p), nil }
func (c *saidAll) SetReadDeadline(time.Time) error  { return nil }
func (c *saidAll) SetWriteDeadline(time.Time) error { return nil }
