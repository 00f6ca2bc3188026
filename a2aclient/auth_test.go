package a2aclient

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/dialect"
)

func scheme(kind, name string) *a2a.SecurityScheme {
	switch kind {
	case "http":
		return &a2a.SecurityScheme{HTTPAuth: &a2a.HTTPAuthSecurityScheme{Scheme: name}}
	case "oauth":
		return &a2a.SecurityScheme{OAuth2: &a2a.OAuth2SecurityScheme{}}
	}
	return &a2a.SecurityScheme{APIKey: &a2a.APIKeySecurityScheme{Location: kind, Name: name}}
}

func TestWhereCredentialsGo(t *testing.T) {
	type schemes = map[string]*a2a.SecurityScheme
	tests := []struct {
		name     string
		schemes  schemes
		required string
		bearer   string // of the request's Authorization
		header   string // name of the header with the API key
		query    string
		cookie   string
	}{
		{"a silent card", nil, "", "Bearer tok", "X-Api-Key", "", ""},
		{"bearer and key", schemes{"a": scheme("http", "bearer"), "b": scheme("header", "X-Key")}, "", "Bearer tok", "X-Key", "", ""},
		{"another HTTP scheme", schemes{"a": scheme("http", "DPoP")}, "", "DPoP tok", "", "", ""},
		{"another HTTP scheme beside OAuth", schemes{"a": scheme("http", "Basic"), "b": scheme("oauth", "")}, "", "Bearer tok", "", "", ""},
		{"a query", schemes{"a": scheme("query", "key")}, "", "", "", "key=k%26%3D1", ""},
		{"a cookie", schemes{"a": scheme("cookie", "sid")}, "", "", "", "", "sid=k&=1"},
		{"the scheme that is required", schemes{"a": scheme("header", "X-A"), "b": scheme("header", "X-B")}, "b", "", "X-B", "", ""},
		{"the first by name", schemes{"b": scheme("header", "X-B"), "a": scheme("header", "X-A")}, "", "", "X-A", "", ""},
		{"a broken scheme", schemes{"a": {}, "b": nil, "c": scheme("header", "")}, "", "Bearer tok", "X-Api-Key", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got *http.Request
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { got = r }))
			defer srv.Close()
			card := cardAt(srv.URL, a2a.BindingJSONRPC)
			card.SecuritySchemes = tt.schemes
			if tt.required != "" {
				card.SecurityRequirements = []a2a.SecurityRequirement{{tt.required: nil}}
			}
			c, err := New(card, &Options{Bearer: "tok", APIKey: "k&=1"})
			if err != nil {
				t.Fatal(err)
			}
			_, _ = c.GetTask(t.Context(), &a2a.GetTaskRequest{ID: "t1"})
			if v := got.Header.Get("Authorization"); v != tt.bearer {
				t.Errorf("Authorization: %s, want %s", v, tt.bearer)
			}
			in := ""
			for name, v := range got.Header {
				if v[0] == "k&=1" {
					in += name
				}
			}
			if in != tt.header || got.URL.RawQuery != tt.query || got.Header.Get("Cookie") != tt.cookie {
				t.Errorf("key in header %q, query %q, cookie %q", in, got.URL.RawQuery, got.Header.Get("Cookie"))
			}
		})
	}
}

// Credentials that no scheme of the card takes are not sent, and the caller can
// see which.
func TestCredentialsWithoutASchemeAreWithheld(t *testing.T) {
	for _, tt := range []struct {
		kind, name string
		o          Options
		want       string
	}{
		{"header", "X-Key", Options{Bearer: "tok", APIKey: "k"}, "a bearer token"},
		{"http", "Bearer", Options{User: "u", Password: "p"}, "a user and password"},
		{"http", "Bearer", Options{APIKey: "k"}, "an API key"},
		{"http", "Bearer", Options{Bearer: "tok"}, ""},
		{"header", "X-Key", Options{Bearer: "tok"}, ""}, // it is the key
		{"query", "key", Options{Bearer: "tok"}, "a bearer token"},
	} {
		card := cardAt("http://h", a2a.BindingJSONRPC)
		card.SecuritySchemes = map[string]*a2a.SecurityScheme{"a": scheme(tt.kind, tt.name)}
		c, err := New(card, &tt.o)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(c.Withheld(), ", "); got != tt.want {
			t.Errorf("%s %s: %q is withheld, want %q", tt.kind, tt.name, got, tt.want)
		}
	}
}

// Of the extensions that a card requires, those of this project are declared and the
// others named.
func TestRequiredExtensions(t *testing.T) {
	var got http.Header
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { got = r.Header }))
	defer srv.Close()
	card := cardAt(srv.URL, a2a.BindingJSONRPC)
	card.Capabilities.Extensions = []*a2a.AgentExtension{
		{URI: dialect.RetryURI, Required: true}, {URI: "https://example.org/mine", Required: true},
		{URI: "https://example.org/strange", Required: true}, {URI: "https://example.org/optional"},
	}
	c, err := New(card, &Options{Extensions: []string{"https://example.org/mine"}})
	if err != nil {
		t.Fatal(err)
	}
	_, _ = c.GetTask(t.Context(), &a2a.GetTaskRequest{ID: "t1"})
	if want := "https://example.org/mine," + dialect.RetryURI; got.Get("A2A-Extensions") != want {
		t.Errorf("declared %q, want %q", got.Get("A2A-Extensions"), want)
	}
	if l := c.Lacking(); len(l) != 1 || l[0] != "https://example.org/strange" {
		t.Errorf("lacking: %v", l)
	}
}

