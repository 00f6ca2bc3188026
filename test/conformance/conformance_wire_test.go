package conformance

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// The two bindings, as they name the subtests.
const (
	jsonrpc = "jsonrpc"
	rest    = "rest"
)

// wire speaks one binding to one agent, by hand.
type wire struct {
	binding string
	url     string
	client  *http.Client
	grpc    *grpcPeer // gRPC only
}

// over returns a wire to the same agent with another binding.
func (w *wire) over(binding string) *wire {
	return &wire{binding, w.url, w.client, w.grpc}
}

// routes are the HTTP+JSON routes of the specification (§11.3).
var routes = map[string]struct {
	verb, path string
	body       bool
}{
	"SendMessage":                      {"POST", "/message:send", true},
	"SendStreamingMessage":             {"POST", "/message:stream", true},
	"GetTask":                          {"GET", "/tasks/{id}", false},
	"ListTasks":                        {"GET", "/tasks", false},
	"CancelTask":                       {"POST", "/tasks/{id}:cancel", true},
	"SubscribeToTask":                  {"POST", "/tasks/{id}:subscribe", true},
	"CreateTaskPushNotificationConfig": {"POST", "/tasks/{taskId}/pushNotificationConfigs", true},
	"GetTaskPushNotificationConfig":    {"GET", "/tasks/{taskId}/pushNotificationConfigs/{id}", false},
	"ListTaskPushNotificationConfigs":  {"GET", "/tasks/{taskId}/pushNotificationConfigs", false},
	"DeleteTaskPushNotificationConfig": {"DELETE", "/tasks/{taskId}/pushNotificationConfigs/{id}", false},
	"GetExtendedAgentCard":             {"GET", "/extendedAgentCard", false},
}

// answer is what came back for one call.
type answer struct {
	status int
	header http.Header
	body   []byte
	result any    // if there is no fault
	fault  *fault // the error, in the shape that both bindings share
}

// fault is an error from the wire.
type fault struct {
	code    string // of JSON-RPC, or the HTTP status in the body
	status  string // gRPC name, HTTP+JSON only
	message string
	details []any // data of JSON-RPC
}

// reason is that of the first ErrorInfo.
func (f *fault) reason() string {
	for _, d := range f.details {
		if text(d, "@type") == "type.googleapis.com/google.rpc.ErrorInfo" {
			return text(d, "reason")
		}
	}
	return ""
}

// fields are those that a BadRequest names.
func (f *fault) fields() []string {
	var names []string
	for _, d := range f.details {
		if text(d, "@type") == "type.googleapis.com/google.rpc.BadRequest" {
			for _, v := range list(d, "fieldViolations") {
				names = append(names, text(v, "field"))
			}
		}
	}
	return names
}

