package acts

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/a2aserver"
	"github.com/parley-a2a/parley/agent"
)

// defect is one thing that a server does wrong, and the tests that find it: no others fail.
type defect struct {
	name    string
	binding string // jsonrpc unless it says more
	version string // 1.0 unless it says more
	request func(r *http.Request, body obj)
	answer  func(r *reply)                      // of what is no stream
	event   func(n int, env, payload obj) []obj // what is sent in place of an event; nil: nothing
	find    string
	perhaps string // a requirement that finds it too if posts to two receivers come in the right order, or the agent is late
}

// reply is an answer on its way out.
type reply struct {
	method string // of JSON-RPC, or the path
	asked  obj
	status int
	header http.Header
	body   obj
}

// result returns the result in the answer, on any binding.
func (r *reply) result() obj {
	if o, ok := r.body["result"].(obj); ok {
		return o
	}
	return r.body
}

func (r *reply) fault() obj {
	e, _ := r.body["error"].(obj)
	return e
}

// everywhere alters each object of an answer.
func everywhere(f func(obj)) func(*reply) { return func(r *reply) { walk(any(r.body), f) } }

func inFaults(f func(obj)) func(*reply) {
	return func(r *reply) {
		if e := r.fault(); e != nil {
			f(e)
		}
	}
}

// infos calls f with the ErrorInfos of an error.
func infos(f func(obj)) func(*reply) {
	return everywhere(func(o obj) {
		if o["@type"] == errorInfoType {
			f(o)
		}
	})
}

func to(method string, f func(*reply)) func(*reply) {
	return func(r *reply) {
		if r.method == method {
			f(r)
		}
	}
}

func askedBy(method string, f func(params obj)) func(*http.Request, obj) {
	return func(_ *http.Request, body obj) {
		if p, ok := body["params"].(obj); ok && body["method"] == method {
			f(p)
		}
	}
}

func code(r *reply, from, to int) {
	if e := r.fault(); e != nil && e["code"] == float64(from) {
		e["code"] = float64(to)
	}
}

const card = "/.well-known/agent-card.json"

