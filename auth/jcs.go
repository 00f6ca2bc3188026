package auth

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"unicode/utf16"

	"github.com/parley-a2a/parley/internal/json"
)

// Canonical returns the canonical form of a JSON document (RFC 8785): members sorted by
// UTF-16 code units, numbers as ECMAScript writes them, no white space, as few escapes
// as possible. Documents that mean the same to every reader have the same form, which
// can be signed.
//
// Numbers are IEEE doubles, as in the RFC: 9007199254740993 becomes 9007199254740992.
// Canonical refuses documents that two readers could understand differently (a member
// twice, strings that are not Unicode, numbers beyond a double), that are nested deeper
// than 100 levels, or that are larger than 4 MiB.
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

// appendNumber appends a finite number as Number.prototype.toString of ECMAScript does
// (RFC 8785 §3.2.2.3): the shortest digits that read back as f, with an exponent from
// 1e21 up and below 1e-6.
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

// compareUTF16 compares by UTF-16 code units (RFC 8785 §3.2.3). That is the order of
// the bytes, except that characters beyond the basic plane begin with a surrogate there
// and so come before U+E000 to U+FFFF.
func compareUTF16(a, b string) int {
	return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
}

// Bounds of a document.
const (
	maxDocument = 4 << 20 // bytes
	maxDepth    = 100
)

// parseJSON reads a document into nil, bool, float64, string, []any and map[string]any.
// encoding/json would do if it did not accept duplicate members and strings that are
// not Unicode.
func parseJSON(doc []byte) (any, error) {
	if len(doc) > maxDocument {
		return nil, fmt.Errorf("the document is larger than %d bytes", maxDocument)
	}
	switch flaw, at := json.Check(doc, 1+maxDepth); flaw { // 1 for the document
	case json.Sound:
		return parseValue(json.Read(doc))
	case json.Deep:
		return nil, fmt.Errorf("at byte %d: it is nested deeper than %d levels", at, maxDepth)
	case json.Encoding:
		return nil, errors.New("a string is not UTF-8")
	default:
		return nil, fmt.Errorf("at byte %d: this is not JSON", at)
	}
}

func parseValue(r *json.Reader) (any, error) {
	switch r.Peek() {
	case '{':
		return parseObject(r)
	case '[':
		list := []any{}
		for r.Enter(); r.More(); {
			v, err := parseValue(r)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		return list, nil
	case '"':
		return parseText(r.Skip())
	case 't', 'f':
		return r.Skip()[0] == 't', nil
	case 'n':
		r.Skip()
		return nil, nil
	}
	number := string(r.Skip())
	f, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return nil, fmt.Errorf("the number %.40s is beyond the range of an IEEE double", number)
	}
	return f, nil
}

func parseObject(r *json.Reader) (any, error) {
	m := map[string]any{}
	for r.Enter(); r.More(); {
		name, err := parseText(r.RawName())
		if err != nil {
			return nil, err
		}
		if _, twice := m[name]; twice {
			return nil, fmt.Errorf("member %.40q is there twice", name)
		}
		if m[name], err = parseValue(r); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func parseText(raw []byte) (string, error) {
	if json.Half(raw) {
		return "", errors.New("a string holds half a surrogate pair")
	}
	s, _ := json.Unquote(raw)
	return s, nil
}
