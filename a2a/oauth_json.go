package a2a

// The members of a flow that the protocol makes REQUIRED, which depend on the
// flow (specification §4.5.8 to §4.5.10).
const (
	needAuthorizationURL = 1 << iota
	needDeviceURL
	needTokenURL
	needScopes
)

// flowKind is one of the flows an OAuthFlows may have.
type flowKind struct {
	name string
	flow *OAuthFlow // nil if it has not
	need int
}

func (f *OAuthFlows) kinds() [5]flowKind {
	return [...]flowKind{
		{"authorizationCode", f.AuthorizationCode, needAuthorizationURL | needTokenURL | needScopes},
		{"clientCredentials", f.ClientCredentials, needTokenURL | needScopes},
		{"implicit", f.Implicit, 0},
		{"password", f.Password, 0},
		{"deviceCode", f.DeviceCode, needDeviceURL | needTokenURL | needScopes},
	}
}

// AppendJSON appends the ProtoJSON form.
func (f *OAuthFlows) AppendJSON(b []byte) []byte {
	b = append(b, '{')
	for _, k := range f.kinds() {
		if k.flow != nil {
			b = k.flow.append(key(b, k.name), k.need)
		}
	}
	return append(b, '}')
}

// MarshalJSON returns the ProtoJSON form.
func (f OAuthFlows) MarshalJSON() ([]byte, error) { return f.AppendJSON(nil), nil }

// UnmarshalJSON reads the ProtoJSON form.
func (f *OAuthFlows) UnmarshalJSON(doc []byte) error { return unmarshal(doc, f) }

func (f *OAuthFlows) decode(d *decoder) *fault {
	*f = OAuthFlows{}
	bad := d.object(func(name []byte) *fault {
		switch string(name) {
		case "authorizationCode", "authorization_code":
			return pointer(d, &f.AuthorizationCode)
		case "clientCredentials", "client_credentials":
			return pointer(d, &f.ClientCredentials)
		case "implicit":
			return pointer(d, &f.Implicit)
		case "password":
			return pointer(d, &f.Password)
		case "deviceCode", "device_code":
			return pointer(d, &f.DeviceCode)
		}
		return d.ignore()
	})
	if bad != nil {
		return bad
	}
	var choices []choice
	for _, k := range f.kinds() {
		choices = append(choices, choice{k.name, k.flow != nil})
	}
	return atMostOne(choices...)
}

// AppendJSON appends the ProtoJSON form. On its own, a flow does not know what
// is REQUIRED of it, and appends what is set.
func (f *OAuthFlow) AppendJSON(b []byte) []byte { return f.append(b, 0) }

func (f *OAuthFlow) append(b []byte, need int) []byte {
	b = append(b, '{')
	if f.AuthorizationURL != "" || need&needAuthorizationURL != 0 {
		b = text(b, "authorizationUrl", f.AuthorizationURL)
	}
	if f.DeviceAuthorizationURL != "" || need&needDeviceURL != 0 {
		b = text(b, "deviceAuthorizationUrl", f.DeviceAuthorizationURL)
	}
	if f.TokenURL != "" || need&needTokenURL != 0 {
		b = text(b, "tokenUrl", f.TokenURL)
	}
	b = optText(b, "refreshUrl", f.RefreshURL)
	if len(f.Scopes) > 0 || need&needScopes != 0 {
		b = textMap(b, "scopes", f.Scopes)
	}
	b = optBool(b, "pkceRequired", f.PKCERequired)
	return append(b, '}')
}

// MarshalJSON returns the ProtoJSON form.
func (f OAuthFlow) MarshalJSON() ([]byte, error) { return f.AppendJSON(nil), nil }

// UnmarshalJSON reads the ProtoJSON form.
func (f *OAuthFlow) UnmarshalJSON(doc []byte) error { return unmarshal(doc, f) }

func (f *OAuthFlow) decode(d *decoder) *fault {
	*f = OAuthFlow{}
	return d.object(func(name []byte) *fault {
		switch string(name) {
		case "authorizationUrl", "authorization_url":
			return d.string(&f.AuthorizationURL)
		case "deviceAuthorizationUrl", "device_authorization_url":
			return d.string(&f.DeviceAuthorizationURL)
		case "tokenUrl", "token_url":
			return d.string(&f.TokenURL)
		case "refreshUrl", "refresh_url":
			return d.string(&f.RefreshURL)
		case "scopes":
			return d.textMap(&f.Scopes)
		case "pkceRequired", "pkce_required":
			return d.bool(&f.PKCERequired)
		}
		return d.ignore()
	})
}
