package auth

import (
	"slices"
	"testing"

	"github.com/parley-a2a/parley/a2a"
)

func TestReduce(t *testing.T) {
	for _, c := range []struct{ name, card, want string }{
		{"the example of §8.4.1",
			`{"name":"Example Agent","description":"","capabilities":{"streaming":false,"pushNotifications":false,"extensions":[]},"skills":[]}`,
			`{"capabilities":{"pushNotifications":false,"streaming":false},"description":"","name":"Example Agent","skills":[]}`},
		{"signatures", `{"name":"x","signatures":[{"protected":"a"}]}`, `{"name":"x"}`},
		{"optional and empty", `{"documentationUrl":"","iconUrl":""}`, `{"documentationUrl":"","iconUrl":""}`},
		{"null is not set", `{"name":null,"iconUrl":null,"provider":null,"skills":null}`, `{}`},
		{"messages have presence", `{"provider":{},"capabilities":{"extensions":[{"params":{}}]}}`, `{"capabilities":{"extensions":[{"params":{}}]},"provider":{}}`},
		{"extensions", `{"capabilities":{"extensions":[{"uri":"","description":"","required":false},{"uri":"u","required":true}]}}`,
			`{"capabilities":{"extensions":[{},{"required":true,"uri":"u"}]}}`},
		{"parameters are free", `{"capabilities":{"extensions":[{"uri":"u","params":{"uri":"","n":1.0,"e":1e2,"l":[],"z":-0,"nil":null,"signatures":[],"🎈":"\u00e9"}}]}}`,
			`{"capabilities":{"extensions":[{"params":{"e":100,"l":[],"n":1,"nil":null,"signatures":[],"uri":"","z":0,"🎈":"é"},"uri":"u"}]}}`},
		{"interfaces", `{"supportedInterfaces":[{"url":"u","protocolBinding":"","protocolVersion":"1.0","tenant":""}]}`,
			`{"supportedInterfaces":[{"protocolBinding":"","protocolVersion":"1.0","url":"u"}]}`},
		{"skills", `{"skills":[{"id":"","name":"","description":"","tags":[],"examples":[],"inputModes":[],"outputModes":["a"],"securityRequirements":[]}]}`,
			`{"skills":[{"description":"","id":"","name":"","outputModes":["a"],"tags":[]}]}`},
		{"requirements", `{"securityRequirements":[{},{"schemes":{}},{"schemes":{"k":{"list":[]},"l":{"list":["s"]}}}]}`,
			`{"securityRequirements":[{},{},{"schemes":{"k":{},"l":{"list":["s"]}}}]}`},
		{"schemes", `{"securitySchemes":{"":{},"a":{"apiKeySecurityScheme":{"description":"","location":"","name":"n"}},"m":{"mtlsSecurityScheme":{"description":""}}}}`,
			`{"securitySchemes":{"":{},"a":{"apiKeySecurityScheme":{"location":"","name":"n"}},"m":{"mtlsSecurityScheme":{}}}}`},
		{"no schemes", `{"securitySchemes":{},"securityRequirements":[]}`, `{}`},
		{"scopes are REQUIRED where they are", `{"securitySchemes":{"o":{"oauth2SecurityScheme":{"flows":{"clientCredentials":{"tokenUrl":"","refreshUrl":"","scopes":{}}}}},` +
			`"p":{"oauth2SecurityScheme":{"flows":{"password":{"tokenUrl":"","scopes":{}}},"oauth2MetadataUrl":""}},` +
			`"c":{"oauth2SecurityScheme":{"flows":{"authorizationCode":{"scopes":{"s":""},"pkceRequired":false}}}}}}`,
			`{"securitySchemes":{"c":{"oauth2SecurityScheme":{"flows":{"authorizationCode":{"scopes":{"s":""}}}}},` +
				`"o":{"oauth2SecurityScheme":{"flows":{"clientCredentials":{"scopes":{},"tokenUrl":""}}}},"p":{"oauth2SecurityScheme":{"flows":{"password":{}}}}}}`},
		{"the other spelling", `{"icon_url":"i","supported_interfaces":[{"protocol_version":"1.0"}],"security_schemes":{"a_b":{"oauth2_security_scheme":{"oauth2_metadata_url":"m"}}}}`,
			`{"iconUrl":"i","securitySchemes":{"a_b":{"oauth2SecurityScheme":{"oauth2MetadataUrl":"m"}}},"supportedInterfaces":[{"protocolVersion":"1.0"}]}`},
		{"another form", `{"name":7,"capabilities":[{"x":1}],"skills":{"a":""},"provider":"me"}`, `{"capabilities":[{"x":1}],"name":7,"provider":"me","skills":{"a":""}}`},
	} {
		p, err := Reduce([]byte(c.card), FormWhole)
		if err != nil || len(p.Uncovered) > 0 {
			t.Errorf("%s: %v, %v", c.name, p, err)
			continue
		}
		if string(p.JSON) != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.name, p.JSON, c.want)
		}
		again, err := Reduce(p.JSON, FormWhole)
		if err != nil || string(again.JSON) != string(p.JSON) {
			t.Errorf("%s: reduced again it is %s, %v", c.name, again.JSON, err)
		}
	}
}

