package auth

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/parley-a2a/parley/internal/json"
)

// Bounds of what is parsed.
const (
	maxDocument = 4 << 20 // bytes
	maxDepth    = 100
)

// parseJSON reads a document into nil, bool, float64, string, []any and
// map[string]any. encoding/json would do, were it not for what it lets pass:
// members that are there twice, and strings that are no Unicode.
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
