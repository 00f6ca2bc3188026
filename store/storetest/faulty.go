package storetest

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/parley-a2a/parley/store"
)

// Fault is how a write fails.
type Fault int

const (
	// FailBefore lets a write fail without effect.
	FailBefore Fault = iota
	// FailAfter lets a write take effect and then reports that it failed.
	FailAfter
)

func (f Fault) String() string {
	if f == FailAfter {
		return "after"
	}
	return "before"
}

// ErrFault is what the failing write returns.
var ErrFault = errors.New("storetest: injected fault")

// Faulty returns st with one write failing: the one that step others came
// before. Writes are Append, Beat, Claim, Draw, Take, Leave, Post, Mail, Forget,
// Secret, Keep, Delete, SetPush, DropPush, Advance, ClaimPushes and SetLetters.
// All others pass. Mail that fails after it took effect is lost.
func Faulty(st store.Store, step int, f Fault) store.Store {
	return &faulty{Store: st, step: int64(step), fault: f}
}

// Steps returns how many writes a scenario makes, on a memory store.
func Steps(scenario func(store.Store)) int {
	m := store.NewMemory()
	defer m.Close()
	counted := &faulty{Store: m, step: -1}
	scenario(counted)
	return int(counted.writes.Load())
}

// faulty embeds the store, so that reads pass.
type faulty struct {
	store.Store
	step   int64
	fault  Fault
	writes atomic.Int64
}

// due counts a write and reports whether it is the one to fail.
func (f *faulty) due() bool { return f.writes.Add(1)-1 == f.step }

func (f *faulty) Append(a *store.Append, done func(error)) {
	if f.due() {
		report := done
		done = func(error) { report(ErrFault) }
		if f.fault == FailBefore {
			// An append that every store refuses. So done is called when its
			// turn comes, by the store's goroutine, as the contract has it.
			a = &store.Append{Row: a.Row, After: a.After, Epoch: a.Epoch}
		}
	}
	f.Store.Append(a, done)
}

func (f *faulty) Beat(ctx context.Context, node string, now time.Time) error {
	if !f.due() {
		return f.Store.Beat(ctx, node, now)
	}
	if f.fault == FailAfter {
		_ = f.Store.Beat(ctx, node, now)
	}
	return ErrFault
}

func (f *faulty) Claim(ctx context.Context, node string, deadBefore time.Time, limit int) ([]store.Row, error) {
	if !f.due() {
		return f.Store.Claim(ctx, node, deadBefore, limit)
	}
	if f.fault == FailAfter {
		_, _ = f.Store.Claim(ctx, node, deadBefore, limit)
	}
	return nil, ErrFault
}

func (f *faulty) Draw(ctx context.Context, node, after string, limit int) ([]store.Row, error) {
	if !f.due() {
		return f.Store.Draw(ctx, node, after, limit)
	}
	if f.fault == FailAfter {
		_, _ = f.Store.Draw(ctx, node, after, limit)
	}
	return nil, ErrFault
}

func (f *faulty) Post(ctx context.Context, all []store.Mail) error {
	if !f.due() {
		return f.Store.Post(ctx, all)
	}
	if f.fault == FailAfter {
		_ = f.Store.Post(ctx, all)
	}
	return ErrFault
}

func (f *faulty) Mail(ctx context.Context, node string, limit int) ([]store.Mail, error) {
	if !f.due() {
		return f.Store.Mail(ctx, node, limit)
	}
	if f.fault == FailAfter {
		_, _ = f.Store.Mail(ctx, node, limit)
	}
	return nil, ErrFault
}

func (f *faulty) Take(ctx context.Context, node string, deadBefore time.Time, k store.Key) (*store.Row, error) {
	if !f.due() {
		return f.Store.Take(ctx, node, deadBefore, k)
	}
	if f.fault == FailAfter {
		_, _ = f.Store.Take(ctx, node, deadBefore, k)
	}
	return nil, ErrFault
}

func (f *faulty) Leave(ctx context.Context, node string) error {
	if !f.due() {
		return f.Store.Leave(ctx, node)
	}
	if f.fault == FailAfter {
		_ = f.Store.Leave(ctx, node)
	}
	return ErrFault
}

func (f *faulty) Forget(ctx context.Context, q store.ForgetQuery) (int, error) {
	if !f.due() {
		return f.Store.Forget(ctx, q)
	}
	if f.fault == FailAfter {
		_, _ = f.Store.Forget(ctx, q)
	}
	return 0, ErrFault
}

func (f *faulty) Secret(ctx context.Context, name string) ([]byte, error) {
	if !f.due() {
		return f.Store.Secret(ctx, name)
	}
	if f.fault == FailAfter {
		_, _ = f.Store.Secret(ctx, name)
	}
	return nil, ErrFault
}

func (f *faulty) Delete(ctx context.Context, rows []store.Row) (int, error) {
	if !f.due() {
		return f.Store.Delete(ctx, rows)
	}
	if f.fault == FailAfter {
		_, _ = f.Store.Delete(ctx, rows)
	}
	return 0, ErrFault
}

func (f *faulty) Keep(ctx context.Context, name string, was, is []byte) ([]byte, error) {
	if !f.due() {
		return f.Store.Keep(ctx, name, was, is)
	}
	if f.fault == FailAfter {
		_, _ = f.Store.Keep(ctx, name, was, is)
	}
	return nil, ErrFault
}

func (f *faulty) SetPush(ctx context.Context, p *store.PushConfig) error {
	if !f.due() {
		return f.Store.SetPush(ctx, p)
	}
	if f.fault == FailAfter {
		_ = f.Store.SetPush(ctx, p)
	}
	return ErrFault
}

func (f *faulty) DropPush(ctx context.Context, id store.PushID) error {
	if !f.due() {
		return f.Store.DropPush(ctx, id)
	}
	if f.fault == FailAfter {
		_ = f.Store.DropPush(ctx, id)
	}
	return ErrFault
}

func (f *faulty) Advance(ctx context.Context, all []store.Advance) error {
	if !f.due() {
		return f.Store.Advance(ctx, all)
	}
	if f.fault == FailAfter {
		_ = f.Store.Advance(ctx, all)
	}
	return ErrFault
}

func (f *faulty) ClaimPushes(ctx context.Context, node string, deadBefore time.Time, limit int) (int, error) {
	if !f.due() {
		return f.Store.ClaimPushes(ctx, node, deadBefore, limit)
	}
	if f.fault == FailAfter {
		_, _ = f.Store.ClaimPushes(ctx, node, deadBefore, limit)
	}
	return 0, ErrFault
}

func (f *faulty) SetLetters(ctx context.Context, letters []store.DeadLetter, gone bool) error {
	if !f.due() {
		return f.Store.SetLetters(ctx, letters, gone)
	}
	if f.fault == FailAfter {
		_ = f.Store.SetLetters(ctx, letters, gone)
	}
	return ErrFault
}
