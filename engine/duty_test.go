package engine

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/engine/internal/place"
	"github.com/parley-a2a/parley/store"
)

// sweeper counts which process looks for old tasks.
type sweeper struct {
	store.Store
	idle, forget atomic.Int32
	dead         atomic.Bool
}

func (s *sweeper) Keep(ctx context.Context, name string, was, is []byte) ([]byte, error) {
	if s.dead.Load() {
		return nil, store.ErrClosed
	}
	return s.Store.Keep(ctx, name, was, is)
}

func (s *sweeper) Idle(ctx context.Context, q store.IdleQuery) ([]store.Row, error) {
	s.idle.Add(1)
	return s.Store.Idle(ctx, q)
}

func (s *sweeper) Forget(ctx context.Context, q store.ForgetQuery) (int, error) {
	s.forget.Add(1)
	return s.Store.Forget(ctx, q)
}

// Of processes that share a store one sweeps; when it drains another one does at
// its next turn, and when it dies once its term is over.
func TestOneSweeps(t *testing.T) {
	for _, dies := range []bool{false, true} {
		t.Run(fmt.Sprint("dies=", dies), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				mem := store.NewMemory()
				defer mem.Close()
				begin := func() (*world, *sweeper, func()) {
					s := &sweeper{Store: mem}
					o := shared(t)
					o.Retention = Retention{Completed: 10 * time.Minute}
					w, kill := newMortal(t, s, parrot, o)
					return w, s, kill
				}
				one, a, kill := begin()
				time.Sleep(3 * time.Minute)
				two, b, _ := begin()
				task := two.mustSend(send("x"))
				time.Sleep(15 * time.Minute)
				if a.idle.Load() < 10 || a.forget.Load() < 10 || b.idle.Load()+b.forget.Load() > 0 {
					t.Errorf("one swept %d times, the other %d", a.idle.Load(), b.idle.Load())
				}
				if _, err := two.GetTask(t.Context(), &a2a.GetTaskRequest{ID: task.ID}); err == nil {
					t.Error("the old task is still there")
				}
				if dies {
					a.dead.Store(true)
					kill()
					time.Sleep(30 * time.Second)
					if b.idle.Load() > 0 {
						t.Error("the term was not over")
					}
					time.Sleep(3 * time.Minute)
				} else {
					one.stop()
					time.Sleep(80 * time.Second) // its next turn
				}
				if b.idle.Load() == 0 {
					t.Error("nobody goes on")
				}
				two.stop()
			})
		})
	}
}

// A duty belongs to one process at a time, even if clocks differ.
func TestDutyTerms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMemory()
		defer st.Close()
		var all []*world
		var ds []*place.Duty
		for i := range 3 {
			w := newApart(t, st, parrot, time.Duration(i-1)*5*time.Hour)
			all = append(all, w)
			ds = append(ds, w.nodes.Duty("d", time.Minute))
		}
		synctest.Wait()
		serving := func() (out string) {
			for i := range all {
				if mine, err := ds[i].Serves(t.Context()); err != nil {
					t.Error(err)
				} else if mine {
					out += fmt.Sprint(i)
				}
			}
			return out
		}
		for range 5 {
			if got := serving(); got != "0" {
				t.Errorf("%q serve", got)
			}
			time.Sleep(50 * time.Second)
		}
		time.Sleep(11 * time.Second) // over
		ds[0] = all[0].nodes.Duty("other", time.Minute)
		if got := serving(); got != "01" {
			t.Errorf("%q serve", got)
		}
		ds[1].Resign()
		ds[1] = all[1].nodes.Duty("third", time.Minute)
		if got := serving(); got != "012" {
			t.Errorf("%q serve", got)
		}
		for _, w := range all {
			w.stop()
		}
	})
}
