package console_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
)

// issuer is an OpenID Connect issuer with one client, console, which is public. Its page
// asks who somebody is and believes it; what they may do is the scope of their token.
type issuer struct {
	t      *testing.T
	url    string // of another site than the console's, for a browser
	key    *ecdsa.PrivateKey
	scopes map[string]string // what people may do, by name

	mu     sync.Mutex            // protects the field below
	grants map[string]url.Values // what the browser came with and who it is, by code
}

func newIssuer(t *testing.T, scopes map[string]string) *issuer {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	i := &issuer{t: t, key: key, scopes: scopes, grants: map[string]url.Values{}}
	s := httptest.NewServer(i)
	t.Cleanup(s.Close)
	i.url = strings.Replace(s.URL, "127.0.0.1", "localhost", 1)
	return i
}

func (i *issuer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/.well-known/openid-configuration":
		i.say(w, map[string]any{
			"issuer": i.url, "authorization_endpoint": i.url + "/authorize", "token_endpoint": i.url + "/token", "jwks_uri": i.url + "/keys",
			"response_types_supported": []string{"code"}, "code_challenge_methods_supported": []string{"S256"}, "id_token_signing_alg_values_supported": []string{"ES256"},
		})
	case "/keys":
		point, err := i.key.PublicKey.Bytes()
		if err != nil {
			i.t.Error(err)
			return
		}
		i.say(w, map[string]any{"keys": []any{map[string]any{"kty": "EC", "crv": "P-256", "kid": "k", "use": "sig", "alg": "ES256", "x": b64(point[1:33]), "y": b64(point[33:])}}})
	case "/authorize":
		i.authorize(w, r)
	case "/token":
		i.token(w, r)
	default:
		w.WriteHeader(http.StatusNoContent) // its picture
	}
}

// authorize shows whom there is to choose, and sends back the one who was chosen.
func (i *issuer) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if q.Get("client_id") != "console" || q.Get("response_type") != "code" || q.Get("code_challenge_method") != "S256" || len(q.Get("code_challenge")) != 43 || q.Get("state") == "" {
		i.t.Errorf("the browser comes with %s", r.URL.RawQuery)
	}
	name := q.Get("as")
	if name == "" {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<!doctype html><title>Issuer</title><h1>Who are you?</h1>")
		for name := range i.scopes {
			fmt.Fprintf(w, `<p><a href="?as=%s&amp;%s">%s</a>`, name, strings.ReplaceAll(r.URL.RawQuery, "&", "&amp;"), name)
		}
		return
	}
	code := rand.Text()
	i.mu.Lock()
	i.grants[code] = q
	i.mu.Unlock()
	http.Redirect(w, r, q.Get("redirect_uri")+"?"+url.Values{"code": {code}, "state": {q.Get("state")}}.Encode(), http.StatusFound)
}

// token takes a code once, from whoever began with it.
func (i *issuer) token(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	q, ok := i.grants[r.PostFormValue("code")]
	delete(i.grants, r.PostFormValue("code"))
	i.mu.Unlock()
	verifier := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	if !ok || b64(verifier[:]) != q.Get("code_challenge") || r.PostFormValue("redirect_uri") != q.Get("redirect_uri") || r.PostFormValue("client_id") != "console" {
		w.WriteHeader(http.StatusBadRequest)
		i.say(w, map[string]any{"error": "invalid_grant"})
		return
	}
	now := time.Now().Unix()
	claims := map[string]any{"iss": i.url, "sub": q.Get("as"), "aud": "console", "iat": now, "exp": now + 3600, "nonce": q.Get("nonce")}
	id := i.sign(claims)
	claims["aud"], claims["scope"] = "parley", i.scopes[q.Get("as")]
	i.say(w, map[string]any{"access_token": i.sign(claims), "id_token": id, "token_type": "Bearer", "expires_in": 3600})
}

func (i *issuer) sign(claims map[string]any) string {
	doc, err := json.Marshal(claims)
	if err != nil {
		i.t.Error(err)
	}
	text := b64([]byte(`{"alg":"ES256","kid":"k"}`)) + "." + b64(doc)
	sum := sha256.Sum256([]byte(text))
	r, s, err := ecdsa.Sign(rand.Reader, i.key, sum[:])
	if err != nil {
		i.t.Error(err)
		return ""
	}
	sig := make([]byte, 64)
	r.FillBytes(sig[:32])
	s.FillBytes(sig[32:])
	return text + "." + b64(sig)
}

func (i *issuer) say(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(v); err != nil {
		i.t.Error(err)
	}
}

func b64(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// People log in at the issuer, see what the scopes of their tokens allow, and log out.
func TestLoginAtAnIssuer(t *testing.T) {
	t.Parallel()
	if chrome == nil {
		t.Skip("there is no Chromium here")
	}
	at := newIssuer(t, map[string]string{"ann": "tasks:read tasks:write", "eve": "tasks:read", "ops": "tasks:read tasks:write admin:read"})
	s := serve(t, "--oidc-issuer", at.url, "--oidc-audience", "parley", "--oidc-client", "console", "--scope-claim", "scope")
	p := s.tab()
	p.allow("a request to another origin: " + at.url + "/") // the browser goes there
	in := func(name string) {
		t.Helper()
		p.go_(s.at("/"))
		p.press("Log in at " + strings.TrimPrefix(at.url, "http://"))
		p.until(`document.title === "Issuer"`)
		p.press(name)
		p.until(`document.readyState === "complete" && document.querySelector(".places")`)
	}
	out := func() {
		t.Helper()
		p.press("Log out")
		p.shows("Log in at")
		p.go_(s.at("/tasks"))
		p.shows("Log in at")
	}

	in("ann")
	p.say("ask hers alone?")
	p.state("input required")
	p.screen(s.at("/agents"))
	if p.says("Operate") || p.says("Webhooks") {
		t.Error("a caller without scopes of the server has its pages in the list")
	}
	out()

	in("eve")
	p.screen(s.at("/chat/-"))
	p.shows("needs the scope tasks:write")
	if p.count("#composer, textarea") != 0 {
		t.Error("a caller who may only read has a box for messages")
	}
	p.screen(s.at("/inbox"))
	p.shows("Nothing waits for you")
	out()

	in("ops")
	p.screen(s.at("/tasks"))
	p.shows("hers alone")
	p.screen(s.at("/operate?view=keys"))
	if p.count("main form") != 0 {
		t.Error("a caller who may only look at the server has forms that change it")
	}
	out()
}
