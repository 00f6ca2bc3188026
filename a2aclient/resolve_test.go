package a2aclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/parley-a2a/parley/a2a"
)

func TestReferences(t *testing.T) {
	const card, old = "/.well-known/agent-card.json", "/.well-known/agent.json"
	tests := []struct{ ref, want string }{
		{"example.org", "https://example.org" + card + " https://example.org" + old},
		{"example.org:8443", "https://example.org:8443" + card + " https://example.org:8443" + old},
		{"agent", "https://agent" + card + " https://agent" + old},
		{"agent:8080", "https://agent:8080" + card + " https://agent:8080" + old},
		{"localhost", "http://localhost" + card + " http://localhost" + old},
		{"localhost:7275", "http://localhost:7275" + card + " http://localhost:7275" + old},
		{"LocalHost:7275", "http://LocalHost:7275" + card + " http://LocalHost:7275" + old},
		{"x.localhost:1", "http://x.localhost:1" + card + " http://x.localhost:1" + old},
		{"127.0.0.1:7275", "http://127.0.0.1:7275" + card + " http://127.0.0.1:7275" + old},
		{"127.9.9.9", "http://127.9.9.9" + card + " http://127.9.9.9" + old},
		{"[::1]:7275", "http://[::1]:7275" + card + " http://[::1]:7275" + old},
		{"[::1]", "http://[::1]" + card + " http://[::1]" + old},
		{"10.0.0.1:80", "https://10.0.0.1:80" + card + " https://10.0.0.1:80" + old},
		{"localhost.example.org", "https://localhost.example.org" + card + " https://localhost.example.org" + old},
		{"http://h", "http://h" + card + " http://h" + old},
		{"HTTPS://h/", "https://h" + card + " https://h" + old},
		{"https://h/agents/x", "https://h/agents/x" + card + " https://h" + card + " https://h/agents/x" + old + " https://h" + old},
		{"https://h/agents/x/?q=1#f", "https://h/agents/x" + card + " https://h" + card + " https://h/agents/x" + old + " https://h" + old},
		{"https://h/a%2Fb", "https://h/a%2Fb" + card + " https://h" + card + " https://h/a%2Fb" + old + " https://h" + old},
		{"localhost:1/agents/x", "http://localhost:1/agents/x" + card + " http://localhost:1" + card + " http://localhost:1/agents/x" + old + " http://localhost:1" + old},
		{"https://h/cards/x.json?v=2", "https://h/cards/x.json?v=2"},
		{"https://h/x/.well-known/agent", "https://h/x/.well-known/agent"},
		{"example.org/card.JSON", "https://example.org/card.JSON"},
		{"/tmp/card.json", "file /tmp/card.json"},
		{"/tmp/card", "file /tmp/card"},
		{"./card", "file ./card"},
		{"../x/card.json", "file ../x/card.json"},
		{"card.json", "file card.json"},
		{"cards/greeter.json", "file cards/greeter.json"},
		{`C:\cards\x.json`, `file C:\cards\x.json`},
		{"file:///a/b%20c.json", "file /a/b c.json"},
		{"file:///C:/card.json", "file C:/card.json"},
		{"file://localhost/a", "file /a"},
		{"file://server/a", "error"},
		{"", "error"},
		{"  ", "error"},
		{"ftp://h", "error"},
		{"https://", "error"},
		{"http://[::1", "error"},
		{"host:port:x", "error"},
	}
	for _, tt := range tests {
		got := "error"
		if ref, err := parseRef(tt.ref); err == nil {
			var list []string
			if ref.file != "" {
				list = append(list, "file "+ref.file)
			}
			for _, u := range ref.urls {
				list = append(list, u.String())
			}
			got = strings.Join(list, " ")
		}
		if got != tt.want {
			t.Errorf("%q:\n got %s\nwant %s", tt.ref, got, tt.want)
		}
	}
}

// site answers paths with documents; what it has not is 404.
type site struct {
	pages map[string]http.HandlerFunc
	asked []string
}

func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.asked = append(s.asked, r.URL.Path)
	if page, ok := s.pages[r.URL.Path]; ok {
		page(w, r)
		return
	}
	http.NotFound(w, r)
}

func doc(status int, media, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", media)
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}
}

const plainCard = `{"name":"Plain","supportedInterfaces":[{"url":"http://h/","protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}`

