package transcripts

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Vars are the values that the placeholders of a file stand for: a name has
// one value from where it is met first.
type Vars map[string]string

// placeholder is what stands for a value that somebody makes up. A number
// behind the kind makes another name of it.
var placeholder = regexp.MustCompile(`\$(uuid|time|id|text|any|maybe|none)([0-9]*)`)

// absent is what may be missing, filled: null is as good as missing.
var absent = regexp.MustCompile(`"\$(maybe|none)"`)

var (
	uuidForm = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	timeForm = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3})?Z$`)
)

// openEnded is a member that lets an object have others than those named.
const openEnded = "$more"

// Fill replaces the placeholders of a text by their values, and makes up those
// that are not known yet.
func (v Vars) Fill(text string) string {
	text = absent.ReplaceAllString(text, "null")
	return placeholder.ReplaceAllStringFunc(text, func(name string) string {
		if value, ok := v[name]; ok {
			return value
		}
		kind := placeholder.FindStringSubmatch(name)[1]
		value := fmt.Sprintf("made-up-%s-%d", kind, len(v)+1)
		switch kind {
		case "uuid":
			value = fmt.Sprintf("00000000-0000-4000-8000-%012d", len(v)+1)
		case "time":
			value = time.Date(2026, 3, 12, 10, 0, len(v), 0, time.UTC).Format(time.RFC3339)
		case "any":
			return value
		}
		v[name] = value
		return value
	})
}

// Match compares a JSON document with the one that is wanted: the order of
// members does not matter, nor how a number or a time is written.
func (v Vars) Match(want, got string) error {
	w, err := decode(want)
	if err != nil {
		return fmt.Errorf("the wanted text is no JSON: %w", err)
	}
	g, err := decode(got)
	if err != nil {
		return fmt.Errorf("no JSON (%w): %s", err, clip(got))
	}
	return v.match("", w, g)
}

// MatchBody compares bodies: events line by line, what is JSON by meaning, and
// anything else to the byte.
func (v Vars) MatchBody(want, got string, events bool) error {
	if events {
		w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
		for i := range min(len(w), len(g)) {
			wantDoc, ok := strings.CutPrefix(w[i], "data: ")
			gotDoc, too := strings.CutPrefix(g[i], "data: ")
			if !ok || !too {
				if w[i] != g[i] {
					return fmt.Errorf("line %d is %q, want %q", i+1, clip(g[i]), clip(w[i]))
				}
				continue
			}
			if err := v.Match(wantDoc, gotDoc); err != nil {
				return fmt.Errorf("line %d: %w", i+1, err)
			}
		}
		if len(w) != len(g) {
			return fmt.Errorf("%d lines, want %d:\n%s", len(g), len(w), got)
		}
		return nil
	}
	if _, err := decode(want); err == nil {
		return v.Match(want, got)
	}
	if strings.TrimRight(want, "\n") != strings.TrimRight(got, "\n") {
		return fmt.Errorf("%q, want %q", clip(got), clip(want))
	}
	return nil
}

func (v Vars) match(path string, want, got any) error {
	if name, ok := want.(string); ok && placeholder.FindString(name) == name && name != "" {
		return v.bind(path, name, got)
	}
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			return differ(path, want, got)
		}
		for _, name := range slices.Sorted(maps.Keys(w)) {
			if name == openEnded {
				continue
			}
			value, ok := g[name]
			if text, _ := w[name].(string); !ok && (text == "$maybe" || text == "$none") {
				continue
			}
			if !ok {
				return fmt.Errorf("%s.%s is missing in %s", path, name, show(got))
			}
			if err := v.match(path+"."+name, w[name], value); err != nil {
				return err
			}
		}
		more := w[openEnded] == true
		for _, name := range slices.Sorted(maps.Keys(g)) {
			if _, ok := w[name]; !ok && !more && name != openEnded { // a client keeps that of an answer that was filled in
				return fmt.Errorf("%s.%s should not be there: %s", path, name, show(g[name]))
			}
		}
		return nil
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			return differ(path, want, got)
		}
		for i := range w {
			if err := v.match(fmt.Sprintf("%s[%d]", path, i), w[i], g[i]); err != nil {
				return err
			}
		}
		return nil
	case json.Number:
		if g, ok := got.(json.Number); ok && equal(w, g) {
			return nil
		}
		return differ(path, want, got)
	}
	if want != got && !sameTime(want, got) {
		return differ(path, want, got)
	}
	return nil
}

// sameTime reports whether both are times, and the same.
func sameTime(a, b any) bool {
	x, _ := a.(string)
	y, _ := b.(string)
	s, err := time.Parse(time.RFC3339, x)
	t, err2 := time.Parse(time.RFC3339, y)
	return err == nil && err2 == nil && s.Equal(t) && strings.HasSuffix(y, "Z")
}

// bind gives a placeholder its value, or compares it with the one it has.
func (v Vars) bind(path, name string, got any) error {
	kind := placeholder.FindStringSubmatch(name)[1]
	switch {
	case kind == "any" || kind == "maybe" || kind == "none" && unset(got):
		return nil
	case kind == "none":
		return fmt.Errorf("%s is %s, want none", path, show(got))
	}
	text, ok := got.(string)
	switch {
	case !ok || text == "":
		return fmt.Errorf("%s is %s, want a string for %s", path, show(got), name)
	case kind == "uuid" && !uuidForm.MatchString(text):
		return fmt.Errorf("%s is %q, which is no UUID", path, text)
	case kind == "time" && !timeForm.MatchString(text):
		return fmt.Errorf("%s is %q, which is no time in UTC with at most milliseconds", path, text)
	case v[name] != "" && v[name] != text:
		return fmt.Errorf("%s is %q, want %q as before for %s", path, text, v[name], name)
	}
	v[name] = text
	return nil
}

// unset reports whether a value says no more than if it were missing.
func unset(v any) bool {
	switch v := v.(type) {
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	case json.Number:
		return v == "0"
	}
	return v == nil || v == false || v == ""
}

func equal(a, b json.Number) bool {
	if a == b {
		return true
	}
	x, ok := new(big.Rat).SetString(string(a))
	y, too := new(big.Rat).SetString(string(b))
	return ok && too && x.Cmp(y) == 0
}

func differ(path string, want, got any) error {
	return fmt.Errorf("%s is %s, want %s", path, show(got), show(want))
}

func show(v any) string {
	b, _ := json.Marshal(v)
	return clip(string(b))
}

func clip(s string) string {
	if len(s) > 600 {
		return s[:600] + "…"
	}
	return s
}

func decode(doc string) (any, error) {
	d := json.NewDecoder(bytes.NewReader([]byte(doc)))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if d.More() {
		return nil, fmt.Errorf("more than one document")
	}
	return v, nil
}
