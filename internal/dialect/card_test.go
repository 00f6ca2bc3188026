package dialect

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/parley-a2a/parley/a2a"
)

func iface(url, binding, version string) *a2a.AgentInterface {
	return &a2a.AgentInterface{URL: url, ProtocolBinding: binding, ProtocolVersion: version}
}

func echoCard() *a2a.AgentCard {
	return &a2a.AgentCard{
		Name: "Echo", Description: "Says it again", Version: "1.0.0",
		SupportedInterfaces: []*a2a.AgentInterface{
			iface("https://h/rpc", "JSONRPC", "1.0"), iface("https://h", "HTTP+JSON", "1.0"), iface("h:443", "GRPC", "1.0"),
			iface("https://h", "HTTP+JSON", "0.3"), iface("https://h/rpc", "JSONRPC", "0.3"), iface("https://h/old", "JSONRPC", "0.1"),
			iface("https://h/rpc", "JSONRPC", "1.1"),
		},
		Capabilities: a2a.AgentCapabilities{Streaming: new(true), PushNotifications: new(true), ExtendedAgentCard: new(true)},
		SecuritySchemes: map[string]*a2a.SecurityScheme{
			"b": {HTTPAuth: &a2a.HTTPAuthSecurityScheme{Scheme: "Bearer"}},
			"k": {APIKey: &a2a.APIKeySecurityScheme{Location: "header", Name: "X-Key"}},
			"d": {OAuth2: &a2a.OAuth2SecurityScheme{Flows: a2a.OAuthFlows{DeviceCode: &a2a.OAuthFlow{DeviceAuthorizationURL: "https://d", TokenURL: "https://t", Scopes: map[string]string{"s": "S"}}}}},
		},
		SecurityRequirements: []a2a.SecurityRequirement{{"b": nil}, {"k": nil, "d": {"s"}}},
		DefaultInputModes:    []string{"text/plain"}, DefaultOutputModes: []string{"text/plain"},
		Skills: []*a2a.AgentSkill{{ID: "s", Name: "S", Description: "…", Tags: []string{"t"}, SecurityRequirements: []a2a.SecurityRequirement{{"b": nil}}}},
	}
}

func sameCard(t *testing.T, what, want string, got []byte) {
	t.Helper()
	var w, g any
	if err := json.Unmarshal([]byte(want), &w); err != nil {
		t.Fatalf("%s: the wanted document: %v", what, err)
	}
	if err := json.Unmarshal(got, &g); err != nil {
		t.Fatalf("%s: %v\n%s", what, err, got)
	}
	if d := cmp.Diff(w, g); d != "" {
		t.Errorf("%s: %s", what, d)
	}
}

