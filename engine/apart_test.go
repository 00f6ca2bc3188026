package engine

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/engine/internal/place"
	"github.com/parley-a2a/parley/store"
)

// newApart is a process that shares its store, on a machine whose clock is wrong.
func newApart(t *testing.T, st store.Store, ag agent.Agent, wrong time.Duration) *world {
	return newApartWith(t, st, ag, wrong, shared(t))
}

func newApartWith(t *testing.T, st store.Store, ag agent.Agent, wrong time.Duration, o *Options) *world {
	w := newWorldSet(t, st, ag, testCard(), o, func(e *Engine) {
		e.nodes.(*place.Fleet).Clock = func() time.Time { return time.Now().Add(wrong) }
	})
	synctest.Wait() // it has asked the store
	return w
}

// Machines whose clocks differ by hours take no live process for dead, and take
// over in time from a dead one; they store the store's time.
func TestClocksApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMemory()
		defer st.Close()
		early := newApart(t, st, waiting, -7*time.Hour)
		late := newApart(t, st, waiting, 9*time.Hour)
		a, b := early.mustSend(sendNow("x")), late.mustSend(sendNow("x"))
		begun := time.Now()
		time.Sleep(time.Hour)
		for id, w := range map[string]*world{a.ID: early, b.ID: late} {
			r := row(t, st, id)
			if r.Node != w.node || r.Epoch != 1 || r.Updated.Sub(begun).Abs() > time.Second || r.Created.Sub(begun).Abs() > time.Second {
				t.Errorf("the row is %+v, begun at %v", r, begun)
			}
		}
		m := &mortal{Store: st}
		dies := newApart(t, m, waiting, 20*time.Hour)
		lost := dies.mustSend(sendNow("x"))
		time.Sleep(time.Minute + time.Second)
		m.dead.Store(true)
		dies.stop()
		begun = time.Now()
		for row(t, st, lost.ID).Node == dies.node {
			time.Sleep(100 * time.Millisecond)
		}
		if took := time.Since(begun); took < 7*time.Second || took > 13*time.Second {
			t.Errorf("taken over after %v", took)
		}
		early.stop()
		late.stop()
	})
}

// If the store's clock jumps, or the process starts when others may be silent for another
// reason, no process is considered dead at once.
func TestNobodyIsDeadAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := store.NewMemory()
		defer mem.Close()
		st := &leaping{Store: mem}
		one := newWorldWith(t, st, waiting, testCard(), shared(t))
		two := newWorldWith(t, st, waiting, testCard(), shared(t))
		a, b := one.mustSend(sendNow("x")), two.mustSend(sendNow("x"))
		time.Sleep(61 * time.Second)
		st.by.Store(int64(time.Hour))
		time.Sleep(time.Minute)
		st.by.Store(int64(3 * time.Hour))
		third := newWorldWith(t, st, waiting, testCard(), shared(t))
		time.Sleep(time.Minute)
		for id, w := range map[string]*world{a.ID: one, b.ID: two} {
			if r := row(t, mem, id); r.Node != w.node || r.Epoch != 1 {
				t.Errorf("the row is %+v", r)
			}
			wantState(t, third.mustGet(id), a2a.TaskStateSubmitted)
		}
		one.stop()
		two.stop()
		third.stop()
	})
}

// leaping is a store whose clock leaps.
type leaping struct {
	store.Store
	by atomic.Int64 // in ns
}

func (l *leaping) Now(ctx context.Context) (time.Time, error) {
	at, err := l.Store.Now(ctx)
	return at.Add(time.Duration(l.by.Load())), err
}
