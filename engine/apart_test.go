package engine

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/store"
)

// newApart is a process that shares its store, on a machine whose clock is wrong.
func newApart(t *testing.T, st store.Store, ag agent.Agent, wrong time.Duration) *world {
	return newApartWith(t, st, ag, wrong, shared(t))
}

func newApartWith(t *testing.T, st store.Store, ag agent.Agent, wrong time.Duration, o *Options) *world {
	w := newWorldSet(t, st, ag, testCard(), o, func(e *Engine) {
		e.clock.local = func() time.Time { return time.Now().Add(wrong) }
	})
	synctest.Wait() // it has asked the store
	return w
}

// Machines whose clocks differ by hours take nobody for dead who lives, and take
// over in time from who is dead; what they store has the time of the store.
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

// Of two readings of a clock that agree the more certain one stays; one that
// cannot be true any more goes.
func TestClockReadings(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var c clock
	c.local = func() time.Time { return at }
	set := func(ahead, took time.Duration) time.Duration {
		asked := at
		at = at.Add(took)
		return c.set(asked.Add(took/2+ahead), asked, at)
	}
	ahead := func() time.Duration { return c.now().Sub(at) }
	set(time.Hour, 10*time.Millisecond)
	if got := ahead(); got < time.Hour || got > time.Hour+10*time.Millisecond {
		t.Errorf("ahead by %v", got)
	}
	was := ahead()
	if jumped := set(time.Hour+time.Second, 5*time.Second); jumped != 0 || ahead() != was {
		t.Errorf("a slow answer counts: %v, %v", jumped, ahead())
	}
	if set(time.Hour+3*time.Millisecond, 2*time.Millisecond); ahead() == was {
		t.Error("a quick answer does not count")
	}
	if jumped := set(2*time.Hour, 2*time.Second); jumped < 59*time.Minute || ahead() < 119*time.Minute {
		t.Errorf("a leap was not seen: %v, %v", jumped, ahead())
	}
	at = at.Add(24 * time.Hour) // then the old one is not certain any more
	was = ahead()
	if set(2*time.Hour+20*time.Second, 4*time.Second); ahead() == was {
		t.Error("a reading stays for ever")
	}
}

// The store's clock leaps, or the process starts when others may be silent for
// another reason: nobody is taken for dead at once.
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
