package dialect

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/parley-a2a/parley/a2a"
)

// wholeCard has what echoCard leaves out and every older card can carry.
func wholeCard() *a2a.AgentCard {
	c := echoCard()
	c.Provider = &a2a.AgentProvider{URL: "https://o", Organization: "O"}
	c.DocumentationURL, c.IconURL = "https://docs", "https://icon"
	c.Capabilities.Extensions = []*a2a.AgentExtension{{URI: "urn:x", Description: "X", Required: true, Params: a2a.JSON(`{"a":1}`)}}
	c.Skills[0].Examples, c.Skills[0].InputModes, c.Skills[0].OutputModes = []string{"hi"}, []string{"a/b"}, []string{"c/d"}
	c.SecuritySchemes = map[string]*a2a.SecurityScheme{
		"b": {HTTPAuth: &a2a.HTTPAuthSecurityScheme{Description: "D1", Scheme: "Bearer", BearerFormat: "JWT"}},
		"k": {APIKey: &a2a.APIKeySecurityScheme{Description: "D2", Location: "header", Name: "X-Key"}},
		"o": {OpenIDConnect: &a2a.OpenIDConnectSecurityScheme{Description: "D3", OpenIDConnectURL: "https://id"}},
		"m": {MutualTLS: &a2a.MutualTLSSecurityScheme{Description: "D4"}},
		"d": {OAuth2: &a2a.OAuth2SecurityScheme{
			Description: "D5", OAuth2MetadataURL: "https://meta",
			Flows: a2a.OAuthFlows{AuthorizationCode: &a2a.OAuthFlow{
				AuthorizationURL: "https://a", TokenURL: "https://t", RefreshURL: "https://r", Scopes: map[string]string{"s": "S"}, PKCERequired: true,
			}},
		}},
	}
	c.SecurityRequirements = []a2a.SecurityRequirement{{"b": nil}, {"m": nil}, {"o": nil}}
	c.Signatures = []*a2a.AgentCardSignature{{Protected: "p", Signature: "s", Header: a2a.JSON(`{"kid":"1"}`)}}
	return c
}

func TestWholeCardInEveryForm(t *testing.T) {
	for name, profile := range map[string]CardProfile{"all": CardAll, "1.0": CardV10, "0.3": CardV03, "0.3 proto": CardV03REST} {
		doc := AppendCard(nil, wholeCard(), profile)
		got, err := ParseCard(doc)
		if err != nil {
			t.Errorf("%s: %v\n%s", name, err, doc)
			continue
		}
		want := wholeCard()
		want.SupportedInterfaces = got.SupportedInterfaces // compared elsewhere
		if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
			t.Errorf("%s: %s\n%s", name, d, doc)
		}
	}
	var all struct{ Authentication struct{ Schemes []string } }
	if err := json.Unmarshal(AppendCard(nil, wholeCard(), CardAll), &all); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"Bearer", "mutualTLS", "openIdConnect"}, all.Authentication.Schemes); d != "" {
		t.Errorf("what 0.1 reads: %s", d)
	}
}

// No form of a card invents a value that the card does not have.
func TestEmptyCardHasNoEmptyMembers(t *testing.T) {
	for _, profile := range []CardProfile{CardAll, CardV03, CardV03REST} {
		var doc map[string]any
		if err := json.Unmarshal(AppendCard(nil, &a2a.AgentCard{Name: "A"}, profile), &doc); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"securitySchemes", "security", "securityRequirements", "authentication", "signatures", "provider",
			"iconUrl", "documentationUrl", "supportsAuthenticatedExtendedCard"} {
			if v, ok := doc[name]; ok {
				t.Errorf("profile %d: %s is %v", profile, name, v)
			}
		}
		if _, ok := doc["capabilities"].(map[string]any)["extensions"]; ok {
			t.Errorf("profile %d has extensions", profile)
		}
	}
}

// A nil in a program's card does not prevent a card.
func TestCardWithNils(t *testing.T) {
	c := &a2a.AgentCard{
		SupportedInterfaces: []*a2a.AgentInterface{nil}, Skills: []*a2a.AgentSkill{nil}, Signatures: []*a2a.AgentCardSignature{nil},
		Capabilities: a2a.AgentCapabilities{Extensions: []*a2a.AgentExtension{nil}}, SecuritySchemes: map[string]*a2a.SecurityScheme{"x": nil},
	}
	for _, profile := range []CardProfile{CardAll, CardV03, CardV03REST} {
		if doc := AppendCard(nil, c, profile); !json.Valid(doc) {
			t.Errorf("profile %d: %s", profile, doc)
		}
	}
}

