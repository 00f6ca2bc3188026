package json

import (
	"fmt"
	"strconv"
)

// A Fault is what is wrong with a value. It starts out without a path, and every
// level it passes on the way up puts its own name in front, so that paths cost
// nothing where nothing is wrong.
type Fault struct {
	Path string
	Text string
}

// Faultf returns a fault without a path.
func Faultf(format string, args ...any) *Fault { return &Fault{Text: fmt.Sprintf(format, args...)} }

// Under puts a segment in front of the fault's path. That of nil is nil.
func (f *Fault) Under(segment string) *Fault {
	if f == nil {
		return nil
	}
	if f.Path != "" && f.Path[0] != '[' {
		segment += "."
	}
	f.Path = segment + f.Path
	return f
}

// at is Under for an element of an array.
func (f *Fault) at(i int) *Fault {
	if f == nil {
		return nil
	}
	return f.Under("[" + strconv.Itoa(i) + "]")
}

// Expected is the fault of a value of another kind than its field wants.
func (r *Reader) Expected(want string) *Fault {
	return Faultf("expected %s, got %s", want, Kind(r.Peek()))
}

// Excerpt quotes the beginning of foreign text.
func Excerpt(s []byte) string {
	const most = 40
	if len(s) > most {
		return strconv.Quote(string(s[:most])) + "…"
	}
	return strconv.Quote(string(s))
}
