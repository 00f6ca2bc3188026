package egress

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
)

const maxRedirects = 3

// harmless headers describe the content and nobody. All others stay behind
// when a redirect leaves the host: a credential may be in any of them, and a
// signature vouches for a request to this receiver.
var harmless = []string{"Accept", "Accept-Encoding", "Accept-Language", "Content-Encoding", "Content-Language", "Content-Type", "User-Agent"}

// checkRedirect is asked before a redirect is followed; the transport judges
// the URL then.
func (p *Policy) checkRedirect(r *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects {
		return refuse("redirects more than 3 times")
	}
	first, last := via[0], via[len(via)-1]
	if r.Method != first.Method {
		return http.ErrUseLastResponse // 301, 302 and 303 make a POST a GET
	}
	if last.URL.Scheme == "https" && r.URL.Scheme != "https" {
		return refuse("redirects from https to http")
	}
	if p.opened(r.URL) && !p.opened(last.URL) {
		// An opened host is open to those who name it, not to every receiver.
		return refuse("redirects to a host that is not public")
	}
	r.Header.Del("Referer") // the last URL, query and all
	// A credential dropped at one redirect is not sent again after the next.
	elsewhere := func(v *http.Request) bool { return origin(v.URL) != origin(first.URL) }
	if elsewhere(r) || slices.ContainsFunc(via, elsewhere) {
		for name := range r.Header {
			if !slices.Contains(harmless, name) {
				delete(r.Header, name)
			}
		}
	}
	return nil
}

// opened reports whether a URL passes, if it does, because of Loopback or of a
// rule that names its host or its address.
func (p *Policy) opened(u *url.URL) bool {
	t, err := parseTarget(u.Hostname(), strings.HasPrefix(u.Host, "["), portOf(u))
	if err != nil {
		return false
	}
	return t.isLocal() || p.named(t) || t.addr.IsValid() && classify(t.addr) != public
}

func origin(u *url.URL) string {
	return u.Scheme + "://" + strings.ToLower(u.Hostname()) + ":" + portOf(u)
}
