package auth

import (
	"context"
	"errors"
	"net/http"
	"time"
)

// WebLogin signs people in to pages of this server at an OpenID Connect issuer, by the
// authorization code with PKCE. Make one with NewWebLogin; it may be used by many
// goroutines at once.
type WebLogin struct {
	// set at start, then constant
	issuer, client string
	http           *http.Client
}

// webLoginTime bounds what is asked of the issuer in one request of a browser.
const webLoginTime = 15 * time.Second

// NewWebLogin returns a sign-in at an issuer, which knows these pages as the client: a
// public one, without a secret. A nil HTTP client means one that takes proxies from the
// environment. The issuer is not asked before somebody signs in.
func NewWebLogin(issuer, client string, c *http.Client) *WebLogin {
	return &WebLogin{issuer, client, c}
}

// server asks where the issuer has its endpoints: it is seldom, and issuers move.
func (w *WebLogin) server(ctx context.Context) (*OAuth, error) {
	o := OAuthOptions{ClientID: w.client, Issuer: w.issuer, HTTPClient: w.http, Scopes: []string{"openid"}}
	s, err := findIssuer(ctx, &o)
	if err != nil {
		return nil, err
	}
	if s.AuthorizationURL == "" || s.TokenURL == "" {
		return nil, errors.New("auth: the issuer does not say where people sign in")
	}
	s.Scopes = nil // no refresh token is asked for: a session ends with its token
	return &OAuth{opts: o, oidc: true, scopes: o.Scopes, server: s, client: direct(w.http)}, nil
}

// Begin returns where the browser goes to sign in, and what Finish needs when it comes
// back to the redirect URL.
func (w *WebLogin) Begin(ctx context.Context, redirect string) (to string, s WebSignIn, err error) {
	ctx, cancel := context.WithTimeout(ctx, webLoginTime)
	defer cancel()
	l, err := w.server(ctx)
	if err != nil {
		return "", s, err
	}
	s = l.begin(redirect)
	to, err = l.authorization(&s)
	return to, s, err
}

// Finish reads what the browser came back with, and returns the tokens that it stands
// for: the access token, and the ID token if there is one.
func (w *WebLogin) Finish(ctx context.Context, s WebSignIn, query string) (access, id string, err error) {
	ctx, cancel := context.WithTimeout(ctx, webLoginTime)
	defer cancel()
	l, err := w.server(ctx)
	if err != nil {
		return "", "", err
	}
	want := l.expects(&s)
	code, err := want.parse(query)
	if err != nil {
		return "", "", err
	}
	got, id, err := l.redeem(ctx, &s, code)
	if err != nil {
		return "", "", err
	}
	return got.Access, id, nil
}
