package store

import (
	"context"
	"sync"
)

// Hint says what another process may have changed. Zero fields say nothing.
type Hint struct {
	Task uint64 // Key.Hash of a task whose log has grown
	Node string // there are messages for this node
	Work bool   // tasks wait for a process, or a process left its tasks
	Lost bool   // hints may have been lost: anything may have changed
}

// Hash returns the number that identifies a task in hints. It is the same in all processes
// and versions. Two tasks may share one.
func (k Key) Hash() uint64 {
	h := uint64(14695981039346656037) // FNV-1a
	for _, s := range [...]string{k.Tenant, k.Owner, k.ID} {
		for i := range len(s) {
			h = (h ^ uint64(s[i])) * 1099511628211
		}
		h = (h ^ 0xff) * 1099511628211 // separates the fields
	}
	return max(h, 1) // 0 means no task
}

// Hub passes hints to the watchers of a store within one process.
type Hub struct {
	mu       sync.Mutex // protects the field below
	watchers map[*watcher]struct{}
}

// watcher is one call of Watch. Hints gather while f runs.
type watcher struct {
	mu    sync.Mutex // protects the field below
	hints []Hint
	ring  chan struct{} // capacity one
}

// maxHints limits the hints that gather for a slow watcher. Above it, they are replaced by
// one hint that says Lost.
const maxHints = 4096

// Tell passes hints to all watchers.
func (h *Hub) Tell(hints ...Hint) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for w := range h.watchers {
		w.mu.Lock()
		if len(w.hints)+len(hints) > maxHints {
			w.hints = append(w.hints[:0], Hint{Lost: true})
		} else {
			w.hints = append(w.hints, hints...)
		}
		w.mu.Unlock()
		select {
		case w.ring <- struct{}{}:
		default:
		}
	}
}

// Watch calls f with each hint until ctx ends or closed is closed, and returns the
// reason.
func (h *Hub) Watch(ctx context.Context, closed <-chan struct{}, f func(Hint)) error {
	w := &watcher{ring: make(chan struct{}, 1)}
	h.mu.Lock()
	if h.watchers == nil {
		h.watchers = map[*watcher]struct{}{}
	}
	h.watchers[w] = struct{}{}
	h.mu.Unlock()
	defer func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.watchers, w)
	}()
	for {
		select {
		case <-w.ring:
		case <-closed:
			return ErrClosed
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		w.mu.Lock()
		hints := w.hints
		w.hints = nil
		w.mu.Unlock()
		for _, hint := range hints {
			f(hint)
		}
	}
}
