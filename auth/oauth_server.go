package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/parley-a2a/parley/a2a"
)

// server is what is known of an authorization server: its metadata (RFC 8414, OpenID
// Connect Discovery), or what a card says about it.
type server struct {
	Issuer           string   `json:"issuer"` // "" if only the card speaks of it
	AuthorizationURL string   `json:"authorization_endpoint"`
	TokenURL         string   `json:"token_endpoint"`
	DeviceURL        string   `json:"device_authorization_endpoint"`
	RevocationURL    string   `json:"revocation_endpoint"`
	KeysURL          string   `json:"jwks_uri"`
	SaysIssuer       bool     `json:"authorization_response_iss_parameter_supported"` // RFC 9207
	Grants           []string `json:"grant_types_supported"`
	Scopes           []string `json:"scopes_supported"`
	Challenges       []string `json:"code_challenge_methods_supported"`
	Methods          []string `json:"token_endpoint_auth_methods_supported"`
	Algorithms       []string `json:"id_token_signing_alg_values_supported"`

	client bool // it has the client credentials grant
}

const (
	oidcSuffix  = "/.well-known/openid-configuration"
	oauthSuffix = "/.well-known/oauth-authorization-server"
)

// metadataURLs returns the addresses at which an issuer's metadata may be.
func metadataURLs(issuer string) []string {
	issuer = strings.TrimSuffix(issuer, "/")
	list := []string{issuer + oidcSuffix, issuer + oauthSuffix}
	if u, err := url.Parse(issuer); err == nil && u.Path != "" { // RFC 8414 §3.1
		path := u.Path
		u.Path = oauthSuffix + path
		list = append(list, u.String())
		u.Path = oidcSuffix + path
		list = append(list, u.String())
	}
	return list
}

// findServer reads the metadata at a URL. The URL must be an address for the metadata
// of the issuer that it names, so that nobody can publish for another issuer.
func findServer(ctx context.Context, o *OAuthOptions, at string) (*server, error) {
	u, err := url.Parse(at)
	if err != nil || u.User != nil || u.RawQuery != "" || checkSecure(u) != nil {
		return nil, fmt.Errorf("auth: %q is not the address of an issuer's metadata: expected https, or http on this machine, without user or query", at)
	}
	doc, err := fetch(ctx, issuerClient(o.HTTPClient), at, "application/json")
	if err != nil {
		return nil, fmt.Errorf("auth: the issuer's metadata: %w", unwrapURL(err))
	}
	s, err := parseServer(doc, at)
	if err != nil {
		return nil, err
	}
	if o.Issuer != "" && s.Issuer != o.Issuer {
		return nil, fmt.Errorf("auth: the card's issuer is %q; expected %q", s.Issuer, o.Issuer)
	}
	return s, nil
}

// serverOf returns the server of an oauth2 scheme.
func serverOf(ctx context.Context, o *OAuthOptions, s *a2a.OAuth2SecurityScheme) (*server, error) {
	if s.OAuth2MetadataURL != "" {
		return findServer(ctx, o, s.OAuth2MetadataURL)
	}
	says := new(server)
	for _, f := range []*a2a.OAuthFlow{s.Flows.AuthorizationCode, s.Flows.DeviceCode, s.Flows.ClientCredentials} {
		if f != nil {
			says.AuthorizationURL, says.DeviceURL, says.TokenURL = f.AuthorizationURL, f.DeviceAuthorizationURL, f.TokenURL
			says.client = f == s.Flows.ClientCredentials
			break
		}
	}
	if says.TokenURL == "" {
		return nil, errors.New("auth: the card's oauth2 scheme has no flow that is supported: expected authorizationCode, deviceCode or clientCredentials, with a tokenUrl")
	}
	if o.Issuer != "" {
		known, err := findIssuer(ctx, o)
		if err != nil {
			return nil, err
		}
		if says.TokenURL != known.TokenURL || says.AuthorizationURL != "" && says.AuthorizationURL != known.AuthorizationURL ||
			says.DeviceURL != "" && says.DeviceURL != known.DeviceURL {
			return nil, fmt.Errorf("auth: the card's oauth2 addresses are not those that issuer %q publishes", o.Issuer)
		}
		return known, nil
	}
	if err := says.check(false); err != nil {
		return nil, err
	}
	// A code of one server must not be redeemed at another (a mix-up, RFC 9700 §4.4).
	// Without metadata, only the host shows that both are one.
	token, _ := url.Parse(says.TokenURL)
	for _, at := range []string{says.AuthorizationURL, says.DeviceURL} {
		if u, _ := url.Parse(at); at != "" && originOf(u) != originOf(token) {
			return nil, fmt.Errorf("auth: the card has people sign in at %q and tokens fetched from %q: name the issuer that both belong to", u.Host, token.Host)
		}
	}
	return says, nil
}

