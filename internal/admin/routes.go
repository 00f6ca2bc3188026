package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/parley-a2a/parley/a2a"
)

// Path is the path of the API.
const Path = "/admin/v1"

// route is one method of the API over HTTP. The handler, the client and the OpenAPI document
// all use the same table.
type route struct {
	method string
	path   string // below Path; {task} and {id} match one segment
	scope  string
	about  string
	long   bool     // may take longer than callTime
	params []string // query parameters; params has their kinds
	body   any      // zero value of the request body; nil: none
	answer any      // zero value of the answer; nil: none
	call   func(*call) (any, error)
	stream func(*call) iter.Seq2[message, error] // server-sent events, in place of call; if a route has both, a parameter selects
}

// message is one server-sent event.
type message struct {
	id   string
	data any
}

// call is one request as passed to a route.
type call struct {
	ctx    context.Context
	api    API
	path   map[string]string
	query  map[string]string
	body   []byte
	cursor string // Last-Event-ID, or the parameter after
}

// params describes all query parameters.
var params = map[string]struct{ kind, about string }{
	"limit":   {"integer", "how many a page has, 50 if it is left out, at most 500"},
	"after":   {"string", "next of the page before; of a log the position behind which to begin; of a stream the id behind which it goes on, where a client cannot send Last-Event-ID"},
	"agent":   {"string", "the name of an agent; empty is the one at /"},
	"tenant":  {"string", "a tenant of callers; empty for those without a tenant"},
	"owner":   {"string", "the subject of a caller; empty is anonymous"},
	"context": {"string", "the id of a context"},
	"state":   {"string", "a state in words, such as working"},
	"atWork":  {"boolean", "only tasks that a process works at, or that wait for one"},
	"since":   {"date-time", "not before this"},
	"at":      {"integer", "a position of the task's log; 0 is its end"},
	"follow":  {"boolean", "go on as server-sent events, whose ids are the positions"},
	"task":    {"string", "the id of a task, or its name"},
	"config":  {"string", "the id of a push configuration"},
	"failing": {"boolean", "only those that are retrying or disabled"},
	"event":   {"string", "an event of the audit log, such as call"},
}

var page = []string{"limit", "after"}

