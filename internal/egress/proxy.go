package egress

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
)

// maxConnect bounds a proxy's answer to CONNECT, in bytes.
const maxConnect = 64 << 10

// connect asks the proxy for a connection to address. The transport could do that, but
// only with the name, which the proxy would look up again.
func (p *Policy) connect(ctx context.Context, address string) (_ net.Conn, err error) {
	c, err := p.dial(ctx, "tcp", net.JoinHostPort(p.Proxy.Hostname(), PortOf(p.Proxy)))
	if err != nil {
		return nil, fmt.Errorf("proxy: %w", err)
	}
	raw := c
	stop := context.AfterFunc(ctx, func() { raw.Close() })
	defer func() {
		if !stop() && err == nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			raw.Close()
			err = fmt.Errorf("proxy: %w", err)
		}
	}()
	if p.Proxy.Scheme == "https" {
		t := tls.Client(c, &tls.Config{ServerName: p.Proxy.Hostname(), MinVersion: tls.VersionTLS12})
		if err := t.HandshakeContext(ctx); err != nil {
			return nil, err
		}
		c = t
	}
	req := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: address}, Host: address, Header: http.Header{}}
	if u := p.Proxy.User; u != nil {
		password, _ := u.Password()
		req.Header.Set("Proxy-Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(u.Username()+":"+password)))
	}
	if err := req.Write(c); err != nil {
		return nil, err
	}
	r := bufio.NewReader(io.LimitReader(c, maxConnect))
	res, err := http.ReadResponse(r, req)
	if err != nil {
		return nil, err
	}
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("CONNECT answered %d", res.StatusCode)
	}
	if r.Buffered() > 0 { // a server of HTTP or TLS never speaks first
		return nil, fmt.Errorf("CONNECT answered more than a header")
	}
	return &tunnel{c, tunnelEnd(address)}, nil
}

// tunnel is a connection through a proxy. Its RemoteAddr is the target, not the proxy,
// because readers of RemoteAddr want the target.
type tunnel struct {
	net.Conn
	end tunnelEnd
}

func (t *tunnel) RemoteAddr() net.Addr { return t.end }

type tunnelEnd string

func (tunnelEnd) Network() string  { return "tcp" }
func (e tunnelEnd) String() string { return string(e) }

// ParseProxy reads the URL of a proxy for Policy.Proxy. The error does not contain the
// URL, which may hold a password.
func ParseProxy(raw string) (*url.URL, error) {
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.RawQuery != "" || u.Fragment != "" ||
		u.Path != "" && u.Path != "/" {
		return nil, errors.New("must be an http or https URL such as http://proxy.example.org:3128")
	}
	return u, nil
}
