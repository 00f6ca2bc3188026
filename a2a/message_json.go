package a2a

import (
	"math/bits"
	"strings"

	"github.com/parley-a2a/parley/internal/json"
)

// MarshalText returns the ProtoJSON name.
func (r Role) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads a ProtoJSON name or a spelling of version 0.x, such as user.
func (r *Role) UnmarshalText(name []byte) error {
	v, ok := parseRole(string(name))
	if !ok {
		return Errorf(CodeInvalidParams, "%s is not a role; use ROLE_USER or ROLE_AGENT", json.Excerpt(name))
	}
	*r = v
	return nil
}

func parseRole(name string) (Role, bool) {
	switch name {
	case "ROLE_USER", "user":
		return RoleUser, true
	case "ROLE_AGENT", "agent":
		return RoleAgent, true
	case "ROLE_UNSPECIFIED":
		return RoleUnspecified, true
	}
	return 0, false
}

func readRole(r *json.Reader, v *Role) *json.Fault {
	return readEnum(r, v, parseRole, RoleAgent, "a role", "ROLE_USER or ROLE_AGENT")
}

// readEnum reads a value of an enumeration by name or, as ProtoJSON allows, by number.
// In an answer, a value of a later version becomes the unspecified one, because the
// rest of the answer counts.
func readEnum[E ~int32](r *json.Reader, v *E, parse func(string) (E, bool), last E, what, names string) *json.Fault {
	switch b := r.Peek(); {
	case b == '"':
		name, _ := r.Text()
		e, ok := parse(name)
		if !ok && !r.Keep {
			return json.Faultf("%s is not %s; use %s", json.Excerpt([]byte(name)), what, names)
		}
		*v = e
		return nil
	case b != '-' && b-'0' > 9:
		return r.Expected(what)
	}
	n, f := r.Int32()
	if f == nil && (n < 0 || n > int32(last)) {
		if r.Keep {
			return nil
		}
		f = json.Faultf("%d is not %s; use %s", n, what, names)
	}
	*v = E(n)
	return f
}

// contentFields is the number of fields of a Part that hold its content: one for each
// PartKind, in the same order.
const contentFields = 4

var contentNames = [contentFields]string{"text", "raw", "url", "data"}

// whichContent sets the kind of a part, which has exactly one content
// (specification §4.1.6).
func whichContent(p *Part, seen json.Seen) *json.Fault {
	content := uint8(seen) & (1<<contentFields - 1)
	switch bits.OnesCount8(content) {
	case 0:
		return json.Faultf("%s", noContent)
	case 1:
		p.Kind = PartText + PartKind(bits.TrailingZeros8(content))
		return nil
	}
	var names []string
	for i, name := range contentNames {
		if seen.Has(i) {
			names = append(names, name)
		}
	}
	return json.Faultf("a part has one content, but this one has %s; send a part for each", strings.Join(names, " and "))
}