var defects = []defect{
	{name: "messages have no id", answer: everywhere(func(o obj) {
		if o["role"] == "ROLE_AGENT" {
			delete(o, "messageId")
		}
	}), find: "DATA-003"},
	{name: "ids of artifacts are empty", answer: everywhere(func(o obj) {
		if o["artifactId"] != nil {
			o["artifactId"] = ""
		}
	}), find: "DATA-005"},
	{name: "times have an offset", answer: everywhere(func(o obj) {
		if s, ok := o["timestamp"].(string); ok && o["state"] != nil {
			o["timestamp"] = strings.TrimSuffix(s, "Z") + "+00:00"
		}
	}), find: "DATA-013"},
	{name: "times have no milliseconds", answer: everywhere(func(o obj) {
		if s, ok := o["timestamp"].(string); ok && o["state"] == "TASK_STATE_COMPLETED" {
			o["timestamp"] = s[:19] + "Z"
		}
	}), find: "DATA-014"},
	{name: "the agent's role is another word", answer: everywhere(func(o obj) {
		if o["role"] == "ROLE_AGENT" {
			o["role"] = "ROLE_ASSISTANT"
		}
	}), find: "DATA-009 DATA-010"},
	{name: "the agent speaks as the user", answer: everywhere(func(o obj) {
		if o["role"] == "ROLE_AGENT" {
			o["role"] = "ROLE_USER"
		}
	}), find: "DATA-010"},
	{name: "a member is in snake_case", answer: everywhere(func(o obj) {
		if c := o["contextId"]; c != nil {
			o["context_id"] = c
		}
	}), find: "DATA-015"},
	{name: "tasks have a kind", answer: everywhere(func(o obj) {
		if o["status"] != nil && o["id"] != nil {
			o["kind"] = "task"
		}
	}), find: "DATA-016"},
	{name: "a message names no context", answer: to("SendMessage", func(r *reply) {
		if m, ok := r.result()["message"].(obj); ok {
			delete(m, "contextId")
		}
	}), find: "DATA-011"},
	{name: "two artifacts have the same id", answer: everywhere(func(o obj) {
		if list, ok := o["artifacts"].([]any); ok && len(list) == 1 && o["status"] != nil {
			o["artifacts"] = []any{list[0], list[0]}
		}
	}), find: "DATA-012 STREAM-020"},
	{name: "a part holds two things", answer: everywhere(func(o obj) {
		if o["text"] != nil {
			o["url"] = "https://example.com"
		}
	}), find: "DATA-004"},
	{name: "the answer is task and message at once", answer: to("SendMessage", func(r *reply) {
		if r.result()["task"] != nil {
			r.result()["message"] = obj{"messageId": "m", "contextId": "c", "role": "ROLE_AGENT", "parts": []any{obj{"text": "x"}}}
		}
	}), find: "SEND-001", perhaps: "SEND-013"},
	{name: "a list has artifacts that nobody wants", answer: to("ListTasks", func(r *reply) {
		walk(any(r.body), func(o obj) {
			if o["status"] != nil && o["artifacts"] == nil {
				o["artifacts"] = []any{}
			}
		})
	}), find: "LIST-008"},
	{name: "a list has no nextPageToken at its end", answer: to("ListTasks", func(r *reply) {
		if r.result()["nextPageToken"] == "" {
			delete(r.result(), "nextPageToken")
		}
	}), find: "LIST-001 LIST-006 LIST-017"},
	{name: "a list is the wrong way round", answer: to("ListTasks", func(r *reply) {
		slices.Reverse(asElements(r.result()["tasks"]))
	}), find: "LIST-007"},
	{name: "status restricts nothing", request: askedBy("ListTasks", func(p obj) {
		if p["status"] == "TASK_STATE_INPUT_REQUIRED" {
			delete(p, "status")
		}
	}), find: "LIST-003"},
	{name: "contextId restricts nothing", request: askedBy("ListTasks", func(p obj) {
		if strings.HasPrefix(plainText(p["contextId"]), "no-such-") {
			delete(p, "contextId")
		}
	}), find: "LIST-017"},
	{name: "totalSize counts the page", answer: to("ListTasks", func(r *reply) {
		if r.fault() == nil {
			r.result()["totalSize"] = float64(len(asElements(r.result()["tasks"])))
		}
	}), find: "LIST-004"},
	{name: "a page size of 0 is taken", request: askedBy("ListTasks", func(p obj) {
		if p["pageSize"] == 0.0 {
			delete(p, "pageSize")
		}
	}), find: "LIST-010"},
	{name: "answers do not say jsonrpc", answer: func(r *reply) {
		if r.method != card {
			delete(r.body, "jsonrpc")
		}
	}, find: "RPC-001"},
	{name: "numbers as ids become texts", answer: func(r *reply) {
		if n, ok := r.body["id"].(float64); ok && r.method != "NoSuchMethod" {
			r.body["id"] = plainText(n)
		}
	}, find: "RPC-002"},
	{name: "answers are text/plain", answer: func(r *reply) {
		if r.method == "GetTask" && r.fault() == nil {
			r.header.Set("Content-Type", "text/plain")
		}
	}, find: "RPC-003"},
	{name: "errors have the HTTP status 500", answer: to("CancelTask", inFaultsStatus(500)), find: "RPC-004"},
	{name: "errors have no message", answer: to("CancelTask", inFaults(func(e obj) { e["message"] = "" })), find: "ERROR-001"},
	{name: "details of errors are an object", answer: to("CancelTask", inFaults(func(e obj) { e["data"] = obj{"taskId": "x"} })), find: "ERROR-003 ERROR-004"},
	{name: "the reason of an error is another one's", answer: infos(func(o obj) {
		if o["reason"] == "TASK_NOT_CANCELABLE" {
			o["reason"] = "NOT_CANCELABLE"
		}
	}), find: "ERROR-004"},
	{name: "the domain of errors is the server's", answer: infos(func(o obj) { o["domain"] = "example.com" }), find: "ERROR-005"},
	{name: "what cannot be canceled is not supported", answer: to("CancelTask", func(r *reply) {
		if e := r.fault(); e != nil && e["code"] == -32002.0 {
			code(r, -32002, -32004)
			infos(func(o obj) { o["reason"] = "UNSUPPORTED_OPERATION" })(r)
		}
	}), find: "CANCEL-003 CANCEL-004"},
	{name: "a method that is not there is an invalid request", answer: func(r *reply) { code(r, -32601, -32600) }, find: "RPC-010"},
	{name: "no JSON is an invalid request", answer: func(r *reply) { code(r, -32700, -32600) }, find: "RPC-011"},
	{name: "a stream has no task at its beginning", event: func(n int, env, p obj) []obj {
		if m, ok := p["task"].(obj); ok && n == 0 {
			env["result"] = obj{"statusUpdate": obj{"taskId": m["id"], "contextId": m["contextId"], "status": m["status"]}}
		}
		return []obj{env}
	}, find: "STREAM-001 STREAM-018 STREAM-020 STREAM-021 STREAM-022 SUB-001 SUB-009"},
	{name: "a stream loses its last event", event: func(_ int, env, p obj) []obj {
		if s, _ := lookup(any(p), "statusUpdate.status.state"); s == "TASK_STATE_COMPLETED" {
			return nil
		}
		return []obj{env}
	}, find: "STREAM-010 STREAM-022 SUB-006 SUB-007 SUB-008"},
	{name: "events of artifacts are lost", event: func(_ int, env, p obj) []obj {
		if p["artifactUpdate"] != nil {
			return nil
		}
		return []obj{env}
	}, find: "STREAM-011 STREAM-012 SUB-007"},
	{name: "events have another id", event: func(_ int, env, p obj) []obj {
		env["id"] = "other"
		return []obj{env}
	}, find: "RPC-002"},
	{name: "status events name no context", event: func(_ int, env, p obj) []obj {
		if u, ok := p["statusUpdate"].(obj); ok {
			delete(u, "contextId")
		}
		return []obj{env}
	}, find: "DATA-006"},
	{name: "artifact events name no task", event: func(_ int, env, p obj) []obj {
		if u, ok := p["artifactUpdate"].(obj); ok {
			delete(u, "taskId")
		}
		return []obj{env}
	}, find: "DATA-007"},
	{name: "the first chunk is appended", event: func(_ int, env, p obj) []obj {
		if u, ok := p["artifactUpdate"].(obj); ok {
			u["append"] = true
		}
		return []obj{env}
	}, find: "STREAM-008 STREAM-012"},
	{name: "the end of a task comes twice", event: func(_ int, env, p obj) []obj {
		if s, _ := lookup(any(p), "statusUpdate.status.state"); s == "TASK_STATE_COMPLETED" {
			return []obj{env, env}
		}
		return []obj{env}
	}, find: "STREAM-006"},
	{name: "events are of another task", event: func(_ int, env, p obj) []obj {
		if u, ok := p["artifactUpdate"].(obj); ok {
			u["taskId"] = "another"
		}
		return []obj{env}
	}, find: "STREAM-004"},
	{name: "a task goes back to submitted", event: func(_ int, env, p obj) []obj {
		if u, ok := p["artifactUpdate"].(obj); ok {
			back := obj{"jsonrpc": "2.0", "id": env["id"], "result": obj{"statusUpdate": obj{"taskId": u["taskId"], "contextId": u["contextId"], "status": obj{"state": "TASK_STATE_SUBMITTED"}}}}
			return []obj{back, env}
		}
		return []obj{env}
	}, find: "STREAM-005"},
	{name: "events have a final member", event: func(_ int, env, p obj) []obj {
		if u, ok := p["statusUpdate"].(obj); ok {
			u["final"] = false
		}
		return []obj{env}
	}, find: "DATA-016"},
	{name: "an answer that is a message is of a task", answer: to("SendMessage", func(r *reply) {
		if m, ok := r.result()["message"].(obj); ok {
			m["taskId"] = "task"
		}
	}), find: "SEND-003"},
	{name: "a message at once has no parts", answer: to("SendMessage", func(r *reply) {
		c, _ := lookup(any(r.asked), "params.configuration.returnImmediately")
		if m, ok := r.result()["message"].(obj); ok && c == true {
			m["parts"] = []any{}
		}
	}), find: "DATA-003 SEND-013"},
	{name: "a message comes twice in a stream", event: func(_ int, env, p obj) []obj {
		if p["message"] != nil {
			return []obj{env, env}
		}
		return []obj{env}
	}, find: "STREAM-002 STREAM-013"},
	{name: "a subscription to a finished task is not found", answer: to("SubscribeToTask", func(r *reply) {
		code(r, -32004, -32001)
		infos(func(o obj) { o["reason"] = "TASK_NOT_FOUND" })(r) // as the others have it
	}), find: "SUB-003"},
	{name: "configs have no url", answer: func(r *reply) {
		if r.method == "ListTaskPushNotificationConfigs" {
			walk(any(r.body), func(o obj) {
				if o["url"] != nil && o["id"] == "one" {
					delete(o, "url")
				}
			})
		}
	}, find: "PUSH-001"},
	{name: "webhooks have no credentials", request: askedBy("CreateTaskPushNotificationConfig", func(p obj) { delete(p, "authentication") }), find: "PUSH-019"},
	{name: "webhooks have no token", request: askedBy("CreateTaskPushNotificationConfig", func(p obj) { delete(p, "token") }), find: "PUSH-021"},
	{name: "deleting a config does nothing", request: func(_ *http.Request, b obj) {
		if p, ok := b["params"].(obj); ok && b["method"] == "DeleteTaskPushNotificationConfig" {
			p["id"] = "another"
		}
	}, find: "PUSH-013", perhaps: "PUSH-022"},
	{name: "the card has no skills", answer: to(card, func(r *reply) { delete(r.body, "skills") }), find: "CARD-001"},
	{name: "the card has a skill without tags", answer: to(card, everywhere(func(o obj) { delete(o, "tags") })), find: "CARD-004"},
	{name: "the card's interfaces have no binding", answer: to(card, func(r *reply) {
		list, _ := r.body["supportedInterfaces"].([]any)
		r.body["supportedInterfaces"] = append(list, obj{"url": "https://example.com", "protocolVersion": "1.0"})
	}), find: "CARD-002"},
	{name: "the card has patch numbers", answer: to(card, everywhere(func(o obj) {
		if o["protocolVersion"] == "1.0" {
			o["protocolVersion"] = "1.0.1"
		}
	})), find: "CARD-015"},
	{name: "the card says not how long it lasts", answer: to(card, func(r *reply) { r.header.Del("Cache-Control") }), find: "CARD-012"},
	{name: "the card has no ETag", answer: to(card, func(r *reply) { r.header.Del("ETag") }), find: "CARD-013"},
	{name: "any version is taken", request: func(r *http.Request, _ obj) {
		if r.Header.Get("A2A-Version") == "99.0" {
			r.Header.Set("A2A-Version", "1.0")
		}
	}, find: "VERSION-001 VERSION-002 VERSION-007"},
	{name: "a context that is not the task's is taken", request: askedBy("SendMessage", func(p obj) {
		if m, ok := p["message"].(obj); ok && m["taskId"] != nil {
			delete(m, "contextId")
		}
	}), find: "TURN-003 TURN-004"},
	{name: "the client's context is replaced", request: askedBy("SendMessage", func(p obj) {
		if m, ok := p["message"].(obj); ok && m["contextId"] == "conformance-context-1" {
			delete(m, "contextId")
		}
	}), find: "TURN-006"},
	{name: "historyLength is not looked at", request: askedBy("GetTask", func(p obj) { delete(p, "historyLength") }), find: "HIST-001 HIST-002 HIST-003 VALID-008"},
	{name: "any media type is taken", request: func(_ *http.Request, b obj) {
		walk(any(b), func(o obj) {
			if strings.Contains(plainText(o["mediaType"]), "unsupported") {
				o["mediaType"] = "text/plain"
			}
		})
	}, find: "SEND-010 STREAM-016"},
	{name: "code in errors is another one", binding: REST, answer: inFaults(func(e obj) { e["code"] = 1.0 }), find: "ERROR-007 REST-015"},
	{name: "not found is 410", binding: REST, answer: func(r *reply) {
		if r.status == 404 && strings.HasPrefix(r.method, "/tasks/no-such-task-") {
			r.status, r.fault()["code"] = 410, 410.0
		}
	}, find: "ERROR-008"},
	{name: "errors are problem details", binding: REST, answer: func(r *reply) {
		if e := r.fault(); e != nil && strings.HasPrefix(r.method, "/tasks/no-such-task-") {
			r.body = obj{"type": "about:blank", "title": e["message"], "status": e["code"]}
		}
	}, find: "ERROR-006"},
	{name: "errors have no ErrorInfo", binding: REST, answer: func(r *reply) {
		if e := r.fault(); e != nil && r.status == 404 {
			delete(e, "details")
		}
	}, find: "ERROR-009"},
	{name: "details have no type", binding: REST, answer: inFaults(func(e obj) {
		for _, d := range asElements(e["details"]) {
			delete(d.(obj), "@type")
		}
	}), find: "ERROR-009 ERROR-010 VALID-011"},
	{name: "answers are text/html", binding: REST, answer: func(r *reply) {
		if strings.HasPrefix(r.method, "/tasks/") && r.status == 200 {
			r.header.Set("Content-Type", "text/html")
		}
	}, find: "REST-001"},
	{name: "success is 202", binding: REST, answer: func(r *reply) {
		if strings.HasSuffix(r.method, ":cancel") && r.status == 200 && r.asked != nil {
			r.status = 202
		}
	}, find: "REST-002"},
}

