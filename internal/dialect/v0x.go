package dialect

import "github.com/parley-a2a/parley/a2a"

// v0xCodec is what the names are called in that 0.1 and 0.3 share: tasks/get,
// tasks/cancel and tasks/resubscribe, whose parameters are the same in both. It
// answers in the form of the version that the task was created in, which is
// 0.3 for tasks of later versions. It is for servers; a client knows in which
// version it calls, so that what is a client's is that of 0.3.
type v0xCodec struct{ Codec }

func (c v0xCodec) DecodeRequest(op Op, doc []byte) (any, error) {
	o, err := readParams(op, doc)
	if err != nil {
		return nil, err
	}
	var req any
	switch id := o.text("id"); op {
	case GetTask:
		// The whole history, of which 0.1 shows nothing and 0.3 all where the
		// client did not say how much.
		req = &a2a.GetTaskRequest{ID: id, HistoryLength: v03HistoryLength(o)}
	case CancelTask:
		req = &a2a.CancelTaskRequest{ID: id, Metadata: o.json("metadata"), Legacy: &a2a.Legacy{Version: "0.3", CanceledToo: true}}
	case SubscribeToTask:
		req = &a2a.SubscribeToTaskRequest{ID: id, Legacy: &a2a.Legacy{Version: "0.3", FinishedToo: true}}
	default:
		panic("dialect: versions 0.1 and 0.3 do not share " + op.String())
	}
	if err := o.faults.err(); err != nil {
		return nil, err
	}
	return req, nil
}

func (c v0xCodec) of(t *a2a.Task) Codec {
	if t != nil && t.Version == "0.1" {
		return v01Codec{}
	}
	return c.Codec
}

func (c v0xCodec) AppendResult(dst []byte, op Op, req, result any) []byte {
	t, _ := result.(*a2a.Task)
	return c.of(t).AppendResult(dst, op, req, result)
}

func (c v0xCodec) Events(op Op, req any) Events { return &v0xEvents{codec: c, op: op, req: req} }

// v0xEvents has its form from the first element, which is the Task.
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
	if inner, ok := e.of(el).(sharing); ok {
		return inner.form(el)
	}
	return 0, false
}

func (e *v0xEvents) Ended() bool { return e.Events != nil && e.Events.Ended() }
