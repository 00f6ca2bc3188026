package store

import (
	"bytes"
	"context"
	"sync"
	"time"
)

// Memory is a Store that keeps nothing beyond its process. It is the executable form of the
// contract: plain maps and sorted lists under one lock, written to be obviously right rather
// than fast. The suite compares every driver with it.
type Memory struct {
	group *Group
	data  *memory
	hub   Hub
	over  chan struct{} // closed by Close, while data is locked
}

// memory is the content of a Memory; it survives Close and Reopen.
type memory struct {
	mu      sync.RWMutex // protects the fields below
	tasks   map[Key]*memoryTask
	lists   map[listName]sorted // the same tasks, by filter; none is empty
	blobs   map[string][]byte
	nodes   map[string]memoryNode
	secrets map[string][]byte
	kept    map[string][]byte
	// by tenant and owner (a Key without ID), then by receipt name
	receipts map[Key]map[string]memoryReceipt
	pushes   []*memoryPush // of all tasks, in the order of LivePushes
	place    int64         // of the newest push config
	mail     Mailbox
}

type memoryNode struct {
	beat time.Time // the last one
	left bool      // left in an orderly way, see Nodes.Leave
}

type memoryTask struct {
	row    Row
	seal   *Seal
	log    []Entry
	packed int64           // the size of the log as Pack frames it
	blobs  map[string]bool // of the blobs that the task refers to

	pushes map[string]*memoryPush // by ID
	dead   map[letterID]DeadLetter
}

type memoryPush struct {
	PushConfig
	task *memoryTask
	at   int64 // position in the order of LivePushes
}

// NewMemory returns an empty store. Close stops its writer.
func NewMemory() *Memory {
	return openMemory(&memory{
		tasks:    map[Key]*memoryTask{},
		lists:    map[listName]sorted{},
		blobs:    map[string][]byte{},
		nodes:    map[string]memoryNode{},
		secrets:  map[string][]byte{},
		kept:     map[string][]byte{},
		receipts: map[Key]map[string]memoryReceipt{},
	})
}

func openMemory(d *memory) *Memory {
	m := &Memory{data: d, over: make(chan struct{})}
	m.group = NewGroup(m.commit)
	return m
}

// Reopen closes m and returns a store with the same content, as a restarted process would
// find it.
func (m *Memory) Reopen() *Memory {
	m.Close()
	return openMemory(m.data)
}

// Close implements Store.
func (m *Memory) Close() error {
	m.group.Close()
	m.data.mu.Lock()
	defer m.data.mu.Unlock()
	if m.usable(context.Background()) == nil {
		close(m.over)
	}
	return nil
}

// read calls f with the data locked for reading.
func (m *Memory) read(ctx context.Context, f func(*memory) error) error {
	m.data.mu.RLock()
	defer m.data.mu.RUnlock()
	if err := m.usable(ctx); err != nil {
		return err
	}
	return f(m.data)
}

// write calls f with the data locked for writing.
func (m *Memory) write(ctx context.Context, f func(*memory)) error {
	m.data.mu.Lock()
	defer m.data.mu.Unlock()
	if err := m.usable(ctx); err != nil {
		return err
	}
	f(m.data)
	return nil
}

func (m *Memory) usable(ctx context.Context) error {
	select {
	case <-m.over:
		return ErrClosed
	default:
		return context.Cause(ctx)
	}
}

// record copies a task's record, because the caller owns what a Store returns. The copy has
// the seal, with its body if body is set, unless it is larger than most bytes.
func (d *memory) record(t *memoryTask, body bool, most int64) Record {
	r := Record{Row: t.row, Size: d.size(t, body)}
	if t.seal != nil && r.Size <= most {
		r.Seal = &Seal{Head: bytes.Clone(t.seal.Head)}
		if body {
			r.Seal.Body = bytes.Clone(t.seal.Body)
		}
	}
	return r
}

// size computes Record.Size.
func (d *memory) size(t *memoryTask, body bool) int64 {
	n := t.packed
	if t.seal != nil {
		if n = int64(len(t.seal.Head)); !body {
			return n
		}
		n += int64(len(t.seal.Body))
	}
	for hash := range t.blobs {
		n += int64(len(d.blobs[hash]))
	}
	return n
}