func findIssuer(ctx context.Context, o *OAuthOptions) (s *server, err error) {
	var all []error
	for _, at := range metadataURLs(o.Issuer) {
		if s, err = findServer(ctx, o, at); err == nil {
			return s, nil
		}
		all = append(all, err)
	}
	return nil, all[0]
}

// unwrapURL removes the URL from an error, because it may have a query, and leaves the
// host.
func unwrapURL(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		host := ""
		if at, e := url.Parse(u.URL); e == nil {
			host = at.Host
		}
		return fmt.Errorf("%s: %w", host, u.Err)
	}
	return err
}

// parseServer reads metadata that was fetched from an address.
func parseServer(doc []byte, at string) (*server, error) {
	s := new(server)
	if err := json.Unmarshal(doc, s); err != nil {
		return nil, fmt.Errorf("auth: %q is not the metadata of an issuer: not a JSON object with its members", at)
	}
	if s.Issuer == "" || !slices.Contains(metadataURLs(s.Issuer), at) {
		return nil, fmt.Errorf("auth: the metadata at %q is of issuer %q, whose own is elsewhere", at, s.Issuer)
	}
	issuer, err := url.Parse(s.Issuer)
	if err != nil || checkSecure(issuer) != nil || issuer.User != nil || issuer.RawQuery != "" || issuer.Fragment != "" {
		return nil, fmt.Errorf("auth: issuer %q: expected an https address, or http on this machine, without user or query", s.Issuer)
	}
	if err := s.check(!a2a.IsLoopback(issuer.Hostname())); err != nil {
		return nil, err
	}
	if len(s.Challenges) > 0 && !slices.Contains(s.Challenges, "S256") {
		s.AuthorizationURL = "" // without PKCE others on this machine could use the code
	}
	if len(s.Grants) > 0 {
		if !slices.Contains(s.Grants, "authorization_code") {
			s.AuthorizationURL = ""
		}
		if !slices.Contains(s.Grants, deviceGrant) {
			s.DeviceURL = ""
		}
	}
	s.client = len(s.Grants) == 0 || slices.Contains(s.Grants, "client_credentials")
	return s, nil
}

// check judges the addresses of a server. A server elsewhere must not name addresses of
// this machine.
func (s *server) check(elsewhere bool) error {
	if s.TokenURL == "" {
		return errors.New("auth: the issuer has no token_endpoint")
	}
	for _, e := range []struct{ name, at string }{
		{"authorization_endpoint", s.AuthorizationURL}, {"token_endpoint", s.TokenURL}, {"device_authorization_endpoint", s.DeviceURL},
		{"revocation_endpoint", s.RevocationURL}, {"jwks_uri", s.KeysURL},
	} {
		if e.at == "" {
			continue
		}
		u, err := url.Parse(e.at)
		if err != nil || checkSecure(u) != nil || u.User != nil || u.Fragment != "" || elsewhere && a2a.IsLoopback(u.Hostname()) {
			return fmt.Errorf("auth: %s %q: expected an https address; http is for this machine only", e.name, e.at)
		}
	}
	return nil
}
