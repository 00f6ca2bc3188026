package dialect

import (
	"cmp"
	"slices"
	"strings"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/json"
)

// ParseCard reads an agent card of any version, of several versions, or of a draft
// before 1.0. If a member is there in both forms, that of 1.0 counts; addresses that
// only the older form has come last. Members of no known version are kept in Unknown.
// The error says which members cannot be read.
//
// If the card has no interfaces of 1.0, they are made from url, preferredTransport and
// additionalInterfaces. Their version is protocolVersion, or each of a draft's
// protocolVersions. Cards before 0.2.5 do not state theirs, and those of 0.1 look the
// same: all are taken for 0.2, and the client has to try tasks/send if message/send is
// unknown.
//
// Lost of older cards are stateTransitionHistory; the credentials of authentication,
// which do not belong on a card; and of an OAuth 2 scheme with several flows, all but
// the first in this order: authorization code, device code, client credentials,
// implicit, password. Default modes that 0.1 omits are text/plain, as its text says.
func ParseCard(doc []byte) (*a2a.AgentCard, error) {
	card := new(a2a.AgentCard)
	if err := a2a.UnmarshalAnswer(doc, card); err != nil {
		return nil, err
	}
	o, err := readObject(doc, "card", json.Deepest, new(faults))
	if err != nil {
		return nil, err
	}
	newer := len(card.SupportedInterfaces) > 0
	card.SupportedInterfaces = o.interfaces(card.SupportedInterfaces)
	o.oldCapabilities(card)
	if schemes := o.object("securitySchemes"); schemes != nil {
		if card.SecuritySchemes == nil { // null under the other spelling of the name
			card.SecuritySchemes = map[string]*a2a.SecurityScheme{}
		}
		for name := range schemes.members.unique() {
			if s := card.SecuritySchemes[name]; s == nil || *s == (a2a.SecurityScheme{}) {
				card.SecuritySchemes[name] = schemes.oldScheme(name)
			}
		}
	}
	if len(card.SecurityRequirements) == 0 {
		card.SecurityRequirements = o.oldSecurity()
	}
	if !newer && !o.has("securitySchemes") {
		o.oldAuthentication(card)
	}
	i := 0
	o.each(func(in *object) {
		if i < len(card.Skills) && len(card.Skills[i].SecurityRequirements) == 0 {
			card.Skills[i].SecurityRequirements = in.oldSecurity()
		}
		i++
	}, "skills")
	if !newer && len(card.SupportedInterfaces) > 0 {
		if !o.has("defaultInputModes") {
			card.DefaultInputModes = []string{"text/plain"}
		}
		if !o.has("defaultOutputModes") {
			card.DefaultOutputModes = []string{"text/plain"}
		}
	}
	if err := o.faults.err(); err != nil {
		return nil, err
	}
	forgetOlder(card)
	return card, nil
}

// forgetOlder removes the members of older versions from the unknown ones: they have
// been read, or are lost as ParseCard says.
func forgetOlder(card *a2a.AgentCard) {
	forget(&card.Unknown, "url", "preferredTransport", "additionalInterfaces", "protocolVersion", "protocolVersions",
		"supportsAuthenticatedExtendedCard", "supportsExtendedAgentCard", "security", "authentication")
	forget(&card.Capabilities.Unknown, "stateTransitionHistory")
	for _, s := range card.Skills {
		if s != nil {
			forget(&s.Unknown, "security")
		}
	}
	for _, i := range card.SupportedInterfaces {
		forget(&i.Unknown, "transport")
	}
}

// forget removes members, named in camelCase or snake_case, from an object.
func forget(object **a2a.JSON, names ...string) {
	if *object == nil {
		return
	}
	rest := []byte{'{'}
	for _, m := range scanMembers(nil, **object) {
		if !slices.ContainsFunc(names, func(n string) bool { return string(m.name) == n || isSnake(m.name, n) }) {
			rest = append(json.AppendName(rest, string(m.name)), m.raw...)
		}
	}
	*object = nil
	if len(rest) > 1 {
		whole := a2a.JSON(append(rest, '}'))
		*object = &whole
	}
}

// oldCapabilities reads the flags that moved into capabilities.
func (o *object) oldCapabilities(card *a2a.AgentCard) {
	if card.Capabilities.ExtendedAgentCard == nil {
		card.Capabilities.ExtendedAgentCard = o.bool("supportsAuthenticatedExtendedCard", "supportsExtendedAgentCard")
	}
}

// interfaces adds to the interfaces of 1.0 those that the card has in older members.
func (o *object) interfaces(listed []*a2a.AgentInterface) []*a2a.AgentInterface {
	var all []*a2a.AgentInterface
	drafts := o.texts("protocolVersions")
	for _, i := range listed {
		if i.ProtocolVersion != "" || len(drafts) == 0 {
			all = append(all, i)
			continue
		}
		all = append(all, inVersions(i, drafts)...)
	}
	for _, i := range o.oldInterfaces(drafts) {
		if !covered(all, i) {
			all = append(all, i)
		}
	}
	return all
}

// covered reports whether an interface of the older members is already listed, perhaps
// in another of the older versions, because those members have one version for all.
func covered(all []*a2a.AgentInterface, i *a2a.AgentInterface) bool {
	for _, l := range all {
		d, ok := ParseVersion(l.ProtocolVersion)
		if sameAddress(l, i) && (ok && d < V10 || Minor(l.ProtocolVersion) == i.ProtocolVersion) {
			return true
		}
	}
	return false
}

func inVersions(i *a2a.AgentInterface, versions []string) []*a2a.AgentInterface {
	var all []*a2a.AgentInterface
	for _, v := range versions {
		c := *i
		c.ProtocolVersion = v
		all = append(all, &c)
	}
	return all
}

// oldInterfaces reads url and the members of 0.2.4 and later that describe it.
func (o *object) oldInterfaces(drafts []string) []*a2a.AgentInterface {
	versions := drafts
	if len(versions) == 0 {
		versions = []string{cmp.Or(Minor(o.text("protocolVersion")), "0.2")} // said nowhere before 0.2.5
	}
	var all []*a2a.AgentInterface
	add := func(url, binding string) {
		i := &a2a.AgentInterface{URL: url, ProtocolBinding: binding}
		if !addressed(i) {
			return
		}
		for _, l := range all {
			if sameAddress(l, i) {
				return
			}
		}
		all = append(all, inVersions(i, versions)...)
	}
	add(o.text("url"), cmp.Or(o.text("preferredTransport"), a2a.BindingJSONRPC)) // by rule (0.3 §5.6.1)
	o.each(func(in *object) { add(in.text("url"), in.text("transport")) }, "additionalInterfaces")
	return all
}

// schemeNamed returns the scheme that a version 0.1 card names; nil for none.
func schemeNamed(name string) *a2a.SecurityScheme {
	switch strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(name)) {
	case "", "none", "public":
		return nil
	case "apikey":
		return &a2a.SecurityScheme{APIKey: &a2a.APIKeySecurityScheme{Location: "header"}}
	case "oauth2", "oauth":
		return &a2a.SecurityScheme{OAuth2: new(a2a.OAuth2SecurityScheme)}
	case "openidconnect", "oidc":
		return &a2a.SecurityScheme{OpenIDConnect: new(a2a.OpenIDConnectSecurityScheme)}
	case "mutualtls", "mtls":
		return &a2a.SecurityScheme{MutualTLS: new(a2a.MutualTLSSecurityScheme)}
	}
	return &a2a.SecurityScheme{HTTPAuth: &a2a.HTTPAuthSecurityScheme{Scheme: name}}
}
