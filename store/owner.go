package store

import (
	"bytes"
	"context"
	"crypto/rand"
	"time"
)

// SecretSize is the length of a secret in bytes.
const SecretSize = 32

// Beat implements Store.
func (m *Memory) Beat(ctx context.Context, node string, now time.Time) error {
	return m.write(ctx, func(d *memory) { d.nodes[node] = Milli(now) })
}

// Claim implements Store.
func (m *Memory) Claim(ctx context.Context, node string, deadBefore time.Time, limit int) ([]Row, error) {
	var claimed []Row
	err := m.write(ctx, func(d *memory) {
		for _, t := range d.tasks {
			if len(claimed) >= limit {
				return
			}
			if !t.row.Active || t.row.Node == node || d.alive(t.row.Node, Milli(deadBefore)) {
				continue
			}
			t.row.Node = node
			t.row.Epoch++
			t.row.Lost++
			claimed = append(claimed, t.row)
		}
	})
	return claimed, err
}

// alive reports whether node has beaten at since or later.
func (d *memory) alive(node string, since time.Time) bool {
	beat, ok := d.nodes[node]
	return ok && !beat.Before(since)
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
