package a2a

import (
	"cmp"
	"fmt"
	"time"
)

// Code classifies an Error. The codes of the protocol come first, then those
// of its framing and of HTTP. How each looks on a binding is one table in
// internal/dialect.
type Code int

const (
	// CodeInternal is an unexpected failure. Errors that are not *Error count
	// as internal, and their text never leaves the process.
	CodeInternal Code = iota

	CodeTaskNotFound                   // specification §3.3.2
	CodeTaskNotCancelable              //
	CodePushNotificationNotSupported   //
	CodeUnsupportedOperation           //
	CodeContentTypeNotSupported        //
	CodeInvalidAgentResponse           //
	CodeExtendedAgentCardNotConfigured //
	CodeExtensionSupportRequired       //
	CodeVersionNotSupported            //
	CodeTaskGenerationMismatch         // 1.1 draft

	CodeParse            // the body is not JSON
	CodeInvalidRequest   // the envelope is wrong
	CodeMethodNotFound   // no such method or route
	CodeInvalidParams    // a field is missing or wrong; see Error.Fields
	CodeUnauthenticated  // the caller is not known
	CodePermissionDenied // the caller may not do this
	CodeTooLarge         // a limit on size was exceeded
	CodeUnsupportedMedia // the media type of the body is not JSON
	CodeMethodNotAllowed // a known route, called with another HTTP method
	CodeRateLimited      // too many requests; try later
	CodeUnavailable      // a temporary failure; try later
	CodeConflict         // the id or the key of a message was used for another one
	CodeLoop             // the message came through too many agents
)

var codeNames = map[Code]string{
	CodeInternal:                       "InternalError",
	CodeTaskNotFound:                   "TaskNotFoundError",
	CodeTaskNotCancelable:              "TaskNotCancelableError",
	CodePushNotificationNotSupported:   "PushNotificationNotSupportedError",
	CodeUnsupportedOperation:           "UnsupportedOperationError",
	CodeContentTypeNotSupported:        "ContentTypeNotSupportedError",
	CodeInvalidAgentResponse:           "InvalidAgentResponseError",
	CodeExtendedAgentCardNotConfigured: "ExtendedAgentCardNotConfiguredError",
	CodeExtensionSupportRequired:       "ExtensionSupportRequiredError",
	CodeVersionNotSupported:            "VersionNotSupportedError",
	CodeTaskGenerationMismatch:         "TaskGenerationMismatchError",
	CodeParse:                          "JSONParseError",
	CodeInvalidRequest:                 "InvalidRequestError",
	CodeMethodNotFound:                 "MethodNotFoundError",
	CodeInvalidParams:                  "InvalidParamsError",
	CodeUnauthenticated:                "UnauthenticatedError",
	CodePermissionDenied:               "PermissionDeniedError",
	CodeTooLarge:                       "RequestTooLargeError",
	CodeUnsupportedMedia:               "UnsupportedMediaTypeError",
	CodeMethodNotAllowed:               "MethodNotAllowedError",
	CodeRateLimited:                    "RateLimitedError",
	CodeUnavailable:                    "UnavailableError",
	CodeConflict:                       "ConflictError",
	CodeLoop:                           "DelegationLoopError",
}

// String returns the error's name as the specification spells it, such as
// TaskNotFoundError.
func (c Code) String() string {
	if n, ok := codeNames[c]; ok {
		return n
	}
	return codeNames[CodeInternal]
}

// Error is an error of the protocol. errors.Is compares codes, so a sentinel
// such as ErrTaskNotFound matches an error that came over a network.
type Error struct {
	Code    Code
	Message string            // for the caller: says what to do; safe to send
	Fields  []FieldViolation  // what is wrong with which field; safe to send
	Meta    map[string]string // ErrorInfo metadata, such as the task's id; safe to send
	Cause   error             // stays in this process: logged, never encoded

	// RetryAfter is how long to wait before another attempt; zero says nothing. It is
	// sent in whole seconds, rounded up.
	RetryAfter time.Duration

	// PeerCode is the error's code as the peer's binding has it, such as -32001, 404
	// or NOT_FOUND; "" if the peer said none.
	PeerCode string

	// Peer is true if the other side reported the error, false if it was
	// concluded here.
	Peer bool
}

// FieldViolation names a field by its path from the request's root, such as
// "message.parts[0]", and says what is wrong with it.
type FieldViolation struct {
	Field       string
	Description string
}

func (e *Error) Error() string {
	msg := cmp.Or(e.Message, e.Code.String())
	if e.Cause != nil {
		return msg + ": " + e.Cause.Error()
	}
	return msg
}

func (e *Error) Unwrap() error { return e.Cause }

// Is reports whether target is an *Error of the same code.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code
}

// Errorf returns an Error with a message for the caller. It does not wrap: an
// error among the arguments would leak its text.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Invalid returns an InvalidParams error about one field.
func Invalid(field, format string, args ...any) *Error {
	d := fmt.Sprintf(format, args...)
	return &Error{Code: CodeInvalidParams, Message: field + ": " + d, Fields: []FieldViolation{{field, d}}}
}

// Sentinels for errors.Is, which compares codes. Do not change them.
var (
	ErrTaskNotFound                   = &Error{Code: CodeTaskNotFound, Message: "task not found"}
	ErrTaskNotCancelable              = &Error{Code: CodeTaskNotCancelable, Message: "task cannot be canceled"}
	ErrPushNotificationNotSupported   = &Error{Code: CodePushNotificationNotSupported, Message: "push notifications are not supported"}
	ErrUnsupportedOperation           = &Error{Code: CodeUnsupportedOperation, Message: "this operation is not supported"}
	ErrContentTypeNotSupported        = &Error{Code: CodeContentTypeNotSupported, Message: "content type not supported"}
	ErrInvalidAgentResponse           = &Error{Code: CodeInvalidAgentResponse, Message: "invalid agent response"}
	ErrExtendedAgentCardNotConfigured = &Error{Code: CodeExtendedAgentCardNotConfigured, Message: "no extended agent card is configured"}
	ErrExtensionSupportRequired       = &Error{Code: CodeExtensionSupportRequired, Message: "a required extension was not declared"}
	ErrVersionNotSupported            = &Error{Code: CodeVersionNotSupported, Message: "protocol version not supported"}
	ErrTaskGenerationMismatch         = &Error{Code: CodeTaskGenerationMismatch, Message: "the task has changed meanwhile"}
	ErrInvalidParams                  = &Error{Code: CodeInvalidParams, Message: "invalid parameters"}
	ErrUnauthenticated                = &Error{Code: CodeUnauthenticated, Message: "authentication required"}
	ErrPermissionDenied               = &Error{Code: CodePermissionDenied, Message: "permission denied"}
	ErrRateLimited                    = &Error{Code: CodeRateLimited, Message: "too many requests"}
	ErrUnavailable                    = &Error{Code: CodeUnavailable, Message: "temporarily unavailable"}
	ErrConflict                       = &Error{Code: CodeConflict, Message: "the message id was used for another message"}
)
