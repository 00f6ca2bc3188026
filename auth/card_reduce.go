package auth

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/parley-a2a/parley/internal/json"
)

// shape says how the members of a message of the protocol are reduced for a
// signature (specification §8.4.1), by their JSON names. It is what a2a.proto
// says of REQUIRED and optional, which our types do not know.
type shape map[string]member

// member is one member of a message.
type member struct {
	kind  kind
	shape shape // of a message, of each of a list or of a map; nil: taken as it stands
}

type kind int

const (
	kept    kind = iota // REQUIRED, optional, a message or a choice: stays whenever it is there
	plain               // goes when it is "", false, 0, [] or {}
	list                // of messages; goes when it is empty
	keptAll             // a list of messages that is REQUIRED
	mapping             // to messages; goes when it is empty
)

// What the protocol's messages have (a2a.proto of version 1.0).
var (
	cardShape = shape{
		"name": {}, "description": {}, "version": {}, "documentationUrl": {}, "iconUrl": {},
		"defaultInputModes": {}, "defaultOutputModes": {},
		"supportedInterfaces":  {keptAll, shape{"url": {}, "protocolBinding": {}, "protocolVersion": {}, "tenant": {kind: plain}}},
		"provider":             {shape: shape{"url": {}, "organization": {}}},
		"capabilities":         {shape: capabilitiesShape},
		"securitySchemes":      {mapping, schemeShape},
		"securityRequirements": {list, requirementShape},
		"skills":               {keptAll, skillShape},
	}
	capabilitiesShape = shape{
		"streaming": {}, "pushNotifications": {}, "extendedAgentCard": {},
		"extensions": {list, shape{"uri": {kind: plain}, "description": {kind: plain}, "required": {kind: plain}, "params": {}}},
	}
	skillShape = shape{
		"id": {}, "name": {}, "description": {}, "tags": {},
		"examples": {kind: plain}, "inputModes": {kind: plain}, "outputModes": {kind: plain},
		"securityRequirements": {list, requirementShape},
	}
	requirementShape = shape{"schemes": {mapping, shape{"list": {kind: plain}}}}
	schemeShape      = shape{
		"apiKeySecurityScheme":        {shape: shape{"description": {kind: plain}, "location": {}, "name": {}}},
		"httpAuthSecurityScheme":      {shape: shape{"description": {kind: plain}, "scheme": {}, "bearerFormat": {kind: plain}}},
		"oauth2SecurityScheme":        {shape: shape{"description": {kind: plain}, "flows": {shape: flowsShape}, "oauth2MetadataUrl": {kind: plain}}},
		"openIdConnectSecurityScheme": {shape: shape{"description": {kind: plain}, "openIdConnectUrl": {}}},
		"mtlsSecurityScheme":          {shape: shape{"description": {kind: plain}}},
	}
	flowsShape = shape{
		"authorizationCode": {shape: shape{"authorizationUrl": {}, "tokenUrl": {}, "refreshUrl": {kind: plain}, "scopes": {}, "pkceRequired": {kind: plain}}},
		"clientCredentials": {shape: shape{"tokenUrl": {}, "refreshUrl": {kind: plain}, "scopes": {}}},
		"implicit":          {shape: shape{"authorizationUrl": {kind: plain}, "refreshUrl": {kind: plain}, "scopes": {kind: plain}}},
		"password":          {shape: shape{"tokenUrl": {kind: plain}, "refreshUrl": {kind: plain}, "scopes": {kind: plain}}},
		"deviceCode":        {shape: shape{"deviceAuthorizationUrl": {}, "tokenUrl": {}, "refreshUrl": {kind: plain}, "scopes": {}}},
	}
)

// Form says how a card becomes the payload of a signature.
type Form int

const (
	// FormWhole has every member of the document but signatures.
	FormWhole Form = iota
	// FormProtocol has the members that version 1.0 of the protocol knows. It
	// is what implementations sign that hold cards as protobuf messages.
	FormProtocol
	// FormStripped is FormProtocol without any empty string, list or object,
	// REQUIRED or not, inside of extensions' parameters, too. The SDKs for
	// JavaScript and Python sign it, against §8.4.1. It does not tell a scheme
	// without scopes from no scheme.
	FormStripped
)

func (f Form) String() string {
	switch f {
	case FormWhole:
		return "whole"
	case FormProtocol:
		return "protocol"
	}
	return "stripped"
}

// A Payload is what a signature of a card covers.
type Payload struct {
	Form Form
	// JSON is the canonical document. It is a card itself: what a program
	// believes of a signed card, it should read from here.
	JSON []byte
	// Uncovered are the paths of members that are in the card but not in the
	// payload: with FormProtocol those the protocol does not know, such as
	// what older versions have in other places.
	Uncovered []string
	// Empty are the paths of members that are in the card but, being empty, not in
	// the payload: whoever passes the card on can take them away, or add others
	// like them, and the signature still holds.
	Empty []string
}

