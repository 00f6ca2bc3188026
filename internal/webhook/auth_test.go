package webhook

import (
	"encoding/base64"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/a2a"
)

func TestAuthorize(t *testing.T) {
	pair := base64.StdEncoding.EncodeToString([]byte("user:pass"))
	for _, c := range []struct{ scheme, creds, want, key string }{
		{"Bearer", "abc", "Bearer abc", ""},
		{"bearer", "a.b-c_d~e+f/g==", "Bearer a.b-c_d~e+f/g==", ""},
		{"BEARER", "abc", "Bearer abc", ""},
		{"jwt", "abc", "Bearer abc", ""},
		{"bearer", "", "", ""},
		{"JWT", "", "", ""},
		{"basic", "user:pass", "Basic " + pair, ""},
		{"Basic", pair, "Basic " + pair, ""},
		{"Basic", "user:", "Basic dXNlcjo=", ""},
		{"Basic", "jürgen:pa:ss wörd", "Basic " + base64.StdEncoding.EncodeToString([]byte("jürgen:pa:ss wörd")), ""},
		{"apiKey", "k", "ApiKey k", "k"},
		{"api-key", "k", "ApiKey k", "k"},
		{"API_KEY", "k", "ApiKey k", "k"},
		{"X-API-Key", "k", "ApiKey k", "k"},
		{"digest", `username="a", response="b"`, `Digest username="a", response="b"`, ""},
		{"Own-Scheme", "x y", "Own-Scheme x y", ""},
		{"none", "", "", ""},
		{"", "", "", ""},
	} {
		h := http.Header{}
		if err := Authorize(h, &a2a.AuthenticationInfo{Scheme: c.scheme, Credentials: a2a.Secret(c.creds)}); err != nil {
			t.Errorf("%s %s: %v", c.scheme, c.creds, err)
		}
		if h.Get("Authorization") != c.want || h.Get("X-API-Key") != c.key {
			t.Errorf("%s %s: %v", c.scheme, c.creds, h)
		}
	}
	if err := Authorize(http.Header{}, nil); err != nil {
		t.Error(err)
	}
}

// TestInjection: no text of a client begins a header line of its own.
func TestInjection(t *testing.T) {
	evil := []string{
		"a\r\nX-Evil: 1", "a\nX-Evil: 1", "a\rX-Evil: 1", "a\x00b", "\r\n", "a\r\n\r\nGET / HTTP/1.1", "a\tb", "a\x7fb", "a\x1bb", "a\u0085b", "a\u2028b", "a\u010a",
		" a", "a ", "Bearer abc", "ä", "\xff", strings.Repeat("a", maxCredentials+1),
	}
	for _, scheme := range []string{"Bearer", "Basic", "ApiKey", "Digest", "Own"} {
		for _, e := range evil {
			for _, creds := range []string{e, "user:" + e, base64.StdEncoding.EncodeToString([]byte("user:" + e))} {
				h := http.Header{}
				if Authorize(h, &a2a.AuthenticationInfo{Scheme: scheme, Credentials: a2a.Secret(creds)}) == nil {
					wantOneLine(t, h)
				}
			}
			h := http.Header{}
			if err := Authorize(h, &a2a.AuthenticationInfo{Scheme: scheme, Credentials: a2a.Secret(e)}); scheme == "Bearer" || scheme == "ApiKey" {
				var ae *a2a.Error
				if !errors.As(err, &ae) || ae.Code != a2a.CodeInvalidParams || len(h) > 0 || strings.Contains(err.Error(), "Evil") {
					t.Errorf("%s %.20q: %v, %v", scheme, e, h, err)
				}
			}
		}
	}
	for _, scheme := range append(evil, "", "a b", "a:b", "a,b", `"a"`, strings.Repeat("a", maxScheme+1)) {
		h := http.Header{}
		if err := Authorize(h, &a2a.AuthenticationInfo{Scheme: scheme, Credentials: "abc"}); err == nil || len(h) > 0 {
			t.Errorf("scheme %.20q: %v, %v", scheme, h, err)
		}
	}
	for _, token := range evil {
		if token == "Bearer abc" { // a space inside belongs to the token
			continue
		}
		if len(token) > maxCredentials || CheckToken(token) == nil {
			if len(token) <= maxNotifyToken {
				t.Errorf("token %.20q passes", token)
			}
		}
	}
	for _, token := range []string{"whsec_", "whsec_???", "whsec_abc", strings.Repeat("a", maxNotifyToken+1)} {
		if CheckToken(token) == nil {
			t.Errorf("token %.20q passes", token)
		}
	}
	for _, c := range []struct{ scheme, creds string }{{"Basic", ""}, {"ApiKey", ""}, {"Basic", "nocolon"}, {"Basic", "bm9jb2xvbg=="}, {"", "x"}, {"Bearer", "a b"}} {
		if Authorize(http.Header{}, &a2a.AuthenticationInfo{Scheme: c.scheme, Credentials: a2a.Secret(c.creds)}) == nil {
			t.Errorf("%q %q passes", c.scheme, c.creds)
		}
	}
}

// wantOneLine writes headers as HTTP/1.1 does and counts the lines.
func wantOneLine(t *testing.T, h http.Header) {
	t.Helper()
	if len(h) == 0 {
		return
	}
	r := httptest.NewRequest("POST", "/", nil)
	r.Header = h
	var b strings.Builder
	r.Header.Write(&b)
	lines := strings.Split(strings.TrimSuffix(b.String(), "\r\n"), "\r\n")
	if len(lines) != len(h) || strings.ContainsAny(strings.ReplaceAll(b.String(), "\r\n", ""), "\r\n\x00") {
		t.Errorf("%q", b.String())
	}
	for name, values := range h {
		if len(values) != 1 || !strings.Contains(b.String(), name+": "+values[0]+"\r\n") {
			t.Errorf("%q does not hold %s: %q", b.String(), name, values)
		}
	}
}

func TestSecretsAreNotSent(t *testing.T) {
	h := http.Header{}
	SetToken(h, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	SetToken(h, "")
	if len(h) > 0 {
		t.Errorf("%v", h)
	}
	SetToken(h, "abc")
	if h.Get("X-A2A-Notification-Token") != "abc" || h.Get("A2A-Notification-Token") != "abc" {
		t.Errorf("%v", h)
	}
}

func FuzzAuthorize(f *testing.F) {
	f.Add("bearer", "abc")
	f.Add("basic", "user:pass\r\n")
	f.Add("x\r\n", "y")
	f.Fuzz(func(t *testing.T, scheme, creds string) {
		h := http.Header{}
		if err := Authorize(h, &a2a.AuthenticationInfo{Scheme: scheme, Credentials: a2a.Secret(creds)}); err != nil {
			if len(h) > 0 {
				t.Errorf("%v with %v", h, err)
			}
			return
		}
		wantOneLine(t, h)
	})
}
