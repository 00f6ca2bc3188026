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

// watcher collects everything on the wire, and its faults.
type watcher struct {
	mu   sync.Mutex // protects the field below
	seen map[watched]*observed
}

type watched struct {
	iface string
	check string
}

type observed struct {
	count int
	bad   int
	first *Failure // only the first of several is shown
}

func (w *watcher) note(i *iface, check string, a *Answer, m *Mismatch) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.seen == nil {
		w.seen = map[watched]*observed{}
	}
	o := w.seen[watched{i.name(), check}]
	if o == nil {
		o = &observed{}
		w.seen[watched{i.name(), check}] = o
	}
	o.count++
	if m == nil {
		return
	}
	o.bad++
	if o.first == nil {
		o.first = &Failure{Message: m.String(), Mismatch: *m}
		if a != nil {
			o.first.Exchanges = []*Exchange{a.shown()}
		}
	}
}

// want records that a check had something to check, and a fault unless ok.
func (w *watcher) want(i *iface, check string, a *Answer, ok bool, at, expected string, got any) {
	var m *Mismatch
	if !ok {
		m = differ(at, expected, got, got != nil)
	}
	w.note(i, check, a, m)
}

// result returns the observations of checks on an interface.
func (w *watcher) result(i *iface, names []string) observed {
	w.mu.Lock()
	defer w.mu.Unlock()
	var sum observed
	for _, name := range names {
		if o := w.seen[watched{i.name(), name}]; o != nil {
			sum.count += o.count
			sum.bad += o.bad
			if sum.first == nil {
				sum.first = o.first
			}
		}
	}
	return sum
}

// object checks a result or an event.
func (w *watcher) object(i *iface, a *Answer, kind string, raw any) {
	if kind == "" {
		return
	}
	x := &inspector{shapes: shapes10, seen: map[string]bool{}}
	if i.version == "0.3" && i.binding == JSONRPC {
		x.shapes, x.old = shapes03, true
	} else if i.version == "0.3" {
		raw = decode03(a.op, raw, false) // its ProtoJSON is that of 1.0, except for some names
	}
	x.inspect(kind, raw)
	wrong := map[string]bool{}
	for _, f := range x.found {
		wrong[f.check] = true
		w.note(i, f.check, a, f.miss)
	}
	for check := range x.seen {
		if !wrong[check] {
			w.note(i, check, a, nil)
		}
	}
}

// rpc checks an answer over JSON-RPC.
func (w *watcher) rpc(i *iface, a *Answer, id any, request []byte) {
	if a.broken != nil {
		return
	}
	if a.stream != nil {
		w.want(i, "sse-type", a, a.status == http.StatusOK, "status", "200", float64(a.status))
		return
	}
	row := ops[a.op]
	o, ok := a.raw.(obj)
	if row == nil && !ofVersion(i, a) {
		return // a raw request that is not one of this interface
	}
	if a.status == http.StatusUnauthorized || a.status == http.StatusForbidden || a.status == http.StatusUnsupportedMediaType || a.status == http.StatusTooManyRequests || a.status >= 300 && !ok {
		return
	}
	w.want(i, "jsonrpc-content-type", a, a.contentType() == "application/json", "Content-Type", "application/json", a.header.Get("Content-Type"))
	if row == nil && !ok {
		return
	}
	w.want(i, "jsonrpc-envelope", a, ok, "", "a JSON-RPC answer", a.raw)
	if !ok {
		return
	}
	w.envelope(i, a, o, id, "jsonrpc-envelope")
	w.want(i, "jsonrpc-status", a, a.status == http.StatusOK || row == nil, "status", "200", float64(a.status))
	if e, ok := o["error"]; ok {
		w.rpcError(i, a, e)
		return
	}
	if row != nil && row.streams {
		w.want(i, "sse-type", a, false, "Content-Type", "text/event-stream", a.header.Get("Content-Type"))
		return
	}
	w.object(i, a, resultShape(a.op, i.version == "0.3"), o["result"])
}

