package a2a

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Validate reports every member of the card that is missing or wrong, as an
// InvalidParams error whose Fields have their paths. It checks only the form, not
// whether the server keeps what the card promises.
func (c *AgentCard) Validate() error {
	var v validation
	v.required("name", c.Name)
	v.required("description", c.Description)
	v.required("version", c.Version)
	if len(c.SupportedInterfaces) == 0 {
		v.add("supportedInterfaces", "at least one interface is required")
	}
	for i, in := range c.SupportedInterfaces {
		v.agentInterface(fmt.Sprintf("supportedInterfaces[%d]", i), in)
	}
	if p := c.Provider; p != nil {
		v.required("provider.organization", p.Organization)
		v.required("provider.url", p.URL)
	}
	for i, e := range c.Capabilities.Extensions {
		path := fmt.Sprintf("capabilities.extensions[%d]", i)
		if e == nil {
			v.add(path, missing)
			continue
		}
		v.required(path+".uri", e.URI)
		v.free(path+".params", e.Params)
	}
	v.modes("defaultInputModes", c.DefaultInputModes)
	v.modes("defaultOutputModes", c.DefaultOutputModes)
	for _, name := range slices.Sorted(maps.Keys(c.SecuritySchemes)) {
		v.securityScheme("securitySchemes."+name, c.SecuritySchemes[name])
	}
	v.requirements("securityRequirements", c.SecurityRequirements, c.SecuritySchemes)
	// Specification §5.7 wants REQUIRED arrays filled, but §8.4.1 shows a card
	// without skills: an empty list passes.
	for i, s := range c.Skills {
		v.skill(fmt.Sprintf("skills[%d]", i), s, c.SecuritySchemes)
	}
	for i, s := range c.Signatures {
		path := fmt.Sprintf("signatures[%d]", i)
		if s == nil {
			v.add(path, missing)
			continue
		}
		v.required(path+".protected", s.Protected)
		v.required(path+".signature", s.Signature)
		v.free(path+".header", s.Header)
	}
	return v.err()
}

func (v *validation) agentInterface(path string, in *AgentInterface) {
	if in == nil {
		v.add(path, missing)
		return
	}
	v.required(path+".protocolBinding", in.ProtocolBinding)
	switch {
	case in.URL == "":
		v.add(path+".url", missing)
	case (in.ProtocolBinding == BindingJSONRPC || in.ProtocolBinding == BindingHTTPJSON) && WebURL(in.URL) == nil:
		v.add(path+".url", "must be an absolute http or https URL, got %q", in.URL)
	}
	switch major, minor, _ := strings.Cut(in.ProtocolVersion, "."); {
	case in.ProtocolVersion == "":
		v.add(path+".protocolVersion", missing)
	case !decimal(major) || !decimal(minor):
		v.add(path+".protocolVersion", "must be Major.Minor such as 1.0, got %q", in.ProtocolVersion)
	}
}

func decimal(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

func (v *validation) modes(path string, modes []string) {
	if len(modes) == 0 {
		v.add(path, "at least one media type is required, such as text/plain")
	}
	for i, m := range modes {
		v.required(fmt.Sprintf("%s[%d]", path, i), m)
	}
}

func (v *validation) skill(path string, s *AgentSkill, schemes map[string]*SecurityScheme) {
	if s == nil {
		v.add(path, missing)
		return
	}
	v.required(path+".id", s.ID)
	v.required(path+".name", s.Name)
	v.required(path+".description", s.Description)
	v.requirements(path+".securityRequirements", s.SecurityRequirements, schemes)
}

func (v *validation) requirements(path string, list []SecurityRequirement, schemes map[string]*SecurityScheme) {
	for i, r := range list {
		for _, name := range slices.Sorted(maps.Keys(r)) {
			if _, ok := schemes[name]; !ok {
				v.add(fmt.Sprintf("%s[%d].schemes.%s", path, i, name), "names no scheme of securitySchemes")
			}
		}
	}
}

func (v *validation) securityScheme(path string, s *SecurityScheme) {
	set := 0
	if s != nil {
		for _, there := range []bool{s.APIKey != nil, s.HTTPAuth != nil, s.OAuth2 != nil, s.OpenIDConnect != nil, s.MutualTLS != nil} {
			if there {
				set++
			}
		}
	}
	if set != 1 {
		v.add(path, "must be exactly one of the five kinds of scheme, such as httpAuthSecurityScheme")
		return
	}
	switch {
	case s.APIKey != nil:
		path += ".apiKeySecurityScheme"
		v.required(path+".name", s.APIKey.Name)
		switch s.APIKey.Location {
		case "query", "header", "cookie":
		default:
			v.add(path+".location", "must be query, header or cookie")
		}
	case s.HTTPAuth != nil:
		v.required(path+".httpAuthSecurityScheme.scheme", s.HTTPAuth.Scheme)
	case s.OAuth2 != nil:
		v.flows(path+".oauth2SecurityScheme.flows", &s.OAuth2.Flows)
	case s.OpenIDConnect != nil:
		v.required(path+".openIdConnectSecurityScheme.openIdConnectUrl", s.OpenIDConnect.OpenIDConnectURL)
	}
}

func (v *validation) flows(path string, f *OAuthFlows) {
	set := 0
	for _, k := range f.kinds() {
		if k.flow == nil {
			continue
		}
		set++
		at := path + "." + k.name
		if k.need&needAuthorizationURL != 0 {
			v.required(at+".authorizationUrl", k.flow.AuthorizationURL)
		}
		if k.need&needDeviceURL != 0 {
			v.required(at+".deviceAuthorizationUrl", k.flow.DeviceAuthorizationURL)
		}
		if k.need&needTokenURL != 0 {
			v.required(at+".tokenUrl", k.flow.TokenURL)
		}
	}
	if set != 1 {
		v.add(path, "must have exactly one flow, such as authorizationCode")
	}
}
