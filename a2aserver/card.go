package a2aserver

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/dialect"
)

const cardPath = "/.well-known/agent-card.json"

// serveCard answers with the card and all that caches want (§8.6.1).
func (s *Server) serveCard(w http.ResponseWriter, r *http.Request) {
	if !s.onlyGet(w, r, "GET, HEAD") {
		return
	}
	card, err := s.reachable(s.card, r, cardPath)
	if err != nil {
		s.newExchange(w, r, &restFraming{mediaType: mediaJSON, dialect: dialect.V10}).fail(err)
		return
	}
	doc := card.AppendJSON(nil)
	sum := sha256.Sum256(doc)
	h := w.Header()
	h.Set("Content-Type", mediaJSON)
	h.Set("ETag", `"`+hex.EncodeToString(sum[:16])+`"`)
	h.Set("Cache-Control", fmt.Sprintf("public, max-age=%d", int(s.opts.cardMaxAge().Seconds())))
	// ServeContent knows If-None-Match, If-Modified-Since and HEAD.
	http.ServeContent(w, r, "", s.started, bytes.NewReader(doc))
}

// reachable returns the card with its interfaces: if it lists none, those of
// this handler, to which r was sent at the path suffix.
func (s *Server) reachable(card *a2a.AgentCard, r *http.Request, suffix string) (*a2a.AgentCard, error) {
	if len(card.SupportedInterfaces) > 0 {
		return card, nil
	}
	base, err := s.baseURL(r, suffix)
	if err != nil {
		return nil, err
	}
	return withInterfaces(card, base, r.Context().Value(onPort{}) != nil), nil
}

func withInterfaces(card *a2a.AgentCard, base string, grpc bool) *a2a.AgentCard {
	c := *card
	c.SupportedInterfaces = interfacesAt(base)
	if grpc {
		c.SupportedInterfaces = append(c.SupportedInterfaces, grpcAt(base)...)
	}
	return &c
}

func interfacesAt(base string) []*a2a.AgentInterface {
	var list []*a2a.AgentInterface
	for _, v := range dialect.Versions[:1] {
		list = append(list,
			&a2a.AgentInterface{URL: base, ProtocolBinding: a2a.BindingJSONRPC, ProtocolVersion: v},
			&a2a.AgentInterface{URL: base, ProtocolBinding: a2a.BindingHTTPJSON, ProtocolVersion: v})
	}
	return list
}

// grpcAt returns the gRPC interfaces of an agent's URL, as host:port: the form
// that gRPC clients take. gRPC has no paths, so below one there is none.
func grpcAt(base string) []*a2a.AgentInterface {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Path != "" {
		return nil
	}
	host := u.Host
	switch {
	case u.Port() != "":
	case u.Scheme == "https":
		host += ":443"
	default:
		host += ":80"
	}
	var list []*a2a.AgentInterface
	for _, v := range dialect.Versions[:1] {
		list = append(list, &a2a.AgentInterface{URL: host, ProtocolBinding: a2a.BindingGRPC, ProtocolVersion: v})
	}
	return list
}

// baseURL returns the agent's URL, without a slash at its end: the configured
// one, or what the request was sent to less suffix. Forwarded headers are not
// looked at: anybody can send them.
func (s *Server) baseURL(r *http.Request, suffix string) (string, error) {
	if u := s.opts.publicURL(); u != "" {
		return u, nil
	}
	if !validHost(r.Host) {
		return "", a2a.Errorf(a2a.CodeInvalidRequest, "the Host header is not a host name with an optional port")
	}
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	// The request line still has the prefix that StripPrefix took away.
	path, _, _ := strings.Cut(r.RequestURI, "?")
	prefix, ok := strings.CutSuffix(path, suffix)
	if !ok || !strings.HasPrefix(prefix, "/") {
		prefix = "" // an absolute request line, or a handler called by hand
	}
	return scheme + "://" + r.Host + strings.TrimRight(prefix, "/"), nil
}

// validHost accepts names, IP addresses and a port: what may stand in a URL
// without changing its meaning.
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
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '-' || c == '_') {
			return false
		}
	}
	return true
}

func validPort(port string) bool {
	return port != "" && len(port) <= 5 && strings.Trim(port, "0123456789") == ""
}