// envelope checks jsonrpc, id, and that there is either result or error.
func (w *watcher) envelope(i *iface, a *Answer, o obj, id any, check string) {
	_, result := o["result"]
	_, failed := o["error"]
	switch {
	case o["jsonrpc"] != "2.0":
		w.want(i, check, a, false, "jsonrpc", `"2.0"`, o["jsonrpc"])
	case result == failed && a.op != "delete_push_config":
		w.want(i, check, a, false, "", "exactly one of result and error", keysText(o))
	default:
		w.note(i, check, a, nil)
	}
	if (typeOf(id) == "string" || typeOf(id) == "number") && (!failed || o["id"] != nil) {
		w.want(i, "jsonrpc-id", a, equal(o["id"], id), "id", show(id), o["id"])
	}
}

// ofVersion reports whether a raw request is of its interface's version.
func ofVersion(i *iface, a *Answer) bool {
	if !strings.HasPrefix(a.exchange.Request[0], "POST ") {
		return false
	}
	said := slices.ContainsFunc(a.exchange.Request, func(l string) bool {
		name, v, _ := strings.Cut(l, ":")
		return strings.EqualFold(name, "A2A-Version") && strings.HasPrefix(strings.TrimSpace(v), i.version)
	})
	return said == (i.version == "1.0")
}

func keysText(o obj) any { return strings.Join(slices.Sorted(maps.Keys(o)), ", ") }

