package dialect

import (
	"errors"
	"slices"
	"strings"

	"github.com/parley-a2a/parley/a2a"
)

// ErrorInfoDomain is the domain of the protocol's ErrorInfo details (§9.5).
const ErrorInfoDomain = "a2a-protocol.org"

// ErrorRow is a row of the error table: how one code looks on each binding.
type ErrorRow struct {
	Code    a2a.Code
	RPC     int    // JSON-RPC code
	HTTP    int    // status of HTTP+JSON (specification 1.0.1)
	GRPC    string // canonical status name
	Reason  string // ErrorInfo reason
	Since   string // first dialect that has it
	Message string // for an Error without a message of its own
}

// Errors is the table, read in both directions by every binding and dialect. If codes
// share a JSON-RPC code, a reader takes the first row for an answer that has no reason
// and no specific HTTP status.
var Errors = []ErrorRow{
	{a2a.CodeTaskNotFound, -32001, 404, "NOT_FOUND", "TASK_NOT_FOUND", "0.1", "Task not found"},
	{a2a.CodeTaskNotCancelable, -32002, 400, "FAILED_PRECONDITION", "TASK_NOT_CANCELABLE", "0.1", "Task cannot be canceled"},
	{a2a.CodePushNotificationNotSupported, -32003, 400, "FAILED_PRECONDITION", "PUSH_NOTIFICATION_NOT_SUPPORTED", "0.1", "Push Notification is not supported"},
	{a2a.CodeUnsupportedOperation, -32004, 400, "FAILED_PRECONDITION", "UNSUPPORTED_OPERATION", "0.1", "This operation is not supported"},
	{a2a.CodeContentTypeNotSupported, -32005, 400, "INVALID_ARGUMENT", "CONTENT_TYPE_NOT_SUPPORTED", "0.1", "Incompatible content types"},
	{a2a.CodeInvalidAgentResponse, -32006, 500, "INTERNAL", "INVALID_AGENT_RESPONSE", "0.2", "Invalid agent response"},
	{a2a.CodeExtendedAgentCardNotConfigured, -32007, 400, "FAILED_PRECONDITION", "EXTENDED_AGENT_CARD_NOT_CONFIGURED", "0.3", "Extended Agent Card is not configured"},
	{a2a.CodeExtensionSupportRequired, -32008, 400, "FAILED_PRECONDITION", "EXTENSION_SUPPORT_REQUIRED", "1.0", "Extension support required"},
	{a2a.CodeVersionNotSupported, -32009, 400, "FAILED_PRECONDITION", "VERSION_NOT_SUPPORTED", "1.0", "Version not supported"},
	{a2a.CodeTaskGenerationMismatch, -32010, 409, "ABORTED", "TASK_GENERATION_MISMATCH", "1.1", "Task generation mismatch"},

	{a2a.CodeParse, -32700, 400, "INVALID_ARGUMENT", "PARSE_ERROR", "0.1", "Invalid JSON payload"},
	{a2a.CodeInvalidRequest, -32600, 400, "INVALID_ARGUMENT", "INVALID_REQUEST", "0.1", "Request payload validation error"},
	{a2a.CodeMethodNotFound, -32601, 404, "NOT_FOUND", "METHOD_NOT_FOUND", "0.1", "Method not found"},
	{a2a.CodeInvalidParams, -32602, 400, "INVALID_ARGUMENT", "INVALID_PARAMS", "0.1", "Invalid parameters"},
	{a2a.CodeConflict, -32602, 409, "ALREADY_EXISTS", "MESSAGE_CONFLICT", "0.1", "The message's id was used for another message"},
	{a2a.CodeInternal, -32603, 500, "INTERNAL", "INTERNAL_ERROR", "0.1", "Internal error"},

	{a2a.CodeUnauthenticated, -32000, 401, "UNAUTHENTICATED", "UNAUTHENTICATED", "0.1", "Authentication required"},
	{a2a.CodePermissionDenied, -32000, 403, "PERMISSION_DENIED", "PERMISSION_DENIED", "0.1", "Permission denied"},
	{a2a.CodeRateLimited, -32000, 429, "RESOURCE_EXHAUSTED", "RATE_LIMITED", "0.1", "Too many requests: try later"},
	{a2a.CodeUnavailable, -32000, 503, "UNAVAILABLE", "UNAVAILABLE", "0.1", "Temporarily unavailable: try later"},
	{a2a.CodeLoop, -32000, 508, "FAILED_PRECONDITION", "DELEGATION_LOOP", "0.1", "The message came through too many agents"},
	{a2a.CodeTooLarge, -32600, 413, "OUT_OF_RANGE", "REQUEST_TOO_LARGE", "0.1", "Request is too large"},
	{a2a.CodeUnsupportedMedia, -32005, 415, "INVALID_ARGUMENT", "UNSUPPORTED_MEDIA_TYPE", "0.1", "The body must be JSON"},
	{a2a.CodeMethodNotAllowed, -32600, 405, "UNIMPLEMENTED", "METHOD_NOT_ALLOWED", "0.1", "HTTP method not allowed"},
}

// ErrorRowOf returns the table's row for a code; unknown codes are internal.
func ErrorRowOf(c a2a.Code) *ErrorRow {
	if row := findRow(func(r *ErrorRow) bool { return r.Code == c }); row != nil {
		return row
	}
	return ErrorRowOf(a2a.CodeInternal)
}

// errorRowIn returns the row that a dialect has for a code. A code of a later version
// becomes the nearest one that the dialect has.
func errorRowIn(d Dialect, c a2a.Code) *ErrorRow {
	row := ErrorRowOf(c)
	switch {
	case row.Since <= d.Version():
		return row
	case c == a2a.CodeInvalidAgentResponse:
		return ErrorRowOf(a2a.CodeInternal)
	}
	return ErrorRowOf(a2a.CodeUnsupportedOperation)
}