// The schemes that 0.1 has by name alone.
func TestSchemesByName(t *testing.T) {
	for names, want := range map[string]string{
		`"none"`:           ``,
		`"public"`:         ``,
		`""`:               ``,
		`"api-key"`:        `{"apiKeySecurityScheme":{"location":"header","name":""}}`,
		`"API_KEY"`:        `{"apiKeySecurityScheme":{"location":"header","name":""}}`,
		`"OAuth2"`:         `{"oauth2SecurityScheme":{"flows":{}}}`,
		`"oauth"`:          `{"oauth2SecurityScheme":{"flows":{}}}`,
		`"openIdConnect"`:  `{"openIdConnectSecurityScheme":{"openIdConnectUrl":""}}`,
		`"oidc"`:           `{"openIdConnectSecurityScheme":{"openIdConnectUrl":""}}`,
		`"mutualTLS"`:      `{"mtlsSecurityScheme":{}}`,
		`"mTLS"`:           `{"mtlsSecurityScheme":{}}`,
		`"Basic"`:          `{"httpAuthSecurityScheme":{"scheme":"Basic"}}`,
		`["Basic","none"]`: `{"httpAuthSecurityScheme":{"scheme":"Basic"}}`,
	} {
		c, err := ParseCard([]byte(`{"name":"A","url":"u","authentication":{"schemes":` + names + `}}`))
		if err != nil {
			t.Errorf("%s: %v", names, err)
			continue
		}
		got := ""
		for _, s := range c.SecuritySchemes {
			got += string(s.AppendJSON(nil))
		}
		if got != want || len(c.SecurityRequirements) != len(c.SecuritySchemes) {
			t.Errorf("%s: %s, required %v, want %s", names, got, c.SecurityRequirements, want)
		}
	}
	// Cards of later versions may still have the member, which says no more there.
	c, err := ParseCard([]byte(`{"url":"u","securitySchemes":{},"authentication":{"schemes":["Basic"]}}`))
	if err != nil || len(c.SecuritySchemes) != 0 {
		t.Errorf("%v, %v", c.SecuritySchemes, err)
	}
}

func TestSecurityOfOlderCards(t *testing.T) {
	c, err := ParseCard([]byte(`{"url":"u","security":[{"schemes":["x"]},{"schemes":{"a":{"list":["y"]},"b":{}}},{"a":["z"],"schemes":[]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	want := []a2a.SecurityRequirement{{"schemes": {"x"}}, {"a": {"y"}, "b": nil}, {"a": {"z"}, "schemes": nil}}
	if d := cmp.Diff(want, c.SecurityRequirements); d != "" {
		t.Error(d)
	}
	_, err = ParseCard([]byte(`{"url":"u","securitySchemes":{"o":{"type":"oauth2","flows":{"implicit":5}}}}`))
	if err == nil || !strings.Contains(err.Error(), "implicit") {
		t.Error(err)
	}
}

// Default modes that 0.1 leaves out are text; a card that lists interfaces of
// 1.0, or none at all, is not one of those.
func TestDefaultModesOfOlderCards(t *testing.T) {
	for doc, want := range map[string][]string{
		`{"url":"u"}`: {"text/plain", "text/plain"},
		`{"url":"u","defaultInputModes":["a/b"],"defaultOutputModes":["c/d"]}`:                                {"a/b", "c/d"},
		`{"url":"u","defaultInputModes":[]}`:                                                                  {"", "text/plain"},
		`{"supportedInterfaces":[{"url":"u","protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}`:           {"", ""},
		`{"url":"u","supportedInterfaces":[{"url":"u","protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}`: {"", ""},
		`{"name":"A"}`: {"", ""},
	} {
		c, err := ParseCard([]byte(doc))
		if err != nil {
			t.Fatal(err)
		}
		got := []string{strings.Join(c.DefaultInputModes, ","), strings.Join(c.DefaultOutputModes, ",")}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", doc, d)
		}
	}
}
