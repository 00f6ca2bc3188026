// Package place says which process runs what: an engine alone with its store, or
// several that share one.
//
//	Alone   every other process is gone, whatever the clock says. Nothing beats, nothing
//	        is asked, and memory is as good as the store.
//	Fleet   each process beats. One that does not for DeadAfter loses its tasks to
//	        others. It may only have been paused: its writes are refused from then on,
//	        and before it trusts what it holds again it looks who has it.
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

// Place is what an engine knows of the processes that have its store. It is safe for
// concurrent use.
type Place interface {
	// Now is the time by which the processes of a store agree.
	Now() time.Time
	// Register makes the store know of this process. Once it has worked it does nothing.
	Register(context.Context) error
	// Registered reports whether the store knows of this process.
	Registered() bool
	// Present makes sure that others know of this process before it has a task: they
	// would take it.
	Present(context.Context) error
	// Attend keeps this process alive in the eyes of others, and hears what they do,
	// until ctx ends.
	Attend(ctx context.Context)
	// Moved reports whether an error means that another process has the task by now, so
	// that a call for it is for that one.
	Moved(error) bool
	// Try beats once, to see whether the store works.
	Try(context.Context)
	// DeadBefore is when a process must have beaten to be alive.
	DeadBefore() time.Time
	// Lapsed reports whether others may have taken this process for dead since it last
	// made sure of what it holds.
	Lapsed() bool
	// Duty returns a duty that no process has yet.
	Duty(name string, term time.Duration) *Duty
}

// Everyone is a time before which all processes were last heard of. Nobody is one
// before all that there are: those that left are gone, and no others.
var (
	Everyone = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)
	Nobody   = time.UnixMilli(0)
)

// ErrTaken says that another process has a task.
var ErrTaken = errors.New("place: another process has the task")

// Alone is the place of a process whose store is open nowhere else. The fields are
// set before it is used, then constant.
type Alone struct {
	Node  string // names this process in the store
	Store store.Nodes
	// Wrote hears the outcome of each Try.
	Wrote func(error)

	registered atomic.Bool
}

func (a *Alone) Now() time.Time                { return time.Now() }
func (a *Alone) Registered() bool              { return a.registered.Load() }
func (a *Alone) Present(context.Context) error { return nil }
func (a *Alone) Attend(context.Context)        {} // nobody listens, and an idle process leaves the disk alone
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
