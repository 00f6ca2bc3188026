package store

import (
	"bytes"
	"context"
	"crypto/rand"
	"maps"
	"time"
)

// SecretSize is the length of a secret in bytes.
const SecretSize = 32

// Beat implements Store.
func (m *Memory) Beat(ctx context.Context, node string, now time.Time) error {
	return m.write(ctx, func(d *memory) { d.nodes[node] = memoryNode{beat: Milli(now)} })
}

// Leave implements Store.
func (m *Memory) Leave(ctx context.Context, node string) error {
	return m.write(ctx, func(d *memory) {
		d.nodes[node] = memoryNode{left: true}
		d.hub.Tell(Hint{Work: true})
	})
}

// Claim implements Store.
func (m *Memory) Claim(ctx context.Context, node string, deadBefore time.Time, limit int) ([]Row, error) {
	var claimed []Row
	err := m.write(ctx, func(d *memory) {
		for _, t := range d.tasks {
			if len(claimed) >= limit {
				return
			}
			if d.claim(t, node, deadBefore) {
				claimed = append(claimed, t.row)
			}
		}
		if len(claimed) < limit {
			maps.DeleteFunc(d.nodes, func(name string, _ memoryNode) bool {
				return name != node && !d.alive(name, Milli(deadBefore))
			})
		}
	})
	return claimed, err
}

// Take implements Store.
func (m *Memory) Take(ctx context.Context, node string, deadBefore time.Time, k Key) (*Row, error) {
	var taken *Row
	err := m.write(ctx, func(d *memory) {
		t := d.tasks[k]
		switch {
		case t == nil:
		case t.waits():
			t.row.Node = node
			t.row.Epoch++
			taken = new(t.row)
		case d.claim(t, node, deadBefore):
			taken = new(t.row)
		}
	})
	if err == nil && taken == nil {
		err = ErrNotFound
	}
	return taken, err
}

// claim gives t to node, if it may have it.
func (d *memory) claim(t *memoryTask, node string, deadBefore time.Time) bool {
	if !t.row.Active || t.waits() || t.row.Node == node || d.alive(t.row.Node, Milli(deadBefore)) {
		return false
	}
	if !d.nodes[t.row.Node].left {
		t.row.Lost++
	}
	t.row.Node = node
	t.row.Epoch++
	return true
}

// alive reports whether node has beaten at since or later, and is not gone.
func (d *memory) alive(node string, since time.Time) bool {
	n, ok := d.nodes[node]
	return ok && !n.left && !n.beat.Before(since)
}

// Secret implements Store.
func (m *Memory) Secret(ctx context.Context, name string) ([]byte, error) {
	var secret []byte
	err := m.write(ctx, func(d *memory) {
		if _, ok := d.secrets[name]; !ok {
			fresh := make([]byte, SecretSize)
			rand.Read(fresh)
			d.secrets[name] = fresh
		}
		secret = bytes.Clone(d.secrets[name])
	})
	return secret, err
}

// Keep implements Store.
func (m *Memory) Keep(ctx context.Context, name string, was, is []byte) ([]byte, error) {
	var now []byte
	err := m.write(ctx, func(d *memory) {
		now = d.kept[name] // nil where nothing is
		if (now == nil) == (was == nil) && bytes.Equal(now, was) {
			now = bytes.Clone(is)
			if is == nil {
				delete(d.kept, name)
			} else {
				d.kept[name] = now
			}
		}
		now = bytes.Clone(now)
	})
	return now, err
}

// Kept implements Store.
func (m *Memory) Kept(ctx context.Context) (map[string][]byte, error) {
	all := map[string][]byte{}
	err := m.read(ctx, func(d *memory) error {
		for name, b := range d.kept {
			all[name] = bytes.Clone(b)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}
