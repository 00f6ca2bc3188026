package console

import "sync"

// recents caches what was made last, by a key that names everything it depends on.
type recents[T any] struct {
	mu    sync.Mutex // protects the fields below
	of    map[string]*T
	names []string // keys of of, oldest first
}

// maxRecents is the number of cached values: viewers are rarely further apart.
const maxRecents = 256

// get returns the value for a key, a new and empty one if it is not cached.
func (c *recents[T]) get(name string) *T {
	c.mu.Lock()
	defer c.mu.Unlock()
	x := c.of[name]
	if x != nil {
		return x
	}
	if c.of == nil {
		c.of = map[string]*T{}
	}
	if c.names = append(c.names, name); len(c.names) > maxRecents {
		delete(c.of, c.names[0])
		c.names = c.names[1:]
	}
	x = new(T)
	c.of[name] = x
	return x
}
