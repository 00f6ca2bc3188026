package a2aserver

import (
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/port"
)

// baseURL returns the agent's URL without a trailing slash: the configured one, or the
// requested one without suffix.
func (s *Server) baseURL(r *http.Request, suffix string) (string, error) {
	if u := s.opts.publicURL(); u != "" {
		return u + s.at, nil
	}
	q := ofHTTP(r, "")
	at, err := s.addressOf(&q)
	if err != nil {
		return "", err
	}
	// The request line still has the prefix that StripPrefix took away.
	path, _, _ := strings.Cut(r.RequestURI, "?")
	prefix, ok := strings.CutSuffix(path, suffix)
	if !ok || !strings.HasPrefix(prefix, "/") {
		prefix = "" // an absolute request line, or a handler called by hand
	}
	return at.scheme + "://" + at.host + at.prefix + strings.TrimRight(prefix, "/"), nil
}

// grpcBaseURL is baseURL for a call over gRPC, whose authority is the requested
// address. If TLS ends in front of us, only a trusted proxy or Options.PublicURL knows
// of it. It returns "" if the address is invalid.
func (s *Server) grpcBaseURL(q *request) string {
	if u := s.opts.publicURL(); u != "" {
		return u + s.at
	}
	at, err := s.addressOf(q)
	if err != nil {
		return ""
	}
	return at.scheme + "://" + at.host + at.prefix + q.mount + s.at
}

// addressOf returns the address at which a client requested the agent.
func (s *Server) addressOf(q *request) (address, error) {
	at := address{scheme: "http", host: q.host}
	if q.tls != nil {
		at.scheme = "https"
	}
	if err := s.forwarded(&at, q.remote, q.headers); err != nil {
		return at, err
	}
	if !validHost(at.host) {
		return at, a2a.Errorf(a2a.CodeInvalidRequest, "the Host header is not a host name with an optional port")
	}
	return at, nil
}

// AskedFor returns a function that returns the address a request was made for, as its
// client knows it: scheme, host and, as the path, the prefix that proxies removed. Only
// headers of trusted proxies count, and only those that can be a part of an address.
func AskedFor(trusted []netip.Prefix) func(*http.Request) *url.URL {
	s := &Server{opts: &Options{TrustedProxies: trusted}}
	return func(r *http.Request) *url.URL {
		q := ofHTTP(r, "")
		at, err := s.addressOf(&q)
		if err != nil {
			at = address{scheme: "http", host: r.Host}
		}
		return &url.URL{Scheme: at.scheme, Host: at.host, Path: at.prefix}
	}
}

// address is the address at which a client requested the agent.
type address struct {
	scheme string
	host   string // with a port, if it is not the scheme's
	prefix string // of the path; "" or "/a/b"
}

// forwarded replaces in at what a trusted proxy says about the request it received: in
// Forwarded (RFC 7239), or in X-Forwarded-Proto, -Host, -Port and -Prefix. Only the
// last element of a list counts, which the proxy itself added; a client may have sent
// those before it. Most proxies set one kind of header and pass the other on unchanged.
// So if both are present and disagree, neither is used; X-Forwarded-For alone counts as
// present.
func (s *Server) forwarded(at *address, remote string, h http.Header) error {
	if !s.opts.trusts(remote) {
		return nil
	}
	standard, hasStandard, err := fromForwarded(*at, h)
	if err != nil {
		return err
	}
	other, hasOther, err := fromXForwarded(*at, h)
	if err != nil {
		return err
	}
	switch {
	case hasStandard && hasOther && standard != other:
	case hasStandard:
		*at = standard
	case hasOther:
		*at = other
	}
	prefix := strings.TrimRight(last(h["X-Forwarded-Prefix"]), "/")
	if !validPrefix(prefix) {
		return notValid("X-Forwarded-Prefix")
	}
	at.prefix = prefix
	return nil
}

func notValid(header string) error {
	return a2a.Errorf(a2a.CodeInvalidRequest, "%s, as the proxy in front sent it, cannot be part of an address", header)
}

