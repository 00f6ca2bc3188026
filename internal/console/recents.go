package console

import "sync"

// recents keeps what was made last, by a name that says all that it depends on.
type recents[T any] struct {
	mu    sync.Mutex // protects the fields below
	of    map[string]*T
	names []string // of of, the oldest first
}

// maxRecents is how many are kept: viewers are rarely further apart.
const maxRecents = 256

// get returns what a name stands for, new and empty if nobody asked for it lately.
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
