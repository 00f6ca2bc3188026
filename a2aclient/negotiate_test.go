package a2aclient

import (
	"errors"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/a2a"
)

// R-197, and a2a-cli §13.1.
func TestWhichInterface(t *testing.T) {
	in := func(url, binding, version string) *a2a.AgentInterface {
		return &a2a.AgentInterface{URL: url, ProtocolBinding: binding, ProtocolVersion: version}
	}
	rpc, rest := in("http://h/rpc", "JSONRPC", "1.0"), in("http://h/rest", "HTTP+JSON", "1.0")
	grpc, custom := in("h:443", "GRPC", "1.0"), in("http://h/x", "https://example.org/binding", "1.0")
	old := in("http://h/old", "JSONRPC", "0.3")
	type list = []*a2a.AgentInterface
	tests := []struct {
		name     string
		offers   list
		bindings []string
		version  string
		want     string // URL, or the error's code
		text     string
	}{
		{"the first", list{rpc, rest}, nil, "", "http://h/rpc", ""},
		{"the first of two others", list{rest, rpc}, nil, "", "http://h/rest", ""},
		{"the first that is spoken", list{custom, nil, rest, rpc}, nil, "", "http://h/rest", ""},
		{"gRPC if it comes first", list{grpc, rest}, nil, "", "h:443", ""},
		{"gRPC at no address", list{in("dns:///h", "GRPC", "1.0"), rest}, nil, "", "http://h/rest", ""},
		{"the first of a version that is spoken", list{old, rpc}, nil, "", "http://h/rpc", ""},
		{"the caller's preference", list{rpc, rest}, []string{"HTTP+JSON", "JSONRPC"}, "", "http://h/rest", ""},
		{"a preference in small letters", list{rpc, rest}, []string{"http+json"}, "", "http://h/rest", ""},
		{"gRPC by preference", list{rpc, grpc}, []string{"GRPC"}, "", "h:443", ""},
		{"a preference that is not spoken", list{custom, rpc, rest}, []string{"https://example.org/binding", "HTTP+JSON"}, "", "http://h/rest", ""},
		{"a preference that is not offered", list{rpc}, []string{"HTTP+JSON"}, "", "http://h/rpc", ""},
		{"an interface without a version", list{in("http://h/a", "JSONRPC", "")}, nil, "", "http://h/a", ""},
		{"an interface with a patch number", list{in("http://h/a", "JSONRPC", "1.0.1")}, nil, "", "http://h/a", ""},
		{"an invalid address", list{in("h/rpc", "JSONRPC", "1.0"), rest}, nil, "", "http://h/rest", ""},
		{"a forced version", list{old, rpc}, nil, "1.0", "http://h/rpc", ""},
		{"a forced version with a patch number", list{rpc}, nil, "1.0.7", "http://h/rpc", ""},
		{"only another binding", list{custom}, nil, "", "UnsupportedOperationError", "https://example.org/binding 1.0"},
		{"the draft behind what is final", list{in("http://h/d", "JSONRPC", "1.1"), rest}, nil, "", "http://h/rest", ""},
		{"only 0.5", list{in("http://h/", "JSONRPC", "0.5"), custom}, nil, "", "VersionNotSupportedError", "JSONRPC 0.5, https://example.org/binding 1.0"},
		{"a later version", list{in("http://h/", "JSONRPC", "2.0")}, nil, "", "VersionNotSupportedError", "JSONRPC 2.0"},
		{"a version that is not spoken", list{rpc}, nil, "0.4", "VersionNotSupportedError", `"0.4"`},
		{"only an invalid address", list{in("ftp://h", "JSONRPC", "1.0")}, nil, "", "UnsupportedOperationError", "not an http or https URL"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, err := New(&a2a.AgentCard{Name: "x", SupportedInterfaces: tt.offers}, &Options{Bindings: tt.bindings, Version: tt.version})
			var e *a2a.Error
			switch {
			case errors.As(err, &e):
				if e.Code.String() != tt.want || e.Peer || !strings.Contains(err.Error(), tt.text) {
					t.Errorf("got %v: %v", e.Code, err)
				}
			case err != nil:
				t.Error(err)
			case c.Interface().URL != tt.want || c.face.Load().version != "1.0":
				t.Errorf("got %s with version %s", c.Interface().URL, c.face.Load().version)
			}
		})
	}
	for _, tt := range []struct {
		name     string
		offers   list
		bindings []string
		version  string
		want     string
	}{
		{"only 0.3", list{old, custom}, nil, "", "http://h/old 0.3"},
		{"0.3 before 0.1", list{in("http://h/1", "JSONRPC", "0.1"), old}, nil, "", "http://h/old 0.3"},
		{"0.2 is its own", list{in("http://h/2", "JSONRPC", "0.2.6")}, nil, "", "http://h/2 0.2"},
		{"the draft where there is nothing else", list{old, in("http://h/d", "JSONRPC", "1.1")}, nil, "", "http://h/d 1.1"},
		{"the draft by force", list{rpc, in("http://h/d", "JSONRPC", "1.1")}, nil, "1.1", "http://h/d 1.1"},
		{"a binding before a version", list{rpc, in("http://h/r3", "HTTP+JSON", "0.3")}, []string{"HTTP+JSON"}, "", "http://h/r3 0.3"},
		{"0.1 over what it has", list{in("http://h/1", "HTTP+JSON", "0.1"), old}, nil, "", "http://h/old 0.3"},
		{"a version by force that the card lists", list{rpc, old}, nil, "0.3", "http://h/old 0.3"},
		{"a version by force that it does not list", list{rest, rpc}, nil, "0.1", "http://h/rpc 0.1"},
		{"the same over HTTP+JSON", list{rest, rpc}, nil, "0.3", "http://h/rest 0.3"},
		{"by force, of a version that nobody knows", list{in("http://h/9", "JSONRPC", "9.0")}, nil, "1.0", "http://h/9 1.0"},
	} {
		c, err := New(&a2a.AgentCard{Name: "x", SupportedInterfaces: tt.offers}, &Options{Bindings: tt.bindings, Version: tt.version})
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
		} else if got := c.Interface().URL + " " + c.face.Load().version; got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
	}
	_, err := New(&a2a.AgentCard{Name: "x"}, nil)
	var e *CardError
	if !errors.As(err, &e) || e.Kind != CardInvalid {
		t.Errorf("without interfaces: %v", err)
	}
}
