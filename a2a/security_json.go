package a2a

import (
	"maps"
	"slices"

	"github.com/parley-a2a/parley/internal/json"
)

// scopeList is the message that contains the scopes of a scheme.
type scopeList struct {
	List []string `json:"list,omitempty"`
}

var scopeListJSON = json.For[scopeList]()

// AppendJSON appends the ProtoJSON form.
func (r SecurityRequirement) AppendJSON(b []byte) []byte {
	b = append(b, '{')
	if len(r) > 0 {
		b = append(json.AppendKey(b, "schemes"), '{')
		for _, scheme := range slices.Sorted(maps.Keys(r)) {
			b = scopeListJSON.Append(json.AppendName(b, scheme), &scopeList{r[scheme]})
		}
		b = append(b, '}')
	}
	return append(b, '}')
}

// MarshalJSON returns the ProtoJSON form.
func (r SecurityRequirement) MarshalJSON() ([]byte, error) { return r.AppendJSON(nil), nil }

// UnmarshalJSON reads the ProtoJSON form.
func (r *SecurityRequirement) UnmarshalJSON(doc []byte) error {
	return unmarshal(doc, securityRequirementJSON, r)
}

func readRequirement(r *json.Reader, v *SecurityRequirement) *json.Fault {
	if r.Peek() != '{' {
		return r.Expected("an object")
	}
	*v = SecurityRequirement{}
	return r.Members(func(name string) *json.Fault {
		if name != "schemes" {
			r.Skip()
			return nil
		}
		clear(*v)
		if r.Null() {
			return nil
		}
		return r.Members(func(scheme string) (f *json.Fault) {
			var in scopeList
			if r.Peek() == '[' { // the Go SDK omits the list's message
				in.List, f = r.Texts()
			} else {
				f = scopeListJSON.Read(r, &in)
			}
			(*v)[scheme] = in.List
			return f
		})
	})
}

// appendRequirements appends requirements; a nil one has no schemes.
func appendRequirements(b []byte, list *[]SecurityRequirement, _ bool) ([]byte, bool) {
	b = append(b, '[')
	for _, r := range *list {
		b = r.AppendJSON(json.AppendComma(b))
	}
	return append(b, ']'), true
}

func hasNone(list *[]SecurityRequirement) bool { return len(*list) == 0 }

func readRequirements(r *json.Reader, list *[]SecurityRequirement) *json.Fault {
	return r.Elements(func() *json.Fault {
		var one SecurityRequirement
		f := readRequirement(r, &one)
		*list = append(*list, one)
		return f
	})
}

func appendSchemes(b []byte, m *map[string]*SecurityScheme, _ bool) ([]byte, bool) {
	b = append(b, '{')
	for _, name := range slices.Sorted(maps.Keys(*m)) {
		s := (*m)[name]
		if s == nil {
			s = new(SecurityScheme)
		}
		b = s.AppendJSON(json.AppendName(b, name))
	}
	return append(b, '}'), true
}

func hasNoSchemes(m *map[string]*SecurityScheme) bool { return len(*m) == 0 }

func readSchemes(r *json.Reader, m *map[string]*SecurityScheme) *json.Fault {
	*m = map[string]*SecurityScheme{}
	return r.Members(func(name string) *json.Fault {
		s := new(SecurityScheme)
		(*m)[name] = s
		return securitySchemeJSON.Read(r, s)
	})
}

// The members that the protocol makes REQUIRED, which differ between flows
// (specification §4.5.8 to §4.5.10).
const (
	needAuthorizationURL = 1 << iota
	needDeviceURL
	needTokenURL
	_
	needScopes
)

// flowMembers are the members of a flow, in the order of the bits above.
var flowMembers = [...]string{"authorizationUrl", "deviceAuthorizationUrl", "tokenUrl", "refreshUrl", "scopes", "pkceRequired"}

// flowKind is one of the flows that an OAuthFlows may have.
type flowKind struct {
	name string
	flow *OAuthFlow // nil if it has none of this kind
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

// appendFlows writes the REQUIRED members of each flow even if they are empty. A flow
// by itself does not know its kind, and writes what is set.
func appendFlows(b []byte, f *OAuthFlows, _ bool) ([]byte, bool) {
	b = append(b, '{')
	for _, k := range f.kinds() {
		if k.flow == nil {
			continue
		}
		b = append(json.AppendKey(b, k.name), '{')
		for i, name := range flowMembers {
			b = oauthFlowJSON.AppendMember(b, k.flow, name, k.need>>i&1 != 0)
		}
		b = append(b, '}')
	}
	return append(b, '}'), true
}