func TestReduceForms(t *testing.T) {
	card := []byte(`{"name":"x","description":"","url":"u","skills":[{"id":"a","security":[],"tags":["",""]}],"icon__url":"",` +
		`"securityRequirements":[{"schemes":{"k":{}}}],"capabilities":{"streaming":false,"extensions":[{"params":{"a":"","n":0}}]}}`)
	for f, want := range map[Form]string{
		FormWhole: `{"capabilities":{"extensions":[{"params":{"a":"","n":0}}],"streaming":false},"description":"","icon__url":"","name":"x",` +
			`"securityRequirements":[{"schemes":{"k":{}}}],"skills":[{"id":"a","security":[],"tags":["",""]}],"url":"u"}`,
		FormProtocol: `{"capabilities":{"extensions":[{"params":{"a":"","n":0}}],"streaming":false},"description":"","name":"x",` +
			`"securityRequirements":[{"schemes":{"k":{}}}],"skills":[{"id":"a","tags":["",""]}]}`,
		FormStripped: `{"capabilities":{"extensions":[{"params":{"n":0}}],"streaming":false},"name":"x","skills":[{"id":"a"}]}`,
	} {
		p, err := Reduce(card, f)
		if err != nil || string(p.JSON) != want {
			t.Errorf("%v:\ngot  %s, %v\nwant %s", f, p.JSON, err, want)
			continue
		}
		empty := map[Form][]string{FormProtocol: nil, FormStripped: {"capabilities.extensions[0].params.a", "description", "securityRequirements", "skills[0].tags"}}[f]
		if f != FormWhole && !slices.Equal(p.Empty, empty) {
			t.Errorf("%v: empty are %q, want %q", f, p.Empty, empty)
		}
		if left := []string{"icon__url", "skills[0].security", "url"}; f != FormWhole && !slices.Equal(p.Uncovered, left) {
			t.Errorf("%v: left out %v", f, p.Uncovered)
		}
	}
	for name, doc := range map[string]string{
		"two spellings": `{"iconUrl":"a","icon_url":"b"}`, "two spellings, one null": `{"iconUrl":null,"icon_url":"b"}`,
		"no object": `[]`, "twice": `{"name":"a","name":"a"}`,
	} {
		if p, err := Reduce([]byte(doc), FormProtocol); err == nil {
			t.Errorf("%s: it became %s", name, p.JSON)
		}
	}
}