func fromForwarded(at address, h http.Header) (address, bool, error) {
	element, said := last(h["Forwarded"]), false
	if !uncut(element) {
		return at, false, notValid("Forwarded")
	}
	for pair := range strings.SplitSeq(element, ";") {
		name, value, _ := strings.Cut(pair, "=")
		value = strings.TrimSpace(value)
		if n := len(value); n > 1 && value[0] == '"' && value[n-1] == '"' {
			value = value[1 : n-1]
		}
		switch strings.ToLower(strings.TrimSpace(name)) {
		case "host":
			at.host, said = value, true
		case "proto":
			at.scheme, said = strings.ToLower(value), true
		}
	}
	if said && !at.valid() {
		return at, false, notValid("Forwarded")
	}
	return at, element != "", nil
}

func fromXForwarded(at address, h http.Header) (address, bool, error) {
	host, proto, port := last(h["X-Forwarded-Host"]), last(h["X-Forwarded-Proto"]), last(h["X-Forwarded-Port"])
	if host == "" && proto == "" && port == "" {
		return at, hasXForwarded(h), nil
	}
	if host != "" {
		at.host = host
	}
	if proto != "" {
		at.scheme = strings.ToLower(proto)
	}
	if !at.valid() {
		return at, false, notValid("X-Forwarded-Host or X-Forwarded-Proto")
	}
	if port != "" {
		if !validPort(port) {
			return at, false, notValid("X-Forwarded-Port")
		}
		// If the host has a port, this is at best the port of the proxy's listener.
		usual := at.scheme == "http" && port == "80" || at.scheme == "https" && port == "443"
		if !usual && !hasPort(at.host) {
			at.host += ":" + port
		}
	}
	return at, true, nil
}

// hasXForwarded reports whether any X-Forwarded header is set, even one without an
// address.
func hasXForwarded(h http.Header) bool {
	for _, name := range []string{"X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Forwarded-Port"} {
		if last(h[name]) != "" {
			return true
		}
	}
	return false
}

// uncut reports whether an element of Forwarded is whole: the split must not be at a
// comma between quotes, and a proxy may quote what its client sent as Host.
func uncut(element string) bool { return strings.Count(element, `"`)%2 == 0 }

func (at *address) valid() bool {
	return (at.scheme == "http" || at.scheme == "https") && validHost(at.host)
}

// last returns the last element of a list header.
func last(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	line := lines[len(lines)-1]
	return strings.TrimSpace(line[strings.LastIndexByte(line, ',')+1:])
}

// trusts reports whether a request comes from a trusted proxy. remote is the address of
// the connection's peer.
func (o *Options) trusts(remote string) bool {
	if len(o.TrustedProxies) == 0 {
		return false
	}
	at, err := netip.ParseAddrPort(remote)
	return err == nil && o.trustsAddr(port.PlainAddr(at.Addr()))
}

// validHost accepts names and IP addresses, with or without a port, that can stand in a
// URL without changing its meaning.
func validHost(host string) bool {
	if strings.HasPrefix(host, "[") {
		ip, port, ok := strings.Cut(host[1:], "]")
		addr, err := netip.ParseAddr(ip)
		return ok && err == nil && addr.Is6() && addr.Zone() == "" && (port == "" || port[0] == ':' && validPort(port[1:]))
	}
	name, port, hasPort := strings.Cut(host, ":")
	if name == "" || len(name) > 253 || hasPort && !validPort(port) {
		return false
	}
	for _, c := range []byte(name) {
		if !alphanumeric(c) && c != '.' && c != '-' && c != '_' {
			return false
		}
	}
	return true
}

func hasPort(host string) bool {
	return strings.Contains(host[strings.LastIndexByte(host, ']')+1:], ":")
}

func validPort(port string) bool {
	n, err := strconv.ParseUint(port, 10, 16)
	return err == nil && n > 0
}

// validPrefix accepts only plain segments: none that is resolved away (. and ..) or
// decoded to something else.
func validPrefix(prefix string) bool {
	if prefix == "" {
		return true
	}
	if prefix[0] != '/' || len(prefix) > 256 {
		return false
	}
	for segment := range strings.SplitSeq(prefix[1:], "/") {
		if segment == "" || segment == "." || segment == ".." {
			return false
		}
		for _, c := range []byte(segment) {
			if !alphanumeric(c) && !strings.ContainsRune("-._~", rune(c)) {
				return false
			}
		}
	}
	return true
}

func alphanumeric(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}
