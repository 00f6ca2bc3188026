package dialect

import (
	stdjson "encoding/json"

	"github.com/parley-a2a/parley/internal/json"
)

// The readers of older documents look at one level at a time. A document is
// checked once, as a whole, and members are slices of it, not copies.

// objectMember is one member of an object. A name without escapes is a part of the
// document.
type objectMember struct {
	name []byte
	raw  stdjson.RawMessage
}

// members are the members of an object in their order. There are few, so a scan costs
// less than a map.
type members []objectMember

// get returns a member; of equal names the last counts.
func (m members) get(name string) stdjson.RawMessage {
	for i := len(m) - 1; i >= 0; i-- {
		if string(m[i].name) == name {
			return m[i].raw
		}
	}
	return nil
}

// getSnake is get for the snake_case spelling of a name in camelCase.
func (m members) getSnake(camel string) stdjson.RawMessage {
	for i := len(m) - 1; i >= 0; i-- {
		if isSnake(m[i].name, camel) {
			return m[i].raw
		}
	}
	return nil
}

// isSnake reports whether a name is json.Snake(camel).
func isSnake(name []byte, camel string) bool {
	at := 0
	for i := range len(camel) {
		c := camel[i]
		if c >= 'A' && c <= 'Z' {
			if at == len(name) || name[at] != '_' {
				return false
			}
			at++
			c += 'a' - 'A'
		}
		if at == len(name) || name[at] != c {
			return false
		}
		at++
	}
	return at == len(name)
}

// unique returns the members by name.
func (m members) unique() map[string]stdjson.RawMessage {
	all := make(map[string]stdjson.RawMessage, len(m))
	for _, in := range m {
		all[string(in.name)] = in.raw
	}
	return all
}

// scanMembers appends the members of an object.
func scanMembers(m members, doc []byte) members {
	r := json.Read(doc)
	for r.Enter(); r.More(); {
		m = append(m, objectMember{r.Name(), r.Skip()})
	}
	return m
}

// scanElements returns the elements of an array.
func scanElements(doc []byte) (list []stdjson.RawMessage) {
	r := json.Read(doc)
	for r.Enter(); r.More(); {
		list = append(list, r.Skip())
	}
	return list
}
