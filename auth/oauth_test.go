package auth

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/parley-a2a/parley/a2a"
)

// fakeServer is an authorization server at https://id.test, without a network.
type fakeServer struct {
	t        *testing.T
	metadata map[string]any
	key      *ecdsa.PrivateKey
	polls    []string // errors before the device's token
	asked    []url.Values
	basic    string // the secret from the header
	tokens   map[string]any
	status   int    // of an error of the token endpoint
	refuse   string // its code
	nonce    string
	revoked  string
	lost     int   // connections that fail before the token
	down     []int // statuses of a token endpoint that is down
}

func newServer(t *testing.T) *fakeServer {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return &fakeServer{t: t, key: key, metadata: map[string]any{
		"issuer": "https://id.test", "authorization_endpoint": "https://id.test/authorize", "token_endpoint": "https://id.test/token",
		"device_authorization_endpoint": "https://id.test/device", "revocation_endpoint": "https://id.test/revoke", "jwks_uri": "https://id.test/keys",
		"scopes_supported": []string{"openid", "offline_access"}, "id_token_signing_alg_values_supported": []string{"ES256"},
	}, tokens: map[string]any{"access_token": "access-1", "token_type": "bearer", "expires_in": 600, "refresh_token": "refresh-1"}}
}

// RoundTrip is the network.
func (f *fakeServer) RoundTrip(req *http.Request) (*http.Response, error) {
	if f.lost > 0 && req.URL.Path == "/token" {
		f.lost--
		return nil, errors.New("connection reset")
	}
	rec := httptest.NewRecorder()
	f.ServeHTTP(rec, req)
	res := rec.Result()
	res.Request = req
	return res, nil
}

func (f *fakeServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	form := url.Values{}
	if r.Body != nil {
		body, _ := io.ReadAll(r.Body)
		form, _ = url.ParseQuery(string(body))
	}
	say := func(v any) { _ = json.NewEncoder(w).Encode(v) }
	switch r.URL.Path {
	case "/.well-known/openid-configuration", "/.well-known/oauth-authorization-server":
		say(f.metadata)
	case "/keys":
		say(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: f.key.Public(), KeyID: "k", Algorithm: "ES256", Use: "sig"}}})
	case "/device":
		f.asked = append(f.asked, form)
		say(map[string]any{"device_code": "dev", "user_code": "ABCD-EFGH", "verification_uri": "https://id.test/go", "expires_in": 60, "interval": 5})
	case "/revoke":
		f.revoked = form.Get("token")
	case "/token":
		f.asked = append(f.asked, form)
		_, f.basic, _ = r.BasicAuth()
		if len(f.down) > 0 {
			w.WriteHeader(f.down[0])
			f.down = f.down[1:]
			return
		}
		if len(f.polls) > 0 {
			f.status, f.refuse, f.polls = 400, f.polls[0], f.polls[1:]
		} else if form.Get("grant_type") == deviceGrant {
			f.status = 0
		}
		if f.status != 0 {
			w.WriteHeader(f.status)
			say(map[string]any{"error": f.refuse, "error_description": "said\nso"})
			return
		}
		tokens := map[string]any{}
		for k, v := range f.tokens {
			tokens[k] = v
		}
		if f.nonce != "" {
			tokens["id_token"] = f.idToken(f.nonce)
		}
		say(tokens)
	default:
		http.NotFound(w, r)
	}
}

func (f *fakeServer) idToken(nonce string) string {
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: f.key, KeyID: "k"}}, nil)
	if err != nil {
		f.t.Fatal(err)
	}
	claims, _ := json.Marshal(map[string]any{"iss": "https://id.test", "aud": "cli", "sub": "u1", "email": "ada@example.com", "nonce": nonce,
		"iat": time.Now().Unix(), "exp": time.Now().Add(time.Hour).Unix()})
	jws, err := signer.Sign(claims)
	if err != nil {
		f.t.Fatal(err)
	}
	s, _ := jws.CompactSerialize()
	return s
}

