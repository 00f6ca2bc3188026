package egress

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// deaf makes connections that never answer.
func deaf(context.Context, string, string) (net.Conn, error) {
	c, other := net.Pipe()
	go io.Copy(io.Discard, other)
	return c, nil
}

// proxy is an HTTP proxy that connects every request to one server.
type proxy struct {
	server string
	answer string // instead of a connection

	mu    sync.Mutex // protects the field below
	asked []string
}

func (p *proxy) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if address != "proxy.internal:3128" {
		return nil, errors.New("dialled " + address)
	}
	c, other := net.Pipe()
	go p.serve(other)
	return c, nil
}

func (p *proxy) serve(c net.Conn) {
	defer c.Close()
	r := bufio.NewReader(c)
	req, err := http.ReadRequest(r)
	if err != nil {
		return
	}
	p.mu.Lock()
	p.asked = append(p.asked, req.Method+" "+req.RequestURI+" "+req.Header.Get("Proxy-Authorization"))
	p.mu.Unlock()
	if p.answer != "" {
		io.WriteString(c, p.answer)
		return
	}
	s, err := net.Dial("tcp", p.server)
	if err != nil {
		return
	}
	defer s.Close()
	io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n")
	go func() { io.Copy(s, r); s.Close() }()
	io.Copy(c, s)
}

func TestProxy(t *testing.T) {
	var from string
	w, p, client := newWorld(t, func(_ http.ResponseWriter, r *http.Request) { from = r.Host })
	px := &proxy{server: w.server}
	u, err := ParseProxy("http://u:p@proxy.internal:3128")
	if err != nil {
		t.Fatal(err)
	}
	p.Proxy, p.Dial = u, px.dial
	w.answers["www.example.com"], w.answers["evil.example.com"] = []string{"8.8.8.8"}, []string{"10.0.0.1"}
	res, err := client.Get("https://www.example.com/")
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if got, want := strings.Join(px.asked, "; "), "CONNECT 8.8.8.8:443 Basic dTpw"; got != want || from != "www.example.com" {
		t.Errorf("the proxy was asked %q, want %q; the server saw %s", got, want, from)
	}
	client.CloseIdleConnections()
	if c, err := p.DialContext(t.Context(), "tcp", "www.example.com:443"); err != nil {
		t.Error(err)
	} else {
		if got := AddrOf(c); got.String() != "8.8.8.8" {
			t.Errorf("the other end is %v", got)
		}
		c.Close()
	}

	for _, raw := range []string{
		"https://10.0.0.1/", "https://localhost/", "http://www.example.com/", "https://db.internal/", "https://127.1/", "https://evil.example.com/",
	} {
		var r *Refused
		if _, err := client.Get(raw); !errors.As(err, &r) {
			t.Errorf("%s: %v", raw, err)
		}
	}
	if len(px.asked) != 2 {
		t.Errorf("the proxy was asked for %v", px.asked)
	}
}

func TestProxyThatRefuses(t *testing.T) {
	for _, answer := range []string{
		"HTTP/1.1 403 Forbidden\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\nsurplus", "garbage\r\n\r\n", "",
		"HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", maxConnect) + "\r\n\r\n",
	} {
		if answer == "" {
			answer = "\r\n"
		}
		px := &proxy{answer: answer}
		u, _ := ParseProxy("http://proxy.internal:3128")
		p := &Policy{Proxy: u, Dial: px.dial}
		if c, err := p.DialContext(t.Context(), "tcp", "8.8.8.8:443"); err == nil {
			c.Close()
			t.Errorf("%.40q: want an error", answer)
		} else if !strings.HasPrefix(err.Error(), "proxy: ") {
			t.Errorf("%.40q: %v", answer, err)
		}
	}
}

func TestParseProxy(t *testing.T) {
	for _, raw := range []string{"", "proxy:3128", "socks5://proxy:1080", "http://", "http://proxy/path", "http://proxy?x", "http://user:secret@proxy:x"} {
		if _, err := ParseProxy(raw); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", raw, err)
		}
	}
}