// The reduction must know every member that our own encoder writes: otherwise
// signatures would not cover a new one.
func TestReduceKnowsEveryMember(t *testing.T) {
	p, err := Reduce(fullCard().AppendJSON(nil), FormProtocol)
	if err != nil || len(p.Uncovered) > 0 {
		t.Fatal("it does not know", p.Uncovered, err)
	}
	var back a2a.AgentCard
	if err := back.UnmarshalJSON(p.JSON); err != nil {
		t.Fatal(err)
	}
	again, err := Reduce(back.AppendJSON(nil), FormProtocol)
	if err != nil || string(again.JSON) != string(p.JSON) {
		t.Errorf("read and written again it is %s, %v", again.JSON, err)
	}
}

func fullCard() *a2a.AgentCard {
	yes, no := true, false
	scopes := map[string]string{"s": "é"}
	oauth := func(f a2a.OAuthFlows) *a2a.SecurityScheme {
		return &a2a.SecurityScheme{OAuth2: &a2a.OAuth2SecurityScheme{Description: "d", Flows: f, OAuth2MetadataURL: "m"}}
	}
	need := []a2a.SecurityRequirement{{"key": nil, "code": {"s"}}}
	return &a2a.AgentCard{
		Name: "Grüßer 🎈", Description: "Greets.", Version: "1", DocumentationURL: "d", IconURL: "i",
		SupportedInterfaces: []*a2a.AgentInterface{{URL: "https://a.example/", ProtocolBinding: "JSONRPC", ProtocolVersion: "1.0", Tenant: "t"}},
		Provider:            &a2a.AgentProvider{URL: "u", Organization: "o"},
		Capabilities: a2a.AgentCapabilities{Streaming: &yes, PushNotifications: &no, ExtendedAgentCard: &no, Extensions: []*a2a.AgentExtension{
			{URI: "u", Description: "d", Required: true, Params: a2a.JSON(`{"n":1.50,"big":1e21,"s":"\u00e9"}`)},
		}},
		SecuritySchemes: map[string]*a2a.SecurityScheme{
			"key":    {APIKey: &a2a.APIKeySecurityScheme{Description: "d", Location: "header", Name: "X"}},
			"http":   {HTTPAuth: &a2a.HTTPAuthSecurityScheme{Description: "d", Scheme: "Bearer", BearerFormat: "JWT"}},
			"oidc":   {OpenIDConnect: &a2a.OpenIDConnectSecurityScheme{Description: "d", OpenIDConnectURL: "u"}},
			"mtls":   {MutualTLS: &a2a.MutualTLSSecurityScheme{Description: "d"}},
			"code":   oauth(a2a.OAuthFlows{AuthorizationCode: &a2a.OAuthFlow{AuthorizationURL: "a", TokenURL: "t", RefreshURL: "r", Scopes: scopes, PKCERequired: true}}),
			"client": oauth(a2a.OAuthFlows{ClientCredentials: &a2a.OAuthFlow{TokenURL: "t", RefreshURL: "r", Scopes: scopes}}),
			"impl":   oauth(a2a.OAuthFlows{Implicit: &a2a.OAuthFlow{AuthorizationURL: "a", RefreshURL: "r", Scopes: scopes}}),
			"pass":   oauth(a2a.OAuthFlows{Password: &a2a.OAuthFlow{TokenURL: "t", RefreshURL: "r", Scopes: scopes}}),
			"device": oauth(a2a.OAuthFlows{DeviceCode: &a2a.OAuthFlow{DeviceAuthorizationURL: "d", TokenURL: "t", RefreshURL: "r", Scopes: scopes}}),
		},
		SecurityRequirements: need,
		DefaultInputModes:    []string{"text/plain"}, DefaultOutputModes: []string{"text/plain"},
		Skills: []*a2a.AgentSkill{{ID: "s", Name: "S", Description: "d", Tags: []string{"t"}, Examples: []string{"e"}, InputModes: []string{"i"}, OutputModes: []string{"o"}, SecurityRequirements: need}},
	}
}
