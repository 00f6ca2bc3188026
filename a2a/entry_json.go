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
		return createdJSON.Append(b, e.Created)
	case EntryMessage, EntryStatus, EntryArtifact:
		return entryJSON.Append(b, e)
	case EntryStep:
		return stepJSON.Append(b, e.Step)
	case EntryCancel:
		return cancelRequestedJSON.Append(b, e.Cancel)
	}
	panic(fmt.Sprintf("a2a: AppendBody of an entry of kind %d", e.Kind))
}

// DecodeEntry is the reverse of AppendBody. An error means that the log is
// damaged or of a later version; it is not the caller's fault, so it is no
// *Error.
func DecodeEntry(seq int64, t time.Time, kind EntryKind, body []byte) (*Entry, error) {
	e := new(Entry)
	var err error
	switch kind {
	case EntryCreated:
		e.Created = new(Created)
		err = unmarshal(body, createdJSON, e.Created)
	case EntryMessage:
		err = unmarshal(body, entryJSON, e)
		if err == nil && e.Message == nil {
			err = fmt.Errorf("there is no message in the body")
		}
	case EntryStatus, EntryArtifact:
		err = unmarshal(body, entryJSON, e)
		if err == nil && ((kind == EntryStatus) != (e.Status != nil) || (kind == EntryArtifact) != (e.Artifact != nil)) {
			err = fmt.Errorf("the body is of another kind")
		}
	case EntryStep:
		e.Step = new(Step)
		err = unmarshal(body, stepJSON, e.Step)
	case EntryCancel:
		e.Cancel = new(CancelRequested)
		err = unmarshal(body, cancelRequestedJSON, e.Cancel)
	default:
		err = fmt.Errorf("unknown kind %d", kind)
	}
	if err == nil && e.Artifact != nil && e.Artifact.Artifact == nil {
		err = fmt.Errorf("there is no artifact in the body")
	}
	if err != nil {
		return nil, fmt.Errorf("decode log entry %d: %v", seq, err)
	}
	e.Seq, e.Time, e.Kind = seq, t, kind
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
