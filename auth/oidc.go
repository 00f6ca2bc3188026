package auth

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"

	"github.com/parley-a2a/parley/a2a"
)

// OIDC accepts bearer tokens of an issuer that publishes by OpenID Connect Discovery
// where its keys are. Make one with NewOIDC.
type OIDC struct{ *tokens }

// maxStale is how long keys stay in use after they should have been loaded again, while
// the issuer does not answer: an outage must not end what runs on good tokens, and a
// stolen key must not be good for ever because somebody keeps us from asking.
const maxStale = time.Hour

// NewOIDC returns a method that accepts the tokens of an issuer that have one of the
// audiences. The issuer is a URL by https, or on this machine, exactly as in the
// tokens. It is not asked before Run, or the first token, so that a server starts even
// if its issuer is down.
//
// Tokens may be access tokens (RFC 9068) or ID tokens; the audience decides. The
// audience of ID tokens is the id of the client: if you make that an audience here, you
// let in everybody who signed in to that client.
func NewOIDC(issuer string, audiences []string, o *TokenOptions) (*OIDC, error) {
	t, err := newTokens("oidc", issuer, audiences, o)
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(issuer)
	if err != nil || u.User != nil || u.RawQuery != "" || u.ForceQuery || checkSecure(u) != nil {
		return nil, errors.New("auth: the issuer must be a URL like https://issuer.example.com, without user or query; http is for this machine only")
	}
	t.keys.every(10*time.Minute, 10*time.Second)
	t.keys.stale = t.keys.refresh + maxStale
	client := issuerClient(cmp.Or(o, new(TokenOptions)).HTTPClient)
	t.keys.load = func(ctx context.Context) ([]*Key, error) {
		doc, err := discover(ctx, client, issuer)
		if err != nil {
			return nil, err
		}
		return parseIssuerKeys(doc, t.keys.algorithms)
	}
	return &OIDC{t}, nil
}

// Reach asks the issuer for its keys, once, and returns why that failed.
func (i *OIDC) Reach(ctx context.Context) error {
	_, err := i.keys.load(ctx)
	return err
}

// Scheme describes the method by the address of the issuer's discovery document.
func (i *OIDC) Scheme() (string, *a2a.SecurityScheme) {
	return i.name, &a2a.SecurityScheme{OpenIDConnect: &a2a.OpenIDConnectSecurityScheme{
		Description:      "A token issued by " + i.issuer + ".",
		OpenIDConnectURL: strings.TrimSuffix(i.issuer, "/") + "/.well-known/openid-configuration",
	}}
}

// discover returns the issuer's set of keys. It asks for the address of the set each
// time, because that is rare and issuers move.
func discover(ctx context.Context, client *http.Client, issuer string) ([]byte, error) {
	provider, err := oidc.NewProvider(oidc.ClientContext(ctx, client), issuer)
	if err != nil {
		return nil, fmt.Errorf("discovery: %w", err)
	}
	var says struct {
		Keys string `json:"jwks_uri"`
	}
	if err := provider.Claims(&says); err != nil || says.Keys == "" {
		return nil, errors.New("discovery: the issuer does not say where its keys are (jwks_uri)")
	}
	from, err := url.Parse(issuer)
	keys, keysErr := url.Parse(says.Keys)
	if err != nil || keysErr != nil {
		return nil, errors.New("discovery: the issuer's jwks_uri is not a URL")
	}
	if a2a.IsLoopback(keys.Hostname()) && !a2a.IsLoopback(from.Hostname()) {
		return nil, errors.New("discovery: the issuer's jwks_uri is on this machine, but the issuer is not")
	}
	doc, err := fetch(ctx, client, says.Keys, "application/jwk-set+json, application/json")
	if err != nil {
		return nil, fmt.Errorf("keys: %w", err)
	}
	return doc, nil
}
