package dialect

import (
	"maps"
	"slices"

	"github.com/parley-a2a/parley/a2a"
)

// v03Version is what a card of 0.3 says as its protocolVersion.
const v03Version = "0.3.0"

// card writes an AgentCard of 0.3, with the interfaces that speak 0.3, or, if
// none says so, with all. The TS form has those of 1.0 beside it, as public
// cards do.
func (w *v03Writer) card(c *a2a.AgentCard) {
	w.open('{')
	w.text("protocolVersion", v03Version)
	w.text("name", c.Name)
	w.text("description", c.Description)
	w.interfaces(c.SupportedInterfaces)
	if p := c.Provider; p != nil {
		w.object("provider")
		w.text("organization", p.Organization)
		w.text("url", p.URL)
		w.close('}')
	}
	w.text("version", c.Version)
	w.optText("documentationUrl", c.DocumentationURL)
	w.optText("iconUrl", c.IconURL)
	w.capabilities(&c.Capabilities)
	if len(c.SecuritySchemes) > 0 {
		w.object("securitySchemes")
		for _, name := range slices.Sorted(maps.Keys(c.SecuritySchemes)) {
			w.next()
			w.b = append(appendText(w.b, name), ':')
			w.scheme(c.SecuritySchemes[name])
		}
		w.close('}')
	}
	w.security(c.SecurityRequirements)
	w.texts("defaultInputModes", c.DefaultInputModes)
	w.texts("defaultOutputModes", c.DefaultOutputModes)
	list(&w.jsonWriter, "skills", c.Skills, w.skill)
	w.optBool("supportsAuthenticatedExtendedCard", c.Capabilities.ExtendedAgentCard != nil && *c.Capabilities.ExtendedAgentCard)
	if len(c.Signatures) > 0 {
		list(&w.jsonWriter, "signatures", c.Signatures, func(s *a2a.AgentCardSignature) { w.b = s.AppendJSON(w.b) })
	}
	w.close('}')
}

func (w *v03Writer) interfaces(all []*a2a.AgentInterface) {
	own := slices.DeleteFunc(slices.Clone(all), func(i *a2a.AgentInterface) bool {
		d, ok := ParseVersion(i.ProtocolVersion)
		return !ok || d != V03
	})
	if len(own) == 0 {
		own = all
	}
	if len(own) > 0 {
		w.text("url", own[0].URL)
		w.text("preferredTransport", own[0].ProtocolBinding)
		list(&w.jsonWriter, "additionalInterfaces", own, func(i *a2a.AgentInterface) {
			w.open('{')
			w.text("url", i.URL)
			w.text("transport", i.ProtocolBinding)
			w.close('}')
		})
	}
	if !w.proto {
		list(&w.jsonWriter, "supportedInterfaces", all, func(i *a2a.AgentInterface) { w.b = i.AppendJSON(w.b) })
	}
}

func (w *v03Writer) capabilities(c *a2a.AgentCapabilities) {
	w.object("capabilities")
	if c.Streaming != nil {
		w.bool("streaming", *c.Streaming)
	}
	if c.PushNotifications != nil {
		w.bool("pushNotifications", *c.PushNotifications)
	}
	if len(c.Extensions) > 0 {
		list(&w.jsonWriter, "extensions", c.Extensions, func(e *a2a.AgentExtension) { w.b = e.AppendJSON(w.b) })
	}
	w.close('}')
}

func (w *v03Writer) skill(s *a2a.AgentSkill) {
	w.open('{')
	w.text("id", s.ID)
	w.text("name", s.Name)
	w.text("description", s.Description)
	w.texts("tags", s.Tags)
	w.optTexts("examples", s.Examples)
	w.optTexts("inputModes", s.InputModes)
	w.optTexts("outputModes", s.OutputModes)
	w.security(s.SecurityRequirements)
	w.close('}')
}

// security writes requirements: scopes by scheme, which the proto form puts
// into messages of their own.
func (w *v03Writer) security(requirements []a2a.SecurityRequirement) {
	if len(requirements) == 0 {
		return
	}
	list(&w.jsonWriter, "security", requirements, func(r a2a.SecurityRequirement) {
		w.open('{')
		if w.proto {
			w.object("schemes")
		}
		for _, name := range slices.Sorted(maps.Keys(r)) {
			w.next()
			w.b = append(appendText(w.b, name), ':')
			if w.proto {
				w.open('{')
				w.texts("list", r[name])
				w.close('}')
				continue
			}
			w.open('[')
			for _, scope := range r[name] {
				w.next()
				w.b = appendText(w.b, scope)
			}
			w.close(']')
		}
		if w.proto {
			w.close('}')
		}
		w.close('}')
	})
}

// scheme writes a security scheme: as OpenAPI has it, or, in the proto form,
// wrapped as in 1.0.
func (w *v03Writer) scheme(s *a2a.SecurityScheme) {
	begin := func(wrapped, kind string) {
		w.open('{')
		if w.proto {
			w.object(wrapped)
		} else {
			w.text("type", kind)
		}
	}
	switch {
	case s == nil:
		w.open('{')
	case s.APIKey != nil:
		begin("apiKeySecurityScheme", "apiKey")
		location := "in"
		if w.proto {
			location = "location"
		}
		w.text(location, s.APIKey.Location)
		w.text("name", s.APIKey.Name)
		w.optText("description", s.APIKey.Description)
	case s.HTTPAuth != nil:
		begin("httpAuthSecurityScheme", "http")
		w.text("scheme", s.HTTPAuth.Scheme)
		w.optText("bearerFormat", s.HTTPAuth.BearerFormat)
		w.optText("description", s.HTTPAuth.Description)
	case s.OAuth2 != nil:
		begin("oauth2SecurityScheme", "oauth2")
		w.flows(&s.OAuth2.Flows)
		w.optText("oauth2MetadataUrl", s.OAuth2.OAuth2MetadataURL)
		w.optText("description", s.OAuth2.Description)
	case s.OpenIDConnect != nil:
		begin("openIdConnectSecurityScheme", "openIdConnect")
		w.text("openIdConnectUrl", s.OpenIDConnect.OpenIDConnectURL)
		w.optText("description", s.OpenIDConnect.Description)
	case s.MutualTLS != nil:
		begin("mtlsSecurityScheme", "mutualTLS")
		w.optText("description", s.MutualTLS.Description)
	default:
		w.open('{')
		s = nil
	}
	if w.proto && s != nil {
		w.close('}')
	}
	w.close('}')
}

// flows writes the flow of OAuth 2. There is none by device code.
func (w *v03Writer) flows(f *a2a.OAuthFlows) {
	w.object("flows")
	flow := func(name string, f *a2a.OAuthFlow, authorization, token bool) {
		if f == nil {
			return
		}
		w.object(name)
		if authorization {
			w.text("authorizationUrl", f.AuthorizationURL)
		}
		if token {
			w.text("tokenUrl", f.TokenURL)
		}
		w.optText("refreshUrl", f.RefreshURL)
		w.object("scopes")
		for _, scope := range slices.Sorted(maps.Keys(f.Scopes)) {
			w.next()
			w.b = append(appendText(w.b, scope), ':')
			w.b = appendText(w.b, f.Scopes[scope])
		}
		w.close('}')
		w.close('}')
	}
	flow("authorizationCode", f.AuthorizationCode, true, true)
	flow("clientCredentials", f.ClientCredentials, false, true)
	flow("implicit", f.Implicit, true, false)
	flow("password", f.Password, false, true)
	w.close('}')
}
