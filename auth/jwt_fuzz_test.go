package auth

import (
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/go-jose/go-jose/v4"
)

// FuzzJWT checks any text in Authorization: nobody gets in without a token that was
// made here, no error quotes it, and the issuer is not asked about text that cannot be
// good.
func FuzzJWT(f *testing.F) {
	s, stranger := newSigner(f, "k", "EdDSA"), newSigner(f, "k", "EdDSA")
	is := newIssuer(s)
	m := is.method(f, TokenOptions{Claims: Claims{Tenant: "org.id", Scopes: "scope", Roles: "roles"}, Logger: slog.New(slog.DiscardHandler)})
	good := "Bearer " + is.token(s, map[string]any{"org": map[string]any{"id": "acme"}, "scope": "tasks:read", "roles": []string{"a"}})
	parts := strings.SplitN(strings.TrimPrefix(good, "Bearer "), ".", 3)
	f.Add(good)
	f.Add("Basic YTpi")
	f.Add("Bearer parley_abc")
	f.Add("bearer " + is.token(stranger, nil))
	f.Add("Bearer " + part(`{"alg":"none"}`) + "." + parts[1] + ".")
	f.Add("Bearer " + part(`{"alg":"EdDSA","kid":"k","jwk":{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}}`) + "." + parts[1] + "." + parts[2])
	f.Add("Bearer " + part(`{"alg":"EdDSA","x5c":["AA"]}`) + "." + parts[1] + "." + parts[2])
	f.Add("Bearer eyJ.eyJ.eyJ")
	f.Fuzz(func(t *testing.T, value string) {
		c, err := m.Authenticate(bearing(value))
		switch {
		case c != nil && (err != nil || !strings.Contains(value, strings.Join(parts, ".")) || c.Subject != testIssuer+"#alice" || c.Tenant != "acme"):
			t.Errorf("%q let in %+v, %v", value, c, err)
		case err != nil && !errors.Is(err, ErrCredentials):
			t.Errorf("%q: %v", value, err)
		case err != nil && len(value) > 40 && strings.Contains(err.Error(), value[len("Bearer "):]):
			t.Errorf("%q is quoted: %v", value, err)
		}
		// The token after the scheme is also read without a check of its signature.
		if tok, err := parseToken(value); err == nil {
			_, _ = m.caller(tok.claims)
			_ = m.inTime(tok)
		}
	})
}

// FuzzJWKS reads keys from any answer of an issuer: those that it finds are public ones
// that can be used.
func FuzzJWKS(f *testing.F) {
	for _, alg := range []string{"RS256", "ES256", "EdDSA"} {
		f.Add(newIssuer(newSigner(f, "k", alg)).set())
	}
	f.Add([]byte(`{"keys":[{"kty":"oct","k":"c2VjcmV0"},{"kty":"RSA","n":"AQAB","e":"AQAB"},{"kty":"EC","crv":"P-256","x":"AA","y":"AA","d":"AA"}]}`))
	f.Add([]byte(`{"keys":[{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo","key_ops":["verify"],"exp":1e9,"x5c":["AA"]}]}`))
	f.Add([]byte(`{"keys":null}`))
	var tokens []*jose.JSONWebSignature
	for _, alg := range []string{"RS256", "ES256", "EdDSA"} {
		jws, err := jose.ParseSignedCompact(newSigner(f, "k", alg).sign(`{"alg":"`+alg+`"}`, `{}`), []jose.SignatureAlgorithm{jose.SignatureAlgorithm(alg)})
		if err != nil {
			f.Fatal(err)
		}
		tokens = append(tokens, jws)
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		keys, err := parseIssuerKeys(doc, TokenAlgorithms)
		if err != nil && keys != nil || len(keys) > maxSet {
			t.Errorf("%d keys, %v", len(keys), err)
		}
		_ = private(doc)
		for _, k := range keys {
			n := 0
			for _, alg := range append([]string{"none", "HS256", "HS384", "HS512", ""}, TokenAlgorithms...) {
				if k.takes(alg) {
					if n++; strings.HasPrefix(alg, "H") || alg == "none" || alg == "" {
						t.Errorf("a key takes %q", alg)
					}
				}
			}
			if n == 0 || !k.equal(k) {
				t.Errorf("key %+v is for nothing", k)
			}
			for _, jws := range tokens {
				if _, err := jws.Verify(k.public); err == nil {
					t.Errorf("key %+v has signed what it has not", k)
				}
			}
		}
	})
}

// FuzzClaims checks any claims that an issuer may have signed, which changes to a token
// cannot reach: every caller that is let in has a name from the required claims.
func FuzzClaims(f *testing.F) {
	s := newSigner(f, "k", "EdDSA")
	is := newIssuer(s)
	m := is.method(f, TokenOptions{Claims: Claims{Tenant: "org.id", Scopes: "scope", Roles: "roles"}, Logger: slog.New(slog.DiscardHandler)})
	good := is.tokenClaims(map[string]any{"org": map[string]any{"id": "acme"}, "scope": "tasks:read", "roles": []string{"a"}})
	f.Add(s.header(), good)
	f.Add(`{"alg":"EdDSA"}`, strings.Replace(good, `"org":{"id":"acme"}`, `"org.id":"acme","exp":1e10`, 1))
	f.Add(`{"alg":"EdDSA","typ":"JWT","kid":"k","crit":[]}`, `{"iss":"`+testIssuer+`","aud":["parley",1],"exp":1800000100.5,"sub":"\u0061"}`)
	f.Fuzz(func(t *testing.T, header, claims string) {
		c, err := try(m, s.sign(header, claims))
		if err != nil {
			if !errors.Is(err, ErrCredentials) {
				t.Errorf("%s %s: %v", header, claims, err)
			}
			return
		}
		var says struct {
			Iss, Sub string
			Aud      any
			Exp      float64
		}
		if err := json.Unmarshal([]byte(claims), &says); err != nil || c.Subject != testIssuer+"#"+says.Sub || says.Iss != testIssuer ||
			says.Exp <= float64(is.clock().Unix()-60) || says.Aud == nil || !goodName(says.Sub) || !goodName(c.Tenant) || c.Scopes == nil {
			t.Errorf("%s %s let in %+v, %v", header, claims, c, err)
		}
	})
}
