package acts

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// checks are the checks that a test may observe. Each checks everything on the wire, in every
// test, so that one fault is one failure.
var checks = []string{
	"task", "status", "message", "part", "artifact", "status-event", "artifact-event", "stream-event", "send-result", "list-result",
	"push-config", "push-configs", "card", "card-interface", "card-capabilities", "card-extension", "card-skill", "card-provider", "card-signature", "card-security",
	"state", "role", "agent-role", "message-context", "artifact-ids", "timestamp", "timestamp-ms", "camel-case", "no-kind",
	"jsonrpc-envelope", "jsonrpc-id", "jsonrpc-content-type", "jsonrpc-status", "jsonrpc-error", "jsonrpc-error-range", "jsonrpc-error-data", "jsonrpc-error-info", "jsonrpc-sse",
	"rest-content-type", "rest-error-body", "rest-error-code", "rest-error-status", "rest-error-info", "rest-error-details", "rest-status",
	"grpc-error-info", "grpc-error-status", "grpc-fields", "error-domain",
	"sse-type", "sse-data", "stream-first", "stream-later", "stream-transitions", "stream-ids", "stream-end", "stream-after-end", "stream-append", "stream-final",
	"webhook-body", "webhook-type", "webhook-task",
}

// watcher collects what the checks found on an interface.
type watcher struct {
	mu   sync.Mutex // protects the field below
	seen map[string]*observed
}

// observed is what one check found.
type observed struct {
	count int
	bad   int
	first *Failure // only the first of several is shown
}

// note records that a check had something to check in an answer, and a fault unless m is nil.
func (a *Answer) note(check string, m *Mismatch) {
	w := &a.on.watch
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.seen == nil {
		w.seen = map[string]*observed{}
	}
	o := w.seen[check]
	if o == nil {
		o = &observed{}
		w.seen[check] = o
	}
	o.count++
	if m == nil {
		return
	}
	o.bad++
	if o.first == nil {
		o.first = &Failure{Message: m.String(), Mismatch: *m, Exchanges: []*Exchange{a.shown()}}
	}
}

// want is note with a fault unless ok.
func (a *Answer) want(check string, ok bool, at, expected string, got any) {
	var m *Mismatch
	if !ok {
		m = differ(at, expected, got, got != nil)
	}
	a.note(check, m)
}

// result returns what some checks found together.
func (w *watcher) result(names []string) observed {
	w.mu.Lock()
	defer w.mu.Unlock()
	var sum observed
	for _, name := range names {
		if o := w.seen[name]; o != nil {
			sum.count += o.count
			sum.bad += o.bad
			if sum.first == nil {
				sum.first = o.first
			}
		}
	}
	return sum
}

// checkObject checks a result or an event.
func (a *Answer) checkObject(kind string, raw any) {
	old := a.on.version == "0.3"
	if old && kind == "Card" {
		return // a test of the corpus has what 0.3 wants of a card
	}
	if old && a.on.binding != JSONRPC {
		raw, old = decode03(a.op, raw, false), false // its ProtoJSON is that of 1.0, except for some names
	}
	x := newInspector(old)
	x.inspect(kind, raw)
	wrong := map[string]bool{}
	for _, f := range x.found {
		wrong[f.check] = true
		a.note(f.check, f.miss)
	}
	for check := range x.seen {
		if !wrong[check] {
			a.note(check, nil)
		}
	}
}

// checkRPC checks an answer over JSON-RPC.
func (a *Answer) checkRPC() {
	if a.broken != nil {
		return
	}
	if a.stream != nil {
		a.want("sse-type", a.status == http.StatusOK, "status", "200", float64(a.status))
		return
	}
	row := ops[a.op]
	o, ok := a.raw.(obj)
	if row == nil && !a.ofVersion() {
		return // a raw request that is not one of this interface
	}
	if a.status == http.StatusUnauthorized || a.status == http.StatusForbidden || a.status == http.StatusUnsupportedMediaType || a.status == http.StatusTooManyRequests || a.status >= 300 && !ok {
		return
	}
	a.want("jsonrpc-content-type", a.contentType() == "application/json", "Content-Type", "application/json", a.header.Get("Content-Type"))
	if row == nil && !ok {
		return
	}
	a.want("jsonrpc-envelope", ok, "", "a JSON-RPC answer", a.raw)
	if !ok {
		return
	}
	a.checkEnvelope(o, "jsonrpc-envelope")
	a.want("jsonrpc-status", a.status == http.StatusOK || row == nil, "status", "200", float64(a.status))
	if e, ok := o["error"]; ok {
		a.checkRPCError(e)
		return
	}
	switch {
	case row == nil:
	case row.streams:
		a.want("sse-type", false, "Content-Type", "text/event-stream", a.header.Get("Content-Type"))
	default:
		a.checkObject(row.result, o["result"])
	}
}

