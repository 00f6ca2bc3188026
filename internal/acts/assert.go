package acts

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Mismatch is a difference between the expected and the actual value.
type Mismatch struct {
	Path     string `json:"path,omitempty"`
	Expected string `json:"expected"`
	Actual   string `json:"actual"`
}

func (m *Mismatch) String() string {
	at := ""
	if m.Path != "" {
		at = m.Path + ": "
	}
	return fmt.Sprintf("%sexpected %s, got %s", at, m.Expected, m.Actual)
}

// operators are the operators of a map assertion (ACTS §5.1), and two that ACTS does not have:
// items, which corpora use, and has, which only this package's corpus uses.
var operators = []string{
	"type", "exists", "absent", "contains", "matches", "starts_with", "ends_with", "gte", "lte", "gt", "lt",
	"count", "count_gte", "count_lte", "one_of", "all_of", "any_of", "not", "items", "has",
}

// isAssertion reports whether a map consists of operators. A member of an answer may have the
// name of one (type, contains), so all members must be operators.
func isAssertion(m map[string]any) bool {
	for name, v := range m {
		if !slices.Contains(operators, name) || name == "type" && !isType(v) {
			return false
		}
	}
	return len(m) > 0
}

func isType(v any) bool {
	s, ok := v.(string)
	return ok && slices.Contains([]string{"string", "number", "boolean", "array", "object", "null"}, s)
}

// match compares a value with the expected one. there is false if the value is missing. It
// returns the first difference, or nil.
func match(want, got any, there bool, at string) *Mismatch {
	switch want := want.(type) {
	case map[string]any:
		if isAssertion(want) {
			return matchOperators(want, got, there, at)
		}
		if !there {
			return differ(at, "an object", nil, false)
		}
		o, ok := got.(map[string]any)
		if !ok {
			return differ(at, "an object", got, true)
		}
		for _, name := range slices.Sorted(maps.Keys(want)) {
			if m := matchMember(name, want[name], o, at); m != nil {
				return m
			}
		}
		return nil
	case []any:
		list, ok := got.([]any)
		if !there || !ok {
			return differ(at, "an array", got, there)
		}
		for i, w := range want {
			if i >= len(list) {
				return differ(at, fmt.Sprintf("%d elements", len(want)), got, true)
			}
			if m := match(w, list[i], true, fmt.Sprintf("%s[%d]", at, i)); m != nil {
				return m
			}
		}
		return nil
	}
	if !there || !equal(want, got) {
		return differ(at, show(want), got, there)
	}
	return nil
}

// matchMember compares a member. An operator such as any_of next to members applies to the
// object itself.
func matchMember(name string, want any, o map[string]any, at string) *Mismatch {
	v, ok := o[name]
	if !ok && (name == "any_of" || name == "all_of" || name == "one_of" || name == "not") {
		return matchOperators(map[string]any{name: want}, o, true, at)
	}
	return match(want, v, ok, join(at, name))
}

func join(at, name string) string {
	if at == "" {
		return name
	}
	return at + "." + name
}

func matchOperators(want map[string]any, got any, there bool, at string) *Mismatch {
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if m := matchOperator(name, want[name], got, there, at); m != nil {
			return m
		}
	}
	return nil
}

func matchOperator(name string, want, got any, there bool, at string) *Mismatch {
	bad := func(format string, args ...any) *Mismatch {
		return differ(at, fmt.Sprintf(format, args...), got, there)
	}
	text, isText := got.(string)
	switch name {
	case "exists":
		if there != (want == true) {
			return bad("it to be there: %v", want)
		}
		return nil
	case "absent":
		if there == (want == true) {
			return bad("it to be absent: %v", want)
		}
		return nil
	case "any_of", "one_of":
		if !slices.ContainsFunc(asList(want), func(w any) bool { return match(w, got, there, at) == nil }) {
			return bad("%s %s", strings.ReplaceAll(name, "_", " "), show(want))
		}
		return nil
	case "all_of":
		for _, w := range asList(want) {
			if m := match(w, got, there, at); m != nil {
				return m
			}
		}
		return nil
	case "not":
		if match(want, got, there, at) == nil {
			return bad("not %s", show(want))
		}
		return nil
	}
	if !there {
		return bad("%s %s", name, show(want))
	}
	switch name {
	case "type":
		if is := typeOf(got); is != want {
			return bad("type %v", want)
		}
	case "contains", "starts_with", "ends_with":
		f := map[string]func(s, t string) bool{"contains": strings.Contains, "starts_with": strings.HasPrefix, "ends_with": strings.HasSuffix}[name]
		if !isText || !f(text, plainText(want)) {
			return bad("text that %s %s", strings.ReplaceAll(name, "_", " "), show(want))
		}
	case "matches":
		re, err := regexp.Compile(plainText(want))
		if err != nil {
			return bad("a regular expression that Go knows: %v", err)
		}
		if !isText || !re.MatchString(text) {
			return bad("text that matches %s", show(want))
		}
	case "gte", "lte", "gt", "lt":
		a, ok1 := asNumber(got)
		b, ok2 := asNumber(want)
		if !ok1 || !ok2 || !map[string]bool{"gte": a >= b, "lte": a <= b, "gt": a > b, "lt": a < b}[name] {
			return bad("%s %s", name, show(want))
		}
	case "count", "count_gte", "count_lte":
		list, ok := got.([]any)
		n, isNumber := asNumber(want)
		if !ok || !isNumber || !map[string]bool{"count": len(list) == int(n), "count_gte": len(list) >= int(n), "count_lte": len(list) <= int(n)}[name] {
			return bad("%s %s", name, show(want))
		}
	case "items":
		list, ok := got.([]any)
		if !ok {
			return bad("an array")
		}
		if _, each := want.([]any); !each {
			for i, v := range list {
				if m := match(want, v, true, fmt.Sprintf("%s[%d]", at, i)); m != nil {
					return m
				}
			}
			return nil
		}
		return match(want, got, true, at)
	case "has":
		if !slices.ContainsFunc(asElements(got), func(v any) bool { return match(want, v, true, at) == nil }) {
			return bad("an element like %s", show(want))
		}
	}
	return nil
}

func asList(v any) []any {
	if list, ok := v.([]any); ok {
		return list
	}
	return []any{v}
}

func asElements(v any) []any {
	list, _ := v.([]any)
	return list
}

func asNumber(v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case string:
		f, err := strconv.ParseFloat(v, 64)
		return f, err == nil
	}
	return 0, false
}

func typeOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case float64:
		return "number"
	case string:
		return "string"
	case []any:
		return "array"
	}
	return "object"
}

// equal compares scalars. It compares objects and arrays as a whole.
func equal(a, b any) bool {
	if typeOf(a) != typeOf(b) {
		return false
	}
	return compact(a) == compact(b)
}

func differ(at, expected string, got any, there bool) *Mismatch {
	actual := "nothing"
	if there {
		actual = show(got)
	}
	return &Mismatch{Path: at, Expected: expected, Actual: actual}
}

// compact writes a value as JSON.
func compact(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}

const maxShown = 300

// show is compact for messages: it shortens long values.
func show(v any) string { return cut(compact(v), maxShown) }

func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