var routes = []route{
	{method: "GET", path: "/readiness", scope: a2a.ScopeAdminRead, about: "Whether the server takes work, and why not", answer: Readiness{},
		call: func(c *call) (any, error) { return c.api.Readiness(c.ctx) }},
	{method: "GET", path: "/agents", scope: a2a.ScopeAdminRead, about: "The agents, with the tasks that they have at work", answer: []Agent{},
		call: func(c *call) (any, error) { return list(c.api.Agents(c.ctx)) }},
	{method: "GET", path: "/nodes", scope: a2a.ScopeAdminRead, about: "The processes that share the store", answer: []Node{},
		call: func(c *call) (any, error) { return list(c.api.Nodes(c.ctx)) }},
	{method: "GET", path: "/store", scope: a2a.ScopeAdminRead, about: "Where tasks are kept", answer: Store{},
		call: func(c *call) (any, error) { return c.api.Store(c.ctx) }},
	{method: "GET", path: "/settings", scope: a2a.ScopeAdminRead, about: "The settings in force, and where each comes from", answer: []Setting{},
		call: func(c *call) (any, error) { return list(c.api.Settings(c.ctx)) }},
	{method: "POST", path: "/settings/check", scope: a2a.ScopeAdminRead, about: "What is wrong with a draft of parley.yaml, which is the body; nothing is changed", body: yaml{}, answer: []Finding{},
		call: func(c *call) (any, error) { return list(c.api.CheckSettings(c.ctx, c.body)) }},

	{method: "GET", path: "/tasks", scope: a2a.ScopeAdminRead, about: "Tasks of all tenants, newest change first", answer: Tasks{},
		params: append([]string{"agent", "tenant", "owner", "context", "state", "atWork", "since"}, page...),
		call: func(c *call) (any, error) {
			q := TaskQuery{Query: c.page(), Agent: c.given("agent"), Tenant: c.given("tenant"), Owner: c.given("owner"), Context: c.query["context"], State: c.query["state"], AtWork: c.on("atWork")}
			if s := c.query["since"]; s != "" {
				q.Since, _ = time.Parse(time.RFC3339, s) // checked before
			}
			return c.api.Tasks(c.ctx, q)
		}},
	{method: "GET", path: "/tasks/{task}", scope: a2a.ScopeAdminRead, about: "A task, and what it waits for", answer: Task{},
		call: func(c *call) (any, error) { return c.api.Task(c.ctx, c.path["task"]) }},
	{method: "DELETE", path: "/tasks/{task}", scope: a2a.ScopeAdminWrite, about: "Delete a task that is not at work",
		call: func(c *call) (any, error) { return nil, c.api.DeleteTask(c.ctx, c.path["task"]) }},
	{method: "POST", path: "/tasks/{task}/cancel", scope: a2a.ScopeAdminWrite, about: "Cancel a task for its owner", answer: Task{},
		call: func(c *call) (any, error) { return c.api.CancelTask(c.ctx, c.path["task"]) }},
	{method: "GET", path: "/tasks/{task}/state", scope: a2a.ScopeAdminRead, about: "The Task of A2A 1.0, as of a position of its log", answer: a2aTask{}, params: []string{"at"},
		call: func(c *call) (any, error) { return c.api.TaskAt(c.ctx, c.path["task"], c.number("at")) }},
	{method: "GET", path: "/tasks/{task}/runs", scope: a2a.ScopeAdminRead, about: "What the agent did for each message, with its steps", answer: []Run{},
		call: func(c *call) (any, error) { return list(c.api.Runs(c.ctx, c.path["task"])) }},
	{method: "GET", path: "/tasks/{task}/log", scope: a2a.ScopeAdminRead, about: "The entries of the task's log behind a position, or with follow an endless stream of them", answer: Log{}, params: []string{"after", "limit", "follow"},
		call: func(c *call) (any, error) {
			return c.api.Log(c.ctx, c.path["task"], c.number("after"), int(c.number("limit")))
		},
		stream: func(c *call) iter.Seq2[message, error] {
			return func(yield func(message, error) bool) {
				after, err := strconv.ParseInt(c.cursor, 10, 64)
				if c.cursor != "" && (err != nil || after < 0) {
					yield(message{}, Invalid("Last-Event-ID", "must be the id of an event of this stream"))
					return
				}
				if _, err := c.api.Task(c.ctx, c.path["task"]); !yield(message{}, err) || err != nil {
					return // otherwise only tell the client that it is connected
				}
				for en, err := range c.api.FollowLog(c.ctx, c.path["task"], after) {
					if !yield(message{strconv.FormatInt(en.Seq, 10), en}, err) {
						return
					}
				}
			}
		}},

	{method: "GET", path: "/deliveries", scope: a2a.ScopeAdminRead, about: "Webhooks, with their progress", answer: Deliveries{}, params: append([]string{"task", "config", "failing"}, page...),
		call: func(c *call) (any, error) { return c.api.Deliveries(c.ctx, c.deliveries()) }},
	{method: "GET", path: "/dead-letters", scope: a2a.ScopeAdminRead, about: "Deliveries that were given up", answer: DeadLetters{}, params: append([]string{"task", "config"}, page...),
		call: func(c *call) (any, error) { return c.api.DeadLetters(c.ctx, c.deliveries()) }},
	{method: "POST", path: "/deliveries/redeliver", scope: a2a.ScopeAdminWrite, about: "Send again what was given up", long: true, body: Redelivery{}, answer: Redelivered{},
		call: sent(API.Redeliver)},
	{method: "POST", path: "/collect", scope: a2a.ScopeAdminWrite, about: "Delete old tasks", long: true, body: Collection{}, answer: Collected{},
		call: sent(API.Collect)},

	{method: "GET", path: "/keys", scope: a2a.ScopeAdminRead, about: "API keys", answer: []Key{},
		call: func(c *call) (any, error) { return list(c.api.Keys(c.ctx)) }},
	{method: "POST", path: "/keys", scope: a2a.ScopeAdminWrite, about: "Make an API key; its token is in this answer only", body: NewKey{}, answer: Key{},
		call: sent(API.CreateKey)},
	{method: "DELETE", path: "/keys/{id}", scope: a2a.ScopeAdminWrite, about: "Revoke an API key", answer: Key{},
		call: func(c *call) (any, error) { return c.api.RevokeKey(c.ctx, c.path["id"]) }},
	{method: "GET", path: "/audit", scope: a2a.ScopeAdminRead, about: "The audit log, newest record first", answer: AuditRecords{}, params: append([]string{"event", "task"}, page...),
		call: func(c *call) (any, error) {
			return c.api.Audit(c.ctx, AuditQuery{Query: c.page(), Event: c.query["event"], Task: c.query["task"]})
		}},
	{method: "GET", path: "/events", scope: a2a.ScopeAdminRead, about: "What happens, as server-sent events that go on behind Last-Event-ID", answer: Event{}, params: []string{"after"},
		stream: func(c *call) iter.Seq2[message, error] {
			return func(yield func(message, error) bool) {
				for ev, err := range c.api.Events(c.ctx, c.cursor) {
					if !yield(message{ev.ID, ev}, err) {
						return
					}
				}
			}
		}},
}

