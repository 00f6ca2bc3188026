package acts

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"sync"

	"github.com/parley-a2a/parley/internal/wake"
)

// Exchange is one request and its answer, as sent, except for credentials.
type Exchange struct {
	Binding   string   `json:"binding"`
	Version   string   `json:"version"`
	Operation string   `json:"operation,omitempty"`
	Request   []string `json:"request"`  // lines: the request line, headers, an empty line, the body
	Response  []string `json:"response"` // in the same form; empty: there was none
}

// Answer is the outcome of an operation.
type Answer struct {
	on       *iface
	op       string // "" for a raw request
	exchange *Exchange
	status   int         // of HTTP; 0 on gRPC
	header   http.Header // of the answer; metadata on gRPC
	raw      any         // the whole body; nil if it is not JSON
	value    any         // the result, as version 1.0 has it on every binding
	err      *OpError    // the error that the agent answered with
	stream   *Stream     // the events, if it is a stream
	broken   error       // why there is no answer of the protocol at all
	id       any         // of the JSON-RPC request
}

func newAnswer(on *iface, op string) *Answer {
	return &Answer{on: on, op: op, exchange: &Exchange{Binding: on.binding, Version: on.version, Operation: op}}
}

// content is the value for assertions (ACTS §4.2); an error is in a member of its own. What
// answers a raw request is not translated to the names of version 1.0.
func (a *Answer) content() any {
	switch {
	case a.stream != nil:
		return obj{"events": a.events()}
	case a.op == "":
		return a.raw
	case a.err != nil:
		return obj{"error": a.err.value()}
	}
	return a.value
}

// events are the events of a stream so far, as content has them.
func (a *Answer) events() []any {
	list := []any{}
	for _, e := range a.stream.seen() {
		if a.op == "" {
			list = append(list, e.raw)
		} else {
			list = append(list, e.view())
		}
	}
	return list
}

// shown is the exchange for a report, with the events of a stream so far.
func (a *Answer) shown() *Exchange {
	if a.stream == nil {
		return a.exchange
	}
	x := *a.exchange
	x.Response = slices.Clone(x.Response)
	events := a.stream.seen()
	for n, e := range events {
		if n == maxShownEvents && len(events) > n+1 {
			x.Response = append(x.Response, fmt.Sprintf("… %d more", len(events)-n))
			break
		}
		switch {
		case e.err != nil:
			x.Response = append(x.Response, "event: "+cut(compact(e.err.Whole), maxShownBody))
		case e.bad != "":
			x.Response = append(x.Response, "event: "+e.bad)
		default:
			x.Response = append(x.Response, "event: "+cut(compact(e.raw), maxShownBody))
		}
	}
	switch over := a.stream.end(); {
	case over == nil:
		x.Response = append(x.Response, "(the stream was open)")
	case errors.Is(over, errCut):
		x.Response = append(x.Response, "(this side closed the stream)")
	case errors.Is(over, io.EOF):
		x.Response = append(x.Response, "(the stream ended)")
	default:
		x.Response = append(x.Response, "(broken: "+over.Error()+")")
	}
	return &x
}

const maxShownEvents = 20

// said briefly describes the answer, for messages.
func (a *Answer) said() string {
	switch {
	case a.broken != nil:
		return a.broken.Error()
	case a.err != nil:
		s := "an error"
		if k := a.err.kind(); k != nil {
			s = k.Name
		}
		switch {
		case a.err.Code != 0:
			s += fmt.Sprintf(" (code %d)", int(a.err.Code))
		case a.err.GRPC != "":
			s += " (" + a.err.GRPC + ")"
		default:
			s += fmt.Sprintf(" (status %d)", a.err.HTTP)
		}
		return s + ": " + cut(a.err.Message, 120)
	case a.stream != nil:
		return fmt.Sprintf("a stream of %d events", len(a.stream.seen()))
	}
	return show(a.value)
}

// request is a request to an interface.
type request struct {
	op     string      // "" for a raw request
	params obj         // of the operation
	header http.Header // service parameters and credentials
	kept   *kept

	// of HTTP; for an operation, the caller sets them
	method, url string
	body        []byte
}

// caller makes exchanges over one binding in one version.
type caller interface {
	call(ctx context.Context, r *request) *Answer
}

// errInexpressible means that a binding cannot express a test's request, such as a wrong type
// over gRPC.
var errInexpressible = errors.New("this binding cannot express the request")

func inexpressible(on *iface, r *request) *Answer {
	a := newAnswer(on, r.op)
	a.broken = errInexpressible
	return a
}

// opRow is an operation on each binding; "" if a version does not have it.
type opRow struct {
	rpc, rpc03     string // methods of JSON-RPC
	grpc, grpc03   string // methods of gRPC
	verb           string
	route, route03 string // of HTTP+JSON; {id} and {config} are params
	result         string // the shape of its result, or of each event; "": it has none
	streams        bool
}

