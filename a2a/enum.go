package a2a

import (
	"strings"

	"github.com/parley-a2a/parley/internal/json"
)

// enum is an enumeration of the protocol's. Values are read in every spelling that was
// ever published: drafts and samples of 1.0 still have those of version 0.x.
type enum[E ~int32] struct {
	what   string       // such as "a role"
	names  []string     // by number; the first one stands for unspecified
	values map[string]E // by spelling
	valid  string       // the other names, for errors
}

// newEnum returns an enumeration. Version 0.x omits the prefix, writes small letters and
// hyphens, and has no name for unspecified; prefix is empty if it has no such enumeration.
func newEnum[E ~int32](what, prefix string, names ...string) *enum[E] {
	e := &enum[E]{what: what, names: names, values: map[string]E{}}
	for i, name := range names {
		e.values[name] = E(i)
		if prefix != "" && i > 0 {
			e.values[strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(name, prefix), "_", "-"))] = E(i)
		}
	}
	last := len(names) - 1
	e.valid = strings.Join(names[1:last], ", ") + " or " + names[last]
	return e
}

// name returns the name of a value; one without a name is unspecified.
func (e *enum[E]) name(v E) string {
	if v < 0 || int(v) >= len(e.names) {
		v = 0
	}
	return e.names[v]
}

func (e *enum[E]) unmarshalText(name []byte, v *E) error {
	known, ok := e.values[string(name)]
	if !ok {
		return Errorf(CodeInvalidParams, "%s is not %s; use %s", json.Excerpt(name), e.what, e.valid)
	}
	*v = known
	return nil
}

// read reads a value by name or, as ProtoJSON allows, by number. In an answer, a value
// of a later version becomes the unspecified one, because the rest of the answer counts.
func (e *enum[E]) read(r *json.Reader, v *E) *json.Fault {
	switch b := r.Peek(); {
	case b == '"':
		name, _ := r.Text()
		known, ok := e.values[name]
		if !ok && !r.Keep {
			return json.Faultf("%s is not %s; use %s", json.Excerpt([]byte(name)), e.what, e.valid)
		}
		*v = known
		return nil
	case b != '-' && b-'0' > 9:
		return r.Expected(e.what)
	}
	n, f := r.Int32()
	if f == nil && (n < 0 || int(n) >= len(e.names)) {
		if r.Keep {
			return nil
		}
		f = json.Faultf("%d is not %s; use %s", n, e.what, e.valid)
	}
	*v = E(n)
	return f
}