// request makes the HTTP request of a call. params is an object, or raw JSON.
// Headers come as pairs; one that is empty is not sent.
func (w *wire) request(ctx context.Context, op string, params any, headers []string) *http.Request {
	verb, target, body := "POST", w.url, params
	if w.binding == rest {
		p, _ := params.(obj)
		verb, target, body = w.route(op, p)
		if p == nil {
			body = params
		}
	} else {
		envelope := obj{"jsonrpc": "2.0", "id": op, "method": op}
		if params != nil {
			envelope["params"] = params
		}
		body = envelope
	}
	var reader io.Reader
	if body != nil {
		reader = strings.NewReader(compact(body))
	}
	req, err := http.NewRequestWithContext(ctx, verb, target, reader)
	if err != nil {
		panic(err)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("A2A-Version", "1.0")
	for i := 0; i < len(headers); i += 2 {
		req.Header.Del(headers[i])
		if headers[i+1] != "" {
			req.Header.Set(headers[i], headers[i+1])
		}
	}
	return req
}

// route fills an operation's path and puts the rest of the parameters into the
// query or the body.
func (w *wire) route(op string, params obj) (verb, target string, body any) {
	r := routes[op]
	path, left := r.path, obj{}
	for name, v := range params {
		if hole := "{" + name + "}"; strings.Contains(path, hole) {
			path = strings.Replace(path, hole, url.PathEscape(fmt.Sprint(v)), 1)
		} else if name == "tenant" {
			path = "/" + url.PathEscape(fmt.Sprint(v)) + path
		} else {
			left[name] = v
		}
	}
	if r.body {
		return r.verb, w.url + path, left
	}
	query := url.Values{}
	for name, v := range left {
		query.Set(name, fmt.Sprint(v))
	}
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return r.verb, w.url + path, nil
}

// call makes a call that answers at once, and checks the form of the answer.
func (w *wire) call(t *testing.T, op string, params any, headers ...string) answer {
	t.Helper()
	if w.binding == grpcBinding {
		return w.callGRPC(t, op, params, headers)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	return w.do(t, w.request(ctx, op, params, headers), op)
}

func (w *wire) do(t *testing.T, req *http.Request, id any) answer {
	t.Helper()
	resp, err := w.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	return w.read(t, resp, id)
}

func (w *wire) read(t *testing.T, resp *http.Response, id any) answer {
	t.Helper()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	a := answer{status: resp.StatusCode, header: resp.Header, body: body}
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if media != "application/json" && media != "application/a2a+json" {
		t.Fatalf("%s %s answers %d with Content-Type %q: %.300s", resp.Request.Method, resp.Request.URL, resp.StatusCode, media, body)
	}
	if w.binding == rest {
		a.result = decode(t, body)
		if resp.StatusCode != http.StatusOK {
			e := in(a.result, "error")
			a.fault = &fault{fmt.Sprint(in(e, "code")), text(e, "status"), text(e, "message"), list(e, "details")}
		}
		return a
	}
	a.result, a.fault = envelope(t, body, id)
	return a
}

// envelope checks a JSON-RPC response and opens it.
func envelope(t *testing.T, body []byte, id any) (result any, f *fault) {
	t.Helper()
	v := decode(t, body)
	if text(v, "jsonrpc") != "2.0" || !has(v, "id") || compact(in(v, "id")) != compact(id) || has(v, "result") == has(v, "error") {
		t.Fatalf("not a JSON-RPC response to the request with id %s: %s", compact(id), body)
	}
	if !has(v, "error") {
		return in(v, "result"), nil
	}
	e := in(v, "error")
	return nil, &fault{code: fmt.Sprint(in(e, "code")), message: text(e, "message"), details: list(e, "data")}
}

// decode reads one JSON value, keeping numbers as they are written.
func decode(t *testing.T, b []byte) any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v in %.300q", err, b)
	}
	if _, err := d.Token(); err != io.EOF {
		t.Fatalf("more than one JSON value in %.300q", b)
	}
	return v
}

// ok is call for one that must succeed.
func (w *wire) ok(t *testing.T, op string, params any, headers ...string) any {
	t.Helper()
	a := w.call(t, op, params, headers...)
	if a.fault != nil || a.status != http.StatusOK {
		t.Fatalf("%s %s answers %d %s", op, compact(params), a.status, a.body)
	}
	return a.result
}

// send sends a message, waits and returns the task.
func (w *wire) send(t *testing.T, message obj) any {
	t.Helper()
	task := in(w.ok(t, "SendMessage", obj{"message": message}), "task")
	if task == nil {
		t.Fatalf("%s is not answered with a task", compact(message))
	}
	return task
}

// begin sends a message without waiting and returns the task.
func (w *wire) begin(t *testing.T, message obj) any {
	t.Helper()
	return in(w.ok(t, "SendMessage", obj{"message": message, "configuration": obj{"returnImmediately": true}}), "task")
}

// direct sends to the demo agent until the answer is a direct message. Where
// the agent is too slow for one, which happens on a busy machine, the answer is
// a completed task instead: by then it exists for others.
func (w *wire) direct(t *testing.T, message, configuration obj) any {
	t.Helper()
	for range 100 {
		got := w.ok(t, "SendMessage", obj{"message": message, "configuration": configuration})
		if o, _ := got.(obj); len(o) != 1 {
			t.Fatalf("%s has not exactly one member", compact(got))
		}
		if has(got, "message") {
			return in(got, "message")
		}
	}
	t.Fatal("no direct message in a hundred")
	return nil
}

