package stored

import (
	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/store"
)

// MaxSeal is the size limit of a sealed task, in bytes: the store would refuse more, and the
// task could never end. A larger task is folded when it is read.
const MaxSeal = 64 << 20

// Seal returns the form in which a finished task is stored once: what lists show, and its
// artifacts apart. It returns nil if that is too large. The blobs are in the store already, or
// come with the entries of the same append.
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

// Unseal is the inverse of Seal. It leaves out the artifacts if they are not wanted.
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
