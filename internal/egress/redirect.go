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
func checkRedirect(r *http.Request, via []*http.Request) error {
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
	r.Header.Del("Referer") // the last URL, query and all
	// What was left behind once is not picked up on the way back.
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

func origin(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return u.Scheme + "://" + strings.ToLower(u.Hostname()) + ":" + port
}
