package dialect

import (
	"slices"
	"strings"

	"github.com/parley-a2a/parley/a2a"
)

// CardProfile selects the versions that a card's document is for.
type CardProfile uint8

const (
	// CardAll is for readers of every version: the members of 1.0 and of the older
	// versions are side by side, because their names differ. What both have, such as a
	// security scheme, is written in both forms. A card that offers no version before
	// 1.0 has the form of CardV10.
	CardAll CardProfile = iota
	// CardV10 is only the form of 1.0. Nothing is lost.
	CardV10
	// CardV03 is only the form of 0.3: the agent's own answer to a request in 0.3. Lost
	// are
	//
	//   - interfaces of other versions, if there is one of 0.3 or 0.2; if there is
	//     none, all are taken for 0.3's,
	//   - the tenants and the order of interfaces: JSON-RPC comes first.
	//
	// OAuth 2 by device code, and whether PKCE is required, are not in 0.3. They are
	// written nevertheless, because some of its readers refuse a scheme without a flow.
	CardV03
	// CardV03REST is CardV03 for HTTP+JSON, where some clients read the JSON schema of
	// 0.3 and others its proto: security schemes have the forms of both. Requirements
	// have only the form of the schema: readers of the proto skip that one, but readers
	// of the schema fail on the other.
	CardV03REST
	// cardV03GRPC is CardV03 as a message: requirements have the form of the proto, the
	// forms of the schema are skipped, and gRPC comes first, because the caller uses it.
	cardV03GRPC
)

// AppendCard appends a card's JSON. In the members for older versions,
//
//   - url is the first JSON-RPC address of a version before 1.0, because readers of 0.1
//     expect JSON-RPC there; without one, the first of any binding;
//   - protocolVersion is the newest of the versions before 1.0, with the patch number
//     that their cards have, and absent for 0.1;
//   - additionalInterfaces has all of 0.2 and 0.3, including the main one (0.3 §5.6.2);
//   - authentication, which 0.1 has, lists the kinds of scheme that the security
//     requirements name.
//
// Signatures are copied unchanged. They cover the members of 1.0 (§8.4), so a reader of
// a card for all versions has to extract those, or ask for the card of 1.0.
func AppendCard(dst []byte, card *a2a.AgentCard, profile CardProfile) []byte {
	old := before10(card, profile)
	if profile == CardV10 || profile == CardAll && len(old) == 0 {
		return card.AppendJSON(dst)
	}
	w := &cardWriter{jsonWriter: jsonWriter{dst}, profile: profile}
	w.card(card, old)
	return w.b
}

func addressed(i *a2a.AgentInterface) bool {
	return i != nil && i.URL != "" && i.ProtocolBinding != ""
}

// before10 returns the interfaces of versions before 1.0. For readers of 0.3 they are
// those of its dialect or, if there are none, all, because the card was read at one of
// them.
func before10(card *a2a.AgentCard, profile CardProfile) []*a2a.AgentInterface {
	var first, old, any []*a2a.AgentInterface
	for _, i := range card.SupportedInterfaces {
		if !addressed(i) {
			continue
		}
		switch d, ok := ParseVersion(i.ProtocolVersion); {
		case ok && d == V03 && profile == cardV03GRPC && strings.EqualFold(i.ProtocolBinding, a2a.BindingGRPC):
			first = append(first, i)
		case ok && (d == V03 || d == V01 && isJSONRPC(i) && profile == CardAll):
			old = append(old, i)
		}
		any = append(any, &a2a.AgentInterface{URL: i.URL, ProtocolBinding: i.ProtocolBinding, ProtocolVersion: "0.3"})
	}
	if old = append(first, old...); len(old) == 0 && profile != CardAll {
		return any
	}
	return old
}

// cardWriter writes cards for versions before 1.0.
type cardWriter struct {
	jsonWriter
	profile CardProfile
}

