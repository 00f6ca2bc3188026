package auth

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// keyCache keeps the vault's answers about keys for a short time. Keys that do not
// exist are cached apart, so that made-up ones do not push others out. Callers who need
// the same key at once ask the vault once.
type keyCache struct {
	asking flight[*keyEntry] // questions to the vault, by id

	mu      sync.Mutex // protects the fields below
	there   map[string]*keyEntry
	missing map[string]*keyEntry
	drops   int // calls of drop
}

// keyEntry is the vault's answer about one key. Except for used it does not change.
type keyEntry struct {
	rec  *keyRecord   // nil: there is none
	at   time.Time    // when the vault was asked, or just before
	used atomic.Int64 // the minute in which the use was noted last
}

// Bounds of the cache, in keys.
const (
	maxCachedKeys   = 8192
	maxCachedMisses = 1024
)

// entry returns the vault's answer about a key. It asks unless the answer that it has is
// younger than most.
func (k *Keys) entry(ctx context.Context, id string, most time.Duration) (*keyEntry, error) {
	now := k.now()
	if e := k.cache.known(id); e != nil {
		if age := now.Sub(e.at); age >= 0 && age < most {
			return e, nil
		}
	}
	// Other callers may still wait for the answer when this one has left. The vault
	// answers in milliseconds or with an error.
	detached := context.WithoutCancel(ctx)
	e, _, err := k.cache.asking.do(ctx, id, func() (*keyEntry, error) { return k.ask(detached, id, now) })
	return e, err
}

// known returns the entry of a key; nil if there is none.
func (c *keyCache) known(id string) *keyEntry {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.there[id]; e != nil {
		return e
	}
	return c.missing[id]
}

func (k *Keys) ask(ctx context.Context, id string, now time.Time) (*keyEntry, error) {
	c := &k.cache
	c.mu.Lock()
	drops := c.drops
	c.mu.Unlock()
	rec, err := k.read(ctx, id)
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.there, id)
	delete(c.missing, id)
	e := &keyEntry{rec: rec, at: now}
	switch {
	case err != nil:
		return nil, err
	case drops != c.drops || k.keep < 0: // some key was changed meanwhile, perhaps this one
	case rec == nil:
		makeRoom(c.missing, maxCachedMisses)
		c.missing[id] = e
	default:
		makeRoom(c.there, maxCachedKeys)
		c.there[id] = e
	}
	return e, nil
}

// drop forgets a key that this process has changed, and answers about it that are under
// way.
func (c *keyCache) drop(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.there, id)
	delete(c.missing, id)
	c.drops++
	c.asking.calls.Forget(id)
}

// makeRoom removes an arbitrary element of a full map.
func makeRoom[K comparable, V any](m map[K]V, limit int) {
	if len(m) < limit {
		return
	}
	for k := range m {
		delete(m, k)
		return
	}
}
