//go:build unix

package a2aserver

import (
	"bytes"
	"crypto/tls"
	"errors"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/parley-a2a/parley/internal/port"
	"github.com/parley-a2a/parley/internal/port/porttest"
)

// h2Bytes is what a client writes of HTTP/2, from the preface on.
func h2Bytes(write func(f *http2.Framer, ask func(stream uint32, fields ...string))) []byte {
	var b, block bytes.Buffer
	b.Write([]byte(http2.ClientPreface))
	f, enc := http2.NewFramer(&b, nil), hpack.NewEncoder(&block)
	_ = f.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1<<31 - 1})
	_ = f.WriteWindowUpdate(0, 1<<31-1-65535)
	write(f, func(stream uint32, fields ...string) {
		block.Reset()
		for i := 0; i < len(fields); i += 2 {
			_ = enc.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]})
		}
		_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: block.Bytes(), EndHeaders: true, EndStream: fields[1] == "GET"})
	})
	return b.Bytes()
}

var (
	h2Card  = []string{":method", "GET", ":scheme", "http", ":authority", "h", ":path", cardPath}
	h2Check = []string{":method", "POST", ":scheme", "http", ":authority", "h", ":path", "/grpc.health.v1.Health/Check", "content-type", "application/grpc", "te", "trailers"}
)

func pings(f *http2.Framer, n int) {
	for range n {
		_ = f.WritePing(false, [8]byte{})
	}
}

// floods are the ways of clients that make the server write and do not read, by
// protocol: what is sent first (i is 0), and what is sent again and again.
func floods() map[string]func(i int) []byte {
	again := func(text string) func(int) []byte {
		b := []byte(strings.Repeat(text, 100))
		return func(int) []byte { return b }
	}
	h2 := func(first, more func(f *http2.Framer, ask func(uint32, ...string), i int)) func(int) []byte {
		return func(i int) []byte {
			b := h2Bytes(func(f *http2.Framer, ask func(uint32, ...string)) {
				if i == 0 {
					first(f, ask, i)
				} else {
					more(f, ask, i)
				}
			})
			if i > 0 { // it has said that
				b = b[len(h2Bytes(func(*http2.Framer, func(uint32, ...string)) {})):]
			}
			return b
		}
	}
	type askFunc = func(uint32, ...string)
	pinging := func(f *http2.Framer, _ askFunc, _ int) { pings(f, 1000) }
	asking := func(fields []string, body []byte) func(*http2.Framer, askFunc, int) {
		return func(f *http2.Framer, ask askFunc, i int) {
			for k := range 100 {
				stream := uint32(200*i + 2*k + 3)
				ask(stream, fields...)
				if body != nil {
					_ = f.WriteData(stream, true, body)
				}
			}
		}
	}
	one := func(fields []string, body []byte) func(*http2.Framer, askFunc, int) {
		return func(f *http2.Framer, ask askFunc, _ int) {
			ask(1, fields...)
			if body != nil {
				_ = f.WriteData(1, true, body)
			}
		}
	}
	empty := make([]byte, 5) // a message
	return map[string]func(int) []byte{
		"HTTP/1, cards":                       again("GET " + cardPath + " HTTP/1.1\r\nHost: h\r\n\r\n"),
		"HTTP/1, probes":                      again("GET /livez HTTP/1.1\r\nHost: h\r\n\r\n"),
		"HTTP/1, texts":                       again("GET / HTTP/1.1\r\nHost: h\r\n\r\n"),
		"HTTP/1, keys":                        again("GET " + keysPath + " HTTP/1.1\r\nHost: h\r\n\r\n"),
		"HTTP/1, nothing there":               again("GET /x HTTP/1.1\r\nHost: h\r\n\r\n"),
		"HTTP/2, pings before a request":      h2(pinging, pinging),
		"HTTP/2, pings behind a request":      h2(one(h2Card, nil), pinging),
		"HTTP/2, cards":                       h2(one(h2Card, nil), asking(h2Card, nil)),
		"gRPC, pings":                         h2(one(h2Check, empty), pinging),
		"gRPC, health":                        h2(one(h2Check, empty), asking(h2Check, empty)),
		"gRPC beside HTTP/2, health":          h2(one(h2Card, nil), asking(h2Check, empty)),
		"gRPC beside HTTP/2, unknown methods": h2(one(h2Card, nil), asking(slices.Concat(h2Check[:7], []string{"/x.Y/Z"}, h2Check[8:]), empty)),
	}
}

