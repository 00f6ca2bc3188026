package auth

import (
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// Odd answers of issuers, and the log of them. None of them lets a token in, and their
// text is not repeated.
func TestIssuersThatAnswerOddly(t *testing.T) {
	const mark = "SeCrEtMaRk"
	a := newSigner(t, "a", "EdDSA")
	is := newIssuer(a)
	discovery := func(doc string) func(*http.Request) (*http.Response, error) {
		return func(r *http.Request) (*http.Response, error) {
			if strings.Contains(r.URL.Path, ".well-known") {
				return document(200, doc), nil
			}
			return document(200, string(is.set())), nil
		}
	}
	keys := func(status int, doc string, header ...string) func(*http.Request) (*http.Response, error) {
		return func(r *http.Request) (*http.Response, error) {
			if strings.Contains(r.URL.Path, ".well-known") {
				return document(200, `{"issuer":"`+testIssuer+`","jwks_uri":"`+testIssuer+`/set"}`), nil
			}
			res := document(status, doc)
			for i := 0; i+1 < len(header); i += 2 {
				res.Header.Set(header[i], header[i+1])
			}
			return res, nil
		}
	}
	for name, c := range map[string]struct {
		answer func(*http.Request) (*http.Response, error)
		says   string
	}{
		"another issuer":   {discovery(`{"issuer":"https://other.example.com","jwks_uri":"https://keys.example.com/set"}`), "did not match"},
		"no issuer":        {discovery(`{"jwks_uri":"https://keys.example.com/set"}`), "did not match"},
		"no keys":          {discovery(`{"issuer":"` + testIssuer + `"}`), "where its keys are"},
		"keys by http":     {discovery(`{"issuer":"` + testIssuer + `","jwks_uri":"http://keys.example.com/set"}`), "by https"},
		"keys here":        {discovery(`{"issuer":"` + testIssuer + `","jwks_uri":"http://127.0.0.1:9/set"}`), "on this machine, but the issuer is not"},
		"keys in a file":   {discovery(`{"issuer":"` + testIssuer + `","jwks_uri":"file:///etc/passwd"}`), "by https"},
		"keys nowhere":     {discovery(`{"issuer":"` + testIssuer + `","jwks_uri":"::"}`), "not a URL"},
		"no JSON":          {discovery(`<html>`), "decode"},
		"a large document": {discovery(`{"issuer":"` + testIssuer + `","x":"` + strings.Repeat("x", maxKeys) + `"}`), "larger"},
		"an endless document": {func(*http.Request) (*http.Response, error) {
			r := document(200, "")
			r.Body = io.NopCloser(endless{})
			return r, nil
		}, "larger"},
		"not found":                  {func(*http.Request) (*http.Response, error) { return document(404, mark), nil }, "HTTP 404"},
		"not modified":               {func(*http.Request) (*http.Response, error) { return document(304, mark), nil }, "HTTP 304"},
		"a redirect to nowhere":      {func(*http.Request) (*http.Response, error) { return document(302, mark), nil }, "HTTP 302"},
		"keys that are not":          {keys(200, mark), "JSON Web Key Set"},
		"keys with an error":         {keys(503, mark), "HTTP 503"},
		"keys in large":              {keys(200, strings.Repeat(" ", maxKeys+1)), "larger"},
		"a redirect to another host": {keys(302, mark, "Location", "https://evil.example.com/set"), "another host"},
		"a redirect to http":         {keys(307, mark, "Location", "http://issuer.example.com/set"), "another host"},
		"a redirect to itself":       {keys(301, mark, "Location", testIssuer+"/set"), "redirects too often"},
	} {
		is.answers(c.answer)
		is.log.Reset()
		m := is.method(t, TokenOptions{})
		wantUnknown(t, m, is.token(a, nil))
		if s := is.log.String(); !strings.Contains(s, c.says) || strings.Contains(s, mark) || len(s) > 1000 {
			t.Errorf("%s: the log says %.1000s", name, s)
		}
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

func TestRedirectsOnOneHostAreFollowed(t *testing.T) {
	a := newSigner(t, "a", "EdDSA")
	is := newIssuer(a)
	is.answers(func(r *http.Request) (*http.Response, error) {
		switch r.URL.String() {
		case testIssuer + "/.well-known/openid-configuration":
			res := document(301, "")
			res.Header.Set("Location", "/elsewhere")
			return res, nil
		case "https://issuer.example.com/elsewhere":
			return document(200, `{"issuer":"`+testIssuer+`","jwks_uri":"https://keys.example.com/set"}`), nil
		case "https://keys.example.com/set":
			return document(200, string(is.set())), nil
		}
		return nil, errors.New("there is nothing at " + r.URL.String())
	})
	wantGood(t, is.method(t, TokenOptions{}), is.token(a, nil))
}

// The same with real connections: in clear on this machine, and by TLS with a check of
// the certificate.
func TestIssuerOverTheNetwork(t *testing.T) {
	a := newSigner(t, "a", "RS256")
	is := newIssuer(a)
	var address string
	serve := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/set") {
			_, _ = w.Write(is.set())
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"issuer":"`+address+`","jwks_uri":"`+address+`/set"}`)
	})
	for _, secure := range []bool{false, true} {
		o := &TokenOptions{Now: is.clock, Logger: newTokenLog(t)}
		server := httptest.NewUnstartedServer(serve)
		server.Config.ErrorLog = log.New(io.Discard, "", 0) // of the handshake that is meant to fail
		if secure {
			server.StartTLS()
			o.HTTPClient = server.Client()
		} else {
			server.Start()
		}
		defer server.Close()
		address = server.URL
		m, err := NewOIDC(address, []string{testAudience}, o)
		if err != nil {
			t.Fatal(err)
		}
		if c := wantGood(t, m, is.token(a, map[string]any{"iss": address})); c.Subject != address+"#alice" {
			t.Errorf("%+v", c)
		}
		if secure {
			o.HTTPClient = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12}}}
			if m, err = NewOIDC(address, []string{testAudience}, o); err != nil {
				t.Fatal(err)
			}
			wantUnknown(t, m, is.token(a, map[string]any{"iss": address}))
		}
	}
}
