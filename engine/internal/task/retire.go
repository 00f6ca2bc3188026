package task

import (
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/engine/internal/stored"
	"github.com/parley-a2a/parley/store"
)

// Retire makes this process forget a task before it is deleted. Its readers have to look it up
// again, and find it deleted or as it is; an agent that is parked with its question ends. As
// after a restart, nothing is lost if the task stays. Retire returns false if the task is at
// work.
//
// It is called before the deletion, so that no reader can mistake a later task with the same id
// for the rest of this one.
func (os *Owners) Retire(k store.Key) bool {
	os.Topics.Lock()
	defer os.Topics.Unlock()
	if o := os.m[k]; o != nil && !o.retire() {
		return false
	}
	os.Topics.DismissLocked(k)
	return true
}

// retire ends an ownership that only waits for its client. The lock of the topics is held, so
// that no caller gets hold of o in between.
func (o *Owner) retire() bool {
	if !o.ready.Was() {
		return false // being loaded for a caller
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.waitsLocked() {
		return false
	}
	o.err = stored.NotFound(o.key.ID)
	o.dismissLocked(agent.ErrEnded, nil)
	return true
}