func (w *wire) get(t *testing.T, id string) any {
	t.Helper()
	return w.ok(t, "GetTask", obj{"id": id})
}

// until reads a task again and again until it is in a state.
func (w *wire) until(t *testing.T, id, state string) any {
	t.Helper()
	for limit := time.Now().Add(patience); ; {
		task := w.get(t, id)
		got := text(task, "status.state")
		if got == state {
			return task
		}
		if terminal(got) || time.Now().After(limit) {
			t.Fatalf("task %s is %s, want %s", id, got, state)
		}
	}
}

// event is one element of a stream.
type event struct {
	id   string // of the SSE event
	kind string // the one member
	body any    // its value
	raw  string
}

// stream is an open stream of events.
type stream struct {
	t     *testing.T
	w     *wire
	op    string
	resp  *http.Response
	lines *bufio.Reader
	close context.CancelFunc

	grpc   grpc.ClientStream // gRPC only
	output protoreflect.MessageDescriptor
}

// open makes a call that must answer with a stream.
func (w *wire) open(t *testing.T, op string, params any, headers ...string) *stream {
	t.Helper()
	if w.binding == grpcBinding {
		return w.openGRPC(t, op, params, headers)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	resp, err := w.client.Do(w.request(ctx, op, params, headers))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if resp.StatusCode != http.StatusOK || media != "text/event-stream" {
		body, _ := io.ReadAll(resp.Body)
		t.Fatalf("%s %s opens no stream: %d %s", op, compact(params), resp.StatusCode, body)
	}
	return &stream{t: t, w: w, op: op, resp: resp, lines: bufio.NewReader(resp.Body), close: cancel}
}

// header is that of the answer.
func (s *stream) header() http.Header {
	if s.grpc == nil {
		return s.resp.Header
	}
	md, err := s.grpc.Header()
	if err != nil {
		s.t.Fatal(err)
	}
	return httpHeader(md)
}

// next returns the next event; ok is false at the end of the stream.
func (s *stream) next() (e event, ok bool) {
	s.t.Helper()
	if s.grpc != nil {
		return s.nextGRPC()
	}
	var data []string
	for {
		line, err := s.lines.ReadString('\n')
		if err == io.EOF && line == "" && data == nil {
			return event{}, false
		}
		if err != nil {
			s.t.Fatalf("the stream of %s breaks off: %v", s.op, err)
		}
		line = strings.TrimRight(line, "\r\n")
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "" && data != nil:
			return s.event(e.id, strings.Join(data, "\n")), true
		case name == "data":
			data = append(data, value)
		case name == "id":
			e.id = value
		}
	}
}

func (s *stream) event(id, raw string) event {
	s.t.Helper()
	var v any
	if s.w.binding != jsonrpc {
		v = decode(s.t, []byte(raw))
	} else {
		result, f := envelope(s.t, []byte(raw), s.op)
		if f != nil {
			s.t.Fatalf("an error in the stream of %s: %s", s.op, raw)
		}
		v = result
	}
	o, _ := v.(obj)
	if len(o) != 1 {
		s.t.Fatalf("a stream element has not exactly one member: %s", raw)
	}
	for kind, body := range o {
		if !slices.Contains([]string{"task", "message", "statusUpdate", "artifactUpdate", "messageUpdate"}, kind) {
			s.t.Fatalf("a stream element is a %s: %s", kind, raw)
		}
		return event{id, kind, body, raw}
	}
	panic("unreachable")
}

// must is next where the stream must go on.
func (s *stream) must() event {
	s.t.Helper()
	e, ok := s.next()
	if !ok {
		s.t.Fatalf("the stream of %s has ended", s.op)
	}
	return e
}

// all returns what is left, up to the end of the stream.
func (s *stream) all() []event {
	s.t.Helper()
	var events []event
	for {
		e, ok := s.next()
		if !ok {
			return events
		}
		events = append(events, e)
	}
}
