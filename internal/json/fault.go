package json

import (
	"fmt"
	"strconv"
)

// A Fault says what is wrong with a value. It begins without a path, and each level
// that it passes on the way up prepends its own name, so that paths cost nothing unless
// something is wrong.
type Fault struct {
	Path string
	Text string
}

// Faultf returns a fault without a path.
func Faultf(format string, args ...any) *Fault { return &Fault{Text: fmt.Sprintf(format, args...)} }

// Under prepends a segment to the fault's path. It returns nil for nil.
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

// Expected returns the fault of a value that is not of the wanted kind.
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