func cardWith(s *a2a.SecurityScheme, scopes ...string) *a2a.AgentCard {
	return &a2a.AgentCard{
		Name:                 "a",
		SupportedInterfaces:  []*a2a.AgentInterface{{URL: "https://agent.test/a2a", ProtocolBinding: a2a.BindingJSONRPC}},
		SecuritySchemes:      map[string]*a2a.SecurityScheme{"id": s, "key": {APIKey: &a2a.APIKeySecurityScheme{Name: "k"}}},
		SecurityRequirements: []a2a.SecurityRequirement{{"id": scopes}},
	}
}

func oidcCard(scopes ...string) *a2a.AgentCard {
	return cardWith(&a2a.SecurityScheme{OpenIDConnect: &a2a.OpenIDConnectSecurityScheme{OpenIDConnectURL: "https://id.test/.well-known/openid-configuration"}}, scopes...)
}

func signIn(t *testing.T, f *fakeServer, card *a2a.AgentCard, o OAuthOptions) *OAuth {
	t.Helper()
	if o.ClientID == "" {
		o.ClientID = "cli"
	}
	o.HTTPClient = &http.Client{Transport: f}
	l, err := NewOAuth(t.Context(), card, "id", &o)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestDeviceSignIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newServer(t)
		f.polls, f.lost = []string{"authorization_pending", "slow_down", "authorization_pending"}, 1
		l := signIn(t, f, oidcCard("tasks"), OAuthOptions{Resource: "https://agent.test/a2a"})
		begun, shown := time.Now(), DeviceCode{}
		s, err := l.Device(t.Context(), func(c DeviceCode) { shown = c })
		if err != nil {
			t.Fatal(err)
		}
		// 5 s that are lost, then 10 twice, then 15 after slow_down twice.
		if took := time.Since(begun); took != 55*time.Second {
			t.Errorf("it took %v", took)
		}
		if shown.Code != "ABCD-EFGH" || shown.URL != "https://id.test/go" {
			t.Errorf("shown: %+v", shown)
		}
		if got := f.asked[0]; got.Get("scope") != "openid tasks offline_access" || got.Get("resource") != "https://agent.test/a2a" || got.Get("client_id") != "cli" {
			t.Errorf("asked: %v", got)
		}
		if s.Access != "access-1" || s.Refresh != "refresh-1" || !s.Good(9*time.Minute) || s.Good(11*time.Minute) {
			t.Errorf("%+v", s)
		}
	})
}

// A server that is overloaded or down for a moment has not refused the sign-in, so it
// continues.
func TestDeviceSignInOutlastsAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newServer(t)
		f.down = []int{http.StatusTooManyRequests, http.StatusBadGateway}
		begun := time.Now()
		s, err := signIn(t, f, oidcCard(), OAuthOptions{}).Device(t.Context(), func(DeviceCode) {})
		if err != nil || s.Access != "access-1" {
			t.Fatalf("%+v, %v", s, err)
		}
		if took := time.Since(begun); took != 35*time.Second { // 5 s, 10 and 20
			t.Errorf("it took %v", took)
		}
	})
}

func TestDeviceSignInEnds(t *testing.T) {
	for _, c := range []struct {
		polls []string
		code  string
	}{
		{[]string{"authorization_pending", "access_denied"}, "access_denied"},
		{[]string{"expired_token"}, "expired_token"},
		{slices.Repeat([]string{"authorization_pending"}, 100), "expired_token"}, // by the client's own clock
	} {
		synctest.Test(t, func(t *testing.T) {
			f := newServer(t)
			f.polls = c.polls
			_, err := signIn(t, f, oidcCard(), OAuthOptions{}).Device(t.Context(), func(DeviceCode) {})
			var e *OAuthError
			if !errors.As(err, &e) || e.Code != c.code {
				t.Errorf("got %v; want %s", err, c.code)
			}
			if strings.Contains(fmt.Sprint(err), "\n") {
				t.Errorf("a server's words break the line: %q", err)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		f := newServer(t)
		f.polls = slices.Repeat([]string{"authorization_pending"}, 100)
		ctx, cancel := context.WithCancelCause(t.Context())
		stop := errors.New("Ctrl-C")
		_, err := signIn(t, f, oidcCard(), OAuthOptions{}).Device(ctx, func(DeviceCode) { cancel(stop) })
		if !errors.Is(err, stop) {
			t.Errorf("interrupted: %v", err)
		}
	})
}

// An answer without a token for us has used up the code: asking again would only hide
// the cause.
func TestDeviceSignInWithoutABearerToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newServer(t)
		f.tokens["token_type"] = "DPoP"
		_, err := signIn(t, f, oidcCard(), OAuthOptions{}).Device(t.Context(), func(DeviceCode) {})
		if err == nil || !strings.Contains(err.Error(), `"DPoP"`) || len(f.asked) != 2 {
			t.Errorf("%v after %d requests", err, len(f.asked))
		}
	})
}

