package wire

import (
	"bytes"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"unicode/utf8"

	"github.com/parley-a2a/parley/internal/json"
)

// Codes of JSON-RPC 2.0 that the framing itself uses.
const (
	CodeParse          = -32700
	CodeInvalidRequest = -32600
)

// maxID bounds an id, in bytes: every element of a stream repeats it.
const maxID = 1 << 10

// Error is the error member of a JSON-RPC response, or what a parser of this
// package found wrong.
type Error struct {
	Code    int
	Message string
	Data    []byte // raw JSON; empty if absent
}

func (e *Error) Error() string {
	return "JSON-RPC error " + strconv.Itoa(e.Code) + ": " + e.Message
}

// Request is a JSON-RPC request. Its slices point into the parsed body.
type Request struct {
	ID     []byte // raw JSON exactly as sent; nil if it could not be read
	Method string
	Params []byte // raw JSON; nil if absent or null

	NoID bool // a missing id is all that is wrong
}

// ParseRequest reads a request envelope and is strict about it: one object,
// jsonrpc exactly "2.0", an id that is a string, a number or null, a method
// that is a string, no member twice. Other members are ignored. The error is
// an *Error with CodeParse or CodeInvalidRequest; the Request then still
// holds the id, if there was a valid one.
func ParseRequest(body []byte) (Request, *Error) { return parseRequest(body, true) }

// ParseLaxRequest is ParseRequest for peers that leave out jsonrpc or id. A missing id
// becomes 1, the number that they are used to; readers that insist on a number accept
// it, and the same exchange has no other request to confuse it with. An id that is
// present must be valid all the same.
func ParseLaxRequest(body []byte) (Request, *Error) { return parseRequest(body, false) }

func parseRequest(body []byte, strict bool) (Request, *Error) {
	if err := CheckJSON(body); err != nil {
		return Request{}, err
	}
	if first := json.Read(body).Peek(); first == '[' {
		return Request{}, invalid("batches are not supported: send one request object per POST")
	} else if first != '{' {
		return Request{}, invalid("the request must be a JSON object, not %s", json.Kind(first))
	}
	var (
		version, id, method, params []byte
		bad                         *Error
	)
	for name, value := range members(body) {
		var field *[]byte
		switch string(name) {
		case "jsonrpc":
			field = &version
		case "id":
			field = &id
		case "method":
			field = &method
		case "params":
			field = &params
		default:
			continue
		}
		if *field != nil {
			bad = invalid("member %q is given twice", string(name))
		}
		*field = value
	}
	if !strict && id == nil {
		id = []byte("1")
	}
	req := Request{Params: params}
	if isNull(params) {
		req.Params = nil
	}
	idErr := checkID(id)
	if idErr == nil {
		req.ID = id
	}
	switch {
	case bad != nil:
	case version == nil && strict:
		bad = invalid(`jsonrpc is missing: it must be "2.0"`)
	case version != nil && text(version) != "2.0":
		bad = invalid(`jsonrpc must be "2.0"`)
	case method == nil:
		bad = invalid("method is missing")
	case method[0] != '"':
		bad = invalid("method must be a string, not %s", json.Kind(method[0]))
	default:
		req.Method = text(method)
		bad = idErr
		req.NoID = id == nil
	}
	return req, bad
}

func checkID(id []byte) *Error {
	switch {
	case id == nil:
		return invalid("id is missing: notifications are not supported, every request is answered")
	case id[0] == '{' || id[0] == '[' || id[0] == 't' || id[0] == 'f':
		return invalid("id must be a string, a number or null, not %s", json.Kind(id[0]))
	case len(id) > maxID:
		return invalid("id is longer than %d bytes", maxID)
	}
	return nil
}

