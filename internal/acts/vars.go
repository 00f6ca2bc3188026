package acts

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/google/uuid"
)

var reference = regexp.MustCompile(`\{\{\s*([^{}]+?)\s*\}\}`)

// unresolved is the error for a reference without a value.
type unresolved struct{ name string }

func (u *unresolved) Error() string { return fmt.Sprintf("there is no value for {{%s}}", u.name) }

// resolve replaces {{references}} by values. A text that is only one reference becomes the
// value itself, of any type.
func (p *player) resolve(v any) (any, error) { return rebuilt(v, p.resolveText) }

// rebuilt copies a value of JSON, with each text replaced.
func rebuilt(v any, text func(string) (any, error)) (any, error) {
	switch v := v.(type) {
	case string:
		return text(v)
	case obj:
		m := make(obj, len(v))
		for name, x := range v {
			r, err := rebuilt(x, text)
			if err != nil {
				return nil, err
			}
			m[name] = r
		}
		return m, nil
	case []any:
		list := make([]any, len(v))
		for i, x := range v {
			r, err := rebuilt(x, text)
			if err != nil {
				return nil, err
			}
			list[i] = r
		}
		return list, nil
	}
	return v, nil
}

// clone copies a value of JSON.
func clone(v any) any {
	c, _ := rebuilt(v, func(s string) (any, error) { return s, nil })
	return c
}

func (p *player) resolveText(s string) (any, error) {
	if m := reference.FindStringSubmatch(s); m != nil && m[0] == s {
		return p.lookup(m[1])
	}
	var failed error
	s = reference.ReplaceAllStringFunc(s, func(ref string) string {
		var v any
		if failed == nil {
			v, failed = p.lookup(strings.TrimSpace(strings.Trim(ref, "{}")))
		}
		return plainText(v)
	})
	return s, failed
}

// lookup returns the value of a reference (ACTS §12.2).
func (p *player) lookup(name string) (any, error) {
	step, rest, ok := strings.Cut(name, ".")
	if ok {
		if captured, ok := p.captured[step]; ok {
			if v, ok := lookup(captured, rest); ok {
				return v, nil
			}
		}
		switch step {
		case "env":
			if v, ok := p.o.Variables["env."+rest]; ok {
				return v, nil
			}
		case "hook":
			return p.hook(rest).url, nil
		case "card":
			if v, ok := lookup(any(p.target.card), rest); ok {
				return v, nil
			}
		}
	}
	if v, ok := p.o.Variables[name]; ok {
		return v, nil
	}
	switch name {
	case "$uuid":
		return uuid.NewString(), nil
	case "SUT_BASE_URL", "env.A2A_BASE_URL", "interface.url":
		return p.iface.url, nil
	case "required.extensions": // for tests that append others
		if uris := p.target.extensions(true); len(uris) > 0 {
			return strings.Join(uris, ", ") + ", ", nil
		}
		return "", nil
	case "interface.tenant":
		return p.iface.tenant, nil
	case "webhookUrl":
		if p.o.Corpus.repaired {
			return p.hook("url").url, nil
		}
	}
	if v, ok := p.doc.Variables[name]; ok && p.depth < maxDepth {
		p.depth++
		defer func() { p.depth-- }()
		return p.resolveText(v)
	}
	return nil, &unresolved{name}
}
