package acts

import (
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"
)

func (p *parser) steps(n *yaml.Node, what string) (list []*Step) {
	seen := map[string]bool{}
	for _, c := range p.list(n, what+": steps") {
		s := p.step(c, what)
		if seen[s.ID] {
			p.fail(c, "%s has two steps %q", what, s.ID)
		}
		seen[s.ID] = true
		list = append(list, s)
	}
	return list
}

func (p *parser) step(n *yaml.Node, test string) *Step {
	m := p.object(n, test+": a step")
	s := new(Step)
	s.ID = p.text(p.need(n, m, test+": a step", "id"), test+": a step's id")
	what := test + ", step " + s.ID
	p.rest(m, what, "id", "description", "operation", "params", "raw", "client_response", "expect_parsed", "assertion", "headers",
		"credentials", "open", "read", "close", "deliveries", "only", "expect", "expect_error", "expect_stream", "capture", "assertions", "repeat", "delay_ms")
	kinds := 0
	for _, name := range []string{"operation", "raw", "client_response", "read", "close", "deliveries", "assertion"} {
		if _, ok := m[name]; ok {
			kinds++
		}
	}
	take(m, what, "operation", p.operation, &s.Operation)
	take(m, what, "params", p.values, &s.Params)
	take(m, what, "raw", p.raw, &s.Raw)
	_, s.Client = m["client_response"]
	take(m, what, "read", p.text, &s.Read)
	take(m, what, "close", p.text, &s.Close)
	take(m, what, "deliveries", p.deliveries, &s.Wait)
	if v, ok := m["assertion"]; ok {
		s.Assertions = append(s.Assertions, p.assertion(v.value, what))
	}
	if kinds != 1 {
		p.fail(n, "%s must have one of operation, raw, client_response, assertion, read, close and deliveries", what)
	}
	take(m, what, "headers", p.values, &s.Headers)
	take(m, what, "credentials", p.one("none", "wrong", "other"), &s.Auth)
	take(m, what, "open", p.number, &s.Open)
	take(m, what, "only", p.bindings, &s.Only)
	take(m, what, "expect", p.values, &s.Expect)
	take(m, what, "expect_error", p.values, &s.Error)
	take(m, what, "expect_stream", p.values, &s.Stream)
	if v, ok := m["expect"]; ok {
		p.expect(v.value, what, s.Expect)
	}
	if v, ok := m["expect_error"]; ok {
		p.expectError(v.value, what, s.Error)
	}
	if v, ok := m["expect_stream"]; ok {
		p.rest(p.object(v.value, what), what+": expect_stream", "min_count", "max_count", "timeout_ms", "ordering", "events", "final_event", "each_event")
	}
	if v, ok := m["capture"]; ok {
		for name, path := range p.object(v.value, what+": capture") {
			s.Capture = append(s.Capture, Capture{name, p.path(path.value, what+": capture")})
		}
		slices.SortFunc(s.Capture, func(a, b Capture) int { return strings.Compare(a.Name, b.Name) })
	}
	s.Assertions = append(s.Assertions, p.assertions(m["assertions"].value, what)...)
	take(m, what, "repeat", p.repeat, &s.Repeat)
	take(m, what, "delay_ms", p.millis, &s.Delay)
	return s
}

func (p *parser) operation(n *yaml.Node, what string) string {
	name := p.text(n, what)
	if real, ok := operationAliases[name]; ok {
		p.odd(n, "%s: the format calls %s %s", what, name, real)
		return real
	}
	return p.one(operations...)(n, what)
}

func (p *parser) raw(n *yaml.Node, what string) *RawRequest {
	m := p.object(n, what)
	p.rest(m, what, "method", "path", "headers", "body", "body_raw")
	r := &RawRequest{Method: "POST", Path: "/"}
	take(m, what, "method", p.one("GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH"), &r.Method)
	take(m, what, "path", p.text, &r.Path)
	take(m, what, "headers", p.values, &r.Headers)
	take(m, what, "body", p.any, &r.Body)
	if v, ok := m["body_raw"]; ok {
		r.BodyRaw = new(p.text(v.value, what+": body_raw"))
	}
	return r
}

