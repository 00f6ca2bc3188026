package dialect

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/parley-a2a/parley/a2a"
)

// Bounds on what is kept of a peer's error, because it ends up in logs and terminals.
const (
	maxErrorText   = 1 << 10 // bytes of a message
	maxErrorDetail = 256     // bytes of a metadata value or the text of a field
	maxErrorItems  = 32      // metadata members, and fields
)

// ErrorFromRPC makes an Error from a peer's JSON-RPC error. The reason in data decides;
// without one, the code does; for codes with several meanings, the HTTP status of the
// answer does. data is raw JSON of any shape, or empty. An unknown code is internal, or
// means what a failing status means, and is named in the message.
func ErrorFromRPC(status, code int, message string, data []byte) *a2a.Error {
	if in, ok := wrappedError(code, data); ok {
		code, message, data = in.Code, in.Message, in.Data
	}
	e := &a2a.Error{Peer: true, PeerCode: strconv.Itoa(code), Message: clip(message, maxErrorText)}
	row := cmp.Or(readDetails(e, data), rowOfGate(status, code),
		findRow(func(r *ErrorRow) bool { return r.RPC == code && r.HTTP == status }), rowOfRPC(code))
	if row == nil {
		of := a2a.CodeInternal
		if status >= 400 { // it says more than an unknown code
			of = codeOfStatus(status)
		}
		row = ErrorRowOf(of)
		e.Message = strings.TrimSpace(fmt.Sprintf("%s (JSON-RPC code %d)", e.Message, code))
	}
	// a2a-python 1.x has what is wrong with a request in data, as a text. With other
	// errors a text is rather a stack.
	var text string
	if row.RPC >= -32602 && row.RPC <= -32600 && json.Unmarshal(data, &text) == nil && text != "" {
		text, _, _ = strings.Cut(text, "\n")
		e.Message = clip(e.Message+": "+text, maxErrorText)
	}
	return complete(e, row)
}

// rowOfGate returns the row of an HTTP status about authentication, rates or
// availability that came with an internal error from a server or something in front of
// it.
func rowOfGate(status, code int) *ErrorRow {
	if code != -32603 {
		return nil
	}
	switch status {
	case 401, 403, 407, 429, 503:
		return ErrorRowOf(codeOfStatus(status))
	}
	return nil
}

type rpcError struct {
	Code    int
	Message string
	Data    json.RawMessage
}

// wrappedError unwraps an error in another one. The JavaScript server that came with
// 0.1 sends every error as an internal one, whose data is the answer it meant to give.
func wrappedError(code int, data []byte) (rpcError, bool) {
	if code != -32603 || len(data) == 0 || data[0] != '{' {
		return rpcError{}, false
	}
	var answer struct {
		JSONRPC string
		Error   *rpcError
	}
	if json.Unmarshal(data, &answer) != nil || answer.JSONRPC != "2.0" || answer.Error == nil || answer.Error.Code == 0 {
		return rpcError{}, false
	}
	return *answer.Error, true
}

// ErrorFromHTTP makes an Error from an HTTP answer that is not a success. It
// understands a google.rpc.Status (§11.6), problem+json, JSON-RPC errors and the simple
// objects of older servers; a short plain text is kept. The reason decides, then a code
// in the body, then the status.
func ErrorFromHTTP(status int, contentType string, body []byte) *a2a.Error {
	e := &a2a.Error{Peer: true, PeerCode: strconv.Itoa(status)}
	var row *ErrorRow
	if doc, ok := parseErrorBody(body); ok {
		e.Message = clip(doc.text(), maxErrorText)
		row = doc.row(e)
	} else if media, _, _ := mime.ParseMediaType(contentType); media == "text/plain" {
		e.Message = clip(strings.TrimSpace(string(body)), maxErrorDetail)
	}
	if row == nil {
		row = ErrorRowOf(codeOfStatus(status))
		if e.Message == "" {
			e.Message = strings.TrimSpace(fmt.Sprintf("HTTP %d %s", status, http.StatusText(status)))
		}
	}
	return complete(e, row)
}

