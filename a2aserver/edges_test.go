package a2aserver

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/a2a"
)

// A card of 1.0 alone still says where the agent is.
func TestCardV1NamesInterfacesOfOne(t *testing.T) {
	want := []*a2a.AgentInterface{
		{URL: "http://example.com", ProtocolBinding: "JSONRPC", ProtocolVersion: "1.0"},
		{URL: "http://example.com", ProtocolBinding: "HTTP+JSON", ProtocolVersion: "1.0"},
	}
	h := New(&fake{}, testCard(), &Options{CardProfile: CardV1})
	for _, path := range []string{cardPath, oldCardPath} {
		if d := cmp.Diff(want, interfaces(t, do(h, "GET", path, "").Body.Bytes())); d != "" {
			t.Errorf("%s: %s", path, d)
		}
	}
}

// gRPC clients take host:port and nothing else.
func TestAddressOverGRPC(t *testing.T) {
	for base, want := range map[string]string{
		"https://a.example.org":      "a.example.org:443",
		"http://a.example.org":       "a.example.org:80",
		"https://a.example.org:8443": "a.example.org:8443",
		"http://[::1]":               "[::1]:80",
		"http://[::1]:7275":          "[::1]:7275",
		"https://a.example.org/x":    "",
		"/x":                         "",
		"":                           "",
	} {
		if got := grpcHost(base); got != want {
			t.Errorf("%s: %q, want %q", base, got, want)
		}
	}
}

// What cannot be recognised is refused in the form of the version that is
// asked for: clients before 1.0 take data for an object.
func TestUnknownMethodsInTheFormOfTheVersion(t *testing.T) {
	h := New(&fake{}, testCard(), nil)
	for version, array := range map[string]bool{"1.0": true, "1.1": true, "0.3": false, "0.1": false, "": false} {
		w := do(h, "POST", "/", `{"jsonrpc":"2.0","id":1,"method":"tasks/sent","params":{}}`, "A2A-Version: "+version)
		if doc := w.Body.String(); !strings.Contains(doc, `"code":-32601`) || strings.Contains(doc, `"data":[`) != array {
			t.Errorf("%q: %s", version, doc)
		}
	}
}

// A method is told as it came, unless nobody would read it.
func TestMethodsThatAreNotAllowed(t *testing.T) {
	h := New(&fake{}, testCard(), nil)
	for method, said := range map[string]string{"PUT": "PUT is not allowed", strings.Repeat("X", 16): strings.Repeat("X", 16) + " is not", strings.Repeat("X", 17): "this method is not allowed"} {
		w := do(h, method, "/tasks/t1", "")
		if w.Code != 405 || w.Header().Get("Allow") == "" || !strings.Contains(w.Body.String(), said) {
			t.Errorf("%s: %d %v %s", method, w.Code, w.Header(), w.Body)
		}
	}
}