func (w *cardWriter) card(c *a2a.AgentCard, old []*a2a.AgentInterface) {
	w.open('{')
	w.text("name", c.Name)
	w.text("description", c.Description)
	w.interfaces(old)
	if w.profile == CardAll {
		objects(&w.jsonWriter, "supportedInterfaces", c.SupportedInterfaces)
	}
	if c.Provider != nil {
		w.key("provider")
		w.b = c.Provider.AppendJSON(w.b)
	}
	w.text("version", c.Version)
	w.optText("documentationUrl", c.DocumentationURL)
	w.optText("iconUrl", c.IconURL)
	w.capabilities(&c.Capabilities)
	if more := c.Capabilities.ExtendedAgentCard; more != nil {
		w.bool("supportsAuthenticatedExtendedCard", *more)
	}
	w.securitySchemes(c.SecuritySchemes)
	w.requirements(c.SecurityRequirements)
	if w.profile == CardAll {
		w.authentication(c)
	}
	w.texts("defaultInputModes", c.DefaultInputModes)
	w.texts("defaultOutputModes", c.DefaultOutputModes)
	list(&w.jsonWriter, "skills", c.Skills, w.skill)
	if len(c.Signatures) > 0 {
		objects(&w.jsonWriter, "signatures", c.Signatures)
	}
	w.close('}')
}

// interfaces writes url and the members that describe it.
func (w *cardWriter) interfaces(old []*a2a.AgentInterface) {
	if len(old) == 0 {
		w.text("url", "") // REQUIRED, but there is no address
		w.text("protocolVersion", "0.3.0")
		return
	}
	main := old[0]
	if at := slices.IndexFunc(old, isJSONRPC); at >= 0 && w.profile != cardV03GRPC {
		main = old[at]
	}
	w.text("url", main.URL)
	var listed []*a2a.AgentInterface // those of 0.2.4 and later
	newest := ""
	for _, i := range old {
		switch v := Minor(i.ProtocolVersion); {
		case v == "0.1":
			continue
		case newest == "" || v > newest:
			newest = v
		}
		if !slices.ContainsFunc(listed, func(l *a2a.AgentInterface) bool { return sameAddress(l, i) }) {
			listed = append(listed, i)
		}
	}
	if newest == "" {
		return
	}
	patch := ".0"
	if newest == "0.2" {
		patch = ".6"
	}
	w.text("protocolVersion", newest+patch)
	w.text("preferredTransport", main.ProtocolBinding)
	list(&w.jsonWriter, "additionalInterfaces", listed, func(i *a2a.AgentInterface) {
		w.open('{')
		w.text("url", i.URL)
		w.text("transport", i.ProtocolBinding)
		w.close('}')
	})
}

func isJSONRPC(i *a2a.AgentInterface) bool {
	return strings.EqualFold(i.ProtocolBinding, a2a.BindingJSONRPC)
}

func sameAddress(a, b *a2a.AgentInterface) bool {
	return a.URL == b.URL && strings.EqualFold(a.ProtocolBinding, b.ProtocolBinding)
}

func (w *cardWriter) capabilities(c *a2a.AgentCapabilities) {
	w.object("capabilities")
	if c.Streaming != nil {
		w.bool("streaming", *c.Streaming)
	}
	if c.PushNotifications != nil {
		w.bool("pushNotifications", *c.PushNotifications)
	}
	w.bool("stateTransitionHistory", false)
	if len(c.Extensions) > 0 {
		objects(&w.jsonWriter, "extensions", c.Extensions)
	}
	if w.profile == CardAll && c.ExtendedAgentCard != nil {
		w.bool("extendedAgentCard", *c.ExtendedAgentCard)
	}
	w.close('}')
}

func (w *cardWriter) skill(s *a2a.AgentSkill) {
	s = orEmpty(s)
	w.open('{')
	w.text("id", s.ID)
	w.text("name", s.Name)
	w.text("description", s.Description)
	w.texts("tags", s.Tags)
	w.optTexts("examples", s.Examples)
	w.optTexts("inputModes", s.InputModes)
	w.optTexts("outputModes", s.OutputModes)
	w.requirements(s.SecurityRequirements)
	w.close('}')
}
