package dialect

import (
	"github.com/parley-a2a/parley/a2a"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

const (
	// maxProtoValues is how many messages and list elements a request may have. Each
	// takes two bytes of it, and a hundred in memory.
	maxProtoValues = 1 << 18
	// maxProtoDepth is far more than is accepted: a level of JSON is three of protocol
	// buffers.
	maxProtoDepth = 10 * a2a.MaxDepth
)

// CheckProto looks for content that would make a request many times larger in memory
// than on the wire, before it is read into m. The error is TooLarge, or InvalidParams
// if it nests too deeply. Bytes that are no message at all are left to the decoder.
func CheckProto(m proto.Message, doc []byte) error {
	left := maxProtoValues
	return checkProto(m.ProtoReflect().Descriptor(), doc, &left, maxProtoDepth)
}

func checkProto(d protoreflect.MessageDescriptor, doc []byte, left *int, depth int) error {
	if depth == 0 {
		return a2a.Invalid("request", "is nested too deeply")
	}
	fields := d.Fields()
	for len(doc) > 0 {
		number, kind, n := protowire.ConsumeTag(doc)
		if n < 0 {
			return nil
		}
		doc = doc[n:]
		if n = protowire.ConsumeFieldValue(number, kind, doc); n < 0 {
			return nil
		}
		value := doc[:n]
		doc = doc[n:]
		f := fields.ByNumber(number)
		if f == nil || f.Message() == nil && !f.IsList() {
			continue
		}
		if *left--; *left < 0 {
			return a2a.Errorf(a2a.CodeTooLarge, "the request has more than %d values; send large data as bytes, or by URL", maxProtoValues)
		}
		if f.Message() == nil || kind != protowire.BytesType {
			continue
		}
		inner, _ := protowire.ConsumeBytes(value)
		if err := checkProto(f.Message(), inner, left, depth-1); err != nil {
			return err
		}
	}
	return nil
}

// valueCount limits how many JSON values are converted to protocol buffers: data and
// metadata with many small ones make an answer many times larger in memory, and asking
// for such a task again and again must not fill the server's memory.
type valueCount struct{ left int }

// err returns TooLarge if there were more values.
func (c *valueCount) err() error {
	if c.left < 0 {
		return a2a.Errorf(a2a.CodeTooLarge, "the answer has more than %d values, which is too much for gRPC: ask over JSON-RPC or HTTP+JSON, or for less", maxProtoValues)
	}
	return nil
}

// count counts values by what precedes them: each is behind a comma, or is the first of
// its list or object. The outermost one does not count.
func (c *valueCount) count(j a2a.JSON) {
	quoted := false
	for i := 0; i < len(j) && c.left >= 0; i++ {
		switch b := j[i]; {
		case b == '"':
			quoted = !quoted
		case quoted && b == '\\':
			i++
		case !quoted && (b == ',' || b == '[' || b == '{'):
			c.left--
		}
	}
}