func inFaultsStatus(status int) func(*reply) {
	return func(r *reply) {
		if r.fault() != nil {
			r.status = status
		}
	}
}

// Each of these defects, put into a server that is right otherwise, is found by the
// requirements that it breaks and by no others.
func TestDefects(t *testing.T) {
	s, err := parley.New(agent.ConformanceCard(), agent.Conformance(), &parley.Options{Egress: &a2aserver.Egress{Loopback: true}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ran := make(chan error, 1)
	go func() { ran <- s.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ran; err != nil {
			t.Error(err)
		}
	})
	corpus, right := builtin(t), s.Handler()
	if len(defects) < 40 {
		t.Errorf("there are %d defects", len(defects))
	}
	list := slices.Concat(defects, defects03, defectsOld)
	for i := range list {
		d := &list[i]
		t.Run(strings.ReplaceAll(d.name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			srv := httptest.NewServer(d.put(right))
			defer srv.Close()
			binding := d.binding
			if binding == "" {
				binding = JSONRPC
			}
			version := d.version
			if version == "" {
				version = "1.0"
			}
			finds(t, d.find, d.perhaps, &Options{URL: srv.URL, Corpus: corpus, Bindings: []string{binding}, Versions: []string{version}})
		})
	}
	grpcDefectsOf(t, serveAgent(t, agent.ConformanceCard(), &parley.Options{}), corpus)
}

// finds runs the tests, and wants exactly some of them to fail.
func finds(t *testing.T, want, perhaps string, o *Options) {
	t.Helper()
	o.Parallel, o.Timeout = 8, time.Minute
	o.Skip = append(o.Skip, "SEND-011") // it takes 2 s, and no defect is of its kind
	r := run(t, o)
	var found []string
	for _, x := range r.Failed() {
		if x.ID != perhaps {
			found = append(found, x.ID)
		}
	}
	slices.Sort(found)
	if got := strings.Join(found, " "); got != want {
		t.Errorf("found by %s, want %s", got, want)
		for _, x := range r.Failed() {
			t.Logf("%s: %s", x.ID, x.Failure.Message)
		}
	}
}

// put puts a defect in front of a server.
func (d *defect) put(right http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		v, _ := decode(text)
		asked, _ := v.(obj)
		if d.request != nil && asked != nil {
			d.request(r, asked)
			text, _ = json.Marshal(asked)
		}
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
		a := &altering{to: w, d: d, r: &reply{method: r.URL.Path, asked: asked, header: http.Header{}, status: 200}}
		if m, ok := asked["method"].(string); ok {
			a.r.method = m
		}
		right.ServeHTTP(a, r)
		a.end()
	})
}