// browse does what a browser does: it goes to the server, and comes back with a good
// answer, changed by edit.
func browse(t *testing.T, f *fakeServer, edit func(url.Values)) func(string) {
	return func(address string) {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		q := u.Query()
		f.asked = append(f.asked, q)
		back := url.Values{"state": {q.Get("state")}, "code": {"c0de"}, "iss": {"https://id.test"}}
		edit(back)
		res, err := http.Get(q.Get("redirect_uri") + "?" + back.Encode())
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		body, _ := io.ReadAll(res.Body)
		if bytes.Contains(body, []byte("c0de")) {
			t.Errorf("the page shows the code: %s", body)
		}
	}
}

func TestCodeSignIn(t *testing.T) {
	f := newServer(t)
	l := signIn(t, f, oidcCard("tasks"), OAuthOptions{})
	s, err := l.Code(t.Context(), 0, func(address string) {
		u, _ := url.Parse(address)
		f.nonce = u.Query().Get("nonce")
		// A request without the state neither ends nor completes the sign-in.
		res, err := http.Get(u.Query().Get("redirect_uri") + "?state=wrong&code=stolen")
		if err != nil || res.StatusCode != http.StatusBadRequest {
			t.Errorf("wrong state: %v %v", res, err)
		}
		req, _ := http.NewRequest(http.MethodGet, u.Query().Get("redirect_uri")+"?state="+u.Query().Get("state")+"&code=stolen", nil)
		req.Host = "evil.test"
		if res, err = http.DefaultClient.Do(req); err != nil || res.StatusCode != http.StatusBadRequest {
			t.Errorf("another host: %v %v", res, err)
		}
		browse(t, f, func(url.Values) {})(address)
	})
	if err != nil {
		t.Fatal(err)
	}
	asked, redeemed := f.asked[0], f.asked[1]
	sum := sha256.Sum256([]byte(redeemed.Get("code_verifier")))
	if asked.Get("code_challenge") != base64.RawURLEncoding.EncodeToString(sum[:]) || asked.Get("code_challenge_method") != "S256" {
		t.Error("the challenge is not the verifier's")
	}
	if redeemed.Get("code") != "c0de" || redeemed.Get("redirect_uri") != asked.Get("redirect_uri") || s.Subject != "ada@example.com" {
		t.Errorf("redeemed %v as %s", redeemed, s.Subject)
	}
}

func TestCodeSignInRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		edit  func(url.Values)
		nonce string
		says  bool
		want  string
	}{
		"denied":       {edit: func(q url.Values) { q.Del("code"); q.Set("error", "access_denied") }, want: "id.test answered access_denied"},
		"no code":      {edit: func(q url.Values) { q.Del("code") }, want: "without a code"},
		"mix-up":       {edit: func(q url.Values) { q.Set("iss", "https://evil.test") }, want: `from issuer "https://evil.test"`},
		"iss left out": {edit: func(q url.Values) { q.Del("iss") }, says: true, want: "without the issuer"},
		"twice":        {edit: func(q url.Values) { q.Add("code", "other") }, want: `"code" twice`},
		"replayed":     {edit: func(url.Values) {}, nonce: "of another sign-in", want: "its nonce"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newServer(t)
			f.nonce = c.nonce
			f.metadata["authorization_response_iss_parameter_supported"] = c.says
			_, err := signIn(t, f, oidcCard(), OAuthOptions{}).Code(t.Context(), 0, browse(t, f, c.edit))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v; want %q", err, c.want)
			}
			if len(f.asked) > 1 && c.nonce == "" {
				t.Error("the code was redeemed")
			}
		})
	}
}