// Reduce returns the payload of a card's document in a form (§8.4.1).
func Reduce(doc []byte, f Form) (*Payload, error) {
	card, err := parseCard(doc)
	if err != nil {
		return nil, err
	}
	return reduce(card, f)
}

func reduce(card map[string]any, f Form) (*Payload, error) {
	r := reduction{all: f == FormWhole}
	card = maps.Clone(card)
	delete(card, "signatures")
	m, err := r.message(card, cardShape, "")
	if err != nil {
		return nil, err
	}
	if f == FormStripped {
		s, left := strip(m, "")
		if m, _ = s.(map[string]any); m == nil {
			m = map[string]any{}
		}
		r.empty = append(r.empty, left...)
	}
	slices.Sort(r.extra)
	slices.Sort(r.empty)
	return &Payload{Form: f, JSON: appendCanonical(nil, m), Uncovered: r.extra, Empty: r.empty}, nil
}

// reduction is the state of one.
type reduction struct {
	all   bool     // members that the protocol does not know stay, too
	extra []string // paths of the members that it left out for being unknown
	empty []string // and of those for being empty
}

func (r *reduction) message(in map[string]any, s shape, path string) (map[string]any, error) {
	out := make(map[string]any, len(in))
	for name, v := range in {
		m, known := s[name]
		if camel := s.camel(name); !known && camel != "" {
			if _, both := in[camel]; both {
				return nil, fmt.Errorf("member %s%s is there twice, in two spellings", path, camel)
			}
			name, m, known = camel, s[camel], true
		}
		if !known {
			if r.all {
				out[name] = v
			} else {
				r.extra = append(r.extra, path+name)
			}
			continue
		}
		if v == nil { // not set, in ProtoJSON
			r.empty = append(r.empty, path+name)
			continue
		}
		v, err := r.member(v, m, path+name)
		if err != nil {
			return nil, err
		}
		if empty(v) && m.kind != kept && m.kind != keptAll {
			r.empty = append(r.empty, path+name)
			continue
		}
		out[name] = v
	}
	return out, nil
}

// member reduces one value. A value in another form than the protocol's is
// taken as it stands: a signature does not judge it.
func (r *reduction) member(v any, m member, path string) (any, error) {
	if m.shape == nil {
		return v, nil
	}
	each := func(v any, path string) (any, error) {
		if o, ok := v.(map[string]any); ok {
			return r.message(o, m.shape, path+".")
		}
		return v, nil
	}
	switch v := v.(type) {
	case []any:
		if m.kind != list && m.kind != keptAll {
			return v, nil
		}
		out := make([]any, len(v))
		for i, e := range v {
			var err error
			if out[i], err = each(e, fmt.Sprintf("%s[%d]", path, i)); err != nil {
				return nil, err
			}
		}
		return out, nil
	case map[string]any:
		if m.kind != mapping {
			return each(v, path)
		}
		out := make(map[string]any, len(v))
		for key, e := range v {
			var err error
			if out[key], err = each(e, path+"."+key); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	return v, nil
}

// empty reports whether v is the default of its type.
func empty(v any) bool {
	switch v := v.(type) {
	case string:
		return v == ""
	case bool:
		return !v
	case float64:
		return v == 0
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return v == nil
}

// strip returns v without what is empty, or empty then; nil if nothing is left.
// left are the paths of what it left out.
func strip(v any, path string) (out any, left []string) {
	switch v := v.(type) {
	case string:
		if v != "" {
			return v, nil
		}
	case []any:
		var kept []any
		for i, e := range v {
			e, without := strip(e, fmt.Sprintf("%s[%d]", path, i))
			if left = append(left, without...); e != nil {
				kept = append(kept, e)
			}
		}
		if kept != nil {
			return kept, left
		}
	case map[string]any:
		kept := map[string]any{}
		for name, e := range v {
			e, without := strip(e, strings.TrimPrefix(path+"."+name, "."))
			if left = append(left, without...); e != nil {
				kept[name] = e
			}
		}
		if len(kept) > 0 {
			return kept, left
		}
	default:
		if v != nil {
			return v, nil
		}
	}
	return nil, []string{path} // as a whole
}

// camel returns the member that name is the other spelling of, the one of
// a2a.proto, which ProtoJSON reads as well; "" if there is none.
func (s shape) camel(name string) string {
	if !strings.Contains(name, "_") {
		return ""
	}
	for camel := range s {
		if json.Snake(camel) == name {
			return camel
		}
	}
	return ""
}

// parseCard reads a card's document.
func parseCard(doc []byte) (map[string]any, error) {
	v, err := parseJSON(doc)
	if err != nil {
		return nil, fmt.Errorf("read the card: %w", err)
	}
	card, ok := v.(map[string]any)
	if !ok {
		return nil, errors.New("read the card: it is not a JSON object")
	}
	return card, nil
}
