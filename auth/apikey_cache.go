package auth

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// keyCache knows for a short time what the vault said of keys. Those that do
// not exist have room of their own, so that made-up ones do not push others
// out. Callers who need the same key at once ask the vault once.
type keyCache struct {
	keep time.Duration
	now  func() time.Time
	read func(context.Context, string) (*keyRecord, error)

	mu      sync.Mutex // protects the fields below
	there   map[string]*keyEntry
	missing map[string]*keyEntry
	asking  map[string]*keyAsked
}

// keyEntry is what the vault said of one key; it does not change.
type keyEntry struct {
	rec  *keyRecord // nil: there is none
	at   time.Time  // when the vault was asked, or just before
	used atomic.Bool
}

// keyAsked is a question to the vault.
type keyAsked struct {
	done  chan struct{} // closed when the two below are set
	entry *keyEntry
	err   error
	stale bool // somebody changed the key meanwhile, protected by keyCache.mu
}

// Bounds of the cache, in keys.
const (
	maxCachedKeys   = 8192
	maxCachedMisses = 1024
)

func (c *keyCache) init(keep time.Duration, now func() time.Time, read func(context.Context, string) (*keyRecord, error)) {
	c.keep, c.now, c.read = keep, now, read
	c.there, c.missing, c.asking = map[string]*keyEntry{}, map[string]*keyEntry{}, map[string]*keyAsked{}
}

// get returns what is known of a key, from the vault if it is as old as keep.
func (c *keyCache) get(ctx context.Context, id string, keep time.Duration) (*keyEntry, error) {
	now := c.now()
	c.mu.Lock()
	e := c.there[id]
	if e == nil {
		e = c.missing[id]
	}
	if age := now.Sub(e.asked()); e != nil && age >= 0 && age < keep {
		c.mu.Unlock()
		return e, nil
	}
	a := c.asking[id]
	if a == nil {
		a = &keyAsked{done: make(chan struct{})}
		c.asking[id] = a
		c.mu.Unlock()
		// Others may wait for the answer who are still there when this caller has
		// left. The vault answers in milliseconds or with an error.
		c.ask(context.WithoutCancel(ctx), id, now, a)
		return a.entry, a.err
	}
	c.mu.Unlock()
	select {
	case <-a.done:
		return a.entry, a.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (c *keyCache) ask(ctx context.Context, id string, now time.Time, a *keyAsked) {
	rec, err := c.read(ctx, id)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.asking[id] == a {
		delete(c.asking, id)
	}
	delete(c.there, id)
	delete(c.missing, id)
	a.entry, a.err = &keyEntry{rec: rec, at: now}, err
	switch {
	case err != nil || a.stale || c.keep < 0:
	case rec == nil:
		makeRoom(c.missing, maxCachedMisses)
		c.missing[id] = a.entry
	default:
		makeRoom(c.there, maxCachedKeys)
		c.there[id] = a.entry
	}
	close(a.done)
}

// drop forgets what is known of a key, for it was changed by us.
func (c *keyCache) drop(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.there, id)
	delete(c.missing, id)
	if a := c.asking[id]; a != nil {
		a.stale = true
		delete(c.asking, id)
	}
}

func (e *keyEntry) asked() time.Time {
	if e == nil {
		return time.Time{}
	}
	return e.at
}

// makeRoom removes any one of a full map.
func makeRoom[K comparable, V any](m map[K]V, limit int) {
	if len(m) < limit {
		return
	}
	for k := range m {
		delete(m, k)
		return
	}
}
