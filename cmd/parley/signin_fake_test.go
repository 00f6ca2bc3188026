package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"

	"github.com/parley-a2a/parley/a2a"
)

// oidcAgent makes an agent and its issuer of one server. The issuer asks nobody: every
// sign-in succeeds, but that of the client denied. Tokens are good for a second, and
// each refresh token is taken once.
type oidcAgent struct {
	next http.Handler

	mu      sync.Mutex // protects the fields below
	n       int        // of the tokens there are now
	revoked bool
}

func oidcScheme() *a2a.SecurityScheme {
	return &a2a.SecurityScheme{OpenIDConnect: &a2a.OpenIDConnectSecurityScheme{OpenIDConnectURL: "http://ISSUER/.well-known/openid-configuration"}}
}

func (o *oidcAgent) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	base := "http://" + r.Host + "/issuer"
	say := func(status int, v any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(v)
	}
	switch path, _ := strings.CutPrefix(r.URL.Path, "/issuer"); {
	case r.URL.Path == "/.well-known/agent-card.json":
		rec := httptest.NewRecorder()
		o.next.ServeHTTP(rec, r)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, strings.ReplaceAll(rec.Body.String(), "ISSUER", r.Host+"/issuer"))
	case path == "/.well-known/openid-configuration":
		say(200, map[string]any{
			"issuer": base, "authorization_endpoint": base + "/authorize", "token_endpoint": base + "/token", "device_authorization_endpoint": base + "/device",
			"revocation_endpoint": base + "/revoke", "authorization_response_iss_parameter_supported": true,
		})
	case path == "/authorize":
		q := r.URL.Query()
		back := url.Values{"state": {q.Get("state")}, "iss": {base}, "code": {"c0de-" + q.Get("code_challenge")[:4]}}
		http.Redirect(w, r, q.Get("redirect_uri")+"?"+back.Encode(), http.StatusFound)
	case path == "/device":
		say(200, map[string]any{"device_code": "d3vice", "user_code": "ABCD-EFGH", "verification_uri": base + "/go", "interval": 1, "expires_in": 600})
	case path == "/revoke":
		o.mu.Lock()
		o.revoked = true
		o.mu.Unlock()
	case path == "/token":
		o.token(r, say)
	default:
		o.mu.Lock()
		good := !o.revoked && r.Header.Get("Authorization") == fmt.Sprintf("Bearer t0ken-%d", o.n)
		o.mu.Unlock()
		locked(func(*http.Request) bool { return good })(o.next).ServeHTTP(w, r)
	}
}

func (o *oidcAgent) token(r *http.Request, say func(int, any)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	client := r.PostFormValue("client_id")
	_, secret, _ := r.BasicAuth()
	switch grant := r.PostFormValue("grant_type"); {
	case client == "denied":
		say(400, map[string]any{"error": "access_denied", "error_description": "not today"})
	case grant == "refresh_token" && (o.revoked || r.PostFormValue("refresh_token") != fmt.Sprintf("r3fresh-%d", o.n)):
		say(400, map[string]any{"error": "invalid_grant"})
	case grant == "client_credentials" && secret != "s3cret":
		say(401, map[string]any{"error": "invalid_client"})
	default:
		o.n, o.revoked = o.n+1, false
		say(200, map[string]any{"access_token": fmt.Sprintf("t0ken-%d", o.n), "refresh_token": fmt.Sprintf("r3fresh-%d", o.n), "token_type": "Bearer", "expires_in": 1})
	}
}

// browserMain is the browser of the scripts: it goes where it is told, and says what it
// saw in a file.
func browserMain() {
	res, err := http.Get(os.Args[1])
	if err != nil {
		_ = os.WriteFile("browser", []byte(err.Error()), 0o600)
		os.Exit(1)
	}
	body, _ := io.ReadAll(res.Body)
	_ = os.WriteFile("browser", body, 0o600)
}
