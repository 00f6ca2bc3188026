package a2aclient

import (
	"errors"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/a2a"
)

// Where there is no card, these are asked for, in this order.
func TestGuesses(t *testing.T) {
	var base *url.URL
	for _, tt := range []struct {
		path string
		opts *Options
		want []string
	}{
		{"/", nil, []string{"1.0 JSONRPC https://h:1/", "0.3 JSONRPC https://h:1/", "0.1 JSONRPC https://h:1/", "1.0 HTTP+JSON https://h:1/",
			"0.3 HTTP+JSON https://h:1/", "1.0 GRPC https://h:1", "0.3 GRPC https://h:1"}},
		{"/x", nil, []string{"1.0 JSONRPC https://h:1/x", "0.3 JSONRPC https://h:1/x", "0.1 JSONRPC https://h:1/x", "1.0 HTTP+JSON https://h:1/x",
			"0.3 HTTP+JSON https://h:1/x"}},
		{"", &Options{Version: "0.3.1"}, []string{"0.3 JSONRPC https://h:1", "0.3 HTTP+JSON https://h:1", "0.3 GRPC https://h:1"}},
		{"/x", &Options{Version: "0.1"}, []string{"0.1 JSONRPC https://h:1/x"}},
		{"/x", &Options{Bindings: []string{"grpc", "JSONRPC"}, Version: "1.0"}, []string{"1.0 GRPC https://h:1", "1.0 JSONRPC https://h:1/x"}},
	} {
		var err error
		if base, err = url.Parse("https://h:1" + tt.path); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, of := range NewResolver(tt.opts).guesses(base) {
			got = append(got, of.version+" "+of.iface.ProtocolBinding+" "+of.iface.URL)
			if of.iface.ProtocolVersion != of.version {
				t.Errorf("%s is offered as %s", of.version, of.iface.ProtocolVersion)
			}
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s, %+v:\n got %q\nwant %q", tt.path, tt.opts, got, tt.want)
		}
	}
	c := guessedCard(base, offer{&a2a.AgentInterface{}, "1.0"}).Capabilities
	for _, may := range []*bool{c.Streaming, c.PushNotifications, c.ExtendedAgentCard} {
		if may == nil || !*may {
			t.Errorf("what an agent without a card lacks it has to say itself: %+v", c)
		}
	}
}

// The memory of agents found without a card is bounded.
func TestFoundAgentsAreBounded(t *testing.T) {
	agent := &oldAgent{speaks: "1.0"}
	srv := httptest.NewServer(agent)
	defer srv.Close()
	r := NewResolver(nil)
	r.found = map[string]*a2a.AgentCard{}
	for i := range maxCached {
		r.found[strings.Repeat("x", i+1)] = nil
	}
	if _, err := r.Dial(t.Context(), srv.URL); err != nil {
		t.Fatal(err)
	}
	if len(r.found) != 1 {
		t.Errorf("%d agents are remembered", len(r.found))
	}
}

// A card that cannot be used says why: what it offers, and whether the version
// is to blame.
func TestCardsThatOfferNothing(t *testing.T) {
	in := func(binding, version, url string) *a2a.AgentInterface {
		return &a2a.AgentInterface{URL: url, ProtocolBinding: binding, ProtocolVersion: version}
	}
	many := slices.Repeat([]*a2a.AgentInterface{in("FOO", "1.0", "http://h")}, 20)
	for _, tt := range []struct {
		offers []*a2a.AgentInterface
		code   a2a.Code
		says   []string
	}{
		{[]*a2a.AgentInterface{nil, in("FOO", "1.0", "http://h")}, a2a.CodeUnsupportedOperation, []string{"FOO 1.0", "1.0, 0.3, 0.2, 0.1, 1.1", "JSONRPC, HTTP+JSON, GRPC"}},
		{[]*a2a.AgentInterface{in("FOO", "1.0", "http://h"), in("JSONRPC", "9.0", "http://h")}, a2a.CodeVersionNotSupported, []string{"JSONRPC 9.0"}},
		{[]*a2a.AgentInterface{in("JSONRPC", "1.0", "ftp://h")}, a2a.CodeUnsupportedOperation, []string{`JSONRPC 1.0 at "ftp://h", which is not an http or https URL;`}},
		{[]*a2a.AgentInterface{in("", "1.0", "http://h")}, a2a.CodeUnsupportedOperation, []string{"offers no protocolBinding 1.0;"}},
		{[]*a2a.AgentInterface{in("GRPC", "1.0", "h")}, a2a.CodeUnsupportedOperation, []string{"not an http or https URL or host:port"}},
		{[]*a2a.AgentInterface{in("GRPC", "0.1", "h:1")}, a2a.CodeVersionNotSupported, []string{"GRPC 0.1"}},
		{many, a2a.CodeUnsupportedOperation, []string{"…;"}},
	} {
		_, err := New(&a2a.AgentCard{Name: "x", SupportedInterfaces: tt.offers}, nil)
		var e *a2a.Error
		if !errors.As(err, &e) || e.Code != tt.code {
			t.Errorf("%v", err)
			continue
		}
		for _, s := range tt.says {
			if !strings.Contains(e.Message, s) {
				t.Errorf("%q is not in %s", s, e.Message)
			}
		}
		if strings.Count(e.Message, "FOO") > 8 {
			t.Errorf("%s", e.Message)
		}
	}
}
