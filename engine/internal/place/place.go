// Package place says which process runs what: an engine alone with its store, or
// several that share one.
//
//	Alone   all other processes are dead, whatever the clock says. There are no heartbeats
//	        and no checks, and memory is as good as the store.
//	Fleet   each process sends heartbeats. One that sends none for DeadAfter loses its
//	        tasks to others. It may only have been paused: its writes are refused from
//	        then on, and it checks which tasks it still has before it trusts its memory.
//
// The engine asks a [Place] the same questions in both and has no mode of its own.
// [Admission] says which tasks may run in this process, of those that it has.
package place

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/parley-a2a/parley/store"
)

// Place is what an engine knows of the processes that use its store. It is safe for concurrent
// use.
type Place interface {
	// Now returns the time on which the processes of a store agree.
	Now() time.Time
	// Register registers this process with the store. Once that has succeeded, it does nothing.
	Register(context.Context) error
	// Registered reports whether the store knows of this process.
	Registered() bool
	// Present makes sure that this process is registered before it has a task, because other
	// processes would take that task over.
	Present(context.Context) error
	// Attend sends heartbeats, and listens to what other processes do, until ctx ends.
	Attend(ctx context.Context)
	// Moved reports whether an error means that another process has the task by now and has to
	// handle the call.
	Moved(error) bool
	// Try sends one heartbeat, to see whether the store works.
	Try(context.Context)
	// DeadBefore returns the time since which a process must have sent a heartbeat to be alive.
	DeadBefore() time.Time
	// Lapsed reports whether others may have considered this process dead since it last checked
	// which tasks it has.
	Lapsed() bool
	// Duty returns a duty that no process has yet.
	Duty(name string, term time.Duration) *Duty
}

// Everyone, as DeadBefore, means that all other processes are dead. Nobody means that none is
// dead except those that left.
var (
	Everyone = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)
	Nobody   = time.UnixMilli(0)
)

// ErrTaken says that another process has a task.
var ErrTaken = errors.New("place: another process has the task")

// Alone is the place of a process whose store no other process has open. The fields are set
// before it is used, then constant.
type Alone struct {
	Node  string // names this process in the store
	Store store.Nodes
	// Wrote is told the outcome of each Try.
	Wrote func(error)

	registered atomic.Bool
}

func (a *Alone) Now() time.Time                { return time.Now() }
func (a *Alone) Registered() bool              { return a.registered.Load() }
func (a *Alone) Present(context.Context) error { return nil }
func (a *Alone) Attend(context.Context)        {} // nobody needs heartbeats, and an idle process leaves the disk alone
func (a *Alone) Moved(error) bool              { return false }
func (a *Alone) DeadBefore() time.Time         { return Everyone }
func (a *Alone) Lapsed() bool                  { return false }

func (a *Alone) Register(ctx context.Context) error {
	if a.registered.Load() {
		return nil
	}
	err := a.Store.Beat(ctx, a.Node, time.Now())
	if err == nil {
		a.registered.Store(true)
	}
	return err
}

func (a *Alone) Try(ctx context.Context) {
	err := a.Store.Beat(ctx, a.Node, time.Now())
	if ctx.Err() == nil {
		a.Wrote(err)
	}
}

// Duty returns a duty that is always this process's.
func (a *Alone) Duty(string, time.Duration) *Duty { return &Duty{} }
