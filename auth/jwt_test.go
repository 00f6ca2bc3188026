package auth

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parley-a2a/parley/a2a"
)

func TestTokensOfTheIssuerAreTaken(t *testing.T) {
	for _, alg := range []string{"RS256", "ES256", "EdDSA"} {
		s := newSigner(t, "k1", alg)
		is := newIssuer(s)
		m := is.method(t, TokenOptions{})
		for name, token := range map[string]string{
			"plain":              is.token(s, nil),
			"several audiences":  is.token(s, map[string]any{"aud": []string{"x", "another"}}),
			"good since ever":    is.token(s, map[string]any{"iat": 0, "nbf": 0}),
			"no times but exp":   is.token(s, map[string]any{"iat": nil, "nbf": nil}),
			"a part of a second": is.token(s, map[string]any{"exp": float64(is.clock().Unix()) + 0.5}),
			"no typ":             s.sign(`{"alg":"`+alg+`","kid":"k1"}`, is.tokenClaims(nil)),
			"typ JWT":            s.sign(`{"alg":"`+alg+`","kid":"k1","typ":"JWT"}`, is.tokenClaims(nil)),
			"typ in full":        s.sign(`{"alg":"`+alg+`","kid":"k1","typ":"application/AT+jwt"}`, is.tokenClaims(nil)),
			"no kid, one key":    s.sign(`{"alg":"`+alg+`"}`, is.tokenClaims(nil)),
		} {
			c, err := try(m, token)
			if err != nil || c.Subject != testIssuer+"#alice" || c.Via != "oidc" || c.Tenant != "" || !slices.Equal(c.Scopes, a2a.OwnScopes) {
				t.Errorf("%s, %s: %+v, %v", alg, name, c, err)
			}
		}
		if n := is.loads(); n != 1 {
			t.Errorf("%s: the keys were looked up %d times", alg, n)
		}
	}
}

// hmacToken is a token signed with a public value as the secret.
func hmacToken(header, claims string, secret []byte) string {
	h := hmac.New(sha256.New, secret)
	h.Write([]byte(part(header) + "." + part(claims)))
	return part(header) + "." + part(claims) + "." + part(string(h.Sum(nil)))
}