// A client that makes the server write and does not read loses its connection, however
// it does so and before it is known who calls.
func TestPeersThatDoNotRead(t *testing.T) {
	a := porttest.NewAuthority(t)
	config := &tls.Config{Certificates: []tls.Certificate{a.Pair(t, "agent")}, NextProtos: []string{"h2", "http/1.1"}}
	listeners := map[string]func(net.Listener) net.Listener{
		"in clear":                func(l net.Listener) net.Listener { return l },
		"TLS":                     func(l net.Listener) net.Listener { return port.TLSListener(l, config) },
		"TLS of another listener": func(l net.Listener) net.Listener { return tls.NewListener(l, config) },
	}
	for on, listen := range listeners {
		for name, flood := range floods() {
			t.Run(on+"/"+name, func(t *testing.T) {
				t.Parallel()
				addr := peerPort(t, &Options{WriteTimeout: 200 * time.Millisecond}, listen)
				// From the beginning: a window that shrinks confuses TCP.
				d := net.Dialer{Control: func(_, _ string, raw syscall.RawConn) error {
					return raw.Control(func(fd uintptr) { _ = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4<<10) })
				}}
				c, err := d.Dial("tcp", addr)
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				if on != "in clear" {
					protocol := "h2"
					if strings.HasPrefix(name, "HTTP/1") {
						protocol = "http/1.1"
					}
					c = tls.Client(c, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{protocol}})
				}
				// Longer than any write of the server may take.
				_ = c.SetWriteDeadline(time.Now().Add(30 * time.Second))
				for i := 0; err == nil; i++ {
					_, err = c.Write(flood(i))
				}
				if errors.Is(err, os.ErrDeadlineExceeded) {
					t.Error("the connection is still open")
				}
			})
		}
	}
}

// peerPort serves a Port and returns its address.
func peerPort(t *testing.T, o *Options, listen func(net.Listener) net.Listener) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := NewPort(New(agreeable{}, testCard(), o))
	ended := make(chan error, 1)
	go func() { ended <- p.Serve(listen(shallow{l})) }()
	t.Cleanup(func() {
		p.Close()
		<-ended
	})
	return l.Addr().String()
}

// shallow is a listener whose connections have a tiny write buffer, so that a peer that
// does not read is noticed soon.
type shallow struct{ net.Listener }

func (l shallow) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err == nil {
		_ = c.(*net.TCPConn).SetWriteBuffer(4 << 10)
	}
	return c, err
}

// Over HTTP/2 a client can hold back answers and still read everything else. An answer
// that it does not read is reset within the time limit of a write, whatever was
// requested.
func TestAnswersWithoutAWindow(t *testing.T) {
	paths := map[string]string{
		cardPath: "x", oldCardPath: "x", keysPath: "x", CardKeysPath: "x", "/livez": "x", "/readyz": "x", "/": "x", "/nothing": "x",
		"/tasks": "x", "/tasks/1": "elsewhere", extendedPath: "x",
	}
	synctest.Test(t, func(t *testing.T) {
		s := New(agreeable{}, testCard(), &Options{Hosts: []string{"x"}, CardKeys: []byte(`{"keys":[]}`)})
		p := NewPort(s)
		l := porttest.NewPipes()
		ended := make(chan error)
		go func() { ended <- p.Serve(l) }()
		conn := l.Dial()
		to := make(pending, 1000)
		go func() {
			for b := range to {
				if _, err := conn.Write(b); err != nil {
					return
				}
			}
		}()
		to <- []byte(http2.ClientPreface)
		f := http2.NewFramer(to, conn)
		_ = f.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
		var block bytes.Buffer
		enc, asked := hpack.NewEncoder(&block), map[uint32]string{}
		for path, host := range paths {
			block.Reset()
			for _, h := range [][2]string{{":method", "GET"}, {":scheme", "http"}, {":authority", host}, {":path", path}} {
				_ = enc.WriteField(hpack.HeaderField{Name: h[0], Value: h[1]})
			}
			id := uint32(2*len(asked) + 1)
			asked[id] = path
			_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: block.Bytes(), EndHeaders: true, EndStream: true})
		}
		began := time.Now()
		for len(asked) > 0 {
			fr, err := f.ReadFrame()
			if err != nil {
				t.Fatalf("%v; of these the answer is still held: %v", err, asked)
			}
			switch fr := fr.(type) {
			case *http2.SettingsFrame:
				if !fr.IsAck() {
					_ = f.WriteSettingsAck()
				}
			case *http2.RSTStreamFrame:
				if d := time.Since(began); d < 29*time.Second || d > 31*time.Second {
					t.Errorf("%s: reset after %v", asked[fr.StreamID], d)
				}
				delete(asked, fr.StreamID)
			case *http2.HeadersFrame:
				if fr.StreamEnded() { // there was nothing more to say
					delete(asked, fr.StreamID)
				}
			}
		}
		conn.Close()
		close(to)
		_ = p.Close()
		<-ended
	})
}
