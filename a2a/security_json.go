package a2a

import (
	"maps"
	"slices"
)

// AppendJSON appends the ProtoJSON form.
func (r SecurityRequirement) AppendJSON(b []byte) []byte {
	b = append(b, '{')
	if len(r) > 0 {
		b = append(key(b, "schemes"), '{')
		for _, scheme := range slices.Sorted(maps.Keys(r)) {
			b = append(mapKey(b, scheme), '{')
			b = optTexts(b, "list", r[scheme])
			b = append(b, '}')
		}
		b = append(b, '}')
	}
	return append(b, '}')
}

// MarshalJSON returns the ProtoJSON form.
func (r SecurityRequirement) MarshalJSON() ([]byte, error) { return r.AppendJSON(nil), nil }

// UnmarshalJSON reads the ProtoJSON form.
func (r *SecurityRequirement) UnmarshalJSON(doc []byte) error { return unmarshal(doc, r) }

func (r *SecurityRequirement) decode(d *decoder) *fault {
	*r = SecurityRequirement{}
	return d.object(func(name []byte) *fault {
		if string(name) != "schemes" {
			return d.ignore()
		}
		*r = SecurityRequirement{}
		if d.null() {
			return nil
		}
		return d.mapping(func(scheme []byte) *fault {
			var scopes []string
			if d.peek() == '[' { // the Go SDK leaves the list's message out
				f := d.strings(&scopes)
				(*r)[string(scheme)] = scopes
				return f
			}
			f := d.object(func(name []byte) *fault {
				if string(name) == "list" {
					return d.strings(&scopes)
				}
				return d.ignore()
			})
			(*r)[string(scheme)] = scopes
			return f
		})
	})
}

// optRequirements appends requirements; a nil one is one without schemes.
func optRequirements(b []byte, list []SecurityRequirement) []byte {
	if len(list) == 0 {
		return b
	}
	b = append(key(b, "securityRequirements"), '[')
	for i, r := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = r.AppendJSON(b)
	}
	return append(b, ']')
}

func requirements(d *decoder, p *[]SecurityRequirement) *fault {
	*p = nil
	return d.array(func(int) *fault {
		var r SecurityRequirement
		f := r.decode(d)
		*p = append(*p, r)
		return f
	})
}

func optSchemes(b []byte, m map[string]*SecurityScheme) []byte {
	if len(m) == 0 {
		return b
	}
	b = append(key(b, "securitySchemes"), '{')
	for _, name := range slices.Sorted(maps.Keys(m)) {
		s := m[name]
		if s == nil {
			s = new(SecurityScheme)
		}
		b = s.AppendJSON(mapKey(b, name))
	}
	return append(b, '}')
}

func schemes(d *decoder, p *map[string]*SecurityScheme) *fault {
	*p = nil
	if d.null() {
		return nil
	}
	*p = map[string]*SecurityScheme{}
	return d.mapping(func(name []byte) *fault {
		s := new(SecurityScheme)
		(*p)[string(name)] = s
		return s.decode(d)
	})
}

// AppendJSON appends the ProtoJSON form.
func (s *SecurityScheme) AppendJSON(b []byte) []byte {
	b = append(b, '{')
	b = optObject(b, "apiKeySecurityScheme", s.APIKey)
	b = optObject(b, "httpAuthSecurityScheme", s.HTTPAuth)
	b = optObject(b, "oauth2SecurityScheme", s.OAuth2)
	b = optObject(b, "openIdConnectSecurityScheme", s.OpenIDConnect)
	b = optObject(b, "mtlsSecurityScheme", s.MutualTLS)
	return append(b, '}')
}

// MarshalJSON returns the ProtoJSON form.
func (s SecurityScheme) MarshalJSON() ([]byte, error) { return s.AppendJSON(nil), nil }

// UnmarshalJSON reads the ProtoJSON form.
func (s *SecurityScheme) UnmarshalJSON(doc []byte) error { return unmarshal(doc, s) }

func (s *SecurityScheme) decode(d *decoder) *fault {
	*s = SecurityScheme{}
	f := d.object(func(name []byte) *fault {
		switch string(name) {
		case "apiKeySecurityScheme", "api_key_security_scheme":
			return pointer(d, &s.APIKey)
		case "httpAuthSecurityScheme", "http_auth_security_scheme":
			return pointer(d, &s.HTTPAuth)
		case "oauth2SecurityScheme", "oauth2_security_scheme":
			return pointer(d, &s.OAuth2)
		case "openIdConnectSecurityScheme", "open_id_connect_security_scheme":
			return pointer(d, &s.OpenIDConnect)
		case "mtlsSecurityScheme", "mtls_security_scheme":
			return pointer(d, &s.MutualTLS)
		}
		return d.ignore()
	})
	if f != nil {
		return f
	}
	return atMostOne(s.choices()...)
}

func (s *SecurityScheme) choices() []choice {
	return []choice{
		{"apiKeySecurityScheme", s.APIKey != nil},
		{"httpAuthSecurityScheme", s.HTTPAuth != nil},
		{"oauth2SecurityScheme", s.OAuth2 != nil},
		{"openIdConnectSecurityScheme", s.OpenIDConnect != nil},
		{"mtlsSecurityScheme", s.MutualTLS != nil},
	}
}

