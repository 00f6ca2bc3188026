package a2aserver

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/webhook"
)

// The CORS methods and headers for pages of Options.Origins, beyond what any page may
// use.
var (
	corsMethods = strings.Join([]string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodDelete}, ", ")
	corsHeaders = strings.Join([]string{
		"Accept", "Authorization", "Content-Type", "X-API-Key", versionName, "A2A-Extensions", "X-A2A-Extensions",
		cursorHeader, dialect.KeyHeader, dialect.TraceHeader, dialect.TraceStateHeader, "Cache-Control",
	}, ", ")
	corsExposed = strings.Join([]string{"WWW-Authenticate", "Retry-After", "A2A-Extensions", "X-A2A-Extensions", "ETag", webhook.SourceHeader}, ", ")

	// hsts makes browsers use only https for a year.
	hsts = []string{"max-age=31536000"}
)

// fromBrowser applies the rules for requests from web pages, and answers those that are
// not allowed. It reports whether the request goes on.
//
// A page can make its visitor's browser call any address, also on the visitor's
// machine. Pages cannot send a JSON content type by themselves, but we accept bodies
// without one, so the browser's word for the page's origin decides: Sec-Fetch-Site, or
// Origin. A page of another origin may not call unless it is listed. The browser hides
// from it what it reads by GET, but tells it whether there was an answer, and a stream
// would count as its visitor's. So it gets only what is public. People may follow its
// links. Browsers send no Sec-Fetch-Site to plain http on another machine, so what a
// page embeds from there passes.
func (s *Server) fromBrowser(w http.ResponseWriter, r *http.Request) bool {
	return s.forThisHost(w, r) && s.fromPage(w, r)
}

// forThisHost refuses requests for other hosts, and reports whether the request goes
// on.
func (s *Server) forThisHost(w http.ResponseWriter, r *http.Request) bool {
	h := w.Header()
	if r.TLS != nil && hasName(r.Host) {
		h["Strict-Transport-Security"] = hsts
	}
	if !s.servesHost(r.Host) && !isProbe(r.URL.Path) {
		closeUnread(h, r)
		// 421 tells a client that used a connection for another host, as HTTP/2 allows,
		// to ask again.
		out := s.strangers.Writer(w, s.opts.writeTimeout(), s.strangerOf(r))
		defer out.Leave()
		writeText(out, http.StatusMisdirectedRequest, "This server does not answer for the host that the request names. Use its own name, or ask its operator to allow this one.\n")
		out.End()
		return false
	}
	return true
}

// fromPage refuses what pages of other origins must not do, and reports whether the
// request goes on.
func (s *Server) fromPage(w http.ResponseWriter, r *http.Request) bool {
	h := w.Header()
	if len(s.opts.Origins) > 0 {
		h.Add("Vary", "Origin")
	}
	origin := first(r.Header, "Origin")
	if origin == "" && first(r.Header, "Sec-Fetch-Site") == "" {
		return true // no browser
	}
	if s.opts.allowsOrigin(origin) {
		h.Set("Access-Control-Allow-Origin", origin)
		h.Set("Access-Control-Allow-Credentials", "true")
		h.Set("Access-Control-Expose-Headers", corsExposed)
		if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
			h.Set("Access-Control-Allow-Methods", corsMethods)
			h.Set("Access-Control-Allow-Headers", corsHeaders)
			h.Set("Access-Control-Max-Age", "600")
			if r.Header.Get("Access-Control-Request-Private-Network") == "true" {
				h.Set("Access-Control-Allow-Private-Network", "true")
			}
			w.WriteHeader(http.StatusNoContent)
			return false
		}
		return true
	}
	if s.sameOrigin(r, origin) || (r.Method == http.MethodGet || r.Method == http.MethodHead) && (isPublic(r.URL.Path) || followsLink(r.Header)) {
		return true
	}
	s.refuseOrigin(w, r)
	return false
}

// refuseOrigin refuses a page of another origin in the form of the request's binding.
func (s *Server) refuseOrigin(w http.ResponseWriter, r *http.Request) {
	binding, media, d := a2a.BindingHTTPJSON, restMedia(r.Header), dialect.SaysREST(r.URL.EscapedPath(), requestedVersion(r))
	if r.URL.Path == "" || r.URL.Path == "/" {
		binding, media, d = a2a.BindingJSONRPC, jsonMedia, dialect.Says(requestedVersion(r))
	}
	x := s.newHTTPCall(w, r, binding, media, d)
	defer x.end()
	x.record()
	x.fail(a2a.Errorf(a2a.CodePermissionDenied, "web pages of other origins may not call this agent; its operator can allow single origins"))
}

// sameOrigin reports whether this server served the page that a request comes from.
// Behind a proxy that calls the server by another name, older browsers need PublicURL.
func (s *Server) sameOrigin(r *http.Request, origin string) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "same-origin", "none": // pages cannot set it
		return true
	case "":
		u, err := url.Parse(origin)
		if err != nil || u.Host == "" {
			return false // such as null
		}
		if strings.EqualFold(u.Host, r.Host) {
			return true
		}
		public, err := url.Parse(s.opts.publicURL())
		return err == nil && strings.EqualFold(u.Host, public.Host) && strings.EqualFold(u.Scheme, public.Scheme)
	}
	return false
}

func (o *Options) allowsOrigin(origin string) bool {
	if origin == "" || origin == "null" {
		return false // any page can have the origin null
	}
	for _, allowed := range o.Origins {
		if strings.EqualFold(strings.TrimSuffix(allowed, "/"), origin) {
			return true
		}
	}
	return false
}

// servesHost reports whether the server answers for a host, given with or without a
// port.
func (s *Server) servesHost(host string) bool {
	if len(s.opts.Hosts) == 0 {
		return true
	}
	name := hostName(host)
	for _, h := range s.opts.Hosts {
		if strings.EqualFold(strings.Trim(h, "[]"), name) {
			return true
		}
	}
	return false
}

// hostName removes the port from a host, and brackets and a dot at its end.
func hostName(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.TrimSuffix(strings.Trim(host, "[]"), ".")
}

// hasName reports whether a host is a name of this server alone. Browsers store HSTS by
// name and for all ports, so for localhost it would affect everything else that runs on
// the machine. They ignore it for IP addresses.
func hasName(host string) bool {
	name := strings.ToLower(hostName(host))
	_, err := netip.ParseAddr(name)
	return err != nil && name != "" && name != "localhost" && !strings.HasSuffix(name, ".localhost")
}

// isProbe reports whether path is a probe's. Monitors call probes by the server's
// address, not by its name.
func isProbe(path string) bool { return path == "/livez" || path == "/healthz" || path == "/readyz" }

// isPublic reports whether everybody may read path, without credentials.
func isPublic(path string) bool {
	switch path {
	case "", "/", cardPath, oldCardPath, keysPath, CardKeysPath:
		return true
	}
	return isProbe(path)
}

// followsLink reports whether a browser requests a page for its window. Pages cannot
// fake that: what they embed has another destination.
func followsLink(h http.Header) bool {
	return first(h, "Sec-Fetch-Mode") == "navigate" && first(h, "Sec-Fetch-Dest") == "document"
}

// closeUnread ends the connection after an answer to a request whose body has not been
// read; otherwise the HTTP server would read it first. On HTTP/2 the stream alone ends,
// without our help.
func closeUnread(h http.Header, r *http.Request) {
	if hasBody(r) && r.ProtoMajor < 2 {
		h.Set("Connection", "close")
	}
}
