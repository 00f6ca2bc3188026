package dialect

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/parley-a2a/parley/a2a"
)

// Types of error details (§9.5, §11.6).
const (
	typeErrorInfo  = "type.googleapis.com/google.rpc.ErrorInfo"
	typeBadRequest = "type.googleapis.com/google.rpc.BadRequest"
	typeRetryInfo  = "type.googleapis.com/google.rpc.RetryInfo"
)

// AppendRPCError appends the error member of a JSON-RPC response: code, message, and
// data. From 1.0 on data is a list: an ErrorInfo, a BadRequest if fields are wrong, and
// a RetryInfo with the time to wait. Before 1.0 it is an object with the members of
// these, omitted if it says no more than the code. 0.3 has it only if the code is
// ambiguous: of the deployed clients for 0.3, one cannot read an answer whose data is
// not an object, and another one cannot read one whose data is. Nothing of e.Cause is
// in it. A code that the dialect does not have becomes the nearest one that it has.
func AppendRPCError(dst []byte, d Dialect, e *a2a.Error) []byte {
	row := errorRowIn(d, e.Code)
	w := jsonWriter{dst}
	w.open('{')
	w.int("code", int32(row.RPC))
	w.text("message", messageOf(row, e))
	clear := ErrorFromRPC(200, row.RPC, "", nil).Code == row.Code
	switch {
	case d >= V10:
		w.errorDetails("data", row, e)
	case !clear || d == V01 && len(e.Meta)+len(e.Fields) > 0:
		w.object("data")
		w.errorInfo(row, e)
		w.violations(e)
		w.retryDelay(e)
		w.close('}')
	}
	w.close('}')
	return w.b
}

// AppendStatus appends the error body of HTTP+JSON: a google.rpc.Status under the
// member error (§11.6). 0.3 prescribes no form, and its clients expect different ones:
// a JSON-RPC error, the form of 1.0, and an error with the name of a class in it. In
// 0.3 the body has all of them. Nothing of e.Cause is in it.
func AppendStatus(dst []byte, d Dialect, e *a2a.Error) []byte {
	row := errorRowIn(d, e.Code)
	w := jsonWriter{dst}
	w.open('{')
	if d < V10 {
		w.int("code", int32(row.RPC))
		w.text("message", messageOf(row, e))
	}
	w.object("error")
	w.int("code", int32(HTTPStatus(d, row.Code)))
	w.text("status", row.GRPC)
	w.text("message", messageOf(row, e))
	w.errorDetails("details", row, e)
	if old := oldErrorOf(d, row.Code); old != nil && old.member {
		w.bool(old.name, true)
	}
	w.close('}')
	w.close('}')
	return w.b
}

func messageOf(row *ErrorRow, e *a2a.Error) string { return cmp.Or(e.Message, row.Message) }

// errorDetails writes a list of details.
func (w *jsonWriter) errorDetails(name string, row *ErrorRow, e *a2a.Error) {
	w.key(name)
	w.open('[')
	w.open('{')
	w.errorInfo(row, e)
	w.close('}')
	if len(e.Fields) > 0 {
		w.next()
		w.open('{')
		w.text("@type", typeBadRequest)
		w.violations(e)
		w.close('}')
	}
	if e.RetryAfter > 0 {
		w.next()
		w.open('{')
		w.text("@type", typeRetryInfo)
		w.retryDelay(e)
		w.close('}')
	}
	w.close(']')
}

// RetryAfter returns how long to wait before another attempt, in whole seconds, rounded
// up; 0 if the error does not say.
func RetryAfter(e *a2a.Error) int64 {
	if e.RetryAfter <= 0 {
		return 0
	}
	return int64((e.RetryAfter-1)/time.Second) + 1
}

// errorInfo writes the members of an ErrorInfo.
func (w *jsonWriter) errorInfo(row *ErrorRow, e *a2a.Error) {
	w.text("@type", typeErrorInfo)
	w.text("reason", row.Reason)
	w.text("domain", ErrorInfoDomain)
	if len(e.Meta) > 0 {
		w.object("metadata")
		for _, k := range slices.Sorted(maps.Keys(e.Meta)) {
			w.member(k)
			w.b = appendText(w.b, e.Meta[k])
		}
		w.close('}')
	}
}

// violations writes the only member of a BadRequest, if fields are wrong.
func (w *jsonWriter) violations(e *a2a.Error) {
	if len(e.Fields) == 0 {
		return
	}
	list(w, "fieldViolations", e.Fields, func(f a2a.FieldViolation) {
		w.open('{')
		w.text("field", f.Field)
		w.text("description", f.Description)
		w.close('}')
	})
}

// retryDelay writes the only member of a RetryInfo, if there is a time to wait.
func (w *jsonWriter) retryDelay(e *a2a.Error) {
	if e.RetryAfter > 0 {
		w.text("retryDelay", strconv.FormatInt(RetryAfter(e), 10)+"s")
	}
}
