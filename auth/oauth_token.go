package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"

	"github.com/parley-a2a/parley/a2a"
)

// OAuthSession is the result of signing in, in a form to be stored. Anybody who reads
// it can act as the user: store it in a file that others cannot read.
type OAuthSession struct {
	Grant    string    `json:"grant"`
	Scheme   string    `json:"scheme"`            // of the card
	Issuer   string    `json:"issuer,omitempty"`  // "" if the card named none
	Subject  string    `json:"subject,omitempty"` // who signed in, if the issuer said so
	ClientID string    `json:"clientId"`
	Scopes   []string  `json:"scopes,omitempty"`
	Expiry   time.Time `json:"expiry,omitzero"` // zero: the issuer did not say

	Access       string `json:"accessToken"`
	Refresh      string `json:"refreshToken,omitempty"`
	ClientSecret string `json:"clientSecret,omitempty"`

	Anchor    string   `json:"anchor"`  // what the card said about the server
	Origins   []string `json:"origins"` // where the token may go
	TokenURL  string   `json:"tokenUrl"`
	RevokeURL string   `json:"revokeUrl,omitempty"`
	Resource  string   `json:"resource,omitempty"`
	InBody    bool     `json:"inBody,omitempty"` // the secret goes into the body, not the header
}

// OAuthError is an authorization server's answer that has no token.
type OAuthError struct {
	Host   string
	Status int    // of HTTP
	Code   string // such as access_denied, invalid_grant; "" if it gave none
	About  string // error_description, as the server worded it
}

func (e *OAuthError) Error() string {
	s := fmt.Sprintf("%s answered HTTP %d", e.Host, e.Status)
	if e.Code != "" {
		s = fmt.Sprintf("%s answered %s", e.Host, e.Code)
	}
	if e.About != "" {
		s += ": " + e.About
	}
	return s
}

const (
	deviceGrant = "urn:ietf:params:oauth:grant-type:device_code"
	maxSaid     = 300      // bytes of a server's words
	maxAccess   = 64 << 10 // bytes of a token: more does not fit into a header
	maxLife     = 10 * 365 * 24 * time.Hour
)

// tokenAnswer is a token response (RFC 6749 §5.1, §5.2).
type tokenAnswer struct {
	Access  string      `json:"access_token"`
	Type    string      `json:"token_type"`
	Refresh string      `json:"refresh_token"`
	ID      string      `json:"id_token"`
	Scope   string      `json:"scope"`
	Expires json.Number `json:"expires_in"`
	Error   string      `json:"error"`
	About   string      `json:"error_description"`
}

// parseAnswer reads a token response. The error is an *OAuthError if the server gave one.
func parseAnswer(host string, status int, media string, body []byte) (*tokenAnswer, error) {
	var a tokenAnswer
	kind, _, _ := mime.ParseMediaType(media)
	isJSON := json.Unmarshal(body, &a) == nil
	switch {
	case status != http.StatusOK || isJSON && a.Error != "":
		e := &OAuthError{Host: host, Status: status}
		if isJSON {
			e.Code, e.About = short(a.Error), short(a.About)
		}
		return nil, e
	case !isJSON:
		return nil, fmt.Errorf("%s answered with %q where a token was expected", host, short(kind))
	case a.Access == "" || len(a.Access) > maxAccess || strings.ContainsFunc(a.Access, func(r rune) bool { return r <= ' ' || r >= 0x7f }):
		return nil, unusable(host + " answered without an access_token that can be sent")
	case !strings.EqualFold(a.Type, "Bearer"):
		return nil, unusable(fmt.Sprintf("%s answered with a token of type %q: expected Bearer", host, short(a.Type)))
	}
	return &a, nil
}

// unusable says that the server gave a token that cannot be used.
type unusable string

func (u unusable) Error() string { return string(u) }

// short cleans and shortens a server's text for an error.
func short(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, s)
	return s[:min(len(s), maxSaid)]
}

