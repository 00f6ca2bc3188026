package config

import "strings"

// value is a value in the file, checked against the table's row for it.
type value struct {
	field        *field
	path         string
	line, column int  // of the value
	bad          bool // it was reported: rules skip it

	text   string // of scalars: as the flag or the agent gets it
	source string // "${env:X}" or a file's name, if it came from there and may be secret

	written string   // with a variable: as written in the file
	parts   []string // the values of variables and files in it

	// parsed is the meaning of a value that is more than text: a bool, int64, float64,
	// time.Duration, or JSON.
	parsed any

	items   []*value  // of lists
	members []*member // of objects and dicts, in the order of the file
}

// member is a name and its value.
type member struct {
	name         string // api_key for api_key_file, too
	line, column int    // of the name
	value        *value
}

// at returns the value at a path below v, such as card.skills; nil if there is none.
func (v *value) at(path string) *value {
	for name := range strings.SplitSeq(path, ".") {
		v = v.member(name)
	}
	return v
}

func (v *value) member(name string) *value {
	if v == nil {
		return nil
	}
	for _, m := range v.members {
		if m.name == name {
			return m.value
		}
	}
	return nil
}

// yes reports whether v is true.
func (v *value) yes() bool { return v != nil && v.parsed == true }

// is reports whether v exists, is valid and has this text.
func (v *value) is(text string) bool { return v != nil && !v.bad && v.text == text }
