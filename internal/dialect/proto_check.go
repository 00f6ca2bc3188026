package dialect

import (
	"github.com/parley-a2a/parley/a2a"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

const (
	// maxProtoValues is how many messages and elements of lists a request may
	// have. Each takes two bytes of it, and a hundred in memory.
	maxProtoValues = 1 << 18
	// maxProtoDepth is far beyond what is taken: a level of JSON is three of
	// protocol buffers.
	maxProtoDepth = 10 * a2a.MaxDepth
)

// CheckProto looks for what would make a request many times larger in memory
// than it is, before it is read into m. The error is TooLarge, or InvalidParams
// where it nests too deeply; bytes that are no message at all are left to the
// reader.
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

// CheckProtoResult looks for what would make an answer many times larger in memory
// as protocol buffers than it is: data and metadata of many small values. Asking
// for such a task again and again must not fill the server's memory. The error is
// TooLarge.
func CheckProtoResult(result any) error {
	c := valueCount{left: maxProtoValues}
	switch r := result.(type) {
	case *a2a.Task:
		c.task(r)
	case *a2a.SendMessageResponse:
		c.task(r.Task)
		c.message(r.Message)
	case *a2a.ListTasksResponse:
		for _, t := range r.Tasks {
			c.task(t)
		}
	case *a2a.StreamResponse:
		c.task(r.Task)
		c.message(r.Message)
		if u := r.StatusUpdate; u != nil {
			c.json(u.Metadata)
			c.status(&u.Status)
		}
		if u := r.ArtifactUpdate; u != nil {
			c.json(u.Metadata)
			c.artifact(u.Artifact)
		}
		if u := r.MessageUpdate; u != nil {
			c.json(u.Metadata)
			c.message(u.Message)
		}
	}
	if c.left < 0 {
		return a2a.Errorf(a2a.CodeTooLarge, "the answer has more than %d values, which is too much for gRPC: ask over JSON-RPC or HTTP+JSON, or for less", maxProtoValues)
	}
	return nil
}

// valueCount counts the values of JSON down.
type valueCount struct{ left int }

func (c *valueCount) task(t *a2a.Task) {
	if t == nil {
		return
	}
	c.json(t.Metadata)
	c.status(&t.Status)
	for _, m := range t.History {
		c.message(m)
	}
	for _, a := range t.Artifacts {
		c.artifact(a)
	}
	for _, e := range t.Timeline {
		c.message(e.Message)
		c.status(e.Status)
	}
	c.elicitations(t.Elicitations)
}

func (c *valueCount) status(s *a2a.TaskStatus) {
	if s != nil {
		c.message(s.Message)
		c.elicitations(s.Elicitations)
	}
}

func (c *valueCount) elicitations(list []*a2a.Elicitation) {
	for _, e := range list {
		c.json(e.Metadata)
	}
}

func (c *valueCount) message(m *a2a.Message) {
	if m != nil {
		c.json(m.Metadata)
		c.parts(m.Parts)
	}
}

func (c *valueCount) artifact(a *a2a.Artifact) {
	if a != nil {
		c.json(a.Metadata)
		c.parts(a.Parts)
	}
}

func (c *valueCount) parts(parts []*a2a.Part) {
	for _, p := range parts {
		c.json(p.Data)
		c.json(p.Metadata)
	}
}

// json counts what stands before values: each but the first is behind a comma, or
// is the first of its list or object.
func (c *valueCount) json(j a2a.JSON) {
	if c.left < 0 || len(j) == 0 {
		return
	}
	quoted := false
	for i := 0; i < len(j); i++ {
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
