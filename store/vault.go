package store

import (
	"bytes"
	"context"
	"crypto/rand"
)

// Vault is the part of a Store that keeps a few small named values that belong to no task,
// such as keys.
type Vault interface {
	// Secret returns the random 32-byte secret with this name. The first call creates it.
	Secret(ctx context.Context, name string) ([]byte, error)

	// Keep stores is under name if the value there equals was. It returns the value that is
	// there afterwards: is, or another caller's. nil means no value; empty bytes are a value.
	// These names are separate from those of Secret.
	Keep(ctx context.Context, name string, was, is []byte) ([]byte, error)

	// Kept returns all values that Keep stored, by name.
	Kept(ctx context.Context) (map[string][]byte, error)
}

// SecretSize is the length of a secret in bytes.
const SecretSize = 32

// WebhookKeys is the name of the keys that sign webhooks. They are the only value of a Vault
// that an export includes, because receivers know the public keys and refuse deliveries
// signed with others.
const WebhookKeys = "webhook-keys"

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
		now = d.kept[name] // nil if there is no value
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
	return all, err
}