func TestClientCredentials(t *testing.T) {
	f := newServer(t)
	delete(f.tokens, "refresh_token")
	l := signIn(t, f, cardWith(&a2a.SecurityScheme{OAuth2: &a2a.OAuth2SecurityScheme{Flows: a2a.OAuthFlows{
		ClientCredentials: &a2a.OAuthFlow{TokenURL: "https://id.test/token"},
	}}}, "tasks"), OAuthOptions{ClientSecret: "s3c+ret"})
	if g := l.Grants(); !slices.Equal(g, []string{GrantClient}) {
		t.Fatalf("grants: %v", g)
	}
	s, err := l.ClientCredentials(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if f.basic != "s3c%2Bret" || f.asked[0].Has("client_secret") || f.asked[0].Get("scope") != "tasks" {
		t.Errorf("basic %q, form %v", f.basic, f.asked[0])
	}
	f.tokens["access_token"] = "access-2"
	if s, err = s.Renew(t.Context(), &http.Client{Transport: f}); err != nil || s.Access != "access-2" {
		t.Errorf("renewed: %v %v", s, err)
	}
}

func TestRenewKeepsOrReplacesTheRefreshToken(t *testing.T) {
	f := newServer(t)
	c := &http.Client{Transport: f}
	s := &OAuthSession{Grant: GrantDevice, ClientID: "cli", TokenURL: "https://id.test/token", RevokeURL: "https://id.test/revoke", Refresh: "refresh-0"}
	s, err := s.Renew(t.Context(), c)
	if err != nil || s.Refresh != "refresh-1" || f.asked[0].Get("refresh_token") != "refresh-0" {
		t.Fatalf("%+v %v", s, err)
	}
	delete(f.tokens, "refresh_token")
	if s, err = s.Renew(t.Context(), c); err != nil || s.Refresh != "refresh-1" {
		t.Fatalf("%+v %v", s, err)
	}
	if err := (&OAuthSession{RevokeURL: "http://127.0.0.1:1"}).Revoke(t.Context(), nil); err == nil { // like Renew, with the default transport
		t.Error("revoked where nobody listens")
	}
	if err := s.Revoke(t.Context(), c); err != nil || f.revoked != "refresh-1" {
		t.Errorf("revoked %q: %v", f.revoked, err)
	}
	f.status, f.refuse = 400, "invalid_grant"
	var e *OAuthError
	if _, err := s.Renew(t.Context(), c); !errors.As(err, &e) || e.Code != "invalid_grant" {
		t.Errorf("got %v", err)
	}
}

func TestServersAreJudged(t *testing.T) {
	for name, c := range map[string]struct {
		edit func(map[string]any)
		o    OAuthOptions
		card *a2a.AgentCard
		want string
	}{
		"another's metadata":  {edit: func(m map[string]any) { m["issuer"] = "https://other.test" }, want: "whose own is elsewhere"},
		"no issuer":           {edit: func(m map[string]any) { delete(m, "issuer") }, want: "whose own is elsewhere"},
		"plain token address": {edit: func(m map[string]any) { m["token_endpoint"] = "http://id.test/token" }, want: `token_endpoint "http://id.test/token": expected an https address`},
		"this machine":        {edit: func(m map[string]any) { m["token_endpoint"] = "http://127.0.0.1:9/token" }, want: "expected an https address"},
		"no token address":    {edit: func(m map[string]any) { delete(m, "token_endpoint") }, want: "no token_endpoint"},
		"not metadata":        {edit: func(m map[string]any) { m["issuer"] = 7 }, want: "not the metadata of an issuer"},
		"pinned":              {o: OAuthOptions{Issuer: "https://mine.test"}, want: `the card's issuer is "https://id.test"; expected "https://mine.test"`},
		"no client id":        {o: OAuthOptions{ClientID: " "}, want: ""},
		"not well-known":      {card: cardWith(&a2a.SecurityScheme{OpenIDConnect: &a2a.OpenIDConnectSecurityScheme{OpenIDConnectURL: "http://id.test/x"}}), want: "expected https"},
		"mix-up of addresses": {card: cardWith(&a2a.SecurityScheme{OAuth2: &a2a.OAuth2SecurityScheme{Flows: a2a.OAuthFlows{AuthorizationCode: &a2a.OAuthFlow{
			AuthorizationURL: "https://id.test/authorize", TokenURL: "https://evil.test/token",
		}}}}), want: "name the issuer that both belong to"},
		"not what it publishes": {o: OAuthOptions{Issuer: "https://id.test"}, card: cardWith(&a2a.SecurityScheme{OAuth2: &a2a.OAuth2SecurityScheme{Flows: a2a.OAuthFlows{AuthorizationCode: &a2a.OAuthFlow{
			AuthorizationURL: "https://id.test/authorize", TokenURL: "https://evil.test/token",
		}}}}), want: "not those that issuer"},
		"implicit": {card: cardWith(&a2a.SecurityScheme{OAuth2: &a2a.OAuth2SecurityScheme{Flows: a2a.OAuthFlows{Implicit: &a2a.OAuthFlow{AuthorizationURL: "https://id.test"}}}}),
			want: "neither oauth2 nor openIdConnect"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newServer(t)
			if c.edit != nil {
				c.edit(f.metadata)
			}
			if c.card == nil {
				c.card = oidcCard()
			}
			if c.o.ClientID == "" {
				c.o.ClientID = "cli"
			}
			c.o.HTTPClient = &http.Client{Transport: f}
			_, err := NewOAuth(t.Context(), c.card, "id", &c.o)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v; want %q", err, c.want)
			}
		})
	}
}