// checkEnvelope checks jsonrpc, id, and that there is either result or error.
func (a *Answer) checkEnvelope(o obj, check string) {
	_, result := o["result"]
	_, failed := o["error"]
	switch {
	case o["jsonrpc"] != "2.0":
		a.want(check, false, "jsonrpc", `"2.0"`, o["jsonrpc"])
	case result == failed && a.op != "delete_push_config":
		a.want(check, false, "", "exactly one of result and error", keysText(o))
	default:
		a.note(check, nil)
	}
	if (typeOf(a.id) == "string" || typeOf(a.id) == "number") && (!failed || o["id"] != nil) {
		a.want("jsonrpc-id", equal(o["id"], a.id), "id", show(a.id), o["id"])
	}
}

// ofVersion reports whether a raw request is of its interface's version.
func (a *Answer) ofVersion() bool {
	if !strings.HasPrefix(a.exchange.Request[0], "POST ") {
		return false
	}
	said := slices.ContainsFunc(a.exchange.Request, func(l string) bool {
		name, v, _ := strings.Cut(l, ":")
		return strings.EqualFold(name, "A2A-Version") && strings.HasPrefix(strings.TrimSpace(v), a.on.version)
	})
	return said == (a.on.version == "1.0")
}

func keysText(o obj) any { return strings.Join(slices.Sorted(maps.Keys(o)), ", ") }

func (a *Answer) checkRPCError(v any) {
	e, _ := v.(obj)
	code, isNumber := e["code"].(float64)
	message, isText := e["message"].(string)
	a.want("jsonrpc-error", isNumber && code == float64(int(code)) && isText && message != "", "error", "a whole number as code, and a message", v)
	if !isNumber {
		return
	}
	a.want("jsonrpc-error-range", code >= -32768 && code <= -32000, "error.code", "a code from -32768 to -32000", code)
	if a.on.version != "1.0" {
		return
	}
	data, there := e["data"]
	list, isList := data.([]any)
	if there && data != nil {
		a.want("jsonrpc-error-data", isList && allTyped(list), "error.data", "an array of objects with @type each", data)
	}
	kind := kindOfCode(int(code))
	if kind == nil || kind.Reason == "" {
		return
	}
	info := errorInfo(list)
	a.want("jsonrpc-error-info", info != nil && info["reason"] == kind.Reason, "error.data", "an ErrorInfo with the reason "+kind.Reason, data)
	if info != nil {
		a.want("error-domain", info["domain"] == errorDomain, "error.data.domain", errorDomain, info["domain"])
	}
}

func allTyped(list []any) bool {
	for _, v := range list {
		o, ok := v.(obj)
		if t, _ := o["@type"].(string); !ok || t == "" {
			return false
		}
	}
	return true
}

func errorInfo(list []any) obj {
	for _, v := range list {
		if o, ok := v.(obj); ok && o["@type"] == errorInfoType {
			return o
		}
	}
	return nil
}

