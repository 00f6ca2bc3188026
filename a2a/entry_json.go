package a2a

import (
	"fmt"
	"time"
)

// AppendBody appends the entry's body as a log stores it: JSON that does not
// repeat Seq, Time and Kind. Status changes and artifacts have the form they
// have on the wire, that of a StreamResponse.
func (e *Entry) AppendBody(b []byte) []byte {
	switch e.Kind {
	case EntryCreated:
		b = append(b, '{')
		b = text(b, "taskId", e.Created.TaskID)
		b = text(b, "contextId", e.Created.ContextID)
		b = optRaw(b, "metadata", e.Created.Metadata)
		b = optText(b, "version", e.Created.Version)
		return append(b, '}')
	case EntryMessage:
		b = e.Message.AppendJSON(append(b, `{"message":`...))
		if e.Received != nil {
			b = append(b, `,"received":`...)
			b = e.Received.append(b)
		}
		return append(b, '}')
	case EntryStatus:
		return append(e.Status.AppendJSON(append(b, `{"statusUpdate":`...)), '}')
	case EntryArtifact:
		return append(e.Artifact.AppendJSON(append(b, `{"artifactUpdate":`...)), '}')
	case EntryStep:
		b = append(b, '{')
		b = text(b, "name", e.Step.Name)
		b = optRaw(b, "result", e.Step.Result)
		return append(b, '}')
	case EntryCancel:
		b = append(b, '{')
		b = optText(b, "subject", e.Cancel.Subject)
		b = optRaw(b, "metadata", e.Cancel.Metadata)
		return append(b, '}')
	}
	panic(fmt.Sprintf("a2a: AppendBody of an entry of kind %d", e.Kind))
}

// DecodeEntry is the reverse of AppendBody. An error means that the log is
// damaged or of a later version; it is not the caller's fault, so it is no
// *Error.
func DecodeEntry(seq int64, t time.Time, kind EntryKind, body []byte) (*Entry, error) {
	e := &Entry{Seq: seq, Time: t, Kind: kind}
	var err error
	switch kind {
	case EntryCreated:
		e.Created = new(Created)
		err = unmarshal(body, e.Created)
	case EntryMessage:
		err = unmarshal(body, (*messageBody)(e))
		if err == nil && e.Message == nil {
			err = fmt.Errorf("there is no message in the body")
		}
	case EntryStatus, EntryArtifact:
		var r StreamResponse
		err = unmarshal(body, &r)
		e.Status, e.Artifact = r.StatusUpdate, r.ArtifactUpdate
		if err == nil && ((kind == EntryStatus) != (e.Status != nil) || (kind == EntryArtifact) != (e.Artifact != nil)) {
			err = fmt.Errorf("the body is of another kind")
		}
	case EntryStep:
		e.Step = new(Step)
		err = unmarshal(body, e.Step)
	case EntryCancel:
		e.Cancel = new(CancelRequested)
		err = unmarshal(body, e.Cancel)
	default:
		err = fmt.Errorf("unknown kind %d", kind)
	}
	if err == nil && e.Artifact != nil && e.Artifact.Artifact == nil {
		err = fmt.Errorf("there is no artifact in the body")
	}
	if err != nil {
		return nil, fmt.Errorf("decode log entry %d: %v", seq, err)
	}
	return e, nil
}

// Shows reports whether streams show entries of this kind.
func (e *Entry) Shows() bool { return e.Kind == EntryStatus || e.Kind == EntryArtifact }

// Event returns the entry as an element of a stream, or nil if streams do not
// show entries of its kind.
func (e *Entry) Event() *StreamResponse {
	switch e.Kind {
	case EntryStatus:
		return &StreamResponse{StatusUpdate: e.Status, Seq: e.Seq}
	case EntryArtifact:
		return &StreamResponse{ArtifactUpdate: e.Artifact, Seq: e.Seq}
	}
	return nil
}

func (c *Created) decode(d *decoder) *fault {
	return d.object(func(name []byte) *fault {
		switch string(name) {
		case "taskId":
			return d.string(&c.TaskID)
		case "contextId":
			return d.string(&c.ContextID)
		case "metadata":
			return d.free(&c.Metadata)
		case "version":
			return d.string(&c.Version)
		}
		return d.ignore()
	})
}

// messageBody decodes the body of an EntryMessage.
type messageBody Entry

func (e *messageBody) decode(d *decoder) *fault {
	return d.object(func(name []byte) *fault {
		switch string(name) {
		case "message":
			e.Message = new(Message)
			return e.Message.decode(d)
		case "received":
			e.Received = new(Received)
			return e.Received.decode(d)
		}
		return d.ignore()
	})
}

func (r *Received) append(b []byte) []byte {
	b = append(b, '{')
	b = optTexts(b, "acceptedOutputModes", r.AcceptedOutputModes)
	b = optTexts(b, "extensions", r.Extensions)
	b = optRaw(b, "metadata", r.Metadata)
	b = optInteger(b, "hops", int32(r.Hops))
	b = optText(b, "trace", r.Trace)
	b = optBool(b, "credentials", r.Credentials)
	return append(b, '}')
}

func (r *Received) decode(d *decoder) *fault {
	return d.object(func(name []byte) *fault {
		switch string(name) {
		case "acceptedOutputModes":
			return d.strings(&r.AcceptedOutputModes)
		case "extensions":
			return d.strings(&r.Extensions)
		case "metadata":
			return d.free(&r.Metadata)
		case "hops":
			var n int32
			f := d.int32(&n)
			r.Hops = int(n)
			return f
		case "trace":
			return d.string(&r.Trace)
		case "credentials":
			return d.bool(&r.Credentials)
		}
		return d.ignore()
	})
}

func (s *Step) decode(d *decoder) *fault {
	return d.object(func(name []byte) *fault {
		switch string(name) {
		case "name":
			return d.string(&s.Name)
		case "result":
			return d.any(&s.Result)
		}
		return d.ignore()
	})
}

func (c *CancelRequested) decode(d *decoder) *fault {
	return d.object(func(name []byte) *fault {
		switch string(name) {
		case "subject":
			return d.string(&c.Subject)
		case "metadata":
			return d.free(&c.Metadata)
		}
		return d.ignore()
	})
}