// errorBody is the union of the error bodies in use.
type errorBody struct {
	errorFields                 // {"code":-32001,"message":…}: a2a-js 0.3
	Error       json.RawMessage // an object of errorFields, or a text
	Type        string          // problem+json
	Title       string
	Detail      string

	inner errorFields // read from Error
}

type errorFields struct {
	Code    json.RawMessage // a number; raw, since a json.Number that is a word stops the decoder
	Status  any             // google.rpc's name; problem+json has a number here
	Message string
	Details json.RawMessage
	Data    json.RawMessage
}

// parseErrorBody reads what it understands, because encoding/json goes on after a
// member of the wrong type. It reports false if it understands nothing.
func parseErrorBody(body []byte) (*errorBody, bool) {
	if !json.Valid(body) {
		return nil, false
	}
	doc := new(errorBody)
	_ = json.Unmarshal(body, doc)
	if len(doc.Error) > 0 && doc.Error[0] == '"' {
		_ = json.Unmarshal(doc.Error, &doc.inner.Message)
	} else {
		_ = json.Unmarshal(doc.Error, &doc.inner)
	}
	return doc, doc.text() != "" || len(doc.inner.Code) > 0 || len(doc.Code) > 0 || doc.Type != ""
}

func (d *errorBody) text() string {
	return cmp.Or(d.inner.Message, d.Message, d.Detail, d.Title)
}

// row returns the row that the body stands for, or nil, and copies its details into e.
func (d *errorBody) row(e *a2a.Error) *ErrorRow {
	for _, details := range []json.RawMessage{d.inner.Details, d.inner.Data, d.Details, d.Data} {
		if row := readDetails(e, details); row != nil {
			return row
		}
	}
	// Release candidates of 1.0 sent https://a2a-protocol.org/errors/task-not-found.
	problem := strings.ToUpper(d.Type[strings.LastIndexByte(d.Type, '/')+1:])
	if row := rowOfReason(strings.ReplaceAll(problem, "-", "_")); row != nil {
		return row
	}
	for _, f := range []*errorFields{&d.inner, &d.errorFields} {
		if code, err := strconv.Atoi(string(f.Code)); err == nil && code < 0 {
			if row := rowOfRPC(code); row != nil {
				return row
			}
		}
		if name, _ := f.Status.(string); name != "" {
			if code, ok := codeOfGRPC[name]; ok {
				return ErrorRowOf(code)
			}
		}
	}
	return nil
}

// rowOfRPC returns the row of a JSON-RPC code, or nil if the code has no meaning of its
// own: servers use -32000 for anything.
func rowOfRPC(code int) *ErrorRow {
	switch code {
	case -32000:
		return nil
	case -31401: // a2a-go
		return ErrorRowOf(a2a.CodeUnauthenticated)
	case -31403: // a2a-go
		return ErrorRowOf(a2a.CodePermissionDenied)
	}
	return findRow(func(r *ErrorRow) bool { return r.RPC == code })
}

// codeOfGRPC says what a canonical status name means if there is no reason.
var codeOfGRPC = map[string]a2a.Code{
	"NOT_FOUND":           a2a.CodeTaskNotFound,
	"INVALID_ARGUMENT":    a2a.CodeInvalidParams,
	"FAILED_PRECONDITION": a2a.CodeUnsupportedOperation,
	"UNIMPLEMENTED":       a2a.CodeUnsupportedOperation, // also the answer to methods that a server does not have
	"UNAUTHENTICATED":     a2a.CodeUnauthenticated,
	"PERMISSION_DENIED":   a2a.CodePermissionDenied,
	"RESOURCE_EXHAUSTED":  a2a.CodeRateLimited,
	"UNAVAILABLE":         a2a.CodeUnavailable,
	"ABORTED":             a2a.CodeTaskGenerationMismatch,
	"ALREADY_EXISTS":      a2a.CodeConflict,
	"INTERNAL":            a2a.CodeInternal,
}

