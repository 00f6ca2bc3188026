package a2aserver

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/a2a"
)

// R-193 R-194 R-209 R-210 R-211 R-280.
func TestCardIsCached(t *testing.T) {
	h := New(&fake{}, testCard(), nil)
	w := do(h, "GET", cardPath, "")
	etag, modified := w.Header().Get("ETag"), w.Header().Get("Last-Modified")
	if w.Code != 200 || w.Header().Get("Content-Type") != "application/json" || w.Header().Get("Cache-Control") != "public, max-age=300" {
		t.Errorf("%d %v", w.Code, w.Header())
	}
	if len(etag) < 10 || etag[0] != '"' || modified == "" {
		t.Errorf("ETag %s, Last-Modified %s", etag, modified)
	}
	if !json.Valid(w.Body.Bytes()) {
		t.Error(w.Body)
	}
	future := time.Now().Add(time.Hour).UTC().Format("Mon, 02 Jan 2006 15:04:05 GMT")
	for header, status := range map[string]int{
		"If-None-Match: " + etag:             304,
		`If-None-Match: "other", ` + etag:    304,
		"If-None-Match: W/" + etag:           304,
		`If-None-Match: "other"`:             200,
		"If-Modified-Since: " + modified:     304,
		"If-Modified-Since: " + future:       304,
		"If-Modified-Since: " + "yesterday":  200,
		"If-None-Match: *":                   304,
		"A2A-Version: 99.0":                  200, // the card tells which versions there are
		"A2A-Version: 0.3":                   200,
		"Accept: application/a2a+json; q=.5": 200,
	} {
		w := do(h, "GET", cardPath, "", header)
		if w.Code != status || w.Header().Get("ETag") != etag {
			t.Errorf("%s: %d", header, w.Code)
		}
		if status == 304 && (w.Body.Len() > 0 || w.Header().Get("Cache-Control") == "") {
			t.Errorf("%s: %v %s", header, w.Header(), w.Body)
		}
	}
	if w := do(h, "HEAD", cardPath, ""); w.Code != 200 || w.Body.Len() > 0 || w.Header().Get("ETag") != etag {
		t.Errorf("HEAD: %d %v %s", w.Code, w.Header(), w.Body)
	}
	if w := do(h, "POST", cardPath, "{}"); w.Code != 405 || w.Header().Get("Allow") != "GET, HEAD" {
		t.Errorf("POST: %d %v", w.Code, w.Header())
	}
	other := testCard()
	other.Version = "2"
	if w := do(New(&fake{}, other, nil), "GET", cardPath, ""); w.Header().Get("ETag") == etag {
		t.Error("another card has the same ETag")
	}
	for age, want := range map[time.Duration]string{-1: "public, max-age=0", 90 * time.Second: "public, max-age=90"} {
		w := do(New(&fake{}, other, &Options{CardMaxAge: age}), "GET", cardPath, "")
		if got := w.Header().Get("Cache-Control"); got != want {
			t.Errorf("Cache-Control %q, want %q", got, want)
		}
	}
}

func interfaces(t *testing.T, doc []byte) []*a2a.AgentInterface {
	t.Helper()
	var card a2a.AgentCard
	if err := card.UnmarshalJSON(doc); err != nil {
		t.Fatal(err)
	}
	return card.SupportedInterfaces
}

