package a2a

// Sizes are of content, in bytes: texts, raw bytes, data, URLs, metadata and names.
// They say about how much memory a value takes, and how long its JSON form is: raw
// bytes take a third more there.

// Size returns the size of the part's content in bytes.
func (p *Part) Size() int {
	return len(p.Text) + len(p.Raw) + len(p.URL) + len(p.Data) + len(p.Metadata) + len(p.Filename) + len(p.MediaType)
}

func sizeOfParts(parts []*Part) (n int) {
	for _, p := range parts {
		n += p.Size()
	}
	return n
}

// Size returns the size of the message's parts and metadata in bytes.
func (m *Message) Size() int {
	if m == nil {
		return 0
	}
	return sizeOfParts(m.Parts) + len(m.Metadata)
}

// Size returns the size of the artifact's parts, names and metadata in bytes.
func (a *Artifact) Size() int {
	if a == nil {
		return 0
	}
	return sizeOfParts(a.Parts) + len(a.Name) + len(a.Description) + len(a.Metadata)
}

// Size returns the size of the task's messages, artifacts, timeline and metadata in bytes,
// or that of its JSON if it is Encoded.
func (t *Task) Size() int {
	if t == nil {
		return 0
	}
	if e := t.Encoded; e != nil {
		return len(e.start) + len(e.artifacts) + len(e.history) + len(e.metadata)
	}
	n := t.Status.Message.Size() + len(t.Metadata)
	for _, m := range t.History {
		n += m.Size()
	}
	for _, a := range t.Artifacts {
		n += a.Size()
	}
	for _, e := range t.Timeline {
		n += e.Message.Size()
		if e.Status != nil {
			n += e.Status.Message.Size()
		}
	}
	for _, e := range t.Elicitations {
		n += len(e.Metadata)
	}
	return n
}

// Size returns the size of the element's content in bytes.
func (r *StreamResponse) Size() int {
	switch {
	case r == nil:
		return 0
	case r.Task != nil:
		return r.Task.Size()
	case r.Message != nil:
		return r.Message.Size()
	case r.StatusUpdate != nil:
		return r.StatusUpdate.Status.Message.Size() + len(r.StatusUpdate.Metadata)
	case r.ArtifactUpdate != nil:
		return r.ArtifactUpdate.Artifact.Size() + len(r.ArtifactUpdate.Metadata)
	case r.MessageUpdate != nil:
		return r.MessageUpdate.Message.Size() + len(r.MessageUpdate.Metadata)
	}
	return 0
}

// Size returns the size of the answer's content in bytes.
func (r *SendMessageResponse) Size() int {
	if r == nil {
		return 0
	}
	return r.Task.Size() + r.Message.Size()
}

// Size returns the size of the page's tasks in bytes.
func (r *ListTasksResponse) Size() (n int) {
	if r == nil {
		return 0
	}
	for _, t := range r.Tasks {
		n += t.Size()
	}
	return n
}