var ops = map[string]*opRow{
	"send_message":            {"SendMessage", "message/send", "SendMessage", "SendMessage", "POST", "/message:send", "/v1/message:send", "SendResult", false},
	"send_streaming_message":  {"SendStreamingMessage", "message/stream", "SendStreamingMessage", "SendStreamingMessage", "POST", "/message:stream", "/v1/message:stream", "StreamResponse", true},
	"get_task":                {"GetTask", "tasks/get", "GetTask", "GetTask", "GET", "/tasks/{id}", "/v1/tasks/{id}", "Task", false},
	"list_tasks":              {"ListTasks", "", "ListTasks", "", "GET", "/tasks", "", "TaskList", false},
	"cancel_task":             {"CancelTask", "tasks/cancel", "CancelTask", "CancelTask", "POST", "/tasks/{id}:cancel", "/v1/tasks/{id}:cancel", "Task", false},
	"subscribe_to_task":       {"SubscribeToTask", "tasks/resubscribe", "SubscribeToTask", "TaskSubscription", "POST", "/tasks/{id}:subscribe", "/v1/tasks/{id}:subscribe", "StreamResponse", true},
	"create_push_config":      {"CreateTaskPushNotificationConfig", "tasks/pushNotificationConfig/set", "CreateTaskPushNotificationConfig", "CreateTaskPushNotificationConfig", "POST", "/tasks/{taskId}/pushNotificationConfigs", "/v1/tasks/{taskId}/pushNotificationConfigs", "PushConfig", false},
	"get_push_config":         {"GetTaskPushNotificationConfig", "tasks/pushNotificationConfig/get", "GetTaskPushNotificationConfig", "GetTaskPushNotificationConfig", "GET", "/tasks/{taskId}/pushNotificationConfigs/{id}", "/v1/tasks/{taskId}/pushNotificationConfigs/{id}", "PushConfig", false},
	"list_push_configs":       {"ListTaskPushNotificationConfigs", "tasks/pushNotificationConfig/list", "ListTaskPushNotificationConfigs", "ListTaskPushNotificationConfig", "GET", "/tasks/{taskId}/pushNotificationConfigs", "/v1/tasks/{taskId}/pushNotificationConfigs", "PushConfigs", false},
	"delete_push_config":      {"DeleteTaskPushNotificationConfig", "tasks/pushNotificationConfig/delete", "DeleteTaskPushNotificationConfig", "DeleteTaskPushNotificationConfig", "DELETE", "/tasks/{taskId}/pushNotificationConfigs/{id}", "/v1/tasks/{taskId}/pushNotificationConfigs/{id}", "", false},
	"get_extended_agent_card": {"GetExtendedAgentCard", "agent/getAuthenticatedExtendedCard", "GetExtendedAgentCard", "GetAgentCard", "GET", "/extendedAgentCard", "/v1/card", "Card", false},
}

// StreamEvent is one event of a stream.
type StreamEvent struct {
	raw     any      // as it was framed
	value   any      // a StreamResponse, as version 1.0 has it
	err     *OpError // an error in its place
	bad     string   // why it is neither
	unknown string   // see unknownFields
}

// payloads are the members of a StreamResponse; each event has one of them.
var payloads = []string{"task", "message", "statusUpdate", "artifactUpdate"}

// payload returns the name of an event's member, and its value.
func (e *StreamEvent) payload() (string, map[string]any) {
	o, _ := e.value.(map[string]any)
	for _, name := range payloads {
		if p, ok := o[name].(map[string]any); ok {
			return name, p
		}
	}
	return "", nil
}

// view is an event as assertions see it: its member, under its name in both spellings, and the
// members of that one next to it.
func (e *StreamEvent) view() map[string]any {
	v := map[string]any{}
	if e.err != nil {
		v["error"] = e.err.value()
		return v
	}
	name, p := e.payload()
	maps.Copy(v, p)
	if name != "" {
		v[name] = p
	}
	switch name {
	case "statusUpdate":
		v["status_update"] = p
	case "artifactUpdate":
		v["artifact_update"] = p
	}
	return v
}

// state returns the task state that an event reports, or "".
func (e *StreamEvent) state() string {
	_, p := e.payload()
	s, _ := lookup(any(p), "status.state")
	text, _ := s.(string)
	return text
}

// Stream is the events of an answer, as they come. Its goroutine ends with the stream, or when
// it is closed; the opener waits for done.
type Stream struct {
	cancel context.CancelFunc
	done   chan struct{}

	mu      sync.Mutex // protects the fields below
	events  []*StreamEvent
	over    error // nil while it is open; io.EOF: it ended as the protocol says; errCut; else what broke it
	changed wake.Bell
}

// errCut is the end of a stream that this side closed.
var errCut = errors.New("this side closed the stream")

// openStream starts reading. next returns io.EOF at the end.
func openStream(cancel context.CancelFunc, k *kept, next func() (*StreamEvent, error)) *Stream {
	s := &Stream{cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(s.done)
		for {
			e, err := next()
			if err == nil {
				if err = k.add(keptItem); err != nil {
					cancel()
				}
			}
			s.mu.Lock()
			if e != nil {
				s.events = append(s.events, e)
			}
			s.over = cmp.Or(s.over, err)
			s.changed.Ring()
			s.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return s
}

func (s *Stream) seen() []*StreamEvent {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.events)
}

// end returns how the stream ended; nil if it is open.
func (s *Stream) end() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.over
}

// wait waits until enough has come or the stream has ended; it returns false on a timeout.
func (s *Stream) wait(ctx context.Context, enough func(events []*StreamEvent, ended bool) bool) bool {
	for {
		s.mu.Lock()
		ended := s.over != nil
		ok, changed := enough(s.events, ended), s.changed.Wait()
		s.mu.Unlock()
		if ok || ended {
			return ok
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}

// close cuts the connection and waits until reading has ended.
func (s *Stream) close() {
	s.mu.Lock()
	s.over = cmp.Or(s.over, errCut)
	s.mu.Unlock()
	s.cancel()
	<-s.done
}

func decode(b []byte) (any, error) {
	var v any
	err := json.Unmarshal(b, &v)
	return v, err
}
