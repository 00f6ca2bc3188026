package dialect

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/parley-a2a/parley/a2a"
)

// appender is what every request and result type of package a2a has.
type appender interface{ AppendJSON(dst []byte) []byte }

// ParseMethod returns the operation of a v1.0 JSON-RPC method name. The error
// is MethodNotFound and names the methods there are.
func ParseMethod(name string) (Op, error) {
	for i := range Operations {
		if Operations[i].Name == name {
			return Operations[i].Op, nil
		}
	}
	names := make([]string, len(Operations))
	for i := range Operations {
		names[i] = Operations[i].Name
	}
	return 0, a2a.Errorf(a2a.CodeMethodNotFound, "method %q is not known; A2A %s has %s",
		clip(name, 64), Versions[0], strings.Join(names, ", "))
}

// DecodeParams reads the params of a JSON-RPC request; nil means absent, which
// only GetExtendedAgentCard allows (§9.4.8). The result is of the operation's
// request type. The error is InvalidParams and names the field.
func DecodeParams(op Op, params []byte) (any, error) {
	if len(params) == 0 {
		if op != GetExtendedAgentCard {
			return nil, a2a.Invalid("params", "is required: %s takes an object", op)
		}
		return NewRequest(op), nil
	}
	return decodeRequest(op, params, "params")
}

// AppendParams appends a request as JSON: the params of JSON-RPC, or a body of
// HTTP+JSON. req must be of the operation's request type.
func AppendParams(dst []byte, op Op, req any) []byte {
	return req.(appender).AppendJSON(dst)
}

// decodeRequest reads a JSON object into a new request. where names it.
func decodeRequest(op Op, doc []byte, where string) (any, error) {
	if b := strings.TrimLeft(string(doc[:min(len(doc), 64)]), " \t\r\n"); b != "" && b[0] != '{' {
		return nil, a2a.Invalid(where, "must be an object")
	}
	req := NewRequest(op)
	if err := req.(json.Unmarshaler).UnmarshalJSON(doc); err != nil {
		return nil, asInvalid(err, where)
	}
	return req, nil
}

func asInvalid(err error, where string) error {
	var e *a2a.Error
	if errors.As(err, &e) {
		return e
	}
	return a2a.Invalid(where, "cannot be read")
}

// AppendResult appends the result of a unary operation, as Call returns it, or
// an element of a stream. The result of a delete is null on JSON-RPC, as
// official servers send it.
func AppendResult(dst []byte, result any) []byte {
	if result == nil {
		return append(dst, "null"...)
	}
	return result.(appender).AppendJSON(dst)
}

// DecodeResult reads the result of an operation, or an element of its stream,
// into the type that NewResult names; the result of a delete is nil whatever
// the server sent. The error is InvalidAgentResponse.
func DecodeResult(op Op, doc []byte) (any, error) {
	res := NewResult(op)
	if res == nil {
		return nil, nil
	}
	if len(doc) == 0 || string(doc) == "null" {
		return nil, a2a.Errorf(a2a.CodeInvalidAgentResponse, "the agent's answer to %s has no result", op)
	}
	if err := res.(json.Unmarshaler).UnmarshalJSON(doc); err != nil {
		return nil, &a2a.Error{
			Code:    a2a.CodeInvalidAgentResponse,
			Message: "the agent's answer to " + op.String() + " cannot be read",
			Cause:   err,
		}
	}
	return res, nil
}
