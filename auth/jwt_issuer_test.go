package auth

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/parley-a2a/parley/a2a"
)

const (
	testIssuer   = "https://issuer.example.com/realm"
	testAudience = "parley"
)

// issuer issues tokens, and answers the requests of an http.Client.
type issuer struct {
	mu     sync.Mutex // protects the fields below
	keys   []jose.JSONWebKey
	answer func(*http.Request) (*http.Response, error) // nil: the usual answers
	asked  map[string]int                              // by path
	now    time.Time
	log    bytes.Buffer
}

func newIssuer(keys ...signer) *issuer {
	is := &issuer{asked: map[string]int{}, now: time.Unix(1_800_000_000, 0)}
	is.has(keys...)
	return is
}

// has sets the issuer's keys.
func (is *issuer) has(keys ...signer) {
	is.mu.Lock()
	defer is.mu.Unlock()
	is.keys = nil
	for _, k := range keys {
		is.keys = append(is.keys, jose.JSONWebKey{Key: k.key.Public(), KeyID: k.id, Use: "sig"})
	}
}

func (is *issuer) set() []byte {
	doc, err := json.Marshal(jose.JSONWebKeySet{Keys: is.keys})
	if err != nil {
		panic(err)
	}
	return doc
}

// answers replaces the issuer's answers; nil restores the usual ones.
func (is *issuer) answers(f func(*http.Request) (*http.Response, error)) {
	is.mu.Lock()
	defer is.mu.Unlock()
	is.answer = f
}

func (is *issuer) down(*http.Request) (*http.Response, error) { return nil, errors.New("it is down") }

// loads returns how often the keys were requested, or would have been.
func (is *issuer) loads() int {
	is.mu.Lock()
	defer is.mu.Unlock()
	return is.asked["/realm/.well-known/openid-configuration"]
}

func (is *issuer) RoundTrip(r *http.Request) (*http.Response, error) {
	is.mu.Lock()
	is.asked[r.URL.Path]++
	answer, set := is.answer, is.set()
	is.mu.Unlock()
	if answer != nil {
		return answer(r)
	}
	switch r.URL.Path {
	case "/realm/.well-known/openid-configuration":
		return document(200, `{"issuer":"`+testIssuer+`","jwks_uri":"https://keys.example.com/set"}`), nil
	case "/set":
		return document(200, string(set)), nil
	}
	return document(404, "no such page"), nil
}

func document(status int, body string) *http.Response {
	return &http.Response{StatusCode: status, Status: fmt.Sprint(status), Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body))}
}

// clock returns, and pass moves, the time of the issuer and of the verifier of its
// tokens.
func (is *issuer) clock() time.Time {
	is.mu.Lock()
	defer is.mu.Unlock()
	return is.now
}

func (is *issuer) pass(d time.Duration) {
	is.mu.Lock()
	defer is.mu.Unlock()
	is.now = is.now.Add(d)
}

// method returns a method that accepts the issuer's tokens.
func (is *issuer) method(t testing.TB, o TokenOptions) *OIDC {
	t.Helper()
	o.HTTPClient = &http.Client{Transport: is}
	if o.Now == nil {
		o.Now = is.clock
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.NewTextHandler(&is.log, nil))
	}
	m, err := NewOIDC(testIssuer, []string{"another", testAudience}, &o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// signer is a key of an issuer.
type signer struct {
	id, alg string
	key     crypto.Signer
}

func newSigner(t testing.TB, id, alg string) signer {
	t.Helper()
	s := signer{id: id, alg: alg}
	var err error
	switch alg {
	case "RS256":
		s.key, err = rsa.GenerateKey(rand.Reader, 2048)
	case "ES256":
		s.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	default:
		_, s.key, err = ed25519.GenerateKey(rand.Reader)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// part is a part of a token.
func part(doc string) string { return base64.RawURLEncoding.EncodeToString([]byte(doc)) }

// sign makes a token with any header and claims.
func (s signer) sign(header, claims string) string {
	input := part(header) + "." + part(claims)
	var sig []byte
	var err error
	switch key := s.key.(type) {
	case *ecdsa.PrivateKey:
		sum := sha256.Sum256([]byte(input))
		r, v, e := ecdsa.Sign(rand.Reader, key, sum[:])
		if err = e; err == nil {
			sig = append(r.FillBytes(make([]byte, 32)), v.FillBytes(make([]byte, 32))...)
		}
	case ed25519.PrivateKey:
		sig = ed25519.Sign(key, []byte(input))
	case *rsa.PrivateKey:
		sum := sha256.Sum256([]byte(input))
		sig, err = rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:])
	}
	if err != nil {
		panic(err)
	}
	return input + "." + part(string(sig))
}

func (s signer) header() string {
	return fmt.Sprintf(`{"alg":%q,"kid":%q,"typ":"at+jwt"}`, s.alg, s.id)
}

// tokenClaims returns good claims with changes; a nil value removes a claim.
func (is *issuer) tokenClaims(changes map[string]any) string {
	now := is.clock().Unix()
	c := map[string]any{"iss": testIssuer, "aud": testAudience, "sub": "alice", "exp": now + 300, "iat": now, "nbf": now}
	maps.Copy(c, changes)
	maps.DeleteFunc(c, func(_ string, v any) bool { return v == nil })
	doc, err := json.Marshal(c)
	if err != nil {
		panic(err)
	}
	return string(doc)
}

// token returns a good token with changes to its claims.
func (is *issuer) token(s signer, changes map[string]any) string {
	return s.sign(s.header(), is.tokenClaims(changes))
}

// bearing returns a request with values of Authorization.
func bearing(values ...string) *http.Request {
	r, err := http.NewRequest(http.MethodPost, "https://agent.example.com/", nil)
	if err != nil {
		panic(err)
	}
	for _, v := range values {
		r.Header.Add("Authorization", v)
	}
	return r
}

// try has a method check a token.
func try(m Method, token string) (*a2a.Caller, error) {
	return m.Authenticate(bearing("Bearer " + token))
}

// wantGood, wantRefused and wantUnknown check the result.
func wantGood(t testing.TB, m Method, token string) *a2a.Caller {
	t.Helper()
	c, err := try(m, token)
	if err != nil || c == nil {
		t.Fatalf("a good token: %v, %v", c, err)
	}
	return c
}

func wantRefused(t testing.TB, m Method, token, with string) {
	t.Helper()
	c, err := try(m, token)
	if c != nil || !errors.Is(err, ErrCredentials) || !strings.Contains(err.Error(), with) {
		t.Errorf("got %v, %v, want a refusal with %q", c, err, with)
	}
}

func wantUnknown(t testing.TB, m Method, token string) {
	t.Helper()
	if c, err := try(m, token); c != nil || err == nil || errors.Is(err, ErrCredentials) {
		t.Errorf("got %v, %v, want that it cannot be known", c, err)
	}
}
