package auth

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/parley-a2a/parley/internal/json"
)

// shape says how the members of one of the protocol's messages are reduced for a
// signature (specification §8.4.1), by their JSON names. It states what is REQUIRED and
// optional in a2a.proto, which our types do not know.
type shape map[string]member

// member is one member of a message.
type member struct {
	kind  kind
	shape shape // of a message, or of each one in a list or map; nil: copied unchanged
}

type kind int

const (
	kept    kind = iota // REQUIRED, optional, a message or a choice: stays if it is there
	plain               // removed if it is "", false, 0, [] or {}
	list                // of messages; removed if it is empty
	keptAll             // a list of messages that is REQUIRED
	mapping             // to messages; removed if it is empty
)

// The members of the protocol's messages (a2a.proto of version 1.0).
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
	// FormWhole has every member of the document except signatures.
	FormWhole Form = iota
	// FormProtocol has the members that version 1.0 of the protocol knows.
	// Implementations that hold cards as protobuf messages sign it.
	FormProtocol
	// FormStripped is FormProtocol without any empty string, list or object, REQUIRED or
	// not, even inside of extensions' parameters. The SDKs for JavaScript and Python sign
	// it, against §8.4.1. It does not distinguish a scheme without scopes from no scheme.
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
	// JSON is the canonical document. It is a card itself: a program should read from
	// here what it believes of a signed card.
	JSON []byte
	// Uncovered are the paths of members that are in the card but not in the payload:
	// with FormProtocol those that the protocol does not know, such as members that
	// older versions have in other places.
	Uncovered []string
	// Empty are the paths of members that are in the card but not in the payload
	// because they are empty: anybody who passes the card on can remove them, or add
	// others like them, and the signature still holds.
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

// reduction is the state of one call of reduce.
type reduction struct {
	all   bool     // keep members that the protocol does not know
	extra []string // paths of the members that were left out because they are unknown
	empty []string // paths of those left out because they are empty
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

// member reduces one value. A value that does not have the protocol's form is copied
// unchanged: a signature does not judge it.
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

// strip returns v without what is empty or becomes so; nil if nothing is left. left has
// the paths of what it removed.
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

// camel returns the member whose spelling in a2a.proto is name, which ProtoJSON reads
// as well; "" if there is none.
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
