package place

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/parley-a2a/parley/internal/wake"
	"github.com/parley-a2a/parley/store"
)

// Fleet is the place of a process that shares its store with others. The exported
// fields are set before it is used, then constant; all but Clock are required.
type Fleet struct {
	Node      string // names this process in the store
	Store     store.Store
	DeadAfter time.Duration // how long another process may be silent; the same in all of them
	Log       *slog.Logger

	// Verify finds out which tasks of this process others have taken over. It calls alive now
	// and then meanwhile, and stops at its error.
	Verify func(ctx context.Context, alive func() error) error
	// Beaten is called after each heartbeat: other processes may have left tasks.
	Beaten func()
	// Wrote is told the outcome of each heartbeat but the first.
	Wrote func(error)
	// Hear are functions that listen to what other processes do, each until its ctx ends.
	Hear []func(ctx context.Context)
	// Clock is this machine's time; nil: time.Now.
	Clock func() time.Time

	clock  clock
	beaten atomic.Pointer[time.Time] // the last heartbeat after which it was certain which tasks this process has
	steady atomic.Pointer[time.Time] // since when the store has taken all heartbeats; nil: it does not

	beating sync.Mutex // held while the fields above are renewed; protects the field below
	heard   time.Time  // time of the last heartbeat
}

func (f *Fleet) Registered() bool { return f.beaten.Load() != nil }
func (f *Fleet) Now() time.Time   { return f.clock.now(f.here()) }

// here returns the time by this machine's clock.
func (f *Fleet) here() time.Time {
	if f.Clock != nil {
		return f.Clock()
	}
	return time.Now()
}

// Duty returns a duty that no process has yet.
func (f *Fleet) Duty(name string, term time.Duration) *Duty {
	return &Duty{fleet: f, name: name, term: term}
}

// DeadBefore returns the time since which a process must have sent a heartbeat to be alive. If
// the store was unreachable, perhaps for all processes, the others need time to send heartbeats
// again. So none is dead until the store has answered for half of DeadAfter without a gap.
func (f *Fleet) DeadBefore() time.Time {
	if since := f.steady.Load(); since == nil || time.Since(*since) < f.DeadAfter/2 {
		return Nobody
	}
	return f.Now().Add(-f.DeadAfter)
}

// Lapsed implements Place. It checks two clocks, because one stands still while the machine
// sleeps, and the other may be set back.
func (f *Fleet) Lapsed() bool {
	last := f.beaten.Load()
	return last != nil && since(*last) > f.DeadAfter
}

// since returns how long ago a moment was, by the clock that says more.
func since(t time.Time) time.Duration {
	now := time.Now()
	return max(now.Sub(t), now.Round(0).Sub(t.Round(0)))
}

// Register sends the first heartbeat.
func (f *Fleet) Register(ctx context.Context) error {
	f.beating.Lock()
	defer f.beating.Unlock()
	if f.beaten.Load() != nil {
		return nil // another call was first
	}
	at := time.Now()
	if err := f.pulse(ctx); err != nil {
		return err
	}
	f.beaten.Store(&at)
	return nil
}

func (f *Fleet) Present(ctx context.Context) error {
	if f.Registered() {
		return nil
	}
	return f.Register(ctx)
}

func (f *Fleet) Moved(err error) bool {
	return errors.Is(err, ErrTaken) || errors.Is(err, store.ErrLeaseLost) || errors.Is(err, store.ErrConflict)
}

func (f *Fleet) Attend(ctx context.Context) {
	var all sync.WaitGroup
	defer all.Wait()
	for _, hear := range f.Hear {
		all.Go(func() { hear(ctx) })
	}
	f.beats(ctx)
}

// beats sends heartbeats until ctx ends.
func (f *Fleet) beats(ctx context.Context) {
	for share := time.Duration(4); wake.Pause(ctx, max(f.DeadAfter/share, time.Millisecond)) == nil; {
		err := f.beat(ctx)
		for err == nil && f.Lapsed() { // this process was paused meanwhile
			err = f.beat(ctx)
		}
		if err == nil {
			f.Beaten()
			share = 4
		} else {
			share = 16 // soon, because others wait for this before they consider the process dead
		}
	}
}

func (f *Fleet) Try(ctx context.Context) { _ = f.beat(ctx) } // beat tells Wrote

// beat sends a heartbeat. If it comes late, beat checks which tasks this process has lost;
// until that is known, readers check for themselves.
func (f *Fleet) beat(ctx context.Context) error {
	f.beating.Lock()
	defer f.beating.Unlock()
	at := time.Now()
	err := f.pulse(ctx)
	if ctx.Err() == nil && !f.slow(err) {
		f.Wrote(err)
	}
	if err != nil {
		return err
	}
	if f.Lapsed() {
		f.Log.Warn("this process was silent for too long; looking which tasks others have taken over")
		err := f.Verify(ctx, func() error {
			now := time.Now()
			if now.Sub(at) <= f.DeadAfter/4 {
				return nil
			}
			err := f.pulse(ctx)
			if err == nil {
				at = now
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	f.beaten.Store(&at)
	return nil
}

// pulse sends one heartbeat, by the store's clock. It notes since when the store has answered
// without a gap, the store's own or this process's, and without a jump of its clock, after
// which the heartbeats of others would look old.
func (f *Fleet) pulse(ctx context.Context) error {
	within, cancel := context.WithTimeout(ctx, max(f.DeadAfter/4, minBeat))
	defer cancel()
	at := time.Now()
	jumped, err := f.ask(within)
	if err == nil {
		err = f.Store.Beat(within, f.Node, f.Now())
	}
	if err != nil {
		f.steady.Store(nil)
		return err
	}
	if f.steady.Load() == nil || since(f.heard) > f.DeadAfter/2 || jumped > f.DeadAfter/8 {
		f.steady.Store(&at)
	}
	f.heard = at
	return nil
}

// ask reads the store's clock.
func (f *Fleet) ask(ctx context.Context) (jumped time.Duration, _ error) {
	asked := f.here()
	theirs, err := f.Store.Now(ctx)
	if err != nil {
		return 0, err
	}
	return f.clock.set(theirs, asked, f.here()), nil
}

// slow reports whether a heartbeat only took too long, for the first time: a busy process is
// not in trouble yet.
func (f *Fleet) slow(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) && since(f.heard) < f.DeadAfter*3/4
}

// minBeat is the least time that a heartbeat is given.
const minBeat = time.Second