// AppendJSON appends the ProtoJSON form.
func (s *APIKeySecurityScheme) AppendJSON(b []byte) []byte {
	b = append(b, '{')
	b = optText(b, "description", s.Description)
	b = text(b, "location", s.Location)
	b = text(b, "name", s.Name)
	return append(b, '}')
}

// MarshalJSON returns the ProtoJSON form.
func (s APIKeySecurityScheme) MarshalJSON() ([]byte, error) { return s.AppendJSON(nil), nil }

// UnmarshalJSON reads the ProtoJSON form.
func (s *APIKeySecurityScheme) UnmarshalJSON(doc []byte) error { return unmarshal(doc, s) }

func (s *APIKeySecurityScheme) decode(d *decoder) *fault {
	*s = APIKeySecurityScheme{}
	return d.object(func(name []byte) *fault {
		switch string(name) {
		case "description":
			return d.string(&s.Description)
		case "location":
			return d.string(&s.Location)
		case "name":
			return d.string(&s.Name)
		}
		return d.ignore()
	})
}

// AppendJSON appends the ProtoJSON form.
func (s *HTTPAuthSecurityScheme) AppendJSON(b []byte) []byte {
	b = append(b, '{')
	b = optText(b, "description", s.Description)
	b = text(b, "scheme", s.Scheme)
	b = optText(b, "bearerFormat", s.BearerFormat)
	return append(b, '}')
}

// MarshalJSON returns the ProtoJSON form.
func (s HTTPAuthSecurityScheme) MarshalJSON() ([]byte, error) { return s.AppendJSON(nil), nil }

// UnmarshalJSON reads the ProtoJSON form.
func (s *HTTPAuthSecurityScheme) UnmarshalJSON(doc []byte) error { return unmarshal(doc, s) }

func (s *HTTPAuthSecurityScheme) decode(d *decoder) *fault {
	*s = HTTPAuthSecurityScheme{}
	return d.object(func(name []byte) *fault {
		switch string(name) {
		case "description":
			return d.string(&s.Description)
		case "scheme":
			return d.string(&s.Scheme)
		case "bearerFormat", "bearer_format":
			return d.string(&s.BearerFormat)
		}
		return d.ignore()
	})
}

// AppendJSON appends the ProtoJSON form.
func (s *OAuth2SecurityScheme) AppendJSON(b []byte) []byte {
	b = append(b, '{')
	b = optText(b, "description", s.Description)
	b = s.Flows.AppendJSON(key(b, "flows"))
	b = optText(b, "oauth2MetadataUrl", s.OAuth2MetadataURL)
	return append(b, '}')
}

// MarshalJSON returns the ProtoJSON form.
func (s OAuth2SecurityScheme) MarshalJSON() ([]byte, error) { return s.AppendJSON(nil), nil }

// UnmarshalJSON reads the ProtoJSON form.
func (s *OAuth2SecurityScheme) UnmarshalJSON(doc []byte) error { return unmarshal(doc, s) }

func (s *OAuth2SecurityScheme) decode(d *decoder) *fault {
	*s = OAuth2SecurityScheme{}
	return d.object(func(name []byte) *fault {
		switch string(name) {
		case "description":
			return d.string(&s.Description)
		case "flows":
			return plain(d, &s.Flows)
		case "oauth2MetadataUrl", "oauth2_metadata_url":
			return d.string(&s.OAuth2MetadataURL)
		}
		return d.ignore()
	})
}

// AppendJSON appends the ProtoJSON form.
func (s *OpenIDConnectSecurityScheme) AppendJSON(b []byte) []byte {
	b = append(b, '{')
	b = optText(b, "description", s.Description)
	b = text(b, "openIdConnectUrl", s.OpenIDConnectURL)
	return append(b, '}')
}

// MarshalJSON returns the ProtoJSON form.
func (s OpenIDConnectSecurityScheme) MarshalJSON() ([]byte, error) { return s.AppendJSON(nil), nil }

// UnmarshalJSON reads the ProtoJSON form.
func (s *OpenIDConnectSecurityScheme) UnmarshalJSON(doc []byte) error { return unmarshal(doc, s) }

func (s *OpenIDConnectSecurityScheme) decode(d *decoder) *fault {
	*s = OpenIDConnectSecurityScheme{}
	return d.object(func(name []byte) *fault {
		switch string(name) {
		case "description":
			return d.string(&s.Description)
		case "openIdConnectUrl", "open_id_connect_url":
			return d.string(&s.OpenIDConnectURL)
		}
		return d.ignore()
	})
}

// AppendJSON appends the ProtoJSON form.
func (s *MutualTLSSecurityScheme) AppendJSON(b []byte) []byte {
	b = append(b, '{')
	b = optText(b, "description", s.Description)
	return append(b, '}')
}

// MarshalJSON returns the ProtoJSON form.
func (s MutualTLSSecurityScheme) MarshalJSON() ([]byte, error) { return s.AppendJSON(nil), nil }

// UnmarshalJSON reads the ProtoJSON form.
func (s *MutualTLSSecurityScheme) UnmarshalJSON(doc []byte) error { return unmarshal(doc, s) }

func (s *MutualTLSSecurityScheme) decode(d *decoder) *fault {
	*s = MutualTLSSecurityScheme{}
	return d.object(func(name []byte) *fault {
		switch string(name) {
		case "description":
			return d.string(&s.Description)
		}
		return d.ignore()
	})
}