func TestWhereTheCardIsLookedFor(t *testing.T) {
	ok := doc(200, "application/json", plainCard)
	page := doc(200, "text/html", "<!doctype html><title>Welcome</title>")
	tests := []struct {
		name  string
		pages map[string]http.HandlerFunc
		path  string // of the reference
		asked string
		kind  CardErrorKind // -1: none
		text  string        // of the error
	}{
		{"at the root", map[string]http.HandlerFunc{wellKnown: ok}, "", wellKnown, -1, ""},
		{"by its old name", map[string]http.HandlerFunc{oldWellKnown: ok}, "", wellKnown + " " + oldWellKnown, -1, ""},
		{"below a path", map[string]http.HandlerFunc{"/a" + wellKnown: ok}, "/a/", "/a" + wellKnown, -1, ""},
		{"at the root of an agent below a path", map[string]http.HandlerFunc{wellKnown: ok}, "/a", "/a" + wellKnown + " " + wellKnown, -1, ""},
		{"behind a method check", map[string]http.HandlerFunc{"/a" + wellKnown: doc(405, "", ""), wellKnown: ok}, "/a", "/a" + wellKnown + " " + wellKnown, -1, ""},
		{"behind a page for everything", map[string]http.HandlerFunc{"/a" + wellKnown: page, wellKnown: ok}, "/a", "/a" + wellKnown + " " + wellKnown, -1, ""},
		{"exactly there", map[string]http.HandlerFunc{"/x.json": ok}, "/x.json", "/x.json", -1, ""},
		{"nowhere", nil, "", wellKnown + " " + oldWellKnown, CardNotFound, wellKnown + " (HTTP 404)"},
		{"not exactly there", map[string]http.HandlerFunc{wellKnown: ok}, "/x.json", "/x.json", CardNotFound, "/x.json (HTTP 404)"},
		{"only a page", map[string]http.HandlerFunc{wellKnown: page, oldWellKnown: page}, "", wellKnown + " " + oldWellKnown, CardInvalid, "is not JSON but an HTML page"},
		{"a page, then nothing", map[string]http.HandlerFunc{wellKnown: page}, "", wellKnown + " " + oldWellKnown, CardInvalid, "an HTML page"},
		{"another document", map[string]http.HandlerFunc{wellKnown: doc(200, "application/json", `{"hello":"world"}`), oldWellKnown: ok}, "", wellKnown, CardInvalid, "neither a name nor interfaces"},
		{"an array", map[string]http.HandlerFunc{wellKnown: doc(200, "application/json", `[]`)}, "", wellKnown, CardInvalid, ""},
		{"a broken card", map[string]http.HandlerFunc{wellKnown: doc(200, "application/json", `{"name":7}`)}, "", wellKnown, CardInvalid, "name"},
		{"a huge card", map[string]http.HandlerFunc{wellKnown: doc(200, "application/json", `{"name":"`+strings.Repeat("x", maxCard)+`"}`)}, "", wellKnown, CardInvalid, "larger than 1048576 bytes"},
		{"a host in trouble", map[string]http.HandlerFunc{wellKnown: doc(503, "", "")}, "", wellKnown, CardUnreachable, "503"},
		{"a host that wants credentials", map[string]http.HandlerFunc{wellKnown: doc(401, "", "")}, "", wellKnown, CardForbidden, "401"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := &site{pages: tt.pages}
			srv := httptest.NewServer(s)
			defer srv.Close()
			card, err := Resolve(t.Context(), srv.URL+tt.path, nil)
			if asked := strings.Join(s.asked, " "); asked != tt.asked {
				t.Errorf("asked %s, want %s", asked, tt.asked)
			}
			if tt.kind < 0 {
				if err != nil || card.Name != "Plain" {
					t.Errorf("got %+v, %v", card, err)
				}
				return
			}
			var e *CardError
			if !errors.As(err, &e) || e.Kind != tt.kind || e.Ref != srv.URL+tt.path || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("got %v, want kind %d with %q", err, tt.kind, tt.text)
			}
		})
	}
}

