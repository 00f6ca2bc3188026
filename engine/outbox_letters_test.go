package engine

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/store"
)

// deadWorld has events 3 to 7 of a task as dead letters, and runs no more.
func deadWorld(t *testing.T, st store.Store, r *receivers, version string) (id store.PushID, ids map[int64]string) {
	t.Helper()
	id = fill(t, st, "x", "h", version, 5)
	r.answer = func(*a2a.Notification) a2a.Outcome { return refused404 }
	w := pushWorld(t, st, parrot, r)
	passes(time.Minute)
	w.stop()
	ids = map[int64]string{}
	for _, n := range r.all() {
		ids[n.Seq] = n.ID
	}
	r.got, r.at = nil, nil
	return id, ids
}

func again(t *testing.T, st store.Store) {
	t.Helper()
	all, err := st.DeadLetters(t.Context(), store.LetterQuery{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	for i := range all {
		all[i].Again = true
	}
	if err := st.SetLetters(t.Context(), all, false); err != nil {
		t.Fatal(err)
	}
}

func TestDeadLettersAreSentAgain(t *testing.T) {
	for _, online := range []bool{false, true} {
		t.Run(fmt.Sprint(online), func(t *testing.T) {
			pushTest(t, func(t *testing.T, st *store.Memory, r *receivers) {
				_, ids := deadWorld(t, st, r, "1.0")
				tries := 0
				r.answer = func(n *a2a.Notification) a2a.Outcome {
					switch n.Seq {
					case 4: // at the third time
						if tries++; tries < 3 {
							return failing5xx
						}
					case 6: // never
						return refused404
					}
					return a2a.Outcome{}
				}
				if !online {
					again(t, st)
				}
				w := pushWorld(t, st, parrot, r)
				if online {
					passes(time.Hour)
					if len(r.all()) != 0 {
						t.Errorf("%d came unasked", len(r.all()))
					}
					again(t, st)
				}
				passes(5 * time.Minute)
				if got := r.seqs("c"); !slices.Equal(got, []int64{3, 4, 4, 4, 5, 6, 7}) {
					t.Errorf("got %v", got)
				}
				for _, n := range r.all() {
					if n.ID != ids[n.Seq] {
						t.Errorf("%d had id %s, now %s", n.Seq, ids[n.Seq], n.ID)
					}
				}
				left := w.letters()
				if len(left) != 1 || left[0].Seq != 6 || left[0].Again || left[0].Tries != 2 {
					t.Errorf("%+v", left)
				}
				if n := len(w.outbox.letters) + len(w.outbox.hosts); n != 0 {
					t.Errorf("%d are held", n)
				}
				w.stop()
			})
		})
	}
}

func TestDeadLettersOfWhomWantsNoMore(t *testing.T) {
	pushTest(t, func(t *testing.T, st *store.Memory, r *receivers) {
		deadWorld(t, st, r, "1.0")
		r.answer = func(*a2a.Notification) a2a.Outcome { return gone410 }
		again(t, st)
		w := pushWorld(t, st, parrot, r)
		passes(time.Hour)
		if len(r.all()) != 1 {
			t.Errorf("%d attempts", len(r.all()))
		}
		for _, l := range w.letters() {
			if l.Again || l.Reason != gone410.Reason {
				t.Errorf("%+v", l)
			}
		}
		w.stop()
	})
}

// They are tried for a day, too, across restarts, and stay where they are then.
func TestDeadLettersToADeadHost(t *testing.T) {
	pushTest(t, func(t *testing.T, st *store.Memory, r *receivers) {
		deadWorld(t, st, r, "0.3")
		r.answer = func(*a2a.Notification) a2a.Outcome { return failing5xx }
		again(t, st)
		w := pushWorld(t, st, parrot, r)
		passes(23 * time.Hour)
		if n := len(r.all()); n < 10 || n > 100 {
			t.Errorf("%d attempts", n)
		}
		if l := w.letters()[0]; !l.Again || int(l.Tries) != len(r.all())+1 {
			t.Errorf("%+v", l)
		}
		passes(5 * 24 * time.Hour)
		for _, l := range w.letters() {
			if l.Again {
				t.Errorf("%+v", l)
			}
		}
		n := len(r.all())
		passes(24 * time.Hour)
		if len(r.all()) != n {
			t.Errorf("%d more", len(r.all())-n)
		}
		w.stop()
	})
}

// Of processes that share a store one sends dead letters again, and another does
// when that one is gone.
func TestDeadLettersOfManyProcesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMemory()
		defer st.Close()
		r := &receivers{}
		deadWorld(t, st, r, "1.0")
		r.serve = func(context.Context, *a2a.Notification) a2a.Outcome {
			time.Sleep(time.Second)
			return a2a.Outcome{}
		}
		var all []*world
		for range 3 {
			o := shared(t)
			o.Push = r
			all = append(all, newWorldWith(t, st, parrot, pushCard(), o))
			passes(time.Second)
		}
		again(t, st)
		passes(2 * time.Minute)
		if got := r.seqs("c"); !slices.Equal(got, []int64{3, 4, 5, 6, 7}) {
			t.Errorf("got %v", got)
		}
		all[0].stop()
		r.mu.Lock() // before there is something to send: the others are at work
		r.serve, r.got = func(context.Context, *a2a.Notification) a2a.Outcome { return refused404 }, nil
		r.mu.Unlock()
		fill(t, st, "y", "h", "1.0", 2)
		passes(time.Minute)
		if len(r.all()) != 2 {
			t.Errorf("%d attempts", len(r.all()))
		}
		again(t, st)
		passes(10 * time.Minute)
		if len(r.all()) != 4 {
			t.Errorf("%d attempts", len(r.all()))
		}
		for _, w := range all {
			w.stop()
		}
	})
}
