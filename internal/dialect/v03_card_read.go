package dialect

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/parley-a2a/parley/a2a"
)

// ReadCard reads an agent card of any version, and one that is for several. What
// 1.0 and the older ones call alike is read once; where both forms of something
// are there, that of 1.0 counts.
func ReadCard(doc []byte) (*a2a.AgentCard, error) {
	card := new(a2a.AgentCard)
	if err := card.UnmarshalJSON(doc); err != nil {
		return nil, err
	}
	o, err := readAnswer(doc)
	if err != nil {
		return nil, err
	}
	if len(card.SupportedInterfaces) == 0 {
		card.SupportedInterfaces = o.oldInterfaces()
	}
	if card.Capabilities.ExtendedAgentCard == nil && o.truth("supportsAuthenticatedExtendedCard") {
		card.Capabilities.ExtendedAgentCard = new(bool)
		*card.Capabilities.ExtendedAgentCard = true
	}
	if schemes := o.object("securitySchemes"); schemes != nil {
		for name := range schemes.members {
			if s := card.SecuritySchemes[name]; s == nil || *s == (a2a.SecurityScheme{}) {
				card.SecuritySchemes[name] = schemes.oldScheme(name)
			}
		}
	}
	if len(card.SecurityRequirements) == 0 {
		card.SecurityRequirements = o.oldSecurity()
	}
	i := 0
	o.each(func(in *object) {
		if i < len(card.Skills) && len(card.Skills[i].SecurityRequirements) == 0 {
			card.Skills[i].SecurityRequirements = in.oldSecurity()
		}
		i++
	}, "skills")
	if err := o.faults.err(); err != nil {
		return nil, err
	}
	return card, nil
}

// oldInterfaces reads the addresses of a card of version 0.x: one URL, and from
// 0.2.4 on more of them with their transports. Versions before 0.2.5 are not on
// the card.
func (o *object) oldInterfaces() []*a2a.AgentInterface {
	main := &a2a.AgentInterface{URL: o.text("url"), ProtocolBinding: o.text("preferredTransport"), ProtocolVersion: "0.2"}
	if main.URL == "" {
		return nil
	}
	if parts := strings.Split(o.text("protocolVersion"), "."); len(parts) > 1 {
		main.ProtocolVersion = parts[0] + "." + parts[1]
	}
	if main.ProtocolBinding == "" {
		main.ProtocolBinding = a2a.BindingJSONRPC
	}
	all := []*a2a.AgentInterface{main}
	o.each(func(in *object) {
		more := &a2a.AgentInterface{URL: in.text("url"), ProtocolBinding: in.text("transport"), ProtocolVersion: main.ProtocolVersion}
		if !slices.ContainsFunc(all, func(i *a2a.AgentInterface) bool { return *i == *more }) {
			all = append(all, more)
		}
	}, "additionalInterfaces")
	return all
}

// oldSecurity reads requirements in either form of 0.3.
func (o *object) oldSecurity() []a2a.SecurityRequirement {
	var all []a2a.SecurityRequirement
	o.each(func(in *object) {
		r := a2a.SecurityRequirement{}
		if raw := in.members["schemes"]; len(raw) > 0 && raw[0] == '{' && len(in.members) == 1 {
			in = in.object("schemes")
		}
		for name, raw := range in.members {
			if len(raw) > 0 && raw[0] == '{' {
				r[name] = in.object(name).texts("list")
			} else {
				r[name] = in.texts(name)
			}
		}
		all = append(all, r)
	}, "security")
	return all
}

// oldScheme reads a security scheme as OpenAPI has it. One of a type that 1.0
// does not have is empty.
func (o *object) oldScheme(name string) *a2a.SecurityScheme {
	in := o.object(name)
	if in == nil {
		return new(a2a.SecurityScheme)
	}
	description := in.text("description")
	switch in.text("type") {
	case "apiKey":
		return &a2a.SecurityScheme{APIKey: &a2a.APIKeySecurityScheme{Description: description, Location: in.text("in"), Name: in.text("name")}}
	case "http":
		return &a2a.SecurityScheme{HTTPAuth: &a2a.HTTPAuthSecurityScheme{
			Description: description, Scheme: in.text("scheme"), BearerFormat: in.text("bearerFormat"),
		}}
	case "oauth2":
		s := &a2a.OAuth2SecurityScheme{Description: description, OAuth2MetadataURL: in.text("oauth2MetadataUrl")}
		if flows := in.object("flows"); flows != nil {
			s.Flows = flows.oldFlows()
		}
		return &a2a.SecurityScheme{OAuth2: s}
	case "openIdConnect":
		return &a2a.SecurityScheme{OpenIDConnect: &a2a.OpenIDConnectSecurityScheme{
			Description: description, OpenIDConnectURL: in.text("openIdConnectUrl"),
		}}
	case "mutualTLS":
		return &a2a.SecurityScheme{MutualTLS: &a2a.MutualTLSSecurityScheme{Description: description}}
	}
	return new(a2a.SecurityScheme)
}

// oldFlows reads the flows of OAuth 2, of which 1.0 has one: the safest.
func (o *object) oldFlows() (f a2a.OAuthFlows) {
	for _, flow := range []struct {
		name string
		to   **a2a.OAuthFlow
	}{
		{"authorizationCode", &f.AuthorizationCode}, {"clientCredentials", &f.ClientCredentials},
		{"implicit", &f.Implicit}, {"password", &f.Password},
	} {
		in := o.object(flow.name)
		if in == nil {
			continue
		}
		*flow.to = &a2a.OAuthFlow{
			AuthorizationURL: in.text("authorizationUrl"), TokenURL: in.text("tokenUrl"), RefreshURL: in.text("refreshUrl"),
		}
		if scopes := in.json("scopes"); scopes != nil && json.Unmarshal(scopes, &(*flow.to).Scopes) != nil {
			in.bad(under(in.path, "scopes"), "expected an object of strings")
		}
		return f
	}
	return f
}
