package store

import (
	"context"
	"sync"
)

// Hint says what another process may have changed. Fields that are zero say nothing.
type Hint struct {
	Task uint64 // Key.Hash of a task whose log has grown
	Node string // there is mail for this node
	Work bool   // tasks wait for a process, or were left by one
	Lost bool   // hints may have been lost: anything may have changed
}

// Hash is a number by which hints name a task, the same in all processes and
// versions. Tasks may share one.
func (k Key) Hash() uint64 {
	h := uint64(14695981039346656037) // FNV-1a
	for _, s := range [...]string{k.Tenant, k.Owner, k.ID} {
		for i := range len(s) {
			h = (h ^ uint64(s[i])) * 1099511628211
		}
		h = (h ^ 0xff) * 1099511628211 // apart from the next one
	}
	return max(h, 1) // 0 if there is none
}

// Hub passes hints to the watchers of a store within one process.
type Hub struct {
	mu       sync.Mutex // protects the field below
	watchers map[*watcher]struct{}
}

// watcher is one who watches. Hints gather while f is called.
type watcher struct {
	mu    sync.Mutex // protects the field below
	hints []Hint
	ring  chan struct{} // capacity one
}

// maxHints is how many hints gather for one who is slow; then they are lost.
const maxHints = 4096

// Tell hands hints to all who watch.
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