// R-112 R-149 R-195 R-196: the interfaces on the card are where the card is.
func TestCardNamesItsInterfaces(t *testing.T) {
	at := func(url string) []*a2a.AgentInterface {
		return []*a2a.AgentInterface{
			{URL: url, ProtocolBinding: "JSONRPC", ProtocolVersion: "1.0"},
			{URL: url, ProtocolBinding: "HTTP+JSON", ProtocolVersion: "1.0"},
			{URL: url, ProtocolBinding: "JSONRPC", ProtocolVersion: "0.3"},
			{URL: url, ProtocolBinding: "HTTP+JSON", ProtocolVersion: "0.3"},
			{URL: url, ProtocolBinding: "JSONRPC", ProtocolVersion: "0.1"},
			{URL: url, ProtocolBinding: "JSONRPC", ProtocolVersion: "1.1"},
			{URL: url, ProtocolBinding: "HTTP+JSON", ProtocolVersion: "1.1"},
		}
	}
	for host, url := range map[string]string{
		"agent.example.org":      "http://agent.example.org",
		"127.0.0.1:7275":         "http://127.0.0.1:7275",
		"[::1]:7275":             "http://[::1]:7275",
		"a_b-c.internal:1":       "http://a_b-c.internal:1",
		"":                       "",
		"a b":                    "",
		"a/b":                    "",
		"user@host":              "",
		"host:port":              "",
		"host:":                  "",
		"host:123456":            "",
		"[::1":                   "",
		"[fe80::1%25eth0]":       "",
		"[127.0.0.1]":            "",
		"::1":                    "",
		"h\"><script>":           "",
		strings.Repeat("x", 300): "",
	} {
		r := httptest.NewRequest("GET", cardPath, nil)
		r.Host = host
		r.Header.Set("X-Forwarded-Host", "evil.example.org")
		w := httptest.NewRecorder()
		New(&fake{}, testCard(), nil).ServeHTTP(w, r)
		if url == "" {
			if w.Code != 400 || !strings.Contains(w.Body.String(), "Host header") {
				t.Errorf("host %q: %d %s", host, w.Code, w.Body)
			}
			continue
		}
		if d := cmp.Diff(at(url), interfaces(t, w.Body.Bytes())); d != "" {
			t.Errorf("host %q: %s", host, d)
		}
	}

	r := httptest.NewRequest("GET", cardPath, nil)
	r.TLS = &tls.ConnectionState{}
	w := httptest.NewRecorder()
	New(&fake{}, testCard(), nil).ServeHTTP(w, r)
	if d := cmp.Diff(at("https://example.com"), interfaces(t, w.Body.Bytes())); d != "" {
		t.Error(d)
	}

	w = do(New(&fake{}, testCard(), &Options{PublicURL: "https://agents.example.org/x/"}), "GET", cardPath, "")
	if d := cmp.Diff(at("https://agents.example.org/x"), interfaces(t, w.Body.Bytes())); d != "" {
		t.Error(d)
	}

	own := testCard()
	own.SupportedInterfaces = []*a2a.AgentInterface{{URL: "https://elsewhere.example.org", ProtocolBinding: "JSONRPC", ProtocolVersion: "1.0"}}
	w = do(New(&fake{}, own, &Options{PublicURL: "https://agents.example.org"}), "GET", cardPath, "")
	if d := cmp.Diff(own.SupportedInterfaces, interfaces(t, w.Body.Bytes())); d != "" {
		t.Error(d)
	}
}

// The extended card names the same interfaces as the public one, whichever address it
// was requested at.
func TestExtendedCardHasInterfaces(t *testing.T) {
	card := testCard()
	card.SupportedInterfaces = nil
	for mount, h := range map[string]http.Handler{
		"":      New(&bareCards{}, card, nil),
		"/a/b":  http.StripPrefix("/a/b", New(&bareCards{}, card, nil)),
		"fixed": New(&bareCards{}, card, &Options{PublicURL: "https://agents.example.org/x"}),
	} {
		url := "http://example.com" + mount
		if mount == "fixed" {
			mount, url = "", "https://agents.example.org/x"
		}
		want := new(Server).interfacesAt(url, "")
		for path, body := range map[string]string{
			"":                        `{"jsonrpc":"2.0","id":1,"method":"GetExtendedAgentCard"}`,
			"/":                       `{"jsonrpc":"2.0","id":1,"method":"GetExtendedAgentCard"}`,
			"/extendedAgentCard":      "",
			"//extendedAgentCard":     "",
			"/acme/extendedAgentCard": "",
		} {
			method := "GET"
			if body != "" {
				method = "POST"
			}
			if path == "" && mount == "" {
				continue // no request line is without a path
			}
			w := do(h, method, mount+path, body)
			var answer struct{ Result json.RawMessage }
			if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
				t.Fatal(err)
			}
			if body == "" {
				answer.Result = w.Body.Bytes()
			}
			if d := cmp.Diff(want, interfaces(t, answer.Result)); d != "" {
				t.Errorf("%s %s%s (%d): %s", method, mount, path, w.Code, d)
			}
		}
	}
}

// bareCards has an extended card without interfaces.
type bareCards struct{ a2a.Unimplemented }

func (*bareCards) GetExtendedAgentCard(context.Context, *a2a.GetExtendedAgentCardRequest) (*a2a.AgentCard, error) {
	return &a2a.AgentCard{Name: "More"}, nil
}

