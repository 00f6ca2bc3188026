package a2aserver

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/dialect"
)

const (
	cardPath    = "/.well-known/agent-card.json" // of 0.3 and later
	oldCardPath = "/.well-known/agent.json"      // of 0.1 and 0.2
	// extendedPath is the path at which 0.2.1 and later look for the extended card:
	// next to the operations, which are at the address of JSON-RPC.
	extendedPath = "/agent/authenticatedExtendedCard"
)

// CardProfile selects the versions that the card is for.
type CardProfile uint8

const (
	// CardAll is one document that the readers of every version understand. A request
	// with A2A-Version: 1.0 gets the document of CardV1, which signatures cover and
	// strict readers accept.
	CardAll CardProfile = iota
	// CardV1 is only the card of 1.0, whatever version is requested. Other versions are
	// served but not advertised.
	CardV1
)

// serveCard answers with the card and the headers that caches need (§8.6.1). path is
// one of the well-known ones.
func (s *Server) serveCard(w http.ResponseWriter, r *http.Request, path string) {
	if !s.only(w, r, readers) {
		return
	}
	keep := "public"
	q := ofHTTP(r, "")
	card, err := s.reachable(s.card, func() (string, error) {
		if s.opts.publicURL() == "" && s.opts.trusts(r.RemoteAddr) {
			// A proxy may pass on what its client sent: no shared cache may keep the
			// result.
			keep = "private"
		}
		return s.baseURL(r, path)
	}, &q)
	if err == nil {
		card, err = s.signed(&s.public, card, func(c *a2a.AgentCard) []byte { return dialect.AppendCard(nil, c, dialect.CardV10) })
	}
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	h := w.Header()
	profile := dialect.CardAll
	if s.opts.CardProfile == CardV1 {
		profile = dialect.CardV10
	} else {
		h.Add("Vary", versionName)
		// An unknown version gets CardAll, which lists the supported ones.
		if d, ok := dialect.ParseVersion(requestedVersion(r)); ok && d >= dialect.V10 {
			profile = dialect.CardV10
		}
	}
	doc := dialect.AppendCard(nil, card, profile)
	sum := sha256.Sum256(doc)
	h.Set("Content-Type", mediaJSON)
	h["X-Content-Type-Options"] = noSniff
	h.Set("ETag", `"`+hex.EncodeToString(sum[:16])+`"`)
	h.Set("Cache-Control", fmt.Sprintf("%s, max-age=%d", keep, int(s.opts.cardMaxAge().Seconds())))
	// ServeContent knows If-None-Match, If-Modified-Since and HEAD.
	http.ServeContent(w, r, "", s.started, bytes.NewReader(doc))
}

// serveExtended answers with the extended card as 0.2 has it: a document, or 404 if
// there is none.
func (s *Server) serveExtended(w http.ResponseWriter, r *http.Request) {
	if !s.only(w, r, readers) {
		return
	}
	x := s.newHTTPCall(w, r, a2a.BindingHTTPJSON, jsonMedia, dialect.V03)
	x.codec = dialect.CodecOf(dialect.V03, a2a.BindingJSONRPC) // readers of 0.2 use the fields that they know
	defer x.protect()
	defer x.letGo()
	x.operation(x.dialect, dialect.GetExtendedAgentCard)
	err := x.enter()
	if err == nil {
		x.activates(requestedExtensions(x.headers))
		req := new(a2a.GetExtendedAgentCardRequest)
		x.begin(req)
		err = x.unary(x.ctx, x, dialect.GetExtendedAgentCard, req)
	}
	if errors.Is(err, a2a.ErrUnsupportedOperation) || errors.Is(err, a2a.ErrExtendedAgentCardNotConfigured) {
		err = a2a.Errorf(a2a.CodeMethodNotFound, "this agent has no extended card")
	}
	if err != nil {
		x.fail(err)
	}
}

// reachable returns the card with interfaces: its own, or those that the public card
// lists, or those of this handler at its base.
func (s *Server) reachable(card *a2a.AgentCard, base func() (string, error), q *request) (*a2a.AgentCard, error) {
	if len(card.SupportedInterfaces) > 0 {
		return card, nil
	}
	if own := s.card.SupportedInterfaces; len(own) > 0 {
		c := *card
		c.SupportedInterfaces = own
		return &c, nil
	}
	at, err := base()
	if err != nil {
		return nil, err
	}
	grpc := ""
	if q.onPort {
		grpc = grpcHost(strings.TrimSuffix(strings.TrimSuffix(at, agentPath(s.name)), q.mount))
	}
	return s.withInterfaces(card, at, grpc), nil
}

func (s *Server) withInterfaces(card *a2a.AgentCard, base, grpc string) *a2a.AgentCard {
	c := *card
	c.SupportedInterfaces = s.interfacesAt(base, grpc)
	if s.opts.CardProfile == CardV1 {
		for i, in := range c.SupportedInterfaces {
			if in.ProtocolVersion != dialect.Versions[0] {
				c.SupportedInterfaces = c.SupportedInterfaces[:i] // they are in that order
				break
			}
		}
	}
	return &c
}

// interfacesAt returns the interfaces at an agent's URL: every version on every binding
// that it has, the best version first and the draft last. It omits 0.2, which is served
// as 0.3 and whose readers look elsewhere on the card.
//
// Clients of 1.0 skip versions that they do not know. Some go by the major version and
// take 1.1 for 1.0, and 0.1 for 0.3; they find the same answers at the same addresses.
//
// gRPC has no paths: an agent below a Host is found there by its tenant, which version
// 0.3 does not have. grpc is the address of gRPC, or "".
func (s *Server) interfacesAt(base, grpc string) []*a2a.AgentInterface {
	tenant := ""
	if s.at != "" {
		tenant = s.at[1:]
	}
	var list []*a2a.AgentInterface
	for _, v := range dialect.Versions {
		d, _ := dialect.ParseVersion(v)
		if d.Version() != v {
			continue
		}
		for _, binding := range d.Bindings() {
			in := &a2a.AgentInterface{URL: base, ProtocolBinding: binding, ProtocolVersion: v}
			if binding == a2a.BindingGRPC {
				in.URL, in.Tenant = grpc, tenant
			}
			if in.URL != "" && (in.Tenant == "" || d >= dialect.V10) {
				list = append(list, in)
			}
		}
	}
	return list
}

// grpcHost returns an agent's URL as host:port, the form that gRPC clients use. It is
// "" for a URL with a path, because gRPC has no paths.
func grpcHost(base string) string {
	u, err := url.Parse(base)
	switch {
	case err != nil || u.Host == "" || u.Path != "":
		return ""
	case u.Port() != "":
		return u.Host
	case u.Scheme == "https":
		return u.Host + ":443"
	}
	return u.Host + ":80"
}