// A card has the members of all versions next to each other, and each version's readers
// find theirs in their own form.
func TestCardForAll(t *testing.T) {
	sameCard(t, "all", `{
		"name": "Echo", "description": "Says it again", "version": "1.0.0",
		"url": "https://h/rpc", "protocolVersion": "0.3.0", "preferredTransport": "JSONRPC",
		"additionalInterfaces": [{"url": "https://h", "transport": "HTTP+JSON"}, {"url": "https://h/rpc", "transport": "JSONRPC"}],
		"supportedInterfaces": [
			{"url": "https://h/rpc", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
			{"url": "https://h", "protocolBinding": "HTTP+JSON", "protocolVersion": "1.0"},
			{"url": "h:443", "protocolBinding": "GRPC", "protocolVersion": "1.0"},
			{"url": "https://h", "protocolBinding": "HTTP+JSON", "protocolVersion": "0.3"},
			{"url": "https://h/rpc", "protocolBinding": "JSONRPC", "protocolVersion": "0.3"},
			{"url": "https://h/old", "protocolBinding": "JSONRPC", "protocolVersion": "0.1"},
			{"url": "https://h/rpc", "protocolBinding": "JSONRPC", "protocolVersion": "1.1"}],
		"capabilities": {"streaming": true, "pushNotifications": true, "stateTransitionHistory": false, "extendedAgentCard": true},
		"supportsAuthenticatedExtendedCard": true,
		"authentication": {"schemes": ["Bearer", "oauth2", "apiKey"]},
		"securitySchemes": {
			"b": {"type": "http", "scheme": "Bearer", "httpAuthSecurityScheme": {"scheme": "Bearer"}},
			"k": {"type": "apiKey", "in": "header", "name": "X-Key", "apiKeySecurityScheme": {"location": "header", "name": "X-Key"}},
			"d": {"type": "oauth2", "flows": {"deviceCode": {"deviceAuthorizationUrl": "https://d", "tokenUrl": "https://t", "scopes": {"s": "S"}}},
				"oauth2SecurityScheme": {"flows": {"deviceCode": {"deviceAuthorizationUrl": "https://d", "tokenUrl": "https://t", "scopes": {"s": "S"}}}}}},
		"security": [{"b": []}, {"d": ["s"], "k": []}],
		"securityRequirements": [{"schemes": {"b": {}}}, {"schemes": {"d": {"list": ["s"]}, "k": {}}}],
		"defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
		"skills": [{"id": "s", "name": "S", "description": "…", "tags": ["t"], "security": [{"b": []}], "securityRequirements": [{"schemes": {"b": {}}}]}]
	}`, AppendCard(nil, echoCard(), CardAll))

	sameCard(t, "0.3", `{
		"name": "Echo", "description": "Says it again", "version": "1.0.0",
		"url": "https://h/rpc", "protocolVersion": "0.3.0", "preferredTransport": "JSONRPC",
		"additionalInterfaces": [{"url": "https://h", "transport": "HTTP+JSON"}, {"url": "https://h/rpc", "transport": "JSONRPC"}],
		"capabilities": {"streaming": true, "pushNotifications": true, "stateTransitionHistory": false},
		"supportsAuthenticatedExtendedCard": true,
		"securitySchemes": {
			"b": {"type": "http", "scheme": "Bearer"},
			"k": {"type": "apiKey", "in": "header", "name": "X-Key"},
			"d": {"type": "oauth2", "flows": {"deviceCode": {"deviceAuthorizationUrl": "https://d", "tokenUrl": "https://t", "scopes": {"s": "S"}}}}},
		"security": [{"b": []}, {"d": ["s"], "k": []}],
		"defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
		"skills": [{"id": "s", "name": "S", "description": "…", "tags": ["t"], "security": [{"b": []}]}]
	}`, AppendCard(nil, echoCard(), CardV03))

	if got, want := AppendCard([]byte("x"), echoCard(), CardV10), echoCard().AppendJSON([]byte("x")); !bytes.Equal(got, want) {
		t.Errorf("1.0: %s", got)
	}
}

// The older members of a card depend on which older versions are offered.
func TestCardNamesOlderVersions(t *testing.T) {
	for _, tt := range []struct {
		offered string
		want    string // url, protocolVersion, preferredTransport, number of additionalInterfaces
	}{
		{"JSONRPC 1.0 u", "   0"},
		{"JSONRPC 1.0 u, GRPC 0.3 g", "g 0.3.0 GRPC 1"},
		{"GRPC 0.3 g, JSONRPC 0.3 u", "u 0.3.0 JSONRPC 2"},
		{"JSONRPC 0.2 u, JSONRPC 0.3 u", "u 0.3.0 JSONRPC 1"},
		{"JSONRPC 0.2 u", "u 0.2.6 JSONRPC 1"},
		{"JSONRPC 0.1 u", "u   0"},
		{"JSONRPC 0.1 u, GRPC 0.3 g", "u 0.3.0 JSONRPC 1"},
		{"JSONRPC 0.30 u, FOO 9 x", "   0"},
	} {
		card := new(a2a.AgentCard)
		for offer := range strings.SplitSeq(tt.offered, ", ") {
			f := strings.Fields(offer)
			card.SupportedInterfaces = append(card.SupportedInterfaces, iface(f[2], f[0], f[1]))
		}
		var got struct {
			URL, ProtocolVersion, PreferredTransport string
			AdditionalInterfaces                     []any
		}
		if err := json.Unmarshal(AppendCard(nil, card, CardAll), &got); err != nil {
			t.Fatal(err)
		}
		s := strings.Join([]string{got.URL, got.ProtocolVersion, got.PreferredTransport, string(rune('0' + len(got.AdditionalInterfaces)))}, " ")
		if s != tt.want {
			t.Errorf("%s: %q, want %q", tt.offered, s, tt.want)
		}
	}

	// A client of 0.3 gets addresses whatever the card offers, and an agent
	// without any still has a card.
	only10 := &a2a.AgentCard{SupportedInterfaces: []*a2a.AgentInterface{nil, iface("u", "JSONRPC", "1.0"), iface("o", "JSONRPC", "0.1")}}
	if got := string(AppendCard(nil, only10, CardV03)); !strings.Contains(got, `"url":"u","protocolVersion":"0.3.0"`) {
		t.Error(got)
	}
	if got := AppendCard(nil, new(a2a.AgentCard), CardV03); !json.Valid(got) || !bytes.Contains(got, []byte(`"url":""`)) {
		t.Errorf("%s", got)
	}
}

