package dialect

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/parley-a2a/parley/a2a"
)

// Match is a route that fits a request.
type Match struct {
	Op      Op
	Dialect Dialect
	Route   *Route
	Tenant  string      // of the path, decoded; "" if it names none
	Fields  []PathField // of the route's template, in its order
}

// Codec returns the codec of a request to the route. The Go implementation has its own
// way of speaking 0.3 over HTTP+JSON: on the routes of 1.0, and in the form of
// JSON-RPC.
func (m Match) Codec() Codec {
	if m.Dialect == V03 && !strings.HasPrefix(m.Route.Path, "/v1/") {
		return v03Codec{formTS}
	}
	return CodecOf(m.Dialect, a2a.BindingHTTPJSON)
}

// PathField is a variable of a route's template with its decoded value.
type PathField struct{ Name, Value string }

// DetectREST finds the route of an HTTP method and a path below the interface's URL,
// percent-encoded as it came, and the dialect it is called in (DIALECTS 1.7). A path
// below /v1 is of 0.3, unless the version says 1.0: then v1 is a tenant. A route of 1.0
// in version 0.2 or 0.3 is of 0.3, unless strict: see Match.Codec. The error is
// VersionNotSupported; MethodNotFound if nothing fits; or MethodNotAllowed if only the
// method does not fit: then allow lists those that do.
func DetectREST(method, path, version string, strict bool) (m Match, allow []string, err error) {
	if d, ok := ParseVersion(version); (!ok || d < V10) && strings.HasPrefix(path, "/v1/") {
		m, allow, ok = MatchRoute(V03, method, path)
		if ok {
			m.Dialect, err = settle(V03, version, strict)
			return m, nil, err
		}
	}
	if allow == nil {
		var ok bool
		if m, allow, ok = MatchRoute(V10, method, path); ok {
			if d, known := ParseVersion(version); known && d == V03 && m.Tenant == "" && !strict {
				m.Dialect = V03
				return m, nil, nil
			}
			m.Dialect, err = settle(V10, version, strict)
			return m, nil, err
		}
	}
	if allow != nil {
		return Match{}, allow, a2a.Errorf(a2a.CodeMethodNotAllowed, "%.16s is not allowed here: use %s", method, strings.Join(allow, ", "))
	}
	return Match{}, nil, a2a.Errorf(a2a.CodeMethodNotFound, "there is nothing at this path; the card at /.well-known/agent-card.json names the agent's addresses")
}

// MatchRoute finds the route of a dialect for an HTTP method and a path below the
// interface's URL, percent-encoded as it came. Literals win over variables, so that
// /tasks/x is the task x and nothing of a tenant "tasks". If only the method does not
// fit, ok is false and allow lists those that do.
func MatchRoute(d Dialect, method, path string) (m Match, allow []string, ok bool) {
	path, ok = strings.CutPrefix(path, "/")
	if !ok {
		return Match{}, nil, false
	}
	segments := strings.Split(path, "/")
	m, allow, ok = matchBelow(d, method, segments)
	if ok || allow != nil || d < V10 {
		return m, allow, ok
	}
	tenant, err := url.PathUnescape(segments[0])
	if err != nil || tenant == "" {
		return Match{}, nil, false
	}
	m, allow, ok = matchBelow(d, method, segments[1:])
	m.Tenant = tenant
	return m, allow, ok
}

func matchBelow(d Dialect, method string, segments []string) (m Match, allow []string, ok bool) {
	verb := false
	for i := range templates[d] {
		t := &templates[d][i]
		if verb && t.verb == "" {
			break // GET /tasks/x:subscribe is not the task "x:subscribe"
		}
		fields, fits := t.match(segments)
		if !fits {
			continue
		}
		headed := t.route.Method == http.MethodGet && !Get(t.op).Streams // net/http omits the body
		if t.route.Method == method || headed && method == http.MethodHead {
			return Match{Op: t.op, Dialect: d, Route: t.route, Fields: fields}, nil, true
		}
		if allow = append(allow, t.route.Method); headed {
			allow = append(allow, http.MethodHead)
		}
		verb = t.verb != ""
	}
	return Match{}, allow, false
}

// template is a Route's path, parsed.
type template struct {
	op       Op
	route    *Route
	segments []segment
	verb     string // with its colon, after the last field; "" if none
}

type segment struct{ literal, field string } // one of the two is set

// templates holds all routes by dialect, those with a verb first.
var templates = func() (all [dialects][]template) {
	for d := range all {
		all[d] = parseTemplates(Dialect(d))
	}
	return all
}()

func parseTemplates(d Dialect) []template {
	var with, without []template
	for i := range Operations {
		routes := Operations[i].Routes[d]
		for j := range routes {
			t := template{op: Operations[i].Op, route: &routes[j]}
			for _, s := range strings.Split(t.route.Path[1:], "/") {
				if s[0] != '{' {
					t.segments = append(t.segments, segment{literal: s})
					continue
				}
				var name string
				name, t.verb, _ = strings.Cut(s[1:], "}")
				t.segments = append(t.segments, segment{field: name})
			}
			if t.verb != "" {
				with = append(with, t)
			} else {
				without = append(without, t)
			}
		}
	}
	return append(with, without...)
}

func templateOf(d Dialect, r *Route) *template {
	for i := range templates[d] {
		if templates[d][i].route == r {
			return &templates[d][i]
		}
	}
	panic("dialect: no route " + r.Path)
}

// match compares a path with the template. A field takes a segment that is not empty.
// The verb follows the last colon, because ids may contain colons.
func (t *template) match(path []string) (fields []PathField, ok bool) {
	if len(path) != len(t.segments) {
		return nil, false
	}
	for i, s := range t.segments {
		if s.literal != "" {
			if path[i] != s.literal {
				return nil, false
			}
			continue
		}
		id := path[i]
		if t.verb != "" && i == len(path)-1 {
			colon := strings.LastIndexByte(id, ':')
			if colon < 0 || id[colon:] != t.verb {
				return nil, false
			}
			id = id[:colon]
		}
		value, err := url.PathUnescape(id)
		if err != nil || value == "" {
			return nil, false
		}
		fields = append(fields, PathField{s.field, value})
	}
	return fields, true
}

// build fills the template of a route. value returns a field's value; an empty one is
// InvalidParams, because it would lead to another route.
func (t *template) build(tenant string, value func(name string) string) (string, error) {
	var b strings.Builder
	if tenant != "" {
		b.WriteByte('/')
		b.WriteString(escapeTenant(tenant))
	}
	for _, s := range t.segments {
		b.WriteByte('/')
		if s.literal != "" {
			b.WriteString(s.literal)
			continue
		}
		v := value(s.field)
		if v == "" {
			return "", a2a.Invalid(s.field, "is required")
		}
		b.WriteString(escapeSegment(v))
	}
	return b.String() + t.verb, nil
}

// escapeSegment encodes a value as one path segment. Colons are encoded too, so that no
// id can look like a verb; in "." and ".." the dots are, because intermediaries would
// resolve them.
func escapeSegment(s string) string {
	if s == "." || s == ".." {
		return strings.ReplaceAll(s, ".", "%2E")
	}
	return strings.ReplaceAll(url.PathEscape(s), ":", "%3A")
}

// escapeTenant encodes a tenant. If it equals the first segment of a route, its first
// letter is encoded, because otherwise the literal would win.
func escapeTenant(s string) string {
	for i := range templates[V10] {
		if templates[V10][i].segments[0].literal == s {
			return fmt.Sprintf("%%%02X", s[0]) + escapeSegment(s[1:])
		}
	}
	return escapeSegment(s)
}