// expect reads an expected answer. Without a body, members that the format does not know belong
// to the body, as some corpora write it.
func (p *parser) expect(n *yaml.Node, what string, v map[string]any) {
	words := []string{"status", "headers", "body", "within_ms"}
	for _, m := range p.object(n, what) {
		if !slices.Contains(words, m.key.Value) {
			p.odd(m.key, "%s: expect has %q beside body: it is taken for the body's", what, m.key.Value)
			body, _ := v["body"].(map[string]any)
			if body == nil {
				body = map[string]any{}
				v["body"] = body
			}
			body[m.key.Value] = v[m.key.Value]
			delete(v, m.key.Value)
		}
	}
}

func (p *parser) expectError(n *yaml.Node, what string, v map[string]any) {
	for _, m := range p.object(n, what) {
		switch m.key.Value {
		case "error_type", "message", "details":
		case "code":
			p.odd(m.key, "%s: expect_error has code, which the format calls error_type", what)
			v["error_type"] = v["code"]
			delete(v, "code")
		case "data":
			p.odd(m.key, "%s: expect_error has data, which the format calls details", what)
			v["details"] = v["data"]
			delete(v, "data")
		default:
			p.odd(m.key, "%s: expect_error has %q, which the format does not know", what, m.key.Value)
		}
	}
	names := []any{v["error_type"]}
	if o, ok := v["error_type"].(map[string]any); ok {
		names, _ = o["one_of"].([]any)
	}
	for _, name := range names {
		if name, ok := name.(string); ok && kindNamed(name) == nil {
			p.fail(n, "%s: there is no error %q", what, name)
		}
	}
}

func (p *parser) deliveries(n *yaml.Node, what string) *Deliveries {
	m := p.object(n, what)
	p.rest(m, what, "hook", "min", "end")
	d := &Deliveries{Hook: "url"}
	take(m, what, "hook", p.text, &d.Hook)
	take(m, what, "min", p.number, &d.Min)
	take(m, what, "end", p.truth, &d.End)
	return d
}

func (p *parser) repeat(n *yaml.Node, what string) *Repeat {
	m := p.object(n, what)
	p.rest(m, what, "until", "max_attempts", "delay_ms", "backoff")
	r := &Repeat{Attempts: 10, Delay: time.Second}
	until := p.need(n, m, what, "until")
	r.Until = p.text(until, what+": until")
	if _, err := parseUntil(r.Until); err != nil {
		p.fail(until, "%s: until: %v", what, err)
	}
	take(m, what, "max_attempts", p.number, &r.Attempts)
	take(m, what, "delay_ms", p.millis, &r.Delay)
	take(m, what, "backoff", p.one("none", "linear", "exponential"), &r.Backoff)
	return r
}

func (p *parser) path(n *yaml.Node, what string) string {
	s := p.text(n, what)
	if _, err := parsePath(s); err != nil {
		p.fail(n, "%s: %v", what, err)
	}
	return s
}

func (p *parser) assertions(n *yaml.Node, what string) (list []*Assertion) {
	if n == nil {
		return nil
	}
	for _, c := range p.list(n, what+": assertions") {
		list = append(list, p.assertion(c, what))
	}
	return list
}

func (p *parser) assertion(n *yaml.Node, what string) *Assertion {
	m := p.object(n, what+": an assertion")
	p.rest(m, what+": an assertion", "id", "description", "source", "path", "match", "any", "all", "none")
	a := new(Assertion)
	a.Source = p.text(p.need(n, m, what+": an assertion", "source"), what+": source")
	take(m, what, "path", p.path, &a.Path)
	take(m, what, "match", p.any, &a.Match)
	_, a.hasMatch = m["match"]
	for name, to := range map[string]**CollectionMatch{"any": &a.Any, "all": &a.All, "none": &a.None} {
		v, ok := m[name]
		if !ok {
			continue
		}
		c := p.object(v.value, what+": "+name)
		p.rest(c, what+": "+name, "path", "match")
		if c["path"].value == nil || c["match"].value == nil {
			p.fail(v.value, "%s: %s needs path and match", what, name)
		}
		*to = &CollectionMatch{p.path(c["path"].value, what+": path"), p.value(c["match"].value, 0)}
	}
	if !a.hasMatch && a.Any == nil && a.All == nil && a.None == nil {
		p.fail(n, "%s: an assertion has none of match, any, all and none", what)
	}
	return a
}