func TestParseCardOfEachVersion(t *testing.T) {
	for _, tt := range []struct {
		name, doc  string
		interfaces []*a2a.AgentInterface
		check      func(*a2a.AgentCard) bool
	}{
		{"0.1", `{"name":"A","description":"d","url":"https://a","provider":{"organization":"O"},"version":"1","authentication":{"schemes":["Bearer"],"credentials":"secret"},
			"defaultInputModes":["text"],"capabilities":{"streaming":true,"pushNotifications":false,"stateTransitionHistory":true},"skills":[{"id":"s","name":"S"}]}`,
			[]*a2a.AgentInterface{iface("https://a", "JSONRPC", "0.2")},
			func(c *a2a.AgentCard) bool {
				return c.SecuritySchemes["Bearer"].HTTPAuth.Scheme == "Bearer" && len(c.SecurityRequirements) == 1 &&
					c.Skills[0].Tags == nil && c.DefaultInputModes[0] == "text" && c.DefaultOutputModes[0] == "text/plain" && *c.Capabilities.Streaming
			}},
		{"0.1 with its scheme as a text", `{"name":"A","url":"https://a","version":"1","authentication":{"schemes":"apiKey"},"capabilities":{},"skills":null,"provider":null}`,
			[]*a2a.AgentInterface{iface("https://a", "JSONRPC", "0.2")},
			func(c *a2a.AgentCard) bool { return c.SecuritySchemes["apiKey"].APIKey.Location == "header" }},
		{"0.1 open to everybody", `{"name":"A","url":"https://a","authentication":{"schemes":["public"]}}`,
			[]*a2a.AgentInterface{iface("https://a", "JSONRPC", "0.2")},
			func(c *a2a.AgentCard) bool { return c.SecuritySchemes == nil && c.SecurityRequirements == nil }},
		{"0.2.1", `{"name":"A","url":"https://a","supportsAuthenticatedExtendedCard":true,
			"securitySchemes":{"o":{"type":"oauth2","flows":{"password":{"tokenUrl":"p","scopes":{}},"clientCredentials":{"tokenUrl":"c","scopes":{"x":"y"}}}}},"security":[{"o":["x"]}]}`,
			[]*a2a.AgentInterface{iface("https://a", "JSONRPC", "0.2")},
			func(c *a2a.AgentCard) bool {
				f := c.SecuritySchemes["o"].OAuth2.Flows
				return *c.Capabilities.ExtendedAgentCard && f.Password == nil && f.ClientCredentials.Scopes["x"] == "y" && c.SecurityRequirements[0]["o"][0] == "x"
			}},
		{"0.2.4", `{"name":"A","url":"https://a","preferredTransport":"GRPC","additionalInterfaces":[{"url":"https://a","transport":"GRPC"},{"url":"https://b","transport":"HTTP+JSON"}]}`,
			[]*a2a.AgentInterface{iface("https://a", "GRPC", "0.2"), iface("https://b", "HTTP+JSON", "0.2")}, nil},
		{"0.2.6", `{"name":"A","url":"https://a","protocolVersion":"0.2.6","capabilities":{"extensions":[{"uri":"e"}]}}`,
			[]*a2a.AgentInterface{iface("https://a", "JSONRPC", "0.2")},
			func(c *a2a.AgentCard) bool { return c.Capabilities.Extensions[0].URI == "e" }},
		{"0.3", `{"name":"A","url":"https://a","protocolVersion":"0.3.0","securitySchemes":{"m":{"type":"mutualTLS"},"k":{"type":"apiKey","in":"cookie","name":"n"},"i":{"type":"openIdConnect","openIdConnectUrl":"u"},"?":{"type":"new"}},
			"skills":[{"id":"1","security":[{"m":[]}]},{"id":"2"}],"signatures":[{"protected":"p","signature":"s"}]}`,
			[]*a2a.AgentInterface{iface("https://a", "JSONRPC", "0.3")},
			func(c *a2a.AgentCard) bool {
				s := c.SecuritySchemes
				_, req := c.Skills[0].SecurityRequirements[0]["m"]
				return s["m"].MutualTLS != nil && s["k"].APIKey.Location == "cookie" && s["i"].OpenIDConnect.OpenIDConnectURL == "u" &&
					*s["?"] == (a2a.SecurityScheme{}) && req && c.Signatures[0].Protected == "p"
			}},
		{"0.3 in the form of its proto", `{"name":"A","url":"https://a","protocol_version":"0.3","preferred_transport":"HTTP+JSON",
			"security_schemes":{"b":{"http_auth_security_scheme":{"scheme":"Bearer"}}},"security":[{"schemes":{"b":{"list":["x"]}}}]}`,
			[]*a2a.AgentInterface{iface("https://a", "HTTP+JSON", "0.3")},
			func(c *a2a.AgentCard) bool {
				return c.SecuritySchemes["b"].HTTPAuth.Scheme == "Bearer" && c.SecurityRequirements[0]["b"][0] == "x"
			}},
		{"a draft of 1.0", `{"name":"A","url":"https://a","protocolVersions":["1.0","0.3"],"supportsExtendedAgentCard":true}`,
			[]*a2a.AgentInterface{iface("https://a", "JSONRPC", "1.0"), iface("https://a", "JSONRPC", "0.3")},
			func(c *a2a.AgentCard) bool { return *c.Capabilities.ExtendedAgentCard }},
		{"a draft with interfaces", `{"name":"A","protocolVersions":["1.0"],"supportedInterfaces":[{"url":"https://a","protocolBinding":"JSONRPC"}]}`,
			[]*a2a.AgentInterface{iface("https://a", "JSONRPC", "1.0")}, nil},
		{"1.0", `{"name":"A","supportedInterfaces":[{"url":"https://a","protocolBinding":"JSONRPC","protocolVersion":"1.0"}],"securitySchemes":{"b":{"httpAuthSecurityScheme":{"scheme":"x"}}}}`,
			[]*a2a.AgentInterface{iface("https://a", "JSONRPC", "1.0")},
			func(c *a2a.AgentCard) bool {
				return c.SecuritySchemes["b"].HTTPAuth.Scheme == "x" && c.DefaultInputModes == nil
			}},
		{"1.0 as the Go SDK writes it", `{"name":"A","supportedInterfaces":[{"url":"https://a","protocolBinding":"JSONRPC","protocolVersion":"1.0"}],"securityRequirements":[{"schemes":{"b":["x"],"c":[]}}]}`,
			[]*a2a.AgentInterface{iface("https://a", "JSONRPC", "1.0")},
			func(c *a2a.AgentCard) bool {
				r := c.SecurityRequirements[0]
				return len(r) == 2 && r["b"][0] == "x"
			}},
		{"one for all whose older address is not listed", `{"name":"A","url":"https://old","protocolVersion":"0.3.0","supportedInterfaces":[{"url":"https://a","protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}`,
			[]*a2a.AgentInterface{iface("https://a", "JSONRPC", "1.0"), iface("https://old", "JSONRPC", "0.3")}, nil},
	} {
		c, err := ParseCard([]byte(tt.doc))
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if d := cmp.Diff(tt.interfaces, c.SupportedInterfaces); d != "" {
			t.Errorf("%s: %s", tt.name, d)
		}
		if tt.check != nil && !tt.check(c) {
			t.Errorf("%s: %s", tt.name, c.AppendJSON(nil))
		}
	}
	for doc, field := range map[string]string{
		`[]`:            "",
		`{"name":1}`:    "name",
		`{"url":["u"]}`: "url",
		`{"securitySchemes":{"a":{"type":"http","scheme":7}}}`:    "securitySchemes.a.scheme",
		`{"url":"u","authentication":{"schemes":7}}`:              "authentication.schemes",
		`{"additionalInterfaces":{}}`:                             "additionalInterfaces",
		`{"skills":[{"id":"x","security":[{"a":"b"}]}]}`:          "skills[0].security[0].a",
		`{"url":"u","protocolVersion":0.3}`:                       "protocolVersion",
		`{"url":"u","supportsAuthenticatedExtendedCard":"maybe"}`: "supportsAuthenticatedExtendedCard",
	} {
		if _, err := ParseCard([]byte(doc)); err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: %v", doc, err)
		}
	}
}

