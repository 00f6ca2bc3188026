package auth

import (
	"bytes"
	"maps"
	"math"
	"slices"
	"strconv"
	"unicode/utf16"

	"github.com/parley-a2a/parley/internal/json"
)

// Canonical returns the canonical form of a JSON document (RFC 8785): members
// sorted by UTF-16 code units, numbers as ECMAScript writes them, no white
// space, as few escapes as possible. Documents that mean the same to everybody
// have the same form, which can be signed.
//
// Numbers are IEEE doubles, as the RFC has it: 9007199254740993 becomes
// 9007199254740992. Refused are documents that two readers could understand
// differently (a member twice, strings that are no Unicode, numbers beyond a
// double), that are nested deeper than 100 levels, or larger than 4 MiB.
func Canonical(doc []byte) ([]byte, error) {
	v, err := parseJSON(doc)
	if err != nil {
		return nil, err
	}
	return appendCanonical(make([]byte, 0, len(doc)), v), nil
}

// appendCanonical appends a value of parseJSON.
func appendCanonical(b []byte, v any) []byte {
	switch v := v.(type) {
	case bool:
		return strconv.AppendBool(b, v)
	case float64:
		return appendNumber(b, v)
	case string:
		return json.AppendString(b, v)
	case []any:
		b = append(b, '[')
		for i, e := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendCanonical(b, e)
		}
		return append(b, ']')
	case map[string]any:
		b = append(b, '{')
		for i, name := range slices.SortedFunc(maps.Keys(v), compareUTF16) {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(json.AppendString(b, name), ':')
			b = appendCanonical(b, v[name])
		}
		return append(b, '}')
	}
	return append(b, "null"...)
}

// appendNumber appends a finite number as Number.prototype.toString of
// ECMAScript does (RFC 8785 §3.2.2.3): the shortest digits that lead back to
// it, with an exponent from 1e21 up and below 1e-6.
func appendNumber(b []byte, f float64) []byte {
	if f == 0 { // also -0
		return append(b, '0')
	}
	if abs := math.Abs(f); abs >= 1e-6 && abs < 1e21 {
		return strconv.AppendFloat(b, f, 'f', -1, 64)
	}
	from := len(b)
	b = strconv.AppendFloat(b, f, 'e', -1, 64)
	// Go writes two digits of exponent at least, ECMAScript one.
	if e := from + bytes.IndexByte(b[from:], 'e'); b[e+2] == '0' {
		b = slices.Delete(b, e+2, e+3)
	}
	return b
}

// compareUTF16 compares by UTF-16 code units (RFC 8785 §3.2.3). That is the
// order of the bytes, except that what is beyond the basic plane begins with
// a surrogate there and so comes before U+E000 to U+FFFF.
func compareUTF16(a, b string) int {
	return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
}