func TestOtherTokensAreRefused(t *testing.T) {
	rs, es, stranger := newSigner(t, "r", "RS256"), newSigner(t, "e", "ES256"), newSigner(t, "r", "RS256")
	is := newIssuer(rs, es)
	m := is.method(t, TokenOptions{})
	der, err := x509.MarshalPKIXPublicKey(rs.key.Public())
	if err != nil {
		t.Fatal(err)
	}
	public := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	jwk, err := json.Marshal(is.keys[0])
	if err != nil {
		t.Fatal(err)
	}
	good := is.token(rs, nil)
	parts := strings.Split(good, ".")
	claims, now := is.tokenClaims(nil), is.clock().Unix()
	with := func(header string) string { return rs.sign(header, claims) }

	for name, c := range map[string]struct{ token, says string }{
		"another issuer":           {is.token(rs, map[string]any{"iss": testIssuer + "/"}), "another issuer"},
		"no issuer":                {is.token(rs, map[string]any{"iss": nil}), "another issuer"},
		"a list of issuers":        {is.token(rs, map[string]any{"iss": []string{testIssuer}}), "another issuer"},
		"another audience":         {is.token(rs, map[string]any{"aud": "somebody"}), "audience"},
		"a part of the audience":   {is.token(rs, map[string]any{"aud": "parle"}), "audience"},
		"no audience":              {is.token(rs, map[string]any{"aud": nil}), "audience"},
		"an empty audience":        {is.token(rs, map[string]any{"aud": []string{}}), "audience"},
		"an odd audience":          {is.token(rs, map[string]any{"aud": map[string]any{testAudience: true}}), "audience"},
		"no end":                   {is.token(rs, map[string]any{"exp": nil}), "no exp"},
		"an end in words":          {is.token(rs, map[string]any{"exp": "tomorrow"}), "exp is not a time"},
		"an end that is null":      {rs.sign(rs.header(), strings.Replace(claims, `"exp":`, `"exp":null,"e":`, 1)), "exp is not a time"},
		"an end beyond all time":   {is.token(rs, map[string]any{"exp": 1e300}), "exp is not a time"},
		"an end before all time":   {is.token(rs, map[string]any{"exp": -1}), "exp is not a time"},
		"ended":                    {is.token(rs, map[string]any{"exp": now - 61}), "expired"},
		"to come":                  {is.token(rs, map[string]any{"nbf": now + 61}), "nbf"},
		"issued tomorrow":          {is.token(rs, map[string]any{"iat": now + 86400}), "iat"},
		"bound to a key":           {is.token(rs, map[string]any{"cnf": map[string]string{"jkt": "x"}}), "cnf"},
		"no subject":               {is.token(rs, map[string]any{"sub": nil, "client_id": "p", "azp": "p"}), "no claim sub"},
		"an empty subject":         {is.token(rs, map[string]any{"sub": ""}), "not a name"},
		"a number as subject":      {is.token(rs, map[string]any{"sub": 7}), "not a name"},
		"a long subject":           {is.token(rs, map[string]any{"sub": strings.Repeat("x", 256)}), "not a name"},
		"a subject with a line":    {is.token(rs, map[string]any{"sub": "alice\nadmin"}), "not a name"},
		"a subject back to front":  {is.token(rs, map[string]any{"sub": "alice\u202eadmin"}), "not a name"},
		"alg none":                 {part(`{"alg":"none"}`) + "." + part(claims) + ".", "not a signed JWT"},
		"alg none, signed":         {part(`{"alg":"none","kid":"r"}`) + "." + parts[1] + "." + parts[2], "algorithm"},
		"alg NonE":                 {part(`{"alg":"NonE","kid":"r"}`) + "." + parts[1] + "." + parts[2], "algorithm"},
		"no alg":                   {part(`{"kid":"r"}`) + "." + parts[1] + "." + parts[2], "how it is signed"},
		"alg a list":               {with(`{"alg":["RS256"],"kid":"r"}`), "how it is signed"},
		"alg not allowed":          {with(`{"alg":"RS512","kid":"r"}`), "algorithm"},
		"HMAC with the public key": {hmacToken(`{"alg":"HS256","kid":"r"}`, claims, public), "algorithm"},
		"HMAC with the JWK":        {hmacToken(`{"alg":"HS256","kid":"r"}`, claims, jwk), "algorithm"},
		"HMAC that says RS256":     {hmacToken(rs.header(), claims, public), "signature"},
		"a stranger's key":         {is.token(stranger, nil), "signature"},
		"a key of another kind":    {with(`{"alg":"RS256","kid":"e"}`), "does not have"},
		"another key's algorithm":  {with(`{"alg":"ES256","kid":"r"}`), "does not have"},
		"a key by its header":      {stranger.sign(`{"alg":"RS256","kid":"r","jwk":`+string(jwk)+`}`, claims), "signature"},
		"a key from elsewhere":     {stranger.sign(`{"alg":"RS256","kid":"x","jku":"https://evil.example.com/set"}`, claims), "does not have"},
		"kid of a number":          {with(`{"alg":"RS256","kid":1}`), "kid"},
		"kid with a line":          {with(`{"alg":"RS256","kid":"r\n"}`), "kid"},
		"type of another token":    {with(`{"alg":"RS256","kid":"r","typ":"logout+jwt"}`), "type"},
		"no type":                  {with(`{"alg":"RS256","kid":"r","typ":null}`), "type"},
		"what is critical":         {with(`{"alg":"RS256","kid":"r","crit":["exp"],"exp":1}`), "crit"},
		"b64":                      {with(`{"alg":"RS256","kid":"r","b64":true}`), "b64"},
		"alg twice":                {with(`{"alg":"RS256","alg":"RS256","kid":"r"}`), "read"},
		"sub twice":                {rs.sign(rs.header(), strings.TrimSuffix(claims, "}")+`,"sub":"admin"}`), "read"},
		"sub twice, escaped":       {rs.sign(rs.header(), strings.TrimSuffix(claims, "}")+`,"\u0073ub":"admin"}`), "read"},
		"more behind the claims":   {rs.sign(rs.header(), claims+"{}"), "read"},
		"claims of a list":         {rs.sign(rs.header(), "["+claims+"]"), "read"},
		"claims not of UTF-8":      {rs.sign(rs.header(), strings.Replace(claims, "alice", "ali\xffce", 1)), "read"},
		"deep claims":              {rs.sign(rs.header(), strings.TrimSuffix(claims, "}")+`,"a":`+strings.Repeat("[", 200)+strings.Repeat("]", 200)+"}"), "read"},
		"other claims":             {parts[0] + "." + part(strings.Replace(claims, "alice", "admin", 1)) + "." + parts[2], "signature"},
		"another header":           {part(rs.header()+" ") + "." + parts[1] + "." + parts[2], "signature"},
		"half a signature":         {good[:len(good)-20], ""},
		"padding":                  {parts[0] + "." + parts[1] + "." + parts[2] + "==", "read"},
		"two parts":                {parts[0] + "." + parts[1], "not a signed JWT"},
		"five parts":               {good + "." + parts[0] + "." + parts[1], "not a signed JWT"},
		"in JSON":                  {"eyJwYXlsb2FkIjoiIn0", "not a signed JWT"},
		"huge":                     {is.token(rs, map[string]any{"x": strings.Repeat("x", maxToken)}), "more than"},
		"two tokens":               {good + " " + good, ""},
		"two tokens with a comma":  {good + "," + good, ""},
		"tokens in a line":         {good + ", Bearer " + good, ""},
	} {
		t.Run(name, func(t *testing.T) { wantRefused(t, m, c.token, c.says) })
	}
	if got := wantGood(t, m, good); got.Subject != testIssuer+"#alice" {
		t.Error("after all that:", got)
	}
}