// ErrorOf returns the error of an operation as a dialect tells it. Before 1.0 there is
// only one error for an agent without an extended card, and fields have the names of the
// request's own version.
func ErrorOf(d Dialect, binding string, op Op, err error) error {
	e, ok := errors.AsType[*a2a.Error](err)
	if !ok || d >= V10 {
		return err
	}
	told := *e
	if op == GetExtendedAgentCard && e.Code == a2a.CodeUnsupportedOperation {
		told.Code = a2a.CodeExtendedAgentCardNotConfigured
		return &told
	}
	codec := CodecOf(d, binding)
	told.Fields = slices.Clone(e.Fields)
	for i, f := range e.Fields {
		name := strings.Replace(f.Field, "authentication.scheme", "authentication.schemes[0]", 1)
		told.Fields[i].Field = codec.field(op, name)
		told.Message = strings.Replace(told.Message, f.Field+": ", told.Fields[i].Field+": ", 1)
	}
	if slices.Equal(told.Fields, e.Fields) {
		return err
	}
	return &told
}

// renamed replaces the first of the prefixes that a field begins with: they are given in
// pairs, each with what stands for it.
func renamed(field string, pairs ...string) string {
	for pair := range slices.Chunk(pairs, 2) {
		if rest, ok := strings.CutPrefix(field, pair[0]); ok {
			return pair[1] + rest
		}
	}
	return field
}

// oldError is how versions before 1.0 tell an error over HTTP+JSON and gRPC, if not as
// Errors has it. They have no table of their own: statuses are those that servers of 0.3
// agreed upon or, if they did not, the most specific ones.
type oldError struct {
	code   a2a.Code
	http   int
	grpc   string
	word   string // begins the message over gRPC, where errors share a status
	name   string // of the class, which some servers write instead of the word
	member bool   // HTTP+JSON has the name, too, because conformance kits look for it
}

var oldErrors = []oldError{
	{a2a.CodeTaskNotFound, 404, "NOT_FOUND", "TASK_NOT_FOUND", "TaskNotFoundError", true},
	{a2a.CodeTaskNotCancelable, 409, "FAILED_PRECONDITION", "TASK_NOT_CANCELABLE", "TaskNotCancelableError", true},
	{a2a.CodePushNotificationNotSupported, 501, "UNIMPLEMENTED", "PUSH_NOTIFICATIONS_NOT_SUPPORTED", "PushNotificationNotSupportedError", true},
	{a2a.CodeUnsupportedOperation, 501, "UNIMPLEMENTED", "OPERATION_NOT_SUPPORTED", "UnsupportedOperationError", true},
	{a2a.CodeContentTypeNotSupported, 415, "INVALID_ARGUMENT", "CONTENT_TYPE_NOT_SUPPORTED", "ContentTypeNotSupportedError", true},
	{a2a.CodeInvalidAgentResponse, 500, "INTERNAL", "INVALID_AGENT_RESPONSE", "InvalidAgentResponseError", true},
	{a2a.CodeExtendedAgentCardNotConfigured, 404, "UNIMPLEMENTED", "AUTHENTICATED_CARD_NOT_CONFIGURED", "AuthenticatedExtendedCardNotConfiguredError", true},
	{a2a.CodeInvalidParams, 400, "INVALID_ARGUMENT", "INVALID_PARAMS", "InvalidParamsError", true},
	{a2a.CodeParse, 400, "INVALID_ARGUMENT", "PARSE_ERROR", "JSONParseError", false},
	{a2a.CodeInvalidRequest, 400, "INVALID_ARGUMENT", "INVALID_REQUEST", "InvalidRequestError", false},
	{a2a.CodeMethodNotFound, 404, "UNIMPLEMENTED", "METHOD_NOT_FOUND", "MethodNotFoundError", false},
	{a2a.CodeMethodNotAllowed, 405, "UNIMPLEMENTED", "METHOD_NOT_FOUND", "MethodNotFoundError", false}, // over gRPC, both are the same
}

// oldErrorOf returns the row of a code that a dialect has; nil from 1.0 on.
func oldErrorOf(d Dialect, c a2a.Code) *oldError {
	if i := slices.IndexFunc(oldErrors, func(e oldError) bool { return e.code == c }); i >= 0 && d < V10 {
		return &oldErrors[i]
	}
	return nil
}

// HTTPStatus returns the status of an HTTP+JSON answer with this error.
func HTTPStatus(d Dialect, c a2a.Code) int {
	row := errorRowIn(d, c)
	if old := oldErrorOf(d, row.Code); old != nil {
		return old.http
	}
	return row.HTTP
}

// grpcStatus returns the name of the status of a gRPC answer with this error.
func grpcStatus(d Dialect, c a2a.Code) string {
	row := errorRowIn(d, c)
	if old := oldErrorOf(d, row.Code); old != nil {
		return old.grpc
	}
	return row.GRPC
}

func findRow(is func(*ErrorRow) bool) *ErrorRow {
	for i := range Errors {
		if is(&Errors[i]) {
			return &Errors[i]
		}
	}
	return nil
}

func rowOfReason(reason string) *ErrorRow {
	return findRow(func(r *ErrorRow) bool { return r.Reason == reason })
}

// RPCStatus returns the HTTP status of a JSON-RPC answer with this error. It is 200,
// because official clients take anything else for a broken transport, except for errors
// that HTTP itself has a status for (§9.5, DIALECTS 8.4).
func RPCStatus(c a2a.Code) int {
	switch row := ErrorRowOf(c); row.HTTP {
	case 401, 403, 413, 415, 429:
		return row.HTTP
	}
	return 200
}