// A host's card is not that of an agent that is not there.
func TestCardOfAnotherAgentOfTheHost(t *testing.T) {
	for name, tt := range map[string]struct {
		at   []string // of its interfaces; # is the host
		path string
		is   bool
	}{
		"a typo beside the agent at /":   {[]string{"http://#/", "http://#/"}, "/agents/typo", false},
		"a typo beside one below a path": {[]string{"http://#/agents/typed"}, "/agents/typo", false},
		"a name that begins like it":     {[]string{"http://#/agents/typo2"}, "/agents/typo", false},
		"its own":                        {[]string{"http://#/agents/typo"}, "/agents/typo/", true},
		"one of its own":                 {[]string{"http://#/", "http://#/rpc"}, "/rpc", true},
		"the place of its bindings":      {[]string{"http://#/a2a/jsonrpc", "http://#/a2a/rest"}, "/a2a", true},
		"one of its bindings' methods":   {[]string{"http://#/a2a"}, "/a2a/v1", true},
		"one that does not know itself":  {[]string{"http://10.0.0.1:9999/"}, "/agents/typo", true},
		"no interfaces":                  {nil, "/agents/typo", true},
		"the host":                       {[]string{"http://#/rpc"}, "", true},
	} {
		var host string
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != wellKnown {
				http.NotFound(w, r)
				return
			}
			card := a2a.AgentCard{Name: "Plain"}
			for _, at := range tt.at {
				card.SupportedInterfaces = append(card.SupportedInterfaces,
					&a2a.AgentInterface{URL: strings.Replace(at, "#", host, 1), ProtocolBinding: a2a.BindingJSONRPC, ProtocolVersion: "1.0"})
			}
			_ = json.NewEncoder(w).Encode(card)
		}))
		host = strings.TrimPrefix(srv.URL, "http://")
		card, err := Resolve(t.Context(), srv.URL+tt.path, nil)
		var e *CardError
		switch {
		case tt.is && (err != nil || card.Name != "Plain"):
			t.Errorf("%s: %+v, %v", name, card, err)
		case !tt.is && (!errors.As(err, &e) || e.Kind != CardNotFound || !strings.Contains(err.Error(), strings.Replace(tt.at[0], "#", host, 1))):
			t.Errorf("%s: %+v, %v", name, card, err)
		}
		srv.Close()
	}
}

func TestCardRequestHeaders(t *testing.T) {
	var got http.Header
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.Header
		fmt.Fprint(w, plainCard)
	}))
	defer srv.Close()
	_, err := Resolve(t.Context(), srv.URL, &Options{
		Bearer: "secret", APIKey: "secret", Header: http.Header{"X-Trace": {"7"}}, Extensions: []string{"urn:a"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"A2A-Version": "1.0", "Accept": "application/json, application/a2a+json", "X-Trace": "7", "A2A-Extensions": "urn:a",
		"Authorization": "", "X-API-Key": "",
	} {
		if v := got.Get(name); v != want {
			t.Errorf("%s: %q, want %q", name, v, want)
		}
	}
}

func TestCardBehindAuthentication(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer good" {
			w.WriteHeader(401)
			return
		}
		fmt.Fprint(w, plainCard)
	}))
	defer srv.Close()
	if _, err := Resolve(t.Context(), srv.URL, &Options{Bearer: "good"}); err != nil {
		t.Error(err)
	}
	_, err := Resolve(t.Context(), srv.URL, &Options{Bearer: "bad-secret"})
	var e *CardError
	if !errors.As(err, &e) || e.Kind != CardForbidden || !errors.Is(err, a2a.ErrUnauthenticated) || strings.Contains(err.Error(), "bad-secret") {
		t.Errorf("got %v", err)
	}
}

