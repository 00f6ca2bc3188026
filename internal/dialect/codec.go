package dialect

import "github.com/parley-a2a/parley/a2a"

// Codec is the JSON of one dialect on one binding, for both sides. It has no
// state and may be used concurrently.
type Codec interface {
	// DecodeRequest reads the params of JSON-RPC, or the body or query of HTTP+JSON as
	// an object, into op's request type, with Legacy set as the dialect needs it. doc
	// is nil if params are absent. Missing fields are left to Validate. The error is
	// InvalidParams and names the field.
	DecodeRequest(op Op, doc []byte) (any, error)

	// AppendRequest is the inverse of DecodeRequest. req is of op's request type, and
	// the dialect has the operation.
	AppendRequest(dst []byte, op Op, req any) []byte

	// AppendResult appends the result of a unary operation, as Call returns
	// it, to the answer to req; nil is the result of a delete.
	AppendResult(dst []byte, op Op, req, result any) []byte

	// DecodeResult reads the answer to req into the type that NewResult
	// names; nil for a delete, whatever the server sent. doc is JSON. The
	// error is InvalidAgentResponse.
	DecodeResult(op Op, req any, doc []byte) (any, error)

	// Events returns the writer of the stream that answers req.
	Events(op Op, req any) Events

	// DecodeEvent reads an event of the stream that answers req: usually into one
	// element; into none, if the event says nothing. The error is InvalidAgentResponse.
	DecodeEvent(op Op, req any, doc []byte) ([]*a2a.StreamResponse, error)

	// field returns what a request of op calls a field of 1.0, for errors.
	field(op Op, name string) string
}

// Events writes the elements of one stream, and belongs to one goroutine.
type Events interface {
	// Append appends the i-th event that el becomes, and reports whether there is one
	// more. It is called with the same el and i growing from 0 until there is none. If
	// it appends nothing, el is not visible in this dialect.
	Append(dst []byte, el *a2a.StreamResponse, i int) (doc []byte, more bool)

	// Ended reports whether the last event said that it is the last, so that the stream
	// has to end, though the service may continue.
	Ended() bool

	// form returns the key of the form that readers share of a status or artifact
	// update, and updates the state of the stream as Append would. It is false if they
	// cannot share it.
	form(el *a2a.StreamResponse) (uint64, bool)
}

// CodecOf returns the codec of a dialect on JSON-RPC or HTTP+JSON; nil if the
// dialect does not have the binding.
func CodecOf(d Dialect, binding string) Codec {
	switch d {
	case V01:
		if binding == a2a.BindingJSONRPC {
			return v01Codec{}
		}
	case V03, V0x:
		c := v03Codec{formTS}
		if binding != a2a.BindingJSONRPC {
			c.form = formProto
		}
		if d == V0x {
			return v0xCodec{c}
		}
		return c
	case V10:
		return v1Codec{}
	case V11:
		return v1Codec{draft: true}
	}
	return nil
}
