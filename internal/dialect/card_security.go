package dialect

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/parley-a2a/parley/a2a"
)

// requirements writes scopes by scheme; for 1.0 in its own form, too.
func (w *cardWriter) requirements(all []a2a.SecurityRequirement) {
	if len(all) == 0 {
		return
	}
	asObject := func(r a2a.SecurityRequirement) { w.b = r.AppendJSON(w.b) }
	if w.profile == cardV03GRPC {
		list(&w.jsonWriter, "security", all, asObject)
		return
	}
	list(&w.jsonWriter, "security", all, func(r a2a.SecurityRequirement) {
		w.open('{')
		for _, name := range slices.Sorted(maps.Keys(r)) {
			w.member(name)
			w.open('[')
			for _, scope := range r[name] {
				w.next()
				w.b = appendText(w.b, scope)
			}
			w.close(']')
		}
		w.close('}')
	})
	if w.profile == CardAll {
		list(&w.jsonWriter, "securityRequirements", all, asObject)
	}
}

func (w *cardWriter) securitySchemes(all map[string]*a2a.SecurityScheme) {
	if len(all) == 0 {
		return
	}
	w.object("securitySchemes")
	for _, name := range slices.Sorted(maps.Keys(all)) {
		w.member(name)
		w.scheme(orEmpty(all[name]))
	}
	w.close('}')
}

// scheme writes a security scheme as OpenAPI has it and, for readers of the wrapped
// form, in that form as well.
func (w *cardWriter) scheme(s *a2a.SecurityScheme) {
	w.open('{')
	switch {
	case s.APIKey != nil:
		w.text("type", "apiKey")
		w.text("in", s.APIKey.Location)
		w.text("name", s.APIKey.Name)
		w.optText("description", s.APIKey.Description)
	case s.HTTPAuth != nil:
		w.text("type", "http")
		w.text("scheme", s.HTTPAuth.Scheme)
		w.optText("bearerFormat", s.HTTPAuth.BearerFormat)
		w.optText("description", s.HTTPAuth.Description)
	case s.OAuth2 != nil:
		w.text("type", "oauth2")
		w.key("flows")
		w.b = s.OAuth2.Flows.AppendJSON(w.b)
		w.optText("oauth2MetadataUrl", s.OAuth2.OAuth2MetadataURL)
		w.optText("description", s.OAuth2.Description)
	case s.OpenIDConnect != nil:
		w.text("type", "openIdConnect")
		w.text("openIdConnectUrl", s.OpenIDConnect.OpenIDConnectURL)
		w.optText("description", s.OpenIDConnect.Description)
	case s.MutualTLS != nil:
		w.text("type", "mutualTLS")
		w.optText("description", s.MutualTLS.Description)
	}
	if w.profile != CardV03 {
		if wrapped := s.AppendJSON(nil); len(wrapped) > len("{}") {
			w.next()
			w.b = append(w.b, wrapped[1:len(wrapped)-1]...)
		}
	}
	w.close('}')
}

// authentication writes all that 0.1 has of this: the names of schemes, as HTTP and
// OpenAPI know them.
func (w *cardWriter) authentication(c *a2a.AgentCard) {
	var names []string
	for _, r := range c.SecurityRequirements {
		for _, name := range slices.Sorted(maps.Keys(r)) {
			if kind := oldName(c.SecuritySchemes[name]); kind != "" && !slices.Contains(names, kind) {
				names = append(names, kind)
			}
		}
	}
	if len(names) > 0 {
		w.object("authentication")
		w.texts("schemes", names)
		w.close('}')
	}
}

func oldName(s *a2a.SecurityScheme) string {
	switch {
	case s == nil:
	case s.HTTPAuth != nil:
		return s.HTTPAuth.Scheme
	case s.APIKey != nil:
		return "apiKey"
	case s.OAuth2 != nil:
		return "oauth2"
	case s.OpenIDConnect != nil:
		return "openIdConnect"
	case s.MutualTLS != nil:
		return "mutualTLS"
	}
	return ""
}