func TestCardFiles(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "card.json")
	if err := os.WriteFile(file, []byte(plainCard), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, ref := range []string{file, "file://" + (&url.URL{Path: filepath.ToSlash(file)}).EscapedPath()} {
		if card, err := Resolve(t.Context(), ref, nil); err != nil || card.Name != "Plain" {
			t.Errorf("%s: %+v, %v", ref, card, err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "bad.json"), []byte("not JSON"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, kind := range map[string]CardErrorKind{"none.json": CardNotFound, "bad.json": CardInvalid, ".": CardNotFound} {
		_, err := Resolve(t.Context(), dir+"/"+name, nil)
		var e *CardError
		if !errors.As(err, &e) || e.Kind != kind {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestUnreachableHosts(t *testing.T) {
	srv := httptest.NewServer(http.NotFoundHandler())
	host := strings.TrimPrefix(srv.URL, "http://")
	srv.Close()
	_, err := Resolve(t.Context(), host, nil)
	var e *CardError
	var lost *TransportError
	if !errors.As(err, &e) || e.Kind != CardUnreachable || !errors.As(err, &lost) || !lost.Unreachable || lost.Host != host {
		t.Errorf("got %#v", err)
	}
	if strings.Contains(err.Error(), "assumed") {
		t.Errorf("plain HTTP was spoken: %v", err)
	}

	// A host that does not speak TLS is told apart, and not spoken to plainly.
	plain := 0
	srv = httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { plain++ }))
	defer srv.Close()
	o := &Options{HTTPClient: srv.Client()}
	o.HTTPClient.Transport.(*http.Transport).DialContext = to(strings.TrimPrefix(srv.URL, "http://"))
	_, err = Resolve(t.Context(), "agent.example:80", o)
	if !errors.As(err, &lost) || !lost.Unreachable || !strings.Contains(err.Error(), "write http://agent.example:80") || plain > 0 {
		t.Errorf("got %v, with %d plain requests", err, plain)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Resolve(ctx, "agent.example", nil); !errors.Is(err, context.Canceled) || errors.As(err, &e) {
		t.Errorf("canceled: %v", err)
	}
}

func TestSlowCard(t *testing.T) {
	block := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-block }))
	defer srv.Close()
	defer close(block)
	_, err := Resolve(t.Context(), srv.URL, &Options{UnaryTimeout: time.Millisecond})
	var e *CardError
	if !errors.As(err, &e) || e.Kind != CardUnreachable || !strings.Contains(err.Error(), "no answer within 1ms") {
		t.Errorf("got %v", err)
	}
}

// A card of version 0.x is found, and its versions are spoken.
func TestOldCards(t *testing.T) {
	for want, body := range map[string]string{
		"http://h/rpc JSONRPC 0.3, http://h/rest HTTP+JSON 0.3": `{"name":"Old","url":"http://h/rpc","protocolVersion":"0.3.0","preferredTransport":"JSONRPC","additionalInterfaces":[{"url":"http://h/rpc","transport":"JSONRPC"},{"url":"http://h/rest","transport":"HTTP+JSON"}]}`,
		"http://h/ JSONRPC 0.2":                                 `{"name":"Older","url":"http://h/","version":"1","preferredTransport":"JSONRPC","skills":[{"id":"s","name":"S","description":"d","tags":["t"]}]}`,
	} {
		srv := httptest.NewServer(&site{pages: map[string]http.HandlerFunc{oldWellKnown: doc(200, "application/json", body)}})
		c, err := Dial(t.Context(), srv.URL, nil)
		srv.Close()
		if err != nil {
			t.Error(err)
			continue
		}
		var got []string
		for _, f := range c.faces {
			got = append(got, f.iface.URL+" "+f.iface.ProtocolBinding+" "+f.version)
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("got %s, want %s", strings.Join(got, ", "), want)
		}
	}
}

func TestReferencesInErrorsHaveNoSecrets(t *testing.T) {
	srv := httptest.NewServer(http.NotFoundHandler())
	defer srv.Close()
	host := strings.TrimPrefix(srv.URL, "http://")
	for _, ref := range []string{
		"http://user:secret@" + host, "http://" + host + "/x.json?key=secret", "user:secret@" + host + "/x",
		host + "/x?key=secret", host + "?key=secret", host + "/x?to=me@secret", host + "/%zz?key=secret", "http://" + host + "/%zz?key=secret",
		host + "/%zz?to=me@secret", "http://" + host + "/%zz?to=me@secret", host + "/%zz#secret", "user:secret@" + host + "/%zz", "user:se?cret@" + host,
	} {
		_, err := Resolve(t.Context(), ref, nil)
		if err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%v", err)
		}
	}
}

// to returns a dialer that goes to addr, whatever host is asked for.
func to(addr string) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", addr)
	}
}

func TestABusyHostSaysWhenToAskForItsCard(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "60")
		w.WriteHeader(http.StatusTooManyRequests)
	}))
	defer srv.Close()
	_, err := Resolve(t.Context(), srv.URL, nil)
	var e *a2a.Error
	if !errors.As(err, &e) || e.Code != a2a.CodeRateLimited || e.RetryAfter != time.Minute {
		t.Errorf("got %v", err)
	}
}