// checkREST checks an answer over HTTP+JSON.
func (a *Answer) checkREST() {
	if a.broken != nil {
		return
	}
	row := ops[a.op]
	if a.stream != nil {
		a.want("sse-type", a.status == http.StatusOK, "status", "200", float64(a.status))
		return
	}
	kind := a.contentType()
	if a.raw != nil || len(a.exchange.Response) > 0 && row != nil && a.status == http.StatusOK {
		a.want("rest-content-type", kind == "application/json" || kind == "application/a2a+json", "Content-Type", "application/a2a+json or application/json", a.header.Get("Content-Type"))
	}
	if a.status >= 200 && a.status <= 299 {
		if row != nil && row.streams {
			a.want("sse-type", false, "Content-Type", "text/event-stream", a.header.Get("Content-Type"))
			return
		}
		a.want("rest-status", a.status == http.StatusOK || a.status == http.StatusNoContent && a.op == "delete_push_config" || a.status == http.StatusCreated && a.op == "create_push_config", "status", "200", float64(a.status))
		if row != nil {
			a.checkObject(row.result, a.raw)
		}
		return
	}
	if a.status == http.StatusUnauthorized || a.on.version != "1.0" || a.status >= 300 && a.status <= 399 {
		return
	}
	o, _ := a.raw.(obj)
	e, ok := o["error"].(obj)
	if !ok && row == nil {
		return // no agent need answer at an unknown route
	}
	code, isNumber := e["code"].(float64)
	message, isText := e["message"].(string)
	a.want("rest-error-body", ok && isNumber && isText && message != "", "error", "an object with code and message", a.raw)
	if !ok {
		return
	}
	a.want("rest-error-code", !isNumber || int(code) == a.status, "error.code", fmt.Sprint(a.status), e["code"])
	details, _ := e["details"].([]any)
	if e["details"] != nil {
		a.want("rest-error-details", allTyped(details), "error.details", "an array of objects with @type each", e["details"])
	}
	info := errorInfo(details)
	reason, _ := info["reason"].(string)
	if info != nil {
		if known := kindOfReason(reason); known != nil {
			a.want("rest-error-status", slices.Contains(known.HTTP, a.status), "status", fmt.Sprint(known.HTTP[0])+" for "+reason, float64(a.status))
			if e["status"] != nil {
				a.want("rest-error-status", slices.Contains(known.GRPC, plainText(e["status"])), "error.status", known.GRPC[0]+" for "+reason, e["status"])
			}
			a.want("error-domain", info["domain"] == errorDomain, "error.details.domain", errorDomain, info["domain"])
		}
	}
	// A 404 of a known operation is an A2A error, and must say so.
	if row != nil && a.status == http.StatusNotFound {
		a.want("rest-error-info", info != nil, "error.details", "an ErrorInfo", e["details"])
	}
}

// checkGRPCError checks an error over gRPC.
func (a *Answer) checkGRPCError() {
	if a.on.version != "1.0" {
		return
	}
	info := errorInfo(a.err.Details)
	reason, _ := info["reason"].(string)
	switch a.err.GRPC {
	case "NOT_FOUND", "FAILED_PRECONDITION":
		a.want("grpc-error-info", info != nil, "details", "an ErrorInfo", a.err.Whole)
	}
	if known := kindOfReason(reason); known != nil {
		a.want("grpc-error-status", slices.Contains(known.GRPC, a.err.GRPC), "status", known.GRPC[0]+" for "+reason, a.err.GRPC)
		a.want("error-domain", info["domain"] == errorDomain, "details.domain", errorDomain, info["domain"])
	}
}

// checkFields reports the fields that unknownFields found.
func (a *Answer) checkFields(unknown string) {
	a.want("grpc-fields", unknown == "", unknown, "no fields that the specification does not have", map[bool]any{true: nil, false: "some"}[unknown == ""])
}

// unknownFields returns the name of a message, in m or m itself, with fields that the
// specification does not have; "" if there is none. Fields of later versions have other numbers,
// which a server of 1.0 does not send.
func unknownFields(m proto.Message) (name string) {
	var walk func(protoreflect.Message)
	walk = func(m protoreflect.Message) {
		if len(m.GetUnknown()) > 0 && name == "" {
			name = string(m.Descriptor().Name())
		}
		m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
			switch {
			case f.IsMap() || f.Message() == nil:
			case f.IsList():
				for j := range v.List().Len() {
					walk(v.List().Get(j).Message())
				}
			default:
				walk(v.Message())
			}
			return true
		})
	}
	walk(m.ProtoReflect())
	return name
}
