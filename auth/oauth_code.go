package auth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"
)

// callbackPath is the path on this machine that the browser returns to.
const callbackPath = "/callback"

// Code signs in with a browser on this machine: open shows the address to the user, or
// opens it in the browser. The browser returns to a port of 127.0.0.1, which other
// machines cannot reach (RFC 8252 §7.3); port 0 takes a free one.
func (l *OAuth) Code(ctx context.Context, port int, open func(address string)) (*OAuthSession, error) {
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return nil, fmt.Errorf("the browser cannot come back to this machine: %w", err)
	}
	redirect := "http://" + ln.Addr().String() + callbackPath
	begun := l.begin(redirect)
	at, err := l.authorization(&begun)
	if err != nil {
		return nil, errors.Join(err, ln.Close())
	}
	back := make(chan answer, 1)
	srv := &http.Server{Handler: l.page(&begun, ln.Addr().String(), back), ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second, MaxHeaderBytes: 64 << 10}
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(ln) }()
	defer func() {
		bye, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second) // for the page to arrive
		defer cancel()
		if srv.Shutdown(bye) != nil {
			_ = srv.Close()
		}
		<-ended
	}()
	open(at)
	var a answer
	select {
	case a = <-back:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if a.err != nil {
		return nil, a.err
	}
	got, _, err := l.redeem(ctx, &begun, a.code)
	return got, err
}

// answer is what the browser returned with.
type answer struct {
	code string
	err  error
}

// page is the page at host that the browser returns to.
func (l *OAuth) page(s *WebSignIn, host string, back chan<- answer) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("Referrer-Policy", "no-referrer")
		w.Header().Set("Content-Security-Policy", "default-src 'none'")
		w.Header().Set("Connection", "close")
		code, err := "", errNotOurs
		if r.Method == http.MethodGet && r.URL.Path == callbackPath && r.Host == host { // under another name, a page elsewhere could make this request
			code, err = l.code(s, r.URL.RawQuery)
		}
		switch {
		case errors.Is(err, errNotOurs):
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, "This is not the answer to a sign-in that is under way.\n")
			return
		case err != nil:
			_, _ = io.WriteString(w, "You are not signed in. The terminal says why; you can close this page.\n")
		default:
			_, _ = io.WriteString(w, "The sign-in goes on in the terminal. You can close this page.\n")
		}
		select {
		case back <- answer{code, err}:
		default: // the browser came twice
		}
	}
}

// WebSignIn is a sign-in that a browser has begun. It holds secrets: a browser may keep
// it only in a form that it cannot read.
type WebSignIn struct {
	State    string `json:"state"`
	Verifier string `json:"verifier"`
	Nonce    string `json:"nonce"`
	Redirect string `json:"redirect"`
}

func (l *OAuth) begin(redirect string) WebSignIn {
	return WebSignIn{State: rand.Text(), Verifier: rand.Text() + rand.Text(), Nonce: rand.Text(), Redirect: redirect}
}

// authorization returns the address at which the browser signs in.
func (l *OAuth) authorization(s *WebSignIn) (string, error) {
	at, err := url.Parse(l.server.AuthorizationURL)
	if err != nil {
		return "", err
	}
	challenge := sha256.Sum256([]byte(s.Verifier))
	q := at.Query()
	for name, value := range map[string]string{
		"response_type": "code", "client_id": l.opts.ClientID, "redirect_uri": s.Redirect, "state": s.State, "scope": l.askedScopes(),
		"code_challenge": base64.RawURLEncoding.EncodeToString(challenge[:]), "code_challenge_method": "S256",
		"nonce": s.Nonce, "resource": l.opts.Resource,
	} {
		if value != "" {
			q.Set(name, value)
		}
	}
	at.RawQuery = q.Encode()
	return at.String(), nil
}

// redeem gets the tokens for a code: a session, and the ID token.
func (l *OAuth) redeem(ctx context.Context, s *WebSignIn, code string) (*OAuthSession, string, error) {
	got, id, err := l.session(GrantCode).token(ctx, l.client, url.Values{
		"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {s.Redirect}, "code_verifier": {s.Verifier},
	})
	if err != nil {
		return nil, "", err
	}
	return got, id, l.verify(ctx, got, id, s.Nonce)
}

// errNotOurs refuses a request that another page may have made: it changes nothing.
var errNotOurs = errors.New("not the answer to this sign-in")

// code reads the code from the query that a browser returned with.
func (l *OAuth) code(s *WebSignIn, query string) (code string, err error) {
	q, err := url.ParseQuery(query)
	if err != nil || len(q["state"]) != 1 || subtle.ConstantTimeCompare([]byte(q.Get("state")), []byte(s.State)) != 1 {
		return "", errNotOurs
	}
	for name, values := range q {
		if len(values) > 1 {
			return "", fmt.Errorf("the browser came back with %q twice", short(name))
		}
	}
	from := l.server.Issuer
	if at, err := url.Parse(l.server.AuthorizationURL); err == nil && from == "" { // the card names no issuer
		from = originOf(at)
	}
	switch iss := q.Get("iss"); { // RFC 9207 §2.4
	case iss == "" && l.server.SaysIssuer && l.server.Issuer != "":
		return "", fmt.Errorf("the browser came back without the issuer: expected %q, which names itself in its answers", from)
	case iss == "":
	case l.server.Issuer != "" && iss != from:
		return "", fmt.Errorf("the browser came back from issuer %q: expected %q", short(iss), from)
	case l.server.Issuer == "":
		if u, err := url.Parse(iss); err != nil || originOf(u) != from {
			return "", fmt.Errorf("the browser came back from issuer %q: expected %s", short(iss), from)
		}
	}
	if e := q.Get("error"); e != "" {
		host := from
		if u, err := url.Parse(host); err == nil {
			host = u.Host
		}
		return "", &OAuthError{Host: host, Status: http.StatusOK, Code: short(e), About: short(q.Get("error_description"))}
	}
	if code = q.Get("code"); code == "" || len(code) > maxAccess {
		return "", errors.New("the browser came back without a code")
	}
	return code, nil
}

// WebLogin signs people in to pages of this server at an OpenID Connect issuer, by the
// authorization code with PKCE. Make one with NewWebLogin; it may be used by many
// goroutines at once.
type WebLogin struct {
	// set at start, then constant
	issuer, client string
	http           *http.Client
}

// webLoginTime bounds the requests to the issuer for one request of a browser.
const webLoginTime = 15 * time.Second

// NewWebLogin returns a sign-in at an issuer that knows these pages as the client: a
// public one, without a secret. A nil HTTP client means one that takes proxies from the
// environment. The issuer is not asked before somebody signs in.
func NewWebLogin(issuer, client string, c *http.Client) *WebLogin {
	return &WebLogin{issuer, client, c}
}

// server asks the issuer for its endpoints each time, because sign-ins are rare and
// issuers move.
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

// Begin returns the address at which the browser signs in, and what Finish needs when
// the browser returns to the redirect URL.
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

// Finish reads what the browser returned with, and returns the tokens for it: the
// access token, and the ID token if there is one.
func (w *WebLogin) Finish(ctx context.Context, s WebSignIn, query string) (access, id string, err error) {
	ctx, cancel := context.WithTimeout(ctx, webLoginTime)
	defer cancel()
	l, err := w.server(ctx)
	if err != nil {
		return "", "", err
	}
	code, err := l.code(&s, query)
	if err != nil {
		return "", "", err
	}
	got, id, err := l.redeem(ctx, &s, code)
	if err != nil {
		return "", "", err
	}
	return got.Access, id, nil
}
