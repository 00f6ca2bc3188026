package stored

import (
	"encoding/binary"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/store"
)

// An entry of the cache is a header of fixed size, and then texts and bytes, whose lengths the
// header has.
const (
	entryHash    = 0 // of the key
	entrySize    = 8 // of the entry
	entryLengths = 12
	entryState   = entryLengths + 6*4
	entryUpdated = entryState + 4 // in milliseconds, which is all that a store keeps
	entryTexts   = entryUpdated + 8
)

func (f *finished) size() int {
	return entryTexts + len(f.key.Tenant) + len(f.key.Owner) + len(f.key.ID) + len(f.context) + len(f.head) + len(f.body)
}

func (f *finished) append(b []byte, hash uint64) []byte {
	le := binary.LittleEndian
	b = le.AppendUint64(b, hash)
	b = le.AppendUint32(b, uint32(f.size()))
	for _, n := range [...]int{len(f.key.Tenant), len(f.key.Owner), len(f.key.ID), len(f.context), len(f.head), len(f.body)} {
		b = le.AppendUint32(b, uint32(n))
	}
	b = le.AppendUint32(b, uint32(f.state))
	b = le.AppendUint64(b, uint64(f.updated.UnixMilli()))
	for _, s := range [...]string{f.key.Tenant, f.key.Owner, f.key.ID, f.context} {
		b = append(b, s...)
	}
	return append(append(b, f.head...), f.body...)
}

// readEntry returns the task of an entry if its key is k: other keys may have the same hash. b
// may go on after the entry.
func readEntry(b []byte, k store.Key) (f finished, ok bool) {
	le := binary.LittleEndian
	at, field := entryTexts, 0
	next := func() []byte {
		n := int(le.Uint32(b[entryLengths+4*field:]))
		field++
		part := b[at : at+n : at+n]
		at += n
		return part
	}
	if string(next()) != k.Tenant || string(next()) != k.Owner || string(next()) != k.ID {
		return f, false
	}
	return finished{
		key:     k,
		context: string(next()),
		head:    next(),
		body:    next(),
		state:   a2a.TaskState(le.Uint32(b[entryState:])),
		updated: time.UnixMilli(int64(le.Uint64(b[entryUpdated:]))).UTC(),
	}, true
}