// A client that appends a path, which begins with a slash, to an agent's URL that ends
// with one gets what it meant.
func TestASecondSlashChangesNothing(t *testing.T) {
	h := New(&fake{}, testCard(), nil)
	for _, path := range []string{"/", cardPath, "/livez", "/tasks/t1", "/acme/tasks/t1"} {
		one, two := do(h, "GET", "http://example.com"+path, ""), do(h, "GET", "http://example.com/"+path, "")
		if one.Code != 200 || two.Code != 200 || one.Body.String() != two.Body.String() {
			t.Errorf("%s: %d %s\nwith two slashes: %d %s", path, one.Code, one.Body, two.Code, two.Body)
		}
	}
	for _, path := range []string{"///tasks/t1", "/tasks//t1"} {
		if w := do(h, "GET", "http://example.com"+path, ""); w.Code != 404 {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
}

// DIALECTS 1.7: one document at both paths, for readers of every version;
// clients that ask for 1.0 get that of 1.0, and caches can tell them apart.
func TestCardForEachReader(t *testing.T) {
	has := func(doc, member string) bool { return strings.Contains(doc, `"`+member+`":`) }
	all := New(&fake{}, testCard(), nil)
	etags := map[string]string{}
	for _, path := range []string{cardPath, oldCardPath} {
		for version, older := range map[string]bool{"": true, "0.3": true, "0.2.6": true, "0.1": true, "99": true, "1.0": false, "1.0.1": false, "1.1": false} {
			w := do(all, "GET", path, "", "A2A-Version: "+version)
			doc := w.Body.String()
			if w.Code != 200 || w.Header().Get("Vary") != "A2A-Version" || !has(doc, "supportedInterfaces") {
				t.Errorf("%s in %s: %d %v", path, version, w.Code, w.Header())
			}
			for _, member := range []string{"url\":\"http://example.com\",\"protocolVersion", "preferredTransport", "additionalInterfaces", "stateTransitionHistory"} {
				if has(doc, member) != older {
					t.Errorf("%s in %s: %s: %v\n%s", path, version, member, !older, doc)
				}
			}
			kind := map[bool]string{true: "all", false: "1.0"}[older]
			etag := w.Header().Get("ETag")
			if was := etags[kind]; was != "" && was != etag {
				t.Errorf("%s in %s: ETag %s, elsewhere %s", path, version, etag, was)
			}
			etags[kind] = etag
			if w := do(all, "HEAD", path, "", "A2A-Version: "+version, "If-None-Match: "+etag); w.Code != 304 || w.Header().Get("Vary") == "" {
				t.Errorf("%s in %s: HEAD %d %v", path, version, w.Code, w.Header())
			}
		}
		if etags["all"] == etags["1.0"] {
			t.Error("two documents have one ETag")
		}
		// The query parameter counts as the header does.
		if doc := do(all, "GET", path+"?a2a-version=1.0", "").Body.String(); has(doc, "preferredTransport") {
			t.Error(doc)
		}

		pure := New(&fake{}, testCard(), &Options{CardProfile: CardV1})
		for _, version := range []string{"", "0.3", "1.0"} {
			w := do(pure, "GET", path, "", "A2A-Version: "+version)
			if has(w.Body.String(), "preferredTransport") || w.Header().Get("Vary") != "" {
				t.Errorf("%v %s", w.Header(), w.Body)
			}
			for _, in := range interfaces(t, w.Body.Bytes()) {
				if in.ProtocolVersion != "1.0" {
					t.Errorf("%s is advertised", in.ProtocolVersion)
				}
			}
		}
	}
	// A version that is not advertised is served all the same.
	pure := New(&fake{}, testCard(), &Options{CardProfile: CardV1})
	if w := do(pure, "POST", "/", `{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"id":"t1"}}`); !strings.Contains(w.Body.String(), `"kind":"task"`) {
		t.Error(w.Body)
	}
}

// failing has no extended card, for a reason.
type failing struct {
	a2a.Unimplemented
	err error
}

func (f failing) GetExtendedAgentCard(context.Context, *a2a.GetExtendedAgentCardRequest) (*a2a.AgentCard, error) {
	return nil, f.err
}

// 0.2.1: the extended card is a document next to the operations.
func TestExtendedCardOf02(t *testing.T) {
	card := testCard()
	card.SupportedInterfaces = nil
	h := http.StripPrefix("/x", New(&bareCards{}, card, nil))
	w := do(h, "GET", "/x"+extendedPath, "")
	var got struct{ Name, URL, ProtocolVersion string }
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != 200 || w.Header().Get("Content-Type") != "application/json" {
		t.Fatalf("%d %v %s", w.Code, w.Header(), w.Body)
	}
	if got.Name != "More" || got.URL != "http://example.com/x" || got.ProtocolVersion != "0.3.0" {
		t.Errorf("%+v", got)
	}
	if c := w.Header().Get("Cache-Control"); c != "no-store" {
		t.Errorf("Cache-Control %q", c)
	}
	if w := do(h, "POST", "/x"+extendedPath, "{}"); w.Code != 405 {
		t.Errorf("POST: %d", w.Code)
	}
	for code, status := range map[a2a.Code]int{
		a2a.CodeUnsupportedOperation: 404, a2a.CodeExtendedAgentCardNotConfigured: 404,
		a2a.CodeUnauthenticated: 401, a2a.CodePermissionDenied: 403, a2a.CodeInternal: 500,
	} {
		w := do(New(failing{err: a2a.Errorf(code, "no")}, card, nil), "GET", extendedPath, "")
		if w.Code != status {
			t.Errorf("%s: %d %s", code, w.Code, w.Body)
		}
	}
}
