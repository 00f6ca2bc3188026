package auth

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/parley-a2a/parley/a2a"
)

// Ways to get a token (RFC 6749, RFC 8628).
const (
	GrantCode   = "code"               // a browser, and PKCE (RFC 7636, RFC 8252)
	GrantDevice = "device"             // a browser on another device
	GrantClient = "client-credentials" // the program's own account
)

// OAuth gets tokens for the agent of a card from the authorization server that one
// of its security schemes names. Make one with NewOAuth.
type OAuth struct {
	// set at start, then constant
	opts    OAuthOptions
	scheme  string
	oidc    bool
	anchor  string   // what the card says about the server; see anchorOf
	origins []string // of the agent's interfaces
	scopes  []string
	server  *server
	client  *http.Client
}

// OAuthOptions adjusts an OAuth. ClientID is required.
type OAuthOptions struct {
	// ClientID and ClientSecret identify the program to the authorization server.
	// Programs that people run have no secret.
	ClientID, ClientSecret string
	// Scopes are the scopes to ask for. Nil means those that the card requires.
	Scopes []string
	// Resource is the agent that the tokens are for (RFC 8707). Empty omits the
	// parameter, which some servers refuse.
	Resource string
	// Issuer pins the authorization server, by its issuer's URL: the card must agree
	// with what the issuer publishes. Empty trusts the card.
	Issuer string
	// HTTPClient's transport is used for all requests. Nil means http.DefaultTransport.
	HTTPClient *http.Client
}

// OAuthSchemes returns the names of a card's security schemes that NewOAuth accepts,
// those that the card requires first.
func OAuthSchemes(card *a2a.AgentCard) []string {
	var names []string
	for _, r := range card.SecurityRequirements {
		names = append(names, slices.Sorted(maps.Keys(r))...)
	}
	names = append(names, slices.Sorted(maps.Keys(card.SecuritySchemes))...)
	var list []string
	for _, n := range names {
		if anchorOf(card, n) != "" && !slices.Contains(list, n) {
			list = append(list, n)
		}
	}
	return list
}

// NewOAuth finds the authorization server of a scheme. It asks the issuer, if the card
// or the options name one.
func NewOAuth(ctx context.Context, card *a2a.AgentCard, scheme string, o *OAuthOptions) (*OAuth, error) {
	l := &OAuth{opts: *o, scheme: scheme, anchor: anchorOf(card, scheme)}
	if l.anchor == "" {
		return nil, fmt.Errorf("auth: scheme %q of the card is neither oauth2 nor openIdConnect", scheme)
	}
	if o.ClientID == "" {
		return nil, errors.New("auth: OAuthOptions.ClientID is empty")
	}
	for _, in := range card.SupportedInterfaces {
		if in == nil {
			continue
		}
		u := a2a.WebURL(in.URL)
		if u == nil { // gRPC has host:port
			u, _ = url.Parse("https://" + in.URL)
		}
		if u != nil && checkSecure(u) == nil {
			l.origins = append(l.origins, originOf(u))
		}
	}
	if len(l.origins) == 0 {
		return nil, errors.New("auth: the card names no https address of its agent, and tokens go nowhere else but on this machine")
	}
	l.client = direct(o.HTTPClient)
	s := card.SecuritySchemes[scheme]
	var err error
	if l.oidc = s.OpenIDConnect != nil; l.oidc {
		l.server, err = findServer(ctx, o, s.OpenIDConnect.OpenIDConnectURL)
	} else {
		l.server, err = serverOf(ctx, o, s.OAuth2)
	}
	if err != nil {
		return nil, err
	}
	l.scopes = slices.Clone(o.Scopes)
	if at := slices.IndexFunc(card.SecurityRequirements, func(r a2a.SecurityRequirement) bool { _, has := r[scheme]; return has }); l.scopes == nil && at >= 0 {
		l.scopes = slices.Clone(card.SecurityRequirements[at][scheme])
	}
	return l, nil
}

// Grants returns the ways to get a token that the server offers, the best for a person
// first.
func (l *OAuth) Grants() []string {
	var list []string
	if l.server.AuthorizationURL != "" {
		list = append(list, GrantCode)
	}
	if l.server.DeviceURL != "" {
		list = append(list, GrantDevice)
	}
	if l.server.client && l.opts.ClientSecret != "" {
		list = append(list, GrantClient)
	}
	return list
}

// Host returns the host that the user is asked to trust with signing in.
func (l *OAuth) Host() string {
	for _, at := range []string{l.server.Issuer, l.server.AuthorizationURL, l.server.DeviceURL, l.server.TokenURL} {
		if u, err := url.Parse(at); err == nil && u.Host != "" {
			return u.Host
		}
	}
	return ""
}

// anchorOf returns what a card says about the server of a scheme, as one text: while it
// is the same, tokens of that server are for this card's agent. It is "" if the scheme
// names no server.
func anchorOf(card *a2a.AgentCard, scheme string) string {
	s := card.SecuritySchemes[scheme]
	switch {
	case s == nil:
	case s.OpenIDConnect != nil && s.OpenIDConnect.OpenIDConnectURL != "":
		return s.OpenIDConnect.OpenIDConnectURL
	case s.OAuth2 != nil:
		parts := []string{s.OAuth2.OAuth2MetadataURL}
		for _, f := range []*a2a.OAuthFlow{s.OAuth2.Flows.AuthorizationCode, s.OAuth2.Flows.DeviceCode, s.OAuth2.Flows.ClientCredentials} {
			if f != nil {
				parts = append(parts, f.AuthorizationURL, f.DeviceAuthorizationURL, f.TokenURL)
			}
		}
		return strings.TrimSpace(strings.Join(parts, " "))
	}
	return ""
}

// originOf returns the origin that a token is pinned to.
func originOf(u *url.URL) string {
	port := cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
	scheme := u.Scheme
	if a2a.IsLoopback(u.Hostname()) {
		scheme = "https" // on this machine the scheme does not tell who listens there
	}
	return scheme + "://" + strings.ToLower(u.Hostname()) + ":" + port
}