// An algorithm that is not allowed is no reason to ask the issuer.
func TestOnlyAllowedAlgorithmsLookForKeys(t *testing.T) {
	s := newSigner(t, "k", "ES256")
	is := newIssuer(s)
	m := is.method(t, TokenOptions{Algorithms: []string{"EdDSA"}})
	wantRefused(t, m, is.token(s, nil), "algorithm")
	wantRefused(t, m, is.token(s, map[string]any{"iss": "https://evil.example.com"}), "")
	if n := is.loads(); n != 0 {
		t.Errorf("the issuer was asked %d times", n)
	}
}

func TestSkewIsAllowedBothWays(t *testing.T) {
	s := newSigner(t, "k", "EdDSA")
	is := newIssuer(s)
	now := is.clock().Unix()
	for _, c := range []struct {
		skew        time.Duration
		claim       string
		good, wrong int64
	}{
		{0, "exp", now - 59, now - 60}, {0, "nbf", now + 60, now + 61}, {0, "iat", now + 60, now + 61},
		{5 * time.Second, "exp", now - 4, now - 5}, {5 * time.Second, "nbf", now + 5, now + 6},
		{-1, "exp", now + 1, now}, {-1, "nbf", now, now + 1}, {-1, "iat", now, now + 1},
	} {
		m := is.method(t, TokenOptions{Skew: c.skew})
		wantGood(t, m, is.token(s, map[string]any{c.claim: c.good}))
		wantRefused(t, m, is.token(s, map[string]any{c.claim: c.wrong}), "")
	}
}

// A caller with an expired token is not guessing; one that makes up a token is.
func TestExpiredTokensWereGoodOnce(t *testing.T) {
	s, stranger := newSigner(t, "k", "EdDSA"), newSigner(t, "k", "EdDSA")
	is := newIssuer(s)
	m := is.method(t, TokenOptions{})
	ended := map[string]any{"exp": is.clock().Unix() - 3600}
	for token, once := range map[string]bool{is.token(s, ended): true, is.token(stranger, ended): false} {
		_, err := try(m, token)
		if r, ok := errors.AsType[*refusal](err); !ok || r.once != once {
			t.Errorf("%v, %v", r, err)
		}
	}
}

