package task

import (
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/engine/internal/stored"
	"github.com/parley-a2a/parley/store"
)

// Retire makes this process forget a task before it is deleted: whoever reads
// it is sent away, to find it gone or as it is, and a function that is parked
// with its question ends. It does what a restart would do, so that nothing is
// lost if the task stays. False means that the task is at work.
//
// It comes before the deletion, so that no reader can mistake a later task of
// the same id for the rest of this one.
func (os *Owners) Retire(k store.Key) bool {
	os.Topics.Lock()
	defer os.Topics.Unlock()
	if o := os.m[k]; o != nil && !o.retire() {
		return false
	}
	os.Topics.DismissLocked(k)
	return true
}

// retire ends an ownership that has nothing to do but to wait for its client.
// The lock of the topics is held, so that no caller gets hold of o in between.
func (o *Owner) retire() bool {
	if !o.ready.Was() {
		return false // being loaded for somebody
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
