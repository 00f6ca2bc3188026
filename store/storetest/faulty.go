package storetest

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/parley-a2a/parley/store"
)

// Fault is a way in which a write fails.
type Fault int

const (
	// FailBefore makes a write fail without effect.
	FailBefore Fault = iota
	// FailAfter makes a write take effect and then report a failure.
	FailAfter
)

func (f Fault) String() string {
	if f == FailAfter {
		return "after"
	}
	return "before"
}

// ErrFault is the error of the failing write.
var ErrFault = errors.New("storetest: injected fault")

// Faulty returns st with one failing write: the one that comes after step other writes.
// Writes are Append, Beat, Claim, Draw, Take, Leave, Post, Mail, Forget, Secret, Keep,
// Delete, SetPush, DropPush, Advance, ClaimPushes and SetLetters. All other calls pass. Mail
// that fails after it took effect loses its messages.
func Faulty(st store.Store, step int, f Fault) store.Store {
	return &faulty{Store: st, step: int64(step), fault: f}
}

// Mortal is a store as seen by a process that can be killed.
type Mortal struct{ faulty }

// NewMortal returns st as seen by a living process.
func NewMortal(st store.Store) *Mortal { return &Mortal{faulty{Store: st, step: -1}} }

// Kill ends the process: none of its later writes has an effect, not even Leave.
func (m *Mortal) Kill() { m.dead.Store(true) }

// Dead reports whether the process was killed.
func (m *Mortal) Dead() bool { return m.dead.Load() }

// Steps returns how many writes a scenario makes, on a memory store.
func Steps(scenario func(store.Store)) int {
	m := store.NewMemory()
	defer m.Close()
	counted := &faulty{Store: m, step: -1}
	scenario(counted)
	return int(counted.writes.Load())
}

// faulty embeds the store, so that reads pass through.
type faulty struct {
	store.Store
	step   int64
	fault  Fault
	writes atomic.Int64
	dead   atomic.Bool // see Mortal
}

// due counts a write and reports whether it is the one to fail.
func (f *faulty) due() bool { return f.writes.Add(1)-1 == f.step }

func (f *faulty) Append(a *store.Append, done func(error)) {
	if f.dead.Load() {
		go done(store.ErrClosed)
		return
	}
	if f.due() {
		report := done
		done = func(error) { report(ErrFault) }
		if f.fault == FailBefore {
			// Every store refuses this append. So the store's goroutine calls done when the
			// append's turn comes, as the contract requires.
			a = &store.Append{Row: a.Row, After: a.After, Epoch: a.Epoch}
		}
	}
	f.Store.Append(a, done)
}

// write passes on a write, or makes it fail.
func write[T any](f *faulty, call func() (T, error)) (nothing T, _ error) {
	switch {
	case f.dead.Load():
		return nothing, store.ErrClosed
	case !f.due():
		return call()
	case f.fault == FailAfter:
		_, _ = call()
	}
	return nothing, ErrFault
}

// just is write for calls that return only an error.
func just(f *faulty, call func() error) error {
	_, err := write(f, func() (struct{}, error) { return struct{}{}, call() })
	return err
}

func (f *faulty) Beat(ctx context.Context, node string, now time.Time) error {
	return just(f, func() error { return f.Store.Beat(ctx, node, now) })
}

func (f *faulty) Claim(ctx context.Context, node string, deadBefore time.Time, limit int) ([]store.Row, error) {
	return write(f, func() ([]store.Row, error) { return f.Store.Claim(ctx, node, deadBefore, limit) })
}

func (f *faulty) Draw(ctx context.Context, node, after string, limit int) ([]store.Row, error) {
	return write(f, func() ([]store.Row, error) { return f.Store.Draw(ctx, node, after, limit) })
}

func (f *faulty) Take(ctx context.Context, node string, deadBefore time.Time, k store.Key) (*store.Row, error) {
	return write(f, func() (*store.Row, error) { return f.Store.Take(ctx, node, deadBefore, k) })
}

func (f *faulty) Leave(ctx context.Context, node string) error {
	return just(f, func() error { return f.Store.Leave(ctx, node) })
}

func (f *faulty) Post(ctx context.Context, all []store.Mail) error {
	return just(f, func() error { return f.Store.Post(ctx, all) })
}

func (f *faulty) Mail(ctx context.Context, node string, limit int) ([]store.Mail, error) {
	return write(f, func() ([]store.Mail, error) { return f.Store.Mail(ctx, node, limit) })
}

func (f *faulty) Forget(ctx context.Context, q store.ForgetQuery) (int, error) {
	return write(f, func() (int, error) { return f.Store.Forget(ctx, q) })
}

func (f *faulty) Secret(ctx context.Context, name string) ([]byte, error) {
	return write(f, func() ([]byte, error) { return f.Store.Secret(ctx, name) })
}

func (f *faulty) Keep(ctx context.Context, name string, was, is []byte) ([]byte, error) {
	return write(f, func() ([]byte, error) { return f.Store.Keep(ctx, name, was, is) })
}

func (f *faulty) Delete(ctx context.Context, rows []store.Row) (int, error) {
	return write(f, func() (int, error) { return f.Store.Delete(ctx, rows) })
}

func (f *faulty) SetPush(ctx context.Context, p *store.PushConfig) error {
	return just(f, func() error { return f.Store.SetPush(ctx, p) })
}

func (f *faulty) DropPush(ctx context.Context, id store.PushID) error {
	return just(f, func() error { return f.Store.DropPush(ctx, id) })
}

func (f *faulty) Advance(ctx context.Context, all []store.Advance) error {
	return just(f, func() error { return f.Store.Advance(ctx, all) })
}

func (f *faulty) ClaimPushes(ctx context.Context, node string, deadBefore time.Time, limit int) (int, error) {
	return write(f, func() (int, error) { return f.Store.ClaimPushes(ctx, node, deadBefore, limit) })
}

func (f *faulty) SetLetters(ctx context.Context, letters []store.DeadLetter, gone bool) error {
	return just(f, func() error { return f.Store.SetLetters(ctx, letters, gone) })
}