func (w *watcher) rpcError(i *iface, a *Answer, v any) {
	e, _ := v.(obj)
	code, isNumber := e["code"].(float64)
	message, isText := e["message"].(string)
	w.want(i, "jsonrpc-error", a, isNumber && code == float64(int(code)) && isText && message != "", "error", "a whole number as code, and a message", v)
	if !isNumber {
		return
	}
	w.want(i, "jsonrpc-error-range", a, code >= -32768 && code <= -32000, "error.code", "a code from -32768 to -32000", code)
	if i.version != "1.0" {
		return
	}
	data, there := e["data"]
	list, isList := data.([]any)
	if there && data != nil {
		w.want(i, "jsonrpc-error-data", a, isList && allTyped(list), "error.data", "an array of objects with @type each", data)
	}
	kind := kindOfCode(int(code))
	if kind == nil || kind.Reason == "" {
		return
	}
	info := errorInfo(list)
	w.want(i, "jsonrpc-error-info", a, info != nil && info["reason"] == kind.Reason, "error.data", "an ErrorInfo with the reason "+kind.Reason, data)
	if info != nil {
		w.want(i, "error-domain", a, info["domain"] == errorDomain, "error.data.domain", errorDomain, info["domain"])
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

func kindOfCode(code int) *errorKind {
	for name, k := range errorKinds {
		if k.Code == code && !slices.Contains(otherNames, name) {
			return k
		}
	}
	return nil
}

func kindOfReason(reason string) *errorKind {
	for _, k := range errorKinds {
		if k.Reason == reason && reason != "" {
			return k
		}
	}
	return nil
}

// rest checks an answer over HTTP+JSON.
func (w *watcher) rest(i *iface, a *Answer) {
	if a.broken != nil {
		return
	}
	row := ops[a.op]
	if a.stream != nil {
		w.want(i, "sse-type", a, a.status == http.StatusOK, "status", "200", float64(a.status))
		return
	}
	kind := a.contentType()
	if a.raw != nil || len(a.exchange.Response) > 0 && row != nil && a.status == http.StatusOK {
		w.want(i, "rest-content-type", a, kind == "application/json" || kind == "application/a2a+json", "Content-Type", "application/a2a+json or application/json", a.header.Get("Content-Type"))
	}
	if a.status >= 200 && a.status <= 299 {
		if row != nil && row.streams {
			w.want(i, "sse-type", a, false, "Content-Type", "text/event-stream", a.header.Get("Content-Type"))
			return
		}
		w.want(i, "rest-status", a, a.status == http.StatusOK || a.status == http.StatusNoContent && a.op == "delete_push_config" || a.status == http.StatusCreated && a.op == "create_push_config", "status", "200", float64(a.status))
		if row != nil {
			w.object(i, a, resultShape(a.op, i.version == "0.3"), a.raw)
		}
		return
	}
	if a.status == http.StatusUnauthorized || i.version != "1.0" || a.status >= 300 && a.status <= 399 {
		return
	}
	o, _ := a.raw.(obj)
	e, ok := o["error"].(obj)
	if !ok && row == nil {
		return // no agent need answer at an unknown route
	}
	code, isNumber := e["code"].(float64)
	message, isText := e["message"].(string)
	w.want(i, "rest-error-body", a, ok && isNumber && isText && message != "", "error", "an object with code and message", a.raw)
	if !ok {
		return
	}
	w.want(i, "rest-error-code", a, !isNumber || int(code) == a.status, "error.code", fmt.Sprint(a.status), e["code"])
	details, _ := e["details"].([]any)
	if e["details"] != nil {
		w.want(i, "rest-error-details", a, allTyped(details), "error.details", "an array of objects with @type each", e["details"])
	}
	info := errorInfo(details)
	reason, _ := info["reason"].(string)
	if info != nil {
		if known := kindOfReason(reason); known != nil {
			w.want(i, "rest-error-status", a, slices.Contains(known.HTTP, a.status), "status", fmt.Sprint(known.HTTP[0])+" for "+reason, float64(a.status))
			if e["status"] != nil {
				w.want(i, "rest-error-status", a, slices.Contains(known.GRPC, plainText(e["status"])), "error.status", known.GRPC[0]+" for "+reason, e["status"])
			}
			w.want(i, "error-domain", a, info["domain"] == errorDomain, "error.details.domain", errorDomain, info["domain"])
		}
	}
	// A 404 of a known operation is an A2A error, and must say so.
	if row != nil && a.status == http.StatusNotFound {
		w.want(i, "rest-error-info", a, info != nil, "error.details", "an ErrorInfo", e["details"])
	}
}

// grpc checks an answer over gRPC.
func (w *watcher) grpc(i *iface, a *Answer, m proto.Message) {
	if m != nil {
		w.grpcMessage(i, a, m)
		w.object(i, a, resultShape(a.op, i.version == "0.3"), a.raw)
		return
	}
	if a.err == nil || i.version != "1.0" {
		return
	}
	info := errorInfo(a.err.Details)
	reason, _ := info["reason"].(string)
	switch a.err.GRPC {
	case "NOT_FOUND", "FAILED_PRECONDITION":
		w.want(i, "grpc-error-info", a, info != nil, "details", "an ErrorInfo", a.err.Whole)
	}
	if known := kindOfReason(reason); known != nil {
		w.want(i, "grpc-error-status", a, slices.Contains(known.GRPC, a.err.GRPC), "status", known.GRPC[0]+" for "+reason, a.err.GRPC)
		w.want(i, "error-domain", a, info["domain"] == errorDomain, "details.domain", errorDomain, info["domain"])
	}
}

// grpcMessage looks for fields that the specification does not have. Fields of later versions
// have other numbers, which a server of 1.0 does not send.
func (w *watcher) grpcMessage(i *iface, a *Answer, m proto.Message) {
	if m == nil {
		return
	}
	unknown := ""
	var walk func(protoreflect.Message)
	walk = func(m protoreflect.Message) {
		if len(m.GetUnknown()) > 0 && unknown == "" {
			unknown = string(m.Descriptor().Name())
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
	w.want(i, "grpc-fields", a, unknown == "", unknown, "no fields that the specification does not have", map[bool]any{true: nil, false: "some"}[unknown == ""])
}
