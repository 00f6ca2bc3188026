package auth

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// A browser signs in by a code with PKCE; only the browser that began the sign-in gets
// the tokens.
func TestWebLogin(t *testing.T) {
	f := newServer(t)
	w := NewWebLogin("https://id.test", "cli", &http.Client{Transport: f})
	const redirect = "https://agents.test/console/login/back"
	to, begun, err := w.Begin(t.Context(), redirect)
	if err != nil {
		t.Fatal(err)
	}
	at, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	q := at.Query()
	sum := sha256.Sum256([]byte(begun.Verifier))
	for name, want := range map[string]string{
		"response_type": "code", "client_id": "cli", "redirect_uri": redirect, "scope": "openid", "state": begun.State, "nonce": begun.Nonce,
		"code_challenge": base64.RawURLEncoding.EncodeToString(sum[:]), "code_challenge_method": "S256",
	} {
		if q.Get(name) != want {
			t.Errorf("%s is %q, want %q", name, q.Get(name), want)
		}
	}
	if at.Host != "id.test" || at.Path != "/authorize" {
		t.Errorf("the browser goes to %s", to)
	}
	f.nonce = begun.Nonce
	back := url.Values{"code": {"c0de"}, "state": {begun.State}, "iss": {"https://id.test"}}
	access, id, err := w.Finish(t.Context(), begun, back.Encode())
	if err != nil || access != "access-1" || id == "" {
		t.Fatalf("there is %q and %q: %v", access, id, err)
	}
	if sent := f.asked[0]; sent.Get("code_verifier") != begun.Verifier || sent.Get("redirect_uri") != redirect || sent.Has("client_secret") {
		t.Errorf("the code was redeemed with %v", sent)
	}
	for name, edit := range map[string]func(url.Values){
		"another state":   func(q url.Values) { q.Set("state", "x") },
		"another issuer":  func(q url.Values) { q.Set("iss", "https://evil.test") },
		"no code":         func(q url.Values) { q.Del("code") },
		"what was denied": func(q url.Values) { q.Del("code"); q.Set("error", "access_denied") },
	} {
		bad := url.Values{}
		for name, values := range back {
			bad[name] = values
		}
		edit(bad)
		asked := len(f.asked)
		if _, _, err := w.Finish(t.Context(), begun, bad.Encode()); err == nil || len(f.asked) != asked {
			t.Errorf("%s: %v", name, err)
		}
	}
	f.nonce = "of another sign-in"
	if _, _, err := w.Finish(t.Context(), begun, back.Encode()); err == nil || !strings.Contains(err.Error(), "nonce") {
		t.Errorf("an ID token of another sign-in: %v", err)
	}
	f.metadata["issuer"] = "https://other.test"
	if _, _, err := w.Begin(t.Context(), redirect); err == nil {
		t.Error("the metadata of another issuer is taken")
	}
}
