package dialect

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/json"
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
	dst = append(dst, `{"code":`...)
	dst = strconv.AppendInt(dst, int64(row.RPC), 10)
	dst = append(dst, `,"message":`...)
	dst = appendText(dst, messageOf(row, e))
	clear := ErrorFromRPC(200, row.RPC, "", nil).Code == row.Code
	switch {
	case d >= V10:
		dst = append(dst, `,"data":`...)
		dst = appendDetails(dst, row, e)
	case !clear || d == V01 && len(e.Meta)+len(e.Fields) > 0:
		dst = append(dst, `,"data":`...)
		dst = appendInfo(dst, row, e)
		if len(e.Fields) > 0 {
			dst = append(dst[:len(dst)-1], ',')
			dst = append(appendViolations(dst, e.Fields), '}')
		}
		if e.RetryAfter > 0 {
			dst = append(dst[:len(dst)-1], ',')
			dst = append(appendRetryDelay(dst, e), '}')
		}
	}
	return append(dst, '}')
}

// AppendStatus appends the error body of HTTP+JSON: a google.rpc.Status under the
// member error (§11.6). 0.3 prescribes no form, and its clients expect different ones:
// a JSON-RPC error, the form of 1.0, and an error with the name of a class in it. In
// 0.3 the body has all of them. Nothing of e.Cause is in it.
func AppendStatus(dst []byte, d Dialect, e *a2a.Error) []byte {
	row := errorRowIn(d, e.Code)
	dst = append(dst, '{')
	if d < V10 {
		dst = append(dst, `"code":`...)
		dst = strconv.AppendInt(dst, int64(row.RPC), 10)
		dst = append(dst, `,"message":`...)
		dst = append(appendText(dst, messageOf(row, e)), ',')
	}
	dst = append(dst, `"error":{"code":`...)
	dst = strconv.AppendInt(dst, int64(HTTPStatus(d, row.Code)), 10)
	dst = append(dst, `,"status":`...)
	dst = appendText(dst, row.GRPC)
	dst = append(dst, `,"message":`...)
	dst = appendText(dst, messageOf(row, e))
	dst = append(dst, `,"details":`...)
	dst = appendDetails(dst, row, e)
	if name := v03ErrorNames[row.Code]; name != "" && d < V10 {
		dst = append(append(append(dst, `,"`...), name...), `":true`...)
	}
	return append(dst, "}}"...)
}

// v03ErrorNames are the class names of errors in 0.3, which conformance kits look for.
var v03ErrorNames = map[a2a.Code]string{
	a2a.CodeTaskNotFound:                   "TaskNotFoundError",
	a2a.CodeTaskNotCancelable:              "TaskNotCancelableError",
	a2a.CodePushNotificationNotSupported:   "PushNotificationNotSupportedError",
	a2a.CodeUnsupportedOperation:           "UnsupportedOperationError",
	a2a.CodeContentTypeNotSupported:        "ContentTypeNotSupportedError",
	a2a.CodeInvalidAgentResponse:           "InvalidAgentResponseError",
	a2a.CodeExtendedAgentCardNotConfigured: "AuthenticatedExtendedCardNotConfiguredError",
	a2a.CodeInvalidParams:                  "InvalidParamsError",
}

func messageOf(row *ErrorRow, e *a2a.Error) string {
	if e.Message == "" {
		return row.Message
	}
	return e.Message
}

func appendDetails(dst []byte, row *ErrorRow, e *a2a.Error) []byte {
	dst = appendInfo(append(dst, '['), row, e)
	if len(e.Fields) > 0 {
		dst = append(dst, `,{"@type":"`+typeBadRequest+`",`...)
		dst = append(appendViolations(dst, e.Fields), '}')
	}
	if e.RetryAfter > 0 {
		dst = append(dst, `,{"@type":"`+typeRetryInfo+`",`...)
		dst = append(appendRetryDelay(dst, e), '}')
	}
	return append(dst, ']')
}

// RetryAfter returns how long to wait before another attempt, in whole seconds, rounded
// up; 0 if the error does not say.
func RetryAfter(e *a2a.Error) int64 {
	if e.RetryAfter <= 0 {
		return 0
	}
	return int64((e.RetryAfter-1)/time.Second) + 1
}

// appendRetryDelay appends the only member of a RetryInfo.
func appendRetryDelay(dst []byte, e *a2a.Error) []byte {
	dst = append(dst, `"retryDelay":"`...)
	return append(strconv.AppendInt(dst, RetryAfter(e), 10), `s"`...)
}

// appendInfo appends an ErrorInfo.
func appendInfo(dst []byte, row *ErrorRow, e *a2a.Error) []byte {
	dst = append(dst, `{"@type":"`+typeErrorInfo+`","reason":`...)
	dst = appendText(dst, row.Reason)
	dst = append(dst, `,"domain":"`+ErrorInfoDomain+`"`...)
	if len(e.Meta) > 0 {
		dst = append(dst, `,"metadata":{`...)
		for _, k := range slices.Sorted(maps.Keys(e.Meta)) {
			dst = append(appendText(json.AppendComma(dst), k), ':')
			dst = appendText(dst, e.Meta[k])
		}
		dst = append(dst, '}')
	}
	return append(dst, '}')
}

// appendViolations appends the only member of a BadRequest.
func appendViolations(dst []byte, fields []a2a.FieldViolation) []byte {
	dst = append(dst, `"fieldViolations":[`...)
	for _, f := range fields {
		dst = append(json.AppendComma(dst), `{"field":`...)
		dst = appendText(dst, f.Field)
		dst = append(dst, `,"description":`...)
		dst = appendText(dst, f.Description)
		dst = append(dst, '}')
	}
	return append(dst, ']')
}