// post sends a form to the server and reads the answer.
func post(ctx context.Context, c *http.Client, s *OAuthSession, at string, form url.Values) (status int, media string, body []byte, err error) {
	u, err := url.Parse(at)
	if err != nil || checkSecure(u) != nil {
		return 0, "", nil, fmt.Errorf("%q: expected an https address; http is for this machine only", at)
	}
	form.Set("client_id", s.ClientID)
	if s.ClientSecret != "" && s.InBody {
		form.Set("client_secret", s.ClientSecret)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, at, strings.NewReader(form.Encode()))
	if err != nil {
		return 0, "", nil, err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Accept", "application/json")
	if s.ClientSecret != "" && !s.InBody {
		form.Del("client_id")
		req.SetBasicAuth(url.QueryEscape(s.ClientID), url.QueryEscape(s.ClientSecret)) // RFC 6749 §2.3.1
	}
	res, err := c.Do(req)
	if err != nil {
		return 0, "", nil, unwrapURL(err)
	}
	defer res.Body.Close()
	body, err = io.ReadAll(&boundedBody{ReadCloser: res.Body, left: maxKeys})
	return res.StatusCode, res.Header.Get("Content-Type"), body, err
}

// token asks for a token and returns the session with it.
func (s OAuthSession) token(ctx context.Context, c *http.Client, form url.Values) (*OAuthSession, string, error) {
	if s.Resource != "" {
		form.Set("resource", s.Resource)
	}
	asked := time.Now()
	status, media, body, err := post(ctx, c, &s, s.TokenURL, form)
	if err != nil {
		return nil, "", err
	}
	u, _ := url.Parse(s.TokenURL) // post has parsed it
	a, err := parseAnswer(u.Host, status, media, body)
	if err != nil {
		return nil, "", err
	}
	s.Access, s.Expiry = a.Access, time.Time{}
	if a.Refresh != "" {
		s.Refresh = a.Refresh // a new one; without it the old one stays good (RFC 6749 §6)
	}
	if n, err := a.Expires.Float64(); err == nil && n > 0 {
		s.Expiry = asked.Add(time.Duration(min(n, maxLife.Seconds()) * float64(time.Second))).UTC().Truncate(time.Second)
	}
	if a.Scope != "" {
		s.Scopes = strings.Fields(a.Scope)
	}
	return &s, a.ID, nil
}

// session returns what all tokens of l have in common.
func (l *OAuth) session(grant string) OAuthSession {
	s := OAuthSession{
		Grant: grant, Scheme: l.scheme, Issuer: l.server.Issuer, ClientID: l.opts.ClientID, ClientSecret: l.opts.ClientSecret, Scopes: l.scopes,
		Anchor: l.anchor, Origins: l.origins, TokenURL: l.server.TokenURL, RevokeURL: l.server.RevocationURL, Resource: l.opts.Resource,
	}
	m := l.server.Methods
	s.InBody = slices.Contains(m, "client_secret_post") && !slices.Contains(m, "client_secret_basic")
	return s
}

// ClientCredentials signs in as the program itself (RFC 6749 §4.4).
func (l *OAuth) ClientCredentials(ctx context.Context) (*OAuthSession, error) {
	s := l.session(GrantClient)
	got, _, err := s.token(ctx, l.client, s.clientForm())
	return got, err
}

func (s *OAuthSession) clientForm() url.Values {
	form := url.Values{"grant_type": {"client_credentials"}}
	if len(s.Scopes) > 0 {
		form.Set("scope", strings.Join(s.Scopes, " "))
	}
	return form
}

// askedScopes returns the scopes for a person's sign-in, including the one that OpenID
// Connect requires, and the one for refresh tokens if the server knows it.
func (l *OAuth) askedScopes() string {
	scopes := slices.Clone(l.scopes)
	if l.oidc && !slices.Contains(scopes, "openid") {
		scopes = append([]string{"openid"}, scopes...)
	}
	if slices.Contains(l.server.Scopes, "offline_access") && !slices.Contains(scopes, "offline_access") {
		scopes = append(scopes, "offline_access")
	}
	return strings.Join(scopes, " ")
}

// verify reads from an ID token, if there is one, who signed in. A wrong one is an
// error: the answer belongs to another sign-in.
func (l *OAuth) verify(ctx context.Context, s *OAuthSession, idToken, nonce string) error {
	if idToken == "" || l.server.Issuer == "" || l.server.KeysURL == "" {
		return nil
	}
	// Excludes "none" and the keyed hashes that a server may list.
	algorithms := slices.DeleteFunc(slices.Clone(l.server.Algorithms), func(a string) bool { return !slices.Contains(TokenAlgorithms, a) })
	ctx = oidc.ClientContext(ctx, issuerClient(l.opts.HTTPClient))
	tok, err := oidc.NewVerifier(l.server.Issuer, oidc.NewRemoteKeySet(ctx, l.server.KeysURL),
		&oidc.Config{ClientID: l.opts.ClientID, SupportedSigningAlgs: algorithms}).Verify(ctx, idToken)
	if err != nil {
		return fmt.Errorf("the ID token of %s does not hold: %w", l.Host(), err)
	}
	if tok.Nonce != nonce {
		return fmt.Errorf("the ID token of %s is of another sign-in: its nonce is not the one that was sent", l.Host())
	}
	var who struct {
		Email string `json:"email"`
		Name  string `json:"preferred_username"`
	}
	_ = tok.Claims(&who) // other claims may have any form
	s.Subject = short(tok.Subject)
	for _, name := range []string{who.Name, who.Email} {
		if name != "" {
			s.Subject = short(name)
		}
	}
	return nil
}

// Good reports whether the access token is valid for longer than d.
func (s *OAuthSession) Good(d time.Duration) bool {
	return s.Expiry.IsZero() || time.Until(s.Expiry) > d
}

// Renew returns the session with a new access token. An *OAuthError says that the
// server no longer accepts the old sign-in.
func (s *OAuthSession) Renew(ctx context.Context, c *http.Client) (*OAuthSession, error) {
	var form url.Values
	switch {
	case s.Refresh != "":
		form = url.Values{"grant_type": {"refresh_token"}, "refresh_token": {s.Refresh}}
	case s.Grant == GrantClient:
		form = s.clientForm()
	default:
		return nil, errors.New("the sign-in has expired, and there is no refresh token")
	}
	got, _, err := s.token(ctx, direct(c), form)
	return got, err
}

// Revoke tells the server that the session has ended (RFC 7009), if the server has an
// address for that.
func (s *OAuthSession) Revoke(ctx context.Context, c *http.Client) error {
	if s.RevokeURL == "" {
		return nil
	}
	form := url.Values{"token": {s.Access}, "token_type_hint": {"access_token"}}
	if s.Refresh != "" {
		form = url.Values{"token": {s.Refresh}, "token_type_hint": {"refresh_token"}}
	}
	status, _, _, err := post(ctx, direct(c), s, s.RevokeURL, form)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("HTTP %d", status)
	}
	return err
}

// For returns why the token must not go to an address of the agent of a card; nil if it
// may.
func (s *OAuthSession) For(card *a2a.AgentCard, to *url.URL) error {
	switch {
	case anchorOf(card, s.Scheme) != s.Anchor:
		return fmt.Errorf("the card's scheme %q names another authorization server than when you signed in", s.Scheme)
	case checkSecure(to) != nil:
		return fmt.Errorf("the connection to %s is not encrypted", to.Host)
	case !slices.Contains(s.Origins, originOf(to)):
		return fmt.Errorf("the agent is at %s now, which its card did not name when you signed in", to.Host)
	}
	return nil
}
