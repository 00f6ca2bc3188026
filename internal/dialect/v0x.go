package dialect

import "github.com/parley-a2a/parley/a2a"

// v0xCodec is for the names that 0.1 and 0.3 share: tasks/get, tasks/cancel and
// tasks/resubscribe, whose parameters are the same in both. It reads them as 0.3 does:
// by default they ask for the whole history, of which 0.1 shows nothing unless the
// client says how much. It answers in the form of the version in which the task was
// created, which is 0.3 for tasks of later versions. Only servers use it: a client
// knows in which version it calls, so the client's methods are those of 0.3.
type v0xCodec struct{ v03Codec }

func (c v0xCodec) of(t *a2a.Task) Codec {
	if t != nil && t.Version == "0.1" {
		return v01Codec{}
	}
	return c.v03Codec
}

func (c v0xCodec) AppendResult(dst []byte, op Op, req, result any) []byte {
	t, _ := result.(*a2a.Task)
	return c.of(t).AppendResult(dst, op, req, result)
}

func (c v0xCodec) Events(op Op, req any) Events { return &v0xEvents{codec: c, op: op, req: req} }

// v0xEvents takes its form from the first element, which is the Task.
type v0xEvents struct {
	codec v0xCodec
	op    Op
	req   any
	Events
}

func (e *v0xEvents) Append(dst []byte, el *a2a.StreamResponse, i int) ([]byte, bool) {
	return e.of(el).Append(dst, el, i)
}

func (e *v0xEvents) of(el *a2a.StreamResponse) Events {
	if e.Events == nil {
		e.Events = e.codec.of(el.Task).Events(e.op, e.req)
	}
	return e.Events
}

func (e *v0xEvents) form(el *a2a.StreamResponse) (uint64, bool) {
	return e.of(el).form(el)
}

func (e *v0xEvents) Ended() bool { return e.Events != nil && e.Events.Ended() }