// oldSecurity reads requirements in either form of 0.3.
func (o *object) oldSecurity() []a2a.SecurityRequirement {
	var all []a2a.SecurityRequirement
	o.each(func(in *object) {
		r := a2a.SecurityRequirement{}
		if wrapped, _ := in.find([]string{"schemes"}); isObject(wrapped) && len(wrapped) > 0 && len(in.members.unique()) == 1 {
			in = in.object("schemes")
			if in == nil {
				return
			}
		}
		for name, raw := range in.members.unique() {
			var scopes []string
			var wrapped struct{ List []string }
			if json.Unmarshal(raw, &scopes) != nil {
				if json.Unmarshal(raw, &wrapped) != nil {
					in.bad(in.at(name), "expected an array of strings")
				}
				scopes = wrapped.List
			}
			if len(scopes) == 0 {
				scopes = nil
			}
			r[name] = scopes
		}
		all = append(all, r)
	}, "security")
	return all
}

// oldScheme reads a security scheme as OpenAPI has it. A type that 1.0 does not have
// makes an empty one.
func (o *object) oldScheme(name string) *a2a.SecurityScheme {
	s := new(a2a.SecurityScheme)
	raw := o.members.get(name)
	if string(raw) == "null" {
		return s
	}
	in := o.open(raw, name, -1)
	if in == nil {
		return s
	}
	description := in.text("description")
	switch in.text("type") {
	case "apiKey":
		s.APIKey = &a2a.APIKeySecurityScheme{Description: description, Location: in.text("in"), Name: in.text("name")}
	case "http":
		s.HTTPAuth = &a2a.HTTPAuthSecurityScheme{Description: description, Scheme: in.text("scheme"), BearerFormat: in.text("bearerFormat")}
	case "oauth2":
		s.OAuth2 = &a2a.OAuth2SecurityScheme{Description: description, OAuth2MetadataURL: in.text("oauth2MetadataUrl"), Flows: in.oldFlows()}
	case "openIdConnect":
		s.OpenIDConnect = &a2a.OpenIDConnectSecurityScheme{Description: description, OpenIDConnectURL: in.text("openIdConnectUrl")}
	case "mutualTLS":
		s.MutualTLS = &a2a.MutualTLSSecurityScheme{Description: description}
	}
	return s
}

// oldFlows reads the flows of OAuth 2. 1.0 has only one of them: the safest is kept.
func (o *object) oldFlows() (f a2a.OAuthFlows) {
	flows := o.object("flows")
	for _, kind := range []struct {
		name string
		to   **a2a.OAuthFlow
	}{
		{"authorizationCode", &f.AuthorizationCode}, {"deviceCode", &f.DeviceCode},
		{"clientCredentials", &f.ClientCredentials}, {"implicit", &f.Implicit}, {"password", &f.Password},
	} {
		raw, _ := flows.find([]string{kind.name})
		if raw == nil {
			continue
		}
		*kind.to = new(a2a.OAuthFlow)
		if (*kind.to).UnmarshalJSON(raw) != nil {
			flows.bad(flows.at(kind.name), "is not a flow of OAuth 2")
		}
		break
	}
	return f
}

// oldAuthentication reads the form of 0.1: names of schemes, in an array or a text.
// They become schemes of these names, each of which suffices. Of a scheme of HTTP only
// the name is known, and of an API key only that it is one.
func (o *object) oldAuthentication(card *a2a.AgentCard) {
	auth := o.object("authentication")
	raw, _ := auth.find([]string{"schemes"})
	if raw == nil {
		return
	}
	var names []string
	if raw[0] == '"' {
		names = []string{unquoteText(raw)}
	} else if json.Unmarshal(raw, &names) != nil {
		auth.bad(auth.at("schemes"), "expected an array of strings")
	}
	for _, name := range names {
		s := schemeNamed(name)
		if s == nil || card.SecuritySchemes[name] != nil {
			continue
		}
		if card.SecuritySchemes == nil {
			card.SecuritySchemes = map[string]*a2a.SecurityScheme{}
		}
		card.SecuritySchemes[name] = s
		card.SecurityRequirements = append(card.SecurityRequirements, a2a.SecurityRequirement{name: nil})
	}
}
