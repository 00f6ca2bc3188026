package a2aclient

import (
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/parley-a2a/parley/a2a"
)

// credentials are a caller's credentials, and the places where the card wants them. The
// values are never printed.
type credentials struct {
	bearer string
	scheme string // of Authorization, such as Bearer
	basic  string // user and password, encoded; "" for none

	apiKey   string
	location string // header, query or cookie
	name     string
}

// credentialsFor places the caller's credentials as the card's schemes say. Credentials
// that no scheme accepts are not sent; withheld names them. If the card has no schemes,
// or is nil, each credential goes to its usual place.
func credentialsFor(card *a2a.AgentCard, o *Options) (c *credentials, withheld []string) {
	c = &credentials{
		bearer: o.Bearer, scheme: "Bearer",
		apiKey: o.APIKey, location: "header", name: "X-API-Key",
	}
	if o.hasUser() {
		c.basic = base64.StdEncoding.EncodeToString([]byte(o.User + ":" + o.Password))
	}
	if card == nil {
		return c, nil
	}
	var key, bearer, basic, declared bool
	other := "" // a scheme of HTTP other than Bearer and Basic
	for _, s := range inOrder(card) {
		switch {
		case s.APIKey != nil && s.APIKey.Name != "":
			if declared = true; key {
				break
			}
			key, c.name = true, s.APIKey.Name
			if l := s.APIKey.Location; l == "query" || l == "cookie" {
				c.location = l
			}
		case s.OAuth2 != nil, s.OpenIDConnect != nil:
			declared, bearer = true, true
		case s.HTTPAuth != nil && s.HTTPAuth.Scheme != "":
			declared = true
			switch scheme := s.HTTPAuth.Scheme; {
			case strings.EqualFold(scheme, "Bearer"):
				bearer = true
			case strings.EqualFold(scheme, "Basic"):
				basic = true
			case other == "":
				other = scheme
			}
		case s.MutualTLS != nil:
			declared = true
		}
	}
	if !declared {
		return c, nil
	}
	if !bearer && other != "" { // the value is for that scheme
		c.scheme, bearer = other, true
	}
	if c.bearer != "" && !bearer && key && c.apiKey == "" && c.location != "query" {
		c.bearer, c.apiKey = "", c.bearer // the key scheme gets the token, but a URL must not
	}
	if c.bearer != "" && !bearer {
		c.bearer, withheld = "", append(withheld, "a bearer token")
	}
	if c.basic != "" && !basic {
		c.basic, withheld = "", append(withheld, "a user and password")
	}
	if c.apiKey != "" && !key {
		c.apiKey, withheld = "", append(withheld, "an API key")
	}
	return c, withheld
}

// inOrder returns the card's security schemes: those it requires first, in the
// order of the requirements, then the others by name.
func inOrder(card *a2a.AgentCard) []*a2a.SecurityScheme {
	var names []string
	for _, r := range card.SecurityRequirements {
		names = append(names, slices.Sorted(maps.Keys(r))...)
	}
	names = append(names, slices.Sorted(maps.Keys(card.SecuritySchemes))...)
	var list []*a2a.SecurityScheme
	for _, n := range names {
		if s := card.SecuritySchemes[n]; s != nil && !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return list
}

// wantsToken reports whether Options.Token is called.
func (c *Client) wantsToken() bool {
	return c.opts.Token != nil && c.creds.bearer == "" && c.creds.basic == ""
}

// withToken adds the token of Options.Token for a request to an address.
func (c *Client) withToken(ctx context.Context, creds *credentials, to *url.URL) (*credentials, error) {
	if !c.wantsToken() {
		return creds, nil
	}
	token, err := c.opts.Token(ctx, c.named, to)
	if err != nil || token == "" {
		return creds, err
	}
	with := *creds
	with.bearer = token
	return &with, nil
}

type credentialed struct{}

// any reports whether there are credentials.
func (c *credentials) any() bool { return c.bearer != "" || c.basic != "" || c.apiKey != "" }

// asMetadata returns the credentials for gRPC, which has no query.
func (c *credentials) asMetadata() *credentials {
	if c.location != "query" {
		return c
	}
	m := *c
	m.location = "header"
	return &m
}

// addTo adds the credentials to a request and marks it for checkRedirect. It returns
// the request to be used.
func (c *credentials) addTo(req *http.Request) *http.Request {
	if !c.any() {
		return req
	}
	if c.basic != "" {
		req.Header.Set("Authorization", "Basic "+c.basic)
	}
	if c.bearer != "" {
		req.Header.Set("Authorization", c.scheme+" "+c.bearer)
	}
	if c.apiKey != "" {
		switch c.location {
		case "query":
			pair := url.QueryEscape(c.name) + "=" + url.QueryEscape(c.apiKey)
			if req.URL.RawQuery != "" {
				pair = req.URL.RawQuery + "&" + pair
			}
			req.URL.RawQuery = pair
		case "cookie":
			pair := c.name + "=" + c.apiKey // http.Cookie would drop characters that it does not allow
			if others := req.Header.Get("Cookie"); others != "" {
				pair = others + "; " + pair
			}
			req.Header.Set("Cookie", pair)
		default:
			req.Header.Set(c.name, c.apiKey)
		}
	}
	return req.WithContext(context.WithValue(req.Context(), credentialed{}, true))
}

// checkRedirect allows a redirect unless it would change the request or hand over
// credentials. Headers that the caller set are not sent to another host.
func checkRedirect(req *http.Request, via []*http.Request) error {
	first, to := via[0], location(req.URL)
	switch {
	case len(via) >= 10:
		return &errRedirect{"it redirects in circles"}
	case req.Method != first.Method:
		return &errRedirect{fmt.Sprintf("it redirects to %s in a way that loses the request; use that address", to)}
	case first.URL.Scheme == "https" && req.URL.Scheme != "https":
		return &errRedirect{fmt.Sprintf("it redirects from HTTPS to %s, which is not encrypted", to)}
	}
	if sameHost(first.URL, req.URL) {
		return nil
	}
	if req.Context().Value(credentialed{}) != nil {
		return &errRedirect{fmt.Sprintf("it redirects to %s, where credentials are not sent; use that address if you trust it", to)}
	}
	for name := range req.Header {
		switch name {
		case "Accept", "A2a-Version", "Content-Type":
		default:
			req.Header.Del(name)
		}
	}
	return nil
}

// sameHost accepts the same origin, and the step from HTTP to HTTPS between
// the default ports of one host.
func sameHost(a, b *url.URL) bool {
	if a.Scheme == b.Scheme {
		return strings.EqualFold(a.Host, b.Host)
	}
	return strings.EqualFold(a.Hostname(), b.Hostname()) &&
		(a.Port() == "" || a.Port() == "80") && (b.Port() == "" || b.Port() == "443")
}