// A version without tenants cannot be forced on an interface that has one.
func TestAForcedVersionWithoutTenants(t *testing.T) {
	card := cardAt("http://h", a2a.BindingJSONRPC)
	card.SupportedInterfaces[0].Tenant = "acme"
	_, err := New(card, &Options{Version: "0.3"})
	if !errors.Is(err, a2a.ErrVersionNotSupported) || !strings.Contains(err.Error(), "A2A 0.3 has no tenants") || !strings.Contains(err.Error(), "acme") {
		t.Errorf("got %v", err)
	}
}

func TestUserAndPassword(t *testing.T) {
	var got *http.Request
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { got = r }))
	defer srv.Close()
	card := cardAt(srv.URL, a2a.BindingJSONRPC)
	card.SecuritySchemes = map[string]*a2a.SecurityScheme{"a": scheme("http", "Basic"), "b": scheme("header", "X-Key")}
	for _, o := range []*Options{{User: "jürgen", Password: "a:b c"}, {User: "u", APIKey: "k"}, {Password: "p"}} {
		c, err := New(card, o)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = c.GetTask(t.Context(), &a2a.GetTaskRequest{ID: "t1"})
		if user, password, ok := got.BasicAuth(); !ok || user != o.User || password != o.Password || got.Header.Get("X-Key") != o.APIKey {
			t.Errorf("%+v arrived as %v", o, got.Header)
		}
	}
	for _, o := range []*Options{{User: "u", Bearer: "b"}, {User: "a:b"}, {User: "u", Password: "a\nb"}} {
		if _, err := New(card, o); !errors.Is(err, a2a.ErrInvalidParams) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

func TestCredentialsThatNoHeaderCarries(t *testing.T) {
	for _, o := range []*Options{{Bearer: "sec\nret"}, {APIKey: "secret\r\n"}, {Bearer: "\x00secret"}} {
		_, err := New(cardAt("http://h", a2a.BindingJSONRPC), o)
		if !errors.Is(err, a2a.ErrInvalidParams) || strings.Contains(err.Error(), "ret") {
			t.Errorf("got %v", err)
		}
	}
}

// Credentials, headers of the caller's and the page they came from reach no
// other host, however a server redirects, on requests of every kind.
func TestNoCredentialsLeakOnRedirects(t *testing.T) {
	for _, status := range []int{301, 302, 303, 307, 308} {
		for _, location := range []string{"header", "query", "cookie"} {
			var leaked []string
			thief := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				var all bytes.Buffer
				all.WriteString(r.URL.String() + "\n")
				_ = r.Header.Write(&all)
				leaked = append(leaked, all.String())
				w.WriteHeader(401) // give me more
			}))
			to := strings.Replace(thief.URL, "127.0.0.1", "localhost", 1)
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, to+"/stolen", status)
			}))
			card := cardAt(srv.URL, a2a.BindingJSONRPC)
			card.SecuritySchemes = map[string]*a2a.SecurityScheme{"a": scheme(location, "k")}
			var log bytes.Buffer
			o := &Options{
				Bearer: "SECRET-TOKEN", APIKey: "SECRET-KEY", Header: http.Header{"X-Mine": {"SECRET-HEADER"}},
				Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
			}
			c, err := New(card, o)
			if err != nil {
				t.Fatal(err)
			}
			for op, perform := range operations(c) {
				_, err := perform(t.Context())
				var lost *TransportError
				if !errors.As(err, &lost) || lost.Unreachable || strings.Contains(err.Error(), "SECRET") || !strings.Contains(err.Error(), "redirects") {
					t.Errorf("%d: %v: %v", status, op, err)
				}
			}
			if len(leaked) > 0 {
				t.Errorf("%d, %s: with credentials the redirect was followed", status, location)
			}
			// Without them it may be, but what the caller put into headers stays.
			_, _ = Resolve(t.Context(), srv.URL, o)
			plain, err := New(card, &Options{Header: o.Header, Logger: o.Logger})
			if err != nil {
				t.Fatal(err)
			}
			_, _ = plain.SendMessage(t.Context(), hello())
			for _, l := range append(leaked, log.String()) {
				if strings.Contains(l, "SECRET") || strings.Contains(l, "Referer") {
					t.Errorf("%d, %s: leaked %s", status, location, l)
				}
			}
			if log.Len() == 0 {
				t.Error("nothing was logged")
			}
			srv.Close()
			thief.Close()
		}
	}
}

