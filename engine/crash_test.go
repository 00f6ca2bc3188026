package engine

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/store"
)

// mortal is a store whose process can be killed: nothing it does arrives any
// more, not even its farewell.
type mortal struct {
	store.Store
	dead atomic.Bool
}

func (m *mortal) Append(a *store.Append, done func(error)) {
	if m.dead.Load() {
		go done(store.ErrClosed)
		return
	}
	m.Store.Append(a, done)
}

func (m *mortal) Beat(ctx context.Context, node string, now time.Time) error {
	if m.dead.Load() {
		return store.ErrClosed
	}
	return m.Store.Beat(ctx, node, now)
}

func (m *mortal) Claim(ctx context.Context, node string, dead time.Time, limit int) ([]store.Row, error) {
	if m.dead.Load() {
		return nil, store.ErrClosed
	}
	return m.Store.Claim(ctx, node, dead, limit)
}

func (m *mortal) Draw(ctx context.Context, node, after string, limit int) ([]store.Row, error) {
	if m.dead.Load() {
		return nil, store.ErrClosed
	}
	return m.Store.Draw(ctx, node, after, limit)
}

func (m *mortal) Take(ctx context.Context, node string, dead time.Time, k store.Key) (*store.Row, error) {
	if m.dead.Load() {
		return nil, store.ErrClosed
	}
	return m.Store.Take(ctx, node, dead, k)
}

func (m *mortal) Leave(ctx context.Context, node string) error {
	if m.dead.Load() {
		return store.ErrClosed
	}
	return m.Store.Leave(ctx, node)
}

// newMortal starts an engine over st that can be killed.
func newMortal(t testing.TB, st store.Store, ag agent.Agent, o *Options) (w *world, kill func()) {
	t.Helper()
	m := &mortal{Store: st}
	if o == nil {
		o = &Options{}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.NewTextHandler(testLog{t}, nil))
	}
	w = newWorldWith(t, m, ag, testCard(), o)
	return w, func() {
		m.dead.Store(true)
		w.stop()
	}
}