func TestAuthorizationHeaders(t *testing.T) {
	s := newSigner(t, "k", "EdDSA")
	is := newIssuer(s)
	m := is.method(t, TokenOptions{})
	good := is.token(s, nil)
	for name, c := range map[string]struct {
		values []string
		want   string // "good", "none", or what the error says
	}{
		"none":             {nil, "none"},
		"bearer":           {[]string{"bearer " + good}, "good"},
		"BEARER":           {[]string{"BEARER " + good}, "good"},
		"blanks":           {[]string{" Bearer   " + good + " "}, "good"},
		"basic":            {[]string{"Basic YTpi"}, "none"},
		"a key":            {[]string{"Bearer parley_abc"}, "another issuer, or of a kind"},
		"empty":            {[]string{"Bearer"}, "empty"},
		"blank":            {[]string{"Bearer  "}, "empty"},
		"two headers":      {[]string{"Bearer " + good, "Bearer " + good}, "more than one"},
		"two, one of them": {[]string{"Basic YTpi", "Bearer " + good}, "more than one"},
		"opaque":           {[]string{"Bearer 2YotnFZFEjr1zCsicMWpAA"}, "not a signed JWT"},
		"a tab":            {[]string{"Bearer\t" + good}, ""},
		"a line in it":     {[]string{"Bearer " + good[:9] + "\n" + good[9:]}, ""},
	} {
		got, err := m.Authenticate(bearing(c.values...))
		switch {
		case c.want == "good" && (err != nil || got == nil), c.want == "none" && (err != nil || got != nil):
			t.Errorf("%s: %v, %v", name, got, err)
		case c.want != "good" && c.want != "none" && (got != nil || !errors.Is(err, ErrCredentials) || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, %v, want %q", name, got, err, c.want)
		}
	}
}

// A guard with several issuers finds the right one; a token of no issuer is refused,
// even if anonymous callers are let in.
func TestGuardAsksTheNextIssuer(t *testing.T) {
	s := newSigner(t, "k", "EdDSA")
	is := newIssuer(s)
	o := TokenOptions{HTTPClient: &http.Client{Transport: is}, Now: is.clock}
	other, err := NewOIDC("https://other.example.com", []string{testAudience}, &o)
	if err != nil {
		t.Fatal(err)
	}
	o.Name = "second"
	ours, err := NewOIDC(testIssuer, []string{testAudience}, &o)
	if err != nil {
		t.Fatal(err)
	}
	g, err := NewGuard([]Method{other, ours}, &GuardOptions{Anonymous: true})
	if err != nil {
		t.Fatal(err)
	}
	if c, err := g.Authenticate(bearing("Bearer " + is.token(s, nil))); err != nil || c.Subject != testIssuer+"#alice" {
		t.Error(c, err)
	}
	for _, foreign := range []string{is.token(s, map[string]any{"iss": "https://third.example.com"}), "parley_abc"} {
		if c, err := g.Authenticate(bearing("Bearer " + foreign)); !errors.Is(err, a2a.ErrUnauthenticated) {
			t.Errorf("%+v, %v", c, err)
		}
	}
	if c, err := g.Authenticate(bearing()); err != nil || c.Subject != "" {
		t.Error(c, err)
	}
	card := &a2a.AgentCard{}
	if err := g.Declare(card); err != nil || card.SecuritySchemes["second"].OpenIDConnect.OpenIDConnectURL != testIssuer+"/.well-known/openid-configuration" {
		t.Error(card.SecuritySchemes, err)
	}
}

// Nothing of a token is in an error or a log, whatever is wrong with it.
func TestErrorsDoNotQuoteTokens(t *testing.T) {
	const mark = "SeCrEtMaRk"
	s := newSigner(t, mark, "EdDSA")
	known := newSigner(t, "k", "EdDSA")
	is := newIssuer(known)
	m := is.method(t, TokenOptions{Claims: Claims{Tenant: "tid", Scopes: "scope", Roles: "roles"}})
	marked := map[string]any{"sub": mark, "tid": mark, "scope": mark, "jti": mark}
	var tokens []string
	for _, by := range []signer{s, known} {
		tokens = append(tokens, is.token(by, marked))
		for _, claim := range []string{"iss", "aud", "exp", "nbf", "iat", "sub", "tid", "scope", "roles", "cnf"} {
			for _, v := range []any{mark, mark + "\n", []any{mark, 7}, map[string]any{mark: mark}, nil} {
				changes := map[string]any{"tid": "t", "scope": mark, "jti": mark}
				changes[claim] = v
				tokens = append(tokens, is.token(by, changes))
			}
		}
		for _, name := range []string{"alg", "typ", "kid", "crit", "jwk", "jku", "x5c"} {
			tokens = append(tokens, by.sign(`{"alg":"EdDSA","kid":"k",`+fmt.Sprintf("%q:%q}", name, mark), is.tokenClaims(marked)),
				by.sign(fmt.Sprintf(`{"alg":"EdDSA",%q:%q}`, name, mark), is.tokenClaims(marked)))
		}
	}
	tokens = append(tokens, mark, mark+"."+mark+"."+mark, part(`{"`+mark+`":`)+"."+mark+".x", strings.Repeat(mark, 1000))
	refused := 0
	for _, token := range tokens {
		if _, err := try(m, token); err != nil {
			refused++
			if strings.Contains(err.Error(), mark) || strings.Contains(err.Error(), part(mark)[:10]) {
				t.Errorf("an error says %s", err)
			}
		}
	}
	if refused < 100 || strings.Contains(is.log.String(), mark) {
		t.Errorf("of %d tokens %d were refused; the log says %s", len(tokens), refused, &is.log)
	}
}

func TestTokenOptionsThatMakeNoSense(t *testing.T) {
	for name, make := range map[string]func() (*OIDC, error){
		"no audience":       func() (*OIDC, error) { return NewOIDC(testIssuer, nil, nil) },
		"an empty audience": func() (*OIDC, error) { return NewOIDC(testIssuer, []string{""}, nil) },
		"no issuer":         func() (*OIDC, error) { return NewOIDC("", []string{"a"}, nil) },
		"http":              func() (*OIDC, error) { return NewOIDC("http://issuer.example.com", []string{"a"}, nil) },
		"http, as if local": func() (*OIDC, error) { return NewOIDC("http://localhost.example.com", []string{"a"}, nil) },
		"a user":            func() (*OIDC, error) { return NewOIDC("https://u:p@issuer.example.com", []string{"a"}, nil) },
		"a query":           func() (*OIDC, error) { return NewOIDC("https://issuer.example.com?a=b", []string{"a"}, nil) },
		"a fragment":        func() (*OIDC, error) { return NewOIDC("https://issuer.example.com#a", []string{"a"}, nil) },
		"HMAC": func() (*OIDC, error) {
			return NewOIDC(testIssuer, []string{"a"}, &TokenOptions{Algorithms: []string{"HS256"}})
		},
		"none": func() (*OIDC, error) {
			return NewOIDC(testIssuer, []string{"a"}, &TokenOptions{Algorithms: []string{"none"}})
		},
		"an hour of skew": func() (*OIDC, error) { return NewOIDC(testIssuer, []string{"a"}, &TokenOptions{Skew: time.Hour}) },
		"no such scope": func() (*OIDC, error) {
			return NewOIDC(testIssuer, []string{"a"}, &TokenOptions{Grants: []string{"tasks:raed"}})
		},
	} {
		if m, err := make(); err == nil {
			t.Errorf("%s became %v", name, m)
		}
	}
	for _, issuer := range []string{"key:a", "USER:a", "cert:x", "a#b", ""} {
		if _, err := NewJWT(issuer, []string{"a"}, "", nil); err == nil || !strings.Contains(err.Error(), "issuer must") {
			t.Errorf("%q: %v", issuer, err)
		}
	}
}

func BenchmarkAuthenticate(b *testing.B) {
	for _, alg := range []string{"RS256", "ES256", "EdDSA"} {
		b.Run(alg, func(b *testing.B) {
			s := newSigner(b, "k", alg)
			is := newIssuer(s)
			m := is.method(b, TokenOptions{Claims: Claims{Scopes: "scope"}})
			r := bearing("Bearer " + is.token(s, map[string]any{"scope": "tasks:read tasks:write"}))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := m.Authenticate(r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestClaimsAreJudgedBehindTheSignature: the only answer to a made-up token is that its
// signature is wrong, whatever its claims.
func TestClaimsAreJudgedBehindTheSignature(t *testing.T) {
	s, stranger := newSigner(t, "k", "ES256"), newSigner(t, "k", "ES256")
	is := newIssuer(s)
	m := is.method(t, TokenOptions{})
	var first string
	for i, claims := range []map[string]any{
		nil, {"aud": "elsewhere"}, {"aud": nil}, {"cnf": map[string]any{"jkt": "x"}}, {"exp": 1}, {"sub": nil},
	} {
		_, err := try(m, is.token(stranger, claims))
		if err == nil {
			t.Fatalf("%v: taken", claims)
		}
		if i == 0 {
			first = err.Error()
		}
		if err.Error() != first || !strings.Contains(first, "signature") {
			t.Errorf("%v: %v, want %s", claims, err, first)
		}
		if _, err := try(m, is.token(s, claims)); (err == nil) != (claims == nil) || err != nil && err.Error() == first {
			t.Errorf("%v, signed by the issuer: %v", claims, err)
		}
	}
	for range 20 {
		_, _ = try(m, stranger.sign(`{"alg":"ES256","kid":"made up"}`, is.tokenClaims(map[string]any{"aud": "elsewhere"})))
	}
	if n := is.loads(); n > 2 {
		t.Errorf("the keys were looked up %d times", n)
	}
}