// randomCard makes cards of what goes through every form that keeps it.
func randomCard(r *rand.Rand) *a2a.AgentCard {
	word := func() string { return string([]rune{rune('a' + r.IntN(26)), rune("é\"\\<1"[r.IntN(6)])}) }
	maybe := func() *bool {
		return []*bool{nil, new(true), new(false)}[r.IntN(3)]
	}
	c := echoCard()
	c.Name, c.IconURL, c.DocumentationURL = word(), word(), word()
	c.Capabilities = a2a.AgentCapabilities{Streaming: maybe(), PushNotifications: maybe(), ExtendedAgentCard: maybe()}
	c.SupportedInterfaces = nil
	for range 1 + r.IntN(6) {
		c.SupportedInterfaces = append(c.SupportedInterfaces, &a2a.AgentInterface{
			URL: word(), ProtocolBinding: []string{"JSONRPC", "HTTP+JSON", "GRPC"}[r.IntN(3)], Tenant: []string{"", "t"}[r.IntN(2)],
			ProtocolVersion: []string{"1.0", "0.3", "0.2", "0.1", "1.1", "0.3.0", "2.0"}[r.IntN(7)],
		})
	}
	flow := &a2a.OAuthFlow{AuthorizationURL: word(), TokenURL: word(), Scopes: map[string]string{word(): word()}}
	s := map[string]*a2a.SecurityScheme{word(): {MutualTLS: &a2a.MutualTLSSecurityScheme{Description: word()}}, word(): {}}
	s[word()] = &a2a.SecurityScheme{OpenIDConnect: &a2a.OpenIDConnectSecurityScheme{OpenIDConnectURL: word()}}
	s[word()] = &a2a.SecurityScheme{OAuth2: &a2a.OAuth2SecurityScheme{Flows: []a2a.OAuthFlows{
		{AuthorizationCode: flow}, {ClientCredentials: flow}, {Implicit: flow}, {Password: flow}, {DeviceCode: flow}, {},
	}[r.IntN(6)], OAuth2MetadataURL: word()}}
	s[word()] = &a2a.SecurityScheme{HTTPAuth: &a2a.HTTPAuthSecurityScheme{Scheme: word(), BearerFormat: word()}}
	c.SecuritySchemes = s
	for name := range s {
		c.SecurityRequirements = append(c.SecurityRequirements, a2a.SecurityRequirement{name: {word()}, "schemes": nil})
	}
	return c
}