func TestTokensStayWithTheirAgent(t *testing.T) {
	f := newServer(t)
	card := oidcCard()
	s, err := signIn(t, f, card, OAuthOptions{ClientSecret: "x"}).ClientCredentials(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	at := func(raw string) *url.URL {
		u, err := url.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	if err := s.For(card, at("https://AGENT.test:443/a2a/tasks")); err != nil {
		t.Error(err)
	}
	other := oidcCard()
	other.SecuritySchemes["id"].OpenIDConnect.OpenIDConnectURL = "https://evil.test/.well-known/openid-configuration"
	for name, err := range map[string]error{
		"another host":   s.For(card, at("https://evil.test/a2a")),
		"another port":   s.For(card, at("https://agent.test:8443/a2a")),
		"plain":          s.For(card, at("http://agent.test/a2a")),
		"another issuer": s.For(other, at("https://agent.test/a2a")),
		"no scheme":      s.For(&a2a.AgentCard{}, at("https://agent.test/a2a")),
	} {
		if err == nil {
			t.Errorf("%s: the token goes there", name)
		}
	}
}

// Answers of a hostile server: nothing panics, and what is accepted can be used.
func FuzzAuthorizationServer(f *testing.F) {
	f.Add([]byte(`{"issuer":"https://id.test","token_endpoint":"https://id.test/token"}`), "state=s&code=c&iss=https://id.test")
	f.Add([]byte(`{"access_token":"a","token_type":"Bearer","expires_in":1e300}`), "state=s&error=access_denied")
	f.Add([]byte(`{"device_code":"d","user_code":"u","verification_uri":"https://id.test","interval":-1,"expires_in":1e99}`), "state=s&state=s")
	f.Fuzz(func(t *testing.T, doc []byte, query string) {
		if s, err := parseServer(doc, "https://id.test/.well-known/openid-configuration"); err == nil && (s.Issuer != "https://id.test" && s.Issuer != "https://id.test/" || s.check(true) != nil) {
			t.Errorf("accepted: %+v", s)
		}
		if a, err := parseAnswer("id.test", 200, "application/json", doc); err == nil {
			if _, err := http.NewRequest(http.MethodGet, "https://x", nil); err != nil || strings.ContainsAny(a.Access, "\r\n ") {
				t.Errorf("accepted: %q", a.Access)
			}
		} else if strings.ContainsAny(err.Error(), "\r\n\x1b") {
			t.Errorf("control characters: %q", err)
		}
		l := &OAuth{server: &server{Issuer: "https://id.test", SaysIssuer: true}}
		now := time.Now()
		if d, err := l.parseDevice(200, "", doc, now); err == nil && (d.interval <= 0 || d.interval > maxInterval || d.Expires.Sub(now) > maxDevice || d.Expires.Before(now)) {
			t.Errorf("accepted: %+v", d)
		}
		if code, err := l.code(&WebSignIn{State: "s"}, query); err == nil && code == "" {
			t.Errorf("accepted: %q", query)
		}
	})
}