// altering is where a right answer is made a wrong one.
type altering struct {
	to     http.ResponseWriter
	d      *defect
	r      *reply
	body   bytes.Buffer
	begun  bool
	events int
}

func (a *altering) Header() http.Header    { return a.r.header }
func (a *altering) WriteHeader(status int) { a.r.status = status }

func (a *altering) streams() bool {
	return strings.HasPrefix(a.r.header.Get("Content-Type"), "text/event-stream")
}

func (a *altering) Write(b []byte) (int, error) {
	a.body.Write(b)
	if a.streams() {
		a.pass()
	}
	return len(b), nil
}

func (a *altering) Flush() {
	if a.streams() {
		a.pass()
		a.to.(http.Flusher).Flush()
	}
}

func (a *altering) head() {
	if !a.begun {
		a.begun = true
		h := a.to.Header()
		for name, values := range a.r.header {
			if name != "Content-Length" {
				h[name] = values
			}
		}
		a.to.WriteHeader(a.r.status)
	}
}

// pass passes whole events on.
func (a *altering) pass() {
	a.head()
	for {
		event, rest, ok := bytes.Cut(a.body.Bytes(), []byte("\n\n"))
		if !ok {
			return
		}
		event = bytes.Clone(event)
		rest = bytes.Clone(rest)
		a.body.Reset()
		a.body.Write(rest)
		_, data, ok := bytes.Cut(event, []byte("data: "))
		v, err := decode(data)
		env, isObject := v.(obj)
		if !ok || err != nil || !isObject || a.d.event == nil {
			a.to.Write(append(event, "\n\n"...))
			continue
		}
		payload, _ := env["result"].(obj)
		for _, out := range a.d.event(a.events, env, payload) {
			text, _ := json.Marshal(out)
			a.to.Write([]byte("data: " + string(text) + "\n\n"))
		}
		a.events++
	}
}

func (a *altering) end() {
	if a.streams() {
		a.pass()
		return
	}
	if v, err := decode(a.body.Bytes()); err == nil && a.d.answer != nil {
		if o, ok := v.(obj); ok {
			a.r.body = o
			a.d.answer(a.r)
			a.body.Reset()
			text, _ := json.Marshal(a.r.body)
			a.body.Write(text)
		}
	}
	a.head()
	a.to.Write(a.body.Bytes())
}