// A card for all is read back whole, one for 0.3 except for the losses in its comment.
func TestCardsComeBack(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range many(2000) {
		card := randomCard(r)
		for _, profile := range []CardProfile{CardAll, CardV10} {
			doc := AppendCard(nil, card, profile)
			got, err := ParseCard(doc)
			if err != nil {
				t.Fatalf("%v\n%s", err, doc)
			}
			if d := cmp.Diff(card, got, cmpopts.EquateEmpty()); d != "" {
				t.Fatalf("%s\n%s", d, doc)
			}
		}
		doc := AppendCard(nil, card, CardV03)
		got, err := ParseCard(doc)
		if err != nil {
			t.Fatalf("%v\n%s", err, doc)
		}
		if again := AppendCard(nil, got, CardV03); !bytes.Equal(again, doc) && !reordered(again, doc) {
			t.Fatalf("%s\n%s", doc, again)
		}
		want := *card
		want.SupportedInterfaces = got.SupportedInterfaces
		if d := cmp.Diff(&want, got, cmpopts.EquateEmpty()); d != "" {
			t.Fatalf("%s\n%s", d, doc)
		}
	}
}

// reordered reports whether two cards differ in additionalInterfaces only,
// which begin with the main one after they were read.
func reordered(a, b []byte) bool {
	strip := func(doc []byte) map[string]any {
		var m map[string]any
		if json.Unmarshal(doc, &m) != nil {
			return nil
		}
		m["additionalInterfaces"] = len(m["additionalInterfaces"].([]any))
		return m
	}
	return cmp.Equal(strip(a), strip(b))
}

func FuzzCard(f *testing.F) {
	for _, p := range []CardProfile{CardAll, CardV10, CardV03} {
		f.Add(AppendCard(nil, echoCard(), p))
	}
	f.Add([]byte(`{"name":"A","url":"https://a","authentication":{"schemes":"Bearer"},"skills":[{"id":"x"}]}`))
	f.Add([]byte(`{"protocolVersions":["1.0"],"supportedInterfaces":[{"url":"u"}],"security":[{"schemes":{"a":{"list":[]}}}]}`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		card, err := ParseCard(doc)
		if err != nil {
			return
		}
		again, err := ParseCard(AppendCard(nil, card, CardAll))
		if err != nil {
			t.Fatalf("%v\n%s", err, AppendCard(nil, card, CardAll))
		}
		if one, two := AppendCard(nil, card, CardAll), AppendCard(nil, again, CardAll); !bytes.Equal(one, two) {
			t.Fatalf("not stable:\n%s\n%s", one, two)
		}
		if old := AppendCard(nil, card, CardV03); !json.Valid(old) {
			t.Fatalf("%s", old)
		}
	})
}