// On the same host a redirect that keeps the request is followed.
func TestRedirectOnTheSameHost(t *testing.T) {
	f := &fake{handle: func(x *exchange) { x.json(results()[x.op]) }}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/old") {
			http.Redirect(w, r, strings.Replace(r.RequestURI, "/old", "", 1), http.StatusPermanentRedirect)
			return
		}
		f.ServeHTTP(w, r)
	}))
	defer srv.Close()
	both(t, func(t *testing.T, binding string) {
		f.calls = nil
		c, err := New(cardAt(srv.URL+"/old", binding), &Options{Bearer: "tok"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.SendMessage(t.Context(), hello()); err != nil {
			t.Fatal(err)
		}
		if got := f.seen()[0].header.Get("Authorization"); got != "Bearer tok" {
			t.Errorf("Authorization: %q", got)
		}
	})
}

func TestRedirectRules(t *testing.T) {
	tests := []struct {
		from, to    string
		credentials bool
		ok          bool
	}{
		{"http://h/a", "http://h/b", true, true},
		{"http://h/a", "https://h/b", true, true},
		{"http://h:80/a", "https://h:443/b", true, true},
		{"http://h/a", "https://h:8443/b", true, false},
		{"http://h:8080/a", "https://h/b", true, false},
		{"http://h/a", "http://sub.h/b", true, false},
		{"http://h/a", "http://h:81/b", true, false},
		{"http://h/a", "http://other/b", true, false},
		{"http://h/a", "http://other/b", false, true},
		{"https://h/a", "http://h/b", true, false},
		{"https://h/a", "http://h/b", false, false},
		{"https://H/a", "https://h/b", true, true},
	}
	for _, tt := range tests {
		first, err := http.NewRequest(http.MethodPost, tt.from, nil)
		if err != nil {
			t.Fatal(err)
		}
		next, err := http.NewRequest(http.MethodPost, tt.to, nil)
		if err != nil {
			t.Fatal(err)
		}
		next.Header.Set("X-Mine", "1")
		if tt.credentials {
			next = (&credentials{bearer: "x", scheme: "Bearer"}).addTo(next)
		}
		err = checkRedirect(next, []*http.Request{first})
		if (err == nil) != tt.ok {
			t.Errorf("%s to %s, credentials %v: %v", tt.from, tt.to, tt.credentials, err)
		}
		if tt.ok && !tt.credentials && next.Header.Get("X-Mine") != "" {
			t.Errorf("%s to %s keeps the caller's header", tt.from, tt.to)
		}
	}
}

// What went wrong behind a redirect is not said of the host that redirects.
func TestRedirectsThatFailNameTheirTarget(t *testing.T) {
	dead := httptest.NewServer(nil)
	dead.Close()
	host := strings.TrimPrefix(dead.URL, "http://")
	for status, want := range map[int]string{307: "the connection to " + host + " broke: ", 302: "redirects to " + dead.URL + "/b in a way"} {
		f := &fake{handle: func(x *exchange) { http.Redirect(x.w, x.r, dead.URL+"/b?key=1", status) }}
		_, err := dial(t, f, a2a.BindingJSONRPC, nil).SendMessage(t.Context(), hello())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("HTTP %d: %v, want %q", status, err, want)
		}
	}
}

// The text of an error of net/http holds the URL, and with it a key in a query.
func TestNoKeyInErrors(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { panic(http.ErrAbortHandler) }))
	card := cardAt(srv.URL, a2a.BindingJSONRPC)
	card.SecuritySchemes = map[string]*a2a.SecurityScheme{"a": scheme("query", "k")}
	var log bytes.Buffer
	c, err := New(card, &Options{APIKey: "SECRET", Retries: -1, Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	if err != nil {
		t.Fatal(err)
	}
	check := func() {
		for op, perform := range operations(c) {
			_, err := perform(t.Context())
			for e := err; e != nil; e = errors.Unwrap(e) {
				if strings.Contains(e.Error(), "SECRET") {
					t.Errorf("%v: %v", op, e)
				}
			}
			if err == nil {
				t.Errorf("%v: no error", op)
			}
		}
	}
	check()
	srv.Close()
	check()
	if strings.Contains(log.String(), "SECRET") || log.Len() == 0 {
		t.Errorf("the log: %s", log.String())
	}
}

func TestTokensAreAskedForBeforeEachRequest(t *testing.T) {
	var got []string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.URL.Path+" "+r.Header.Get("Authorization"))
	}))
	defer srv.Close()
	card := cardAt(srv.URL, a2a.BindingJSONRPC)
	n, failed := 0, errors.New("signed out")
	c, err := New(card, &Options{Token: func(_ context.Context, of *a2a.AgentCard, to *url.URL) (string, error) {
		if of != card || to.Path != "/rpc" {
			t.Errorf("asked for %s of %s", to, of.Name)
		}
		if n++; n > 2 {
			return "", failed
		}
		return []string{"", "one", "two"}[n], nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		_, _ = c.GetTask(t.Context(), &a2a.GetTaskRequest{ID: "t1"})
	}
	if _, err := c.GetTask(t.Context(), &a2a.GetTaskRequest{ID: "t1"}); !errors.Is(err, failed) {
		t.Errorf("got %v", err)
	}
	if want := []string{"/rpc Bearer one", "/rpc Bearer two"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
