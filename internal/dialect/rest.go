package dialect

import (
	"bytes"
	"cmp"
	"net/url"
	"slices"
	"strings"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/json"
)

// DecodeREST makes a request from a matched route, the query and the body; the route
// says whether the query or the body counts. Fields of the path override those of the
// body; only a tenant must not differ. If the path has fields, an empty body counts as
// an empty object. Unknown query parameters are ignored. Errors are InvalidParams and
// name the field.
func DecodeREST(m Match, query url.Values, body []byte) (any, error) {
	doc := body
	switch {
	case !m.Route.Body:
		var err error
		if doc, err = queryObject(m.Op, query); err != nil {
			return nil, err
		}
	case (len(body) == 0 || string(bytes.TrimSpace(body)) == "null") && len(m.Fields) > 0:
		doc = []byte("{}") // a2a-go 2.3 sends null if the path says it all
	case len(body) == 0:
		return nil, a2a.Errorf(a2a.CodeParse, "the body is empty: send a JSON object")
	}
	if !isObject(doc) {
		return nil, a2a.Invalid("body", "must be an object")
	}
	req, err := m.Codec().DecodeRequest(m.Op, doc)
	if err != nil {
		return nil, err
	}
	for _, f := range m.Fields {
		*field(req, f.Name) = f.Value
	}
	if w, ok := req.(*a2a.TaskPushNotificationConfig); ok {
		if w.ID == "" || m.Dialect == V03 && w.ID == w.TaskID {
			// By the proto of 0.3 and of 1.0.0-rc the body is only the config, so its
			// id is in the query.
			w.ID = cmp.Or(query.Get("configId"), query.Get("config_id"), w.ID)
		}
		if m.Dialect == V03 && w.ID == "" {
			w.ID = w.TaskID // as everywhere in 0.3; the codec did not know the task
		}
	}
	if t := field(req, "tenant"); m.Tenant != "" {
		if *t != "" && *t != m.Tenant {
			return nil, a2a.Invalid("tenant", "the path says %q, the request %q: send one of them, or the same twice",
				clip(m.Tenant, 64), clip(*t, 64))
		}
		*t = m.Tenant
	}
	return req, nil
}

// RESTCall is a request of HTTP+JSON, to be sent below the interface's URL.
type RESTCall struct {
	Method string
	Path   string // percent-encoded, with a leading slash
	Query  string // encoded, without question mark; "" if there is none
	Body   []byte // JSON; nil if there is none
	Codec  Codec  // reads the answer
}

// RESTWays returns how many routes BuildREST knows for an operation: those of the
// dialect and, in 0.3, the one of Match.Codec. Lists have no other one: most agents of
// 0.3 have no lists, and a second try would not tell.
func RESTWays(d Dialect, op Op) int {
	n := len(Get(op).Routes[d])
	if d == V03 && op != ListTasks {
		n++
	}
	return n
}

// BuildREST makes the call that MatchRoute and DecodeREST turn back into req,
// by route n of the operation's routes in the dialect; 0 is the usual one. req
// must be of the operation's request type. The error is InvalidParams for an
// empty id.
func BuildREST(d Dialect, op Op, n int, req any) (RESTCall, error) {
	of, codec, tenant := d, CodecOf(d, a2a.BindingHTTPJSON), ""
	if d >= V10 {
		tenant = *field(req, "tenant")
	}
	if own := len(Get(op).Routes[d]); d == V03 && n == own {
		of, codec, n = V10, v03Codec{formTS}, 0
	}
	r := &Get(op).Routes[of][n]
	path, err := templateOf(of, r).build(tenant, func(name string) string { return *field(req, name) })
	if err != nil {
		return RESTCall{}, err
	}
	call := RESTCall{Method: r.Method, Path: path, Codec: codec}
	doc := codec.AppendRequest(nil, op, req)
	if r.Body {
		call.Body = doc
		return call, nil
	}
	call.Query = queryString(op, doc)
	return call, nil
}

// param is a query parameter. Its kind is that of its JSON value.
type param struct {
	name string // camelCase
	kind byte   // 's' string, 't' timestamp, 'n' number, 'b' boolean
}

// params lists the query parameters of the operations that have some. All have tenant,
// which is in the path only if the client puts it there.
var params = map[Op][]param{
	GetTask: {{"historyLength", 'n'}, {"currentGeneration", 'n'}, {"timelineLength", 'n'}},
	ListTasks: {
		{"contextId", 's'}, {"status", 's'}, {"pageSize", 'n'}, {"pageToken", 's'},
		{"historyLength", 'n'}, {"statusTimestampAfter", 't'}, {"includeArtifacts", 'b'}, {"timelineLength", 'n'},
		{"lastUpdatedAfter", 't'}, // as 0.3 has it
	},
	ListTaskPushNotificationConfigs: {{"pageSize", 'n'}, {"pageToken", 's'}},
}

func paramsOf(op Op) []param { return append(slices.Clip(params[op]), param{"tenant", 's'}) }

// queryObject makes a JSON object from a query, so that the same decoder judges its
// values as those of a body.
func queryObject(op Op, query url.Values) ([]byte, error) {
	doc := []byte{'{'}
	for _, p := range paramsOf(op) {
		values := query[p.name]
		if snake := json.Snake(p.name); snake != p.name {
			values = append(slices.Clip(values), query[snake]...)
		}
		if len(values) == 0 {
			continue
		}
		if len(values) > 1 {
			return nil, a2a.Invalid(p.name, "given %d times", len(values))
		}
		v := values[0]
		switch {
		case p.kind == 'b' && v != "true" && v != "false":
			return nil, a2a.Invalid(p.name, "must be true or false")
		case p.kind == 'n' && (v == "" || strings.Trim(v, "-0123456789") != ""):
			return nil, a2a.Invalid(p.name, "must be a whole number")
		case p.kind == 't':
			v = plusOffset(v)
		}
		if doc = json.AppendKey(doc, p.name); p.kind == 'b' {
			doc = append(doc, v...)
		} else {
			doc = appendText(doc, v) // ProtoJSON reads numbers from strings
		}
	}
	return append(doc, '}'), nil
}

// plusOffset restores the sign of an offset such as +02:00. RFC 3986, by which queries
// are encoded (§11.5), lets a plus stand for itself; net/url reads it as in HTML forms,
// as a blank.
func plusOffset(timestamp string) string {
	at := len(timestamp) - len("+00:00")
	if at < len("2006-01-02T15:04:05") || timestamp[at] != ' ' {
		return timestamp
	}
	return timestamp[:at] + "+" + timestamp[at+1:]
}

// queryString is the inverse of queryObject, for an object that was just encoded.
func queryString(op Op, doc []byte) string {
	if len(doc) == 0 {
		return "" // requests without params
	}
	in, q := scanMembers(nil, doc), url.Values{}
	for _, p := range params[op] { // the tenant is in the path
		switch v := in.get(p.name); {
		case len(v) == 0:
		case v[0] == '"':
			q.Set(p.name, unquoteText(v))
		default:
			q.Set(p.name, string(v))
		}
	}
	return q.Encode()
}

// field returns the field of a request that a path names.
func field(req any, name string) *string {
	tenant, id, taskID := fieldsOf(req)
	var p *string
	switch name {
	case "tenant":
		p = tenant
	case "id":
		p = id
	case "taskId":
		p = taskID
	}
	if p == nil {
		panic("dialect: no path field " + name)
	}
	return p
}
