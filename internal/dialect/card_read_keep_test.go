package dialect

import (
	"testing"

	"github.com/parley-a2a/parley/a2a"
)

// Members that a later version, or a vendor, adds to a card are kept; those of an older
// version are read into their new places, and kept nowhere else.
func TestCardsKeepWhatIsUnknown(t *testing.T) {
	card, err := ParseCard([]byte(`{"name":"n","description":"d","version":"1","url":"https://a.example","protocolVersion":"0.3.0","preferredTransport":"JSONRPC",
		"supportsAuthenticatedExtendedCard":true,"security":[],"x-tier":{"gold":1},"capabilities":{"stateTransitionHistory":false,"warp":9},
		"provider":{"url":"https://p.example","organization":"o","lei":"5"},"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],
		"skills":[{"id":"s","name":"s","description":"d","tags":[],"security":[],"cost":"low"}],"supportedInterfaces":[{"url":"https://a.example","protocolBinding":"JSONRPC","protocolVersion":"1.0","region":"eu"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	for got, want := range map[*a2a.JSON]string{
		card.Unknown: `{"x-tier":{"gold":1}}`, card.Capabilities.Unknown: `{"warp":9}`, card.Provider.Unknown: `{"lei":"5"}`,
		card.Skills[0].Unknown: `{"cost":"low"}`, card.SupportedInterfaces[0].Unknown: `{"region":"eu"}`,
	} {
		if got == nil || string(*got) != want {
			t.Errorf("got %v, want %s", got, want)
		}
	}
}

// A foreign card must not crash its reader, whatever it repeats.
func TestCardNamesSecuritySchemesInTwoSpellings(t *testing.T) {
	card, err := ParseCard([]byte(`{"securitySchemes":{"b":{"type":"http","scheme":"Bearer"}},"security_schemes":null}`))
	if err != nil {
		t.Fatal(err)
	}
	if s := card.SecuritySchemes["b"]; s == nil || s.HTTPAuth == nil || s.HTTPAuth.Scheme != "Bearer" {
		t.Errorf("got %+v", s)
	}
}