// codeOfStatus says what an HTTP status means if the body says nothing. The answer may
// come from an intermediary, so 404 is not about a task.
func codeOfStatus(status int) a2a.Code {
	switch status {
	case 401, 407:
		return a2a.CodeUnauthenticated
	case 403:
		return a2a.CodePermissionDenied
	case 404:
		return a2a.CodeMethodNotFound
	case 405:
		return a2a.CodeMethodNotAllowed
	case 413:
		return a2a.CodeTooLarge
	case 415:
		return a2a.CodeUnsupportedMedia
	case 429:
		return a2a.CodeRateLimited
	case 422:
		return a2a.CodeInvalidParams
	case 501:
		return a2a.CodeUnsupportedOperation
	case 508:
		return a2a.CodeLoop
	case 408, 502, 503, 504:
		return a2a.CodeUnavailable
	}
	if status >= 400 && status < 500 {
		return a2a.CodeInvalidRequest
	}
	return a2a.CodeInternal
}

// detail is the union of the google.rpc details in use.
type detail struct {
	Reason          string
	Domain          string
	Metadata        map[string]string
	FieldViolations []a2a.FieldViolation
	RetryDelay      string // of JSON: "1.5s"

	Loc []any // pydantic's, in a2a-python before 1.0: the path of the field
	Msg string
}

// readDetails copies metadata, field violations and the time to wait into e and returns
// the row of the reason; nil if there is no reason that we know.
func readDetails(e *a2a.Error, data []byte) *ErrorRow {
	var list []detail
	if len(data) == 0 || data[0] == '{' {
		list = make([]detail, 1)
		_ = json.Unmarshal(data, &list[0])
	} else {
		_ = json.Unmarshal(data, &list)
	}
	var row *ErrorRow
	for _, d := range list {
		found := takeDetail(e, d)
		row = cmp.Or(row, found)
	}
	return row
}

// takeDetail is readDetails for one detail.
func takeDetail(e *a2a.Error, d detail) *ErrorRow {
	var row *ErrorRow
	if d.Domain == "" || d.Domain == ErrorInfoDomain {
		row = rowOfReason(d.Reason)
	}
	for _, k := range slices.Sorted(maps.Keys(d.Metadata)) {
		if len(e.Meta) >= maxErrorItems {
			break
		}
		if e.Meta == nil {
			e.Meta = map[string]string{}
		}
		e.Meta[clip(k, maxErrorDetail)] = clip(d.Metadata[k], maxErrorDetail)
	}
	if d.Msg != "" {
		d.FieldViolations = append(d.FieldViolations, a2a.FieldViolation{Field: strings.Trim(strings.ReplaceAll(fmt.Sprint(d.Loc), " ", "."), "[]"), Description: d.Msg})
	}
	for _, f := range d.FieldViolations {
		if len(e.Fields) >= maxErrorItems {
			break
		}
		e.Fields = append(e.Fields, a2a.FieldViolation{
			Field: clip(f.Field, maxErrorDetail), Description: clip(f.Description, maxErrorDetail),
		})
	}
	if e.RetryAfter == 0 {
		e.RetryAfter = retryDelay(d.RetryDelay)
	}
	return row
}

// longestRetryDelay caps the time to wait that a peer names.
const longestRetryDelay = 365 * 24 * time.Hour

// retryDelay reads a duration of ProtoJSON; 0 if it is invalid.
func retryDelay(text string) time.Duration {
	seconds, ok := strings.CutSuffix(text, "s")
	n, err := strconv.ParseFloat(seconds, 64)
	if !ok || err != nil || !(n > 0) {
		return 0
	}
	return time.Duration(min(n, longestRetryDelay.Seconds()) * float64(time.Second))
}

func complete(e *a2a.Error, row *ErrorRow) *a2a.Error {
	e.Code = row.Code
	e.Message = cmp.Or(e.Message, row.Message)
	return e
}

// clip shortens foreign text to n bytes and makes it valid UTF-8.
func clip(s string, n int) string {
	if len(s) > n {
		s = s[:n] + "…"
	}
	return strings.ToValidUTF8(s, "")
}
