package a2a

// AppendJSON appends the ProtoJSON form.
func (e *TaskStatusUpdateEvent) AppendJSON(b []byte) []byte {
	b = append(b, '{')
	b = text(b, "taskId", e.TaskID)
	b = text(b, "contextId", e.ContextID)
	b = e.Status.AppendJSON(key(b, "status"))
	b = optRaw(b, "metadata", e.Metadata)
	b = optInt64(b, "generation", e.Generation)
	return append(b, '}')
}

// MarshalJSON returns the ProtoJSON form.
func (e TaskStatusUpdateEvent) MarshalJSON() ([]byte, error) { return e.AppendJSON(nil), nil }

// UnmarshalJSON reads the ProtoJSON form.
func (e *TaskStatusUpdateEvent) UnmarshalJSON(doc []byte) error { return unmarshal(doc, e) }

func (e *TaskStatusUpdateEvent) decode(d *decoder) *fault {
	*e = TaskStatusUpdateEvent{}
	return d.object(func(name []byte) *fault {
		switch string(name) {
		case "taskId", "task_id":
			return d.string(&e.TaskID)
		case "contextId", "context_id":
			return d.string(&e.ContextID)
		case "status":
			return plain(d, &e.Status)
		case "metadata":
			return d.free(&e.Metadata)
		case "generation":
			return d.int64(&e.Generation)
		}
		return d.ignore()
	})
}

// AppendJSON appends the ProtoJSON form.
func (e *TaskArtifactUpdateEvent) AppendJSON(b []byte) []byte {
	b = append(b, '{')
	b = text(b, "taskId", e.TaskID)
	b = text(b, "contextId", e.ContextID)
	artifact := e.Artifact
	if artifact == nil {
		artifact = new(Artifact) // REQUIRED
	}
	b = artifact.AppendJSON(key(b, "artifact"))
	b = optBool(b, "append", e.Append)
	b = optBool(b, "lastChunk", e.LastChunk)
	b = optRaw(b, "metadata", e.Metadata)
	b = optInt64(b, "generation", e.Generation)
	return append(b, '}')
}

// MarshalJSON returns the ProtoJSON form.
func (e TaskArtifactUpdateEvent) MarshalJSON() ([]byte, error) { return e.AppendJSON(nil), nil }

// UnmarshalJSON reads the ProtoJSON form.
func (e *TaskArtifactUpdateEvent) UnmarshalJSON(doc []byte) error { return unmarshal(doc, e) }

func (e *TaskArtifactUpdateEvent) decode(d *decoder) *fault {
	*e = TaskArtifactUpdateEvent{}
	return d.object(func(name []byte) *fault {
		switch string(name) {
		case "taskId", "task_id":
			return d.string(&e.TaskID)
		case "contextId", "context_id":
			return d.string(&e.ContextID)
		case "artifact":
			return pointer(d, &e.Artifact)
		case "append":
			return d.bool(&e.Append)
		case "lastChunk", "last_chunk":
			return d.bool(&e.LastChunk)
		case "metadata":
			return d.free(&e.Metadata)
		case "generation":
			return d.int64(&e.Generation)
		}
		return d.ignore()
	})
}

// AppendJSON appends the ProtoJSON form, without Seq.
func (r *StreamResponse) AppendJSON(b []byte) []byte {
	b = append(b, '{')
	switch {
	case r.Task != nil:
		b = optObject(b, "task", r.Task)
	case r.Message != nil:
		b = optObject(b, "message", r.Message)
	case r.StatusUpdate != nil:
		b = optObject(b, "statusUpdate", r.StatusUpdate)
	case r.ArtifactUpdate != nil:
		b = optObject(b, "artifactUpdate", r.ArtifactUpdate)
	}
	return append(b, '}')
}

// MarshalJSON returns the ProtoJSON form, without Seq.
func (r StreamResponse) MarshalJSON() ([]byte, error) { return r.AppendJSON(nil), nil }

// UnmarshalJSON reads the ProtoJSON form and sets Seq to 0. Two payloads are an
// error; none is not, because a later version of the protocol may send a kind
// of element that this one does not know and should pass over.
func (r *StreamResponse) UnmarshalJSON(doc []byte) error { return unmarshal(doc, r) }

func (r *StreamResponse) decode(d *decoder) *fault {
	*r = StreamResponse{}
	f := d.object(func(name []byte) *fault {
		switch string(name) {
		case "task":
			return pointer(d, &r.Task)
		case "message":
			return pointer(d, &r.Message)
		case "statusUpdate", "status_update":
			return pointer(d, &r.StatusUpdate)
		case "artifactUpdate", "artifact_update":
			return pointer(d, &r.ArtifactUpdate)
		}
		return d.ignore()
	})
	if f != nil {
		return f
	}
	return atMostOne(
		choice{"task", r.Task != nil}, choice{"message", r.Message != nil},
		choice{"statusUpdate", r.StatusUpdate != nil}, choice{"artifactUpdate", r.ArtifactUpdate != nil})
}
