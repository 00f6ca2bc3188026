package stored

import (
	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/store"
)

// MaxSeal is the most a sealed task may take, in bytes: more would be refused
// by the store, and the task could never end. Such a task is folded when it is
// read.
const MaxSeal = 64 << 20

// Seal is a finished task in the form in which it is stored once: what lists
// show, and the artifacts apart. It is nil if that is too large. The blobs are
// in the store already, or come with the entries of the same append.
func Seal(task *a2a.Task) *store.Seal {
	var stored []store.Blob
	blobs := &stored
	head := *task
	head.Artifacts = nil
	head.Status.Message = spillMessage(task.Status.Message, blobs)
	head.History = spillAll(task.History, blobs, spillMessage)
	headSize := 512
	for _, m := range head.History {
		headSize += 192 + PartsSize(m.Parts)
	}
	if m := head.Status.Message; m != nil {
		headSize += 192 + PartsSize(m.Parts)
	}
	var spilled a2a.Spilled
	if len(stored) > 0 {
		spilled = a2a.SpilledHead
	}
	inHead := len(stored)
	body := a2a.Task{Artifacts: spillAll(task.Artifacts, blobs, spillArtifact)}
	size := 256
	for _, a := range body.Artifacts {
		size += 256 + PartsSize(a.Parts)
	}
	if size > MaxSeal {
		return nil
	}
	if len(stored) > inHead {
		spilled |= a2a.SpilledBody
	}
	s := &store.Seal{Head: head.AppendStored(make([]byte, 0, headSize), spilled), Body: body.AppendStoredBody(make([]byte, 0, size))}
	if len(s.Head)+len(s.Body) > MaxSeal {
		return nil
	}
	return s
}

// Unseal is the other way round; without its artifacts if they are not wanted.
func Unseal(s *store.Seal, artifacts bool) (*a2a.Task, error) {
	task := &a2a.Task{}
	if err := task.DecodeStored(s.Head); err != nil {
		return nil, err
	}
	if artifacts {
		if err := task.DecodeStoredBody(s.Body); err != nil {
			return nil, err
		}
	}
	return task, nil
}

// PartsSize estimates the bytes that parts take when they are encoded.
func PartsSize(parts []*a2a.Part) (n int) {
	for _, p := range parts {
		n += 32 + len(p.Text) + len(p.Raw)*4/3 + len(p.URL) + len(p.Data) + len(p.Metadata)
	}
	return n
}