// yaml and a2aTask are bodies that other documents describe.
type (
	yaml    struct{}
	a2aTask struct{}
)

// sent returns a call of a method with the decoded body.
func sent[T, A any](method func(API, context.Context, T) (A, error)) func(*call) (any, error) {
	return func(c *call) (any, error) {
		v, err := read[T](c.body)
		if err != nil {
			return nil, err
		}
		return method(c.api, c.ctx, v)
	}
}

// list turns a nil list into an empty one, because nil would become null.
func list[T any](all []T, err error) (any, error) {
	if all == nil {
		all = []T{}
	}
	return all, err
}

func (c *call) page() Query { return Query{Limit: int(c.number("limit")), After: c.query["after"]} }

func (c *call) deliveries() DeliveryQuery {
	return DeliveryQuery{Query: c.page(), Task: c.query["task"], ID: c.query["config"], Failing: c.on("failing")}
}

// given returns a parameter that may be empty, or nil if it is absent.
func (c *call) given(name string) *string {
	if v, ok := c.query[name]; ok {
		return &v
	}
	return nil
}

func (c *call) on(name string) bool { return c.query[name] == "true" }

func (c *call) number(name string) int64 {
	n, _ := strconv.ParseInt(c.query[name], 10, 64) // checked before
	return n
}

// find returns the route of a path, the values of the names in its pattern, and the methods
// that the path allows.
func find(method, path string) (found *route, named map[string]string, allow []string) {
	rest, ok := strings.CutPrefix(path, Path)
	if !ok {
		return nil, nil, nil
	}
	if method == http.MethodHead {
		method = http.MethodGet
	}
	for i := range routes {
		r := &routes[i]
		names, ok := match(r.path, rest)
		if !ok {
			continue
		}
		allow = append(allow, r.method)
		if r.method == method {
			found, named = r, names
		}
	}
	if slices.Contains(allow, http.MethodGet) {
		allow = append(allow, http.MethodHead)
	}
	return found, named, allow
}

// match compares a path with a route's pattern, segment by segment.
func match(pattern, path string) (map[string]string, bool) {
	want, have := strings.Split(pattern, "/"), strings.Split(path, "/")
	if len(want) != len(have) {
		return nil, false
	}
	names := map[string]string{}
	for i, w := range want {
		if name, ok := strings.CutPrefix(w, "{"); ok {
			if have[i] == "" {
				return nil, false
			}
			names[strings.TrimSuffix(name, "}")] = have[i]
		} else if w != have[i] {
			return nil, false
		}
	}
	return names, true
}

// checkParam returns an error if the value of a parameter is invalid.
func checkParam(name, value string) *Error {
	switch params[name].kind {
	case "integer":
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || n < 0 {
			return Invalid(name, "%.40q must be a number, 0 or more", value)
		}
		if name == "limit" && (n < 1 || n > MaxLimit) {
			return Invalid(name, "%d must be from 1 to %d", n, MaxLimit)
		}
	case "boolean":
		if value != "true" && value != "false" {
			return Invalid(name, "%.40q must be true or false", value)
		}
	case "date-time":
		if _, err := time.Parse(time.RFC3339, value); err != nil {
			return Invalid(name, "%.40q must be a time such as 2026-11-23T15:04:05Z", value)
		}
	}
	if len(value) > maxParam {
		return Invalid(name, "must have %d bytes at most", maxParam)
	}
	return nil
}

// maxParam limits a parameter, in bytes: ids, subjects and tenants are shorter, and a task's
// Name contains all four parts of its key.
const maxParam = 8 << 10

// read decodes a body. It refuses unknown members, and missing members that the OpenAPI
// document requires.
func read[T any](body []byte) (v T, err error) {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&v); err != nil {
		return v, Invalid("body", "must be a JSON object of %s: %s", reflect.TypeFor[T]().Name(), strings.TrimPrefix(err.Error(), "json: "))
	}
	var given map[string]json.RawMessage
	if json.Unmarshal(body, &given) != nil || given == nil {
		return v, Invalid("body", "must be one JSON object, with nothing after it")
	}
	d := document{schemas: map[string]any{}}
	for _, name := range d.fields(reflect.TypeFor[T](), map[string]any{}) {
		if is := given[name]; is == nil || string(is) == "null" {
			return v, Invalid(name, "is missing")
		}
	}
	return v, nil
}