// CheckJSON returns nil if body is one JSON value in UTF-8, and otherwise an *Error
// with CodeParse.
func CheckJSON(body []byte) *Error {
	flaw, at := json.Check(body, json.Deepest)
	if flaw == json.Sound {
		return nil
	}
	if !utf8.Valid(body) {
		return &Error{Code: CodeParse, Message: "the body is not valid UTF-8"}
	}
	if len(bytes.TrimLeft(body, " \t\r\n")) == 0 {
		return &Error{Code: CodeParse, Message: "the body is empty: send a JSON object"}
	}
	msg := "the body is not valid JSON"
	var syntax *stdjson.SyntaxError
	if flaw == json.Deep { // encoding/json says the same, but takes 200 KB to find it
		msg += fmt.Sprintf(": invalid character '%c' exceeded max depth at byte %d", body[at], at+1)
	} else if err := stdjson.Unmarshal(body, &stdjson.RawMessage{}); errors.As(err, &syntax) {
		msg += ": " + syntax.Error() + " at byte " + strconv.FormatInt(syntax.Offset, 10)
	}
	return &Error{Code: CodeParse, Message: msg}
}

// AppendRequest appends a request. id and params are raw JSON; empty params are
// omitted.
func AppendRequest(dst, id []byte, method string, params []byte) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","id":`...)
	dst = appendID(dst, id)
	dst = append(dst, `,"method":`...)
	dst = json.AppendStringAs(dst, method, "\n")
	if len(params) > 0 {
		dst = append(dst, `,"params":`...)
		dst = append(dst, params...)
	}
	return append(dst, '}')
}

// AppendResultPrefix appends a successful response up to its result; the
// caller appends the result as raw JSON, and a closing brace. id is raw JSON;
// nil means null.
func AppendResultPrefix(dst, id []byte) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","id":`...)
	dst = appendID(dst, id)
	return append(dst, `,"result":`...)
}

// AppendError appends an error response. id and object, the whole error
// member, are raw JSON; a nil id means null.
func AppendError(dst, id, object []byte) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","id":`...)
	dst = appendID(dst, id)
	dst = append(dst, `,"error":`...)
	return append(append(dst, object...), '}')
}

func appendID(dst, id []byte) []byte {
	if len(id) == 0 {
		return append(dst, "null"...)
	}
	return append(dst, id...)
}

// Response is a JSON-RPC response. Its slices point into the parsed body.
type Response struct {
	ID     []byte // raw JSON; nil if absent
	Result []byte // raw JSON; nil if absent, as some servers answer a delete
	Err    *Error // nil on success
}

// ParseResponse reads a response envelope tolerantly, because peers differ: the version
// is not checked, a null error counts as none, and the error's members may be missing.
// It returns an *Error with CodeParse or CodeInvalidRequest if body is not a JSON
// object or has none of result, error and jsonrpc.
func ParseResponse(body []byte) (Response, error) {
	if err := CheckJSON(body); err != nil {
		return Response{}, err
	}
	if first := json.Read(body).Peek(); first != '{' {
		return Response{}, invalid("a JSON-RPC response must be an object, not %s", json.Kind(first))
	}
	var res Response
	var object []byte
	envelope := false
	for name, value := range members(body) {
		switch string(name) {
		case "jsonrpc":
			envelope = true
		case "id":
			res.ID = value
		case "result":
			res.Result = value
		case "error":
			object = value
		}
	}
	if object != nil && !isNull(object) {
		res.Err = parseError(object)
	}
	if res.Err == nil && res.Result == nil && !envelope {
		return res, invalid("not a JSON-RPC response: neither result nor error")
	}
	return res, nil
}

func parseError(object []byte) *Error {
	e := new(Error)
	switch object[0] {
	case '{':
	case '"':
		e.Message = text(object)
		return e
	default:
		return e
	}
	for name, value := range members(object) {
		switch string(name) {
		case "code":
			n, _ := json.Read(value).Int32() // 0 for anything else
			e.Code = int(n)
		case "message":
			e.Message = text(value)
		case "data":
			if !isNull(value) {
				e.Data = value
			}
		}
	}
	return e
}

// members yields the members of a JSON object in their order. Values are slices of it,
// without white space around. Names are compared exactly: encoding/json would ignore
// their case.
func members(obj []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(name, value []byte) bool) {
		r := json.Read(obj)
		for r.Enter(); r.More(); {
			if !yield(r.Name(), r.Skip()) {
				return
			}
		}
	}
}

// text returns the content of a JSON string, or "" for another value.
func text(value []byte) string {
	s, _ := json.Unquote(value)
	return s
}

func isNull(value []byte) bool { return len(value) > 0 && value[0] == 'n' }

func invalid(format string, args ...any) *Error {
	return &Error{Code: CodeInvalidRequest, Message: fmt.Sprintf(format, args...)}
}
