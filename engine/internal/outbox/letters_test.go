package outbox

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/engine/internal/outbox/outboxtest"
	"github.com/parley-a2a/parley/store"
)

// deadWorld has events 3 to 7 of a task as dead letters; its outbox no longer runs.
func deadWorld(t *testing.T, st store.Store, r *receivers, version string) (id store.PushID, ids map[int64]string) {
	t.Helper()
	id = fill(t, st, "x", "h", version, 5)
	r.Answer = func(*a2a.Notification) a2a.Outcome { return outboxtest.Refused404 }
	w := newWorld(t, st, r)
	passes(time.Minute)
	w.stop()
	ids = map[int64]string{}
	for _, n := range r.All() {
		ids[n.Seq] = n.ID
	}
	r.Forget()
	return id, ids
}

func TestDeadLettersAreSentAgain(t *testing.T) {
	for _, online := range []bool{false, true} {
		t.Run(fmt.Sprint(online), func(t *testing.T) {
			pushTest(t, func(t *testing.T, st *store.Memory, r *receivers) {
				id, ids := deadWorld(t, st, r, "1.0")
				tries := 0
				r.Answer = func(n *a2a.Notification) a2a.Outcome {
					switch n.Seq {
					case 4: // at the third time
						if tries++; tries < 3 {
							return outboxtest.Failing5xx
						}
					case 6: // never
						return outboxtest.Refused404
					}
					return a2a.Outcome{}
				}
				if !online {
					outboxtest.Again(t, st)
				}
				w := newWorld(t, st, r)
				if online {
					passes(time.Hour)
					if len(r.All()) != 0 {
						t.Errorf("%d came unasked", len(r.All()))
					}
					outboxtest.Again(t, st)
				}
				passes(5 * time.Minute)
				if got := r.Seqs("c"); !slices.Equal(got, []int64{3, 4, 4, 4, 5, 6, 7}) {
					t.Errorf("got %v", got)
				}
				for _, n := range r.All() {
					if n.ID != ids[n.Seq] {
						t.Errorf("%d had id %s, now %s", n.Seq, ids[n.Seq], n.ID)
					}
					if n.Source != sourceOf(id.Key) {
						t.Errorf("%d has the source %q", n.Seq, n.Source)
					}
				}
				left := w.letters()
				if len(left) != 1 || left[0].Seq != 6 || left[0].Again || left[0].Tries != 2 {
					t.Errorf("%+v", left)
				}
				if n := len(w.Outbox.letters) + len(w.subscribers); n != 0 {
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
		r.Answer = func(*a2a.Notification) a2a.Outcome { return outboxtest.Gone410 }
		outboxtest.Again(t, st)
		w := newWorld(t, st, r)
		passes(time.Hour)
		if len(r.All()) != 1 {
			t.Errorf("%d attempts", len(r.All()))
		}
		for _, l := range w.letters() {
			if l.Again || l.Reason != outboxtest.Gone410.Reason {
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
		r.Answer = func(*a2a.Notification) a2a.Outcome { return outboxtest.Failing5xx }
		outboxtest.Again(t, st)
		w := newWorld(t, st, r)
		passes(23 * time.Hour)
		if n := len(r.All()); n < 10 || n > 100 {
			t.Errorf("%d attempts", n)
		}
		if l := w.letters()[0]; !l.Again || int(l.Tries) != len(r.All())+1 {
			t.Errorf("%+v", l)
		}
		passes(5 * 24 * time.Hour)
		for _, l := range w.letters() {
			if l.Again {
				t.Errorf("%+v", l)
			}
		}
		n := len(r.All())
		passes(24 * time.Hour)
		if len(r.All()) != n {
			t.Errorf("%d more", len(r.All())-n)
		}
		w.stop()
	})
}

// The outbox sends dead letters, and events that wait for their next try, as soon as an
// operator asks for it.
func TestAgainIsAtOnce(t *testing.T) {
	pushTest(t, func(t *testing.T, st *store.Memory, r *receivers) {
		deadWorld(t, st, r, "1.0")
		waiting := fill(t, st, "y", "other", "1.0", 1)
		fails := true
		r.Answer = func(n *a2a.Notification) a2a.Outcome {
			if fails {
				return outboxtest.Failing5xx
			}
			return a2a.Outcome{}
		}
		w := newWorld(t, st, r)
		passes(6 * time.Hour) // many tries: the next one may be far away
		p, err := st.Push(t.Context(), waiting)
		if err != nil || p.Tries < 5 {
			t.Fatalf("it is tried %d times, %v", p.Tries, err)
		}
		r.Forget()
		fails = false
		outboxtest.Again(t, st)
		if err := st.Advance(t.Context(), []store.Advance{{PushID: waiting, Created: p.Created, Progress: store.Progress{Cursor: p.Cursor}, Live: true}}); err != nil {
			t.Fatal(err)
		}
		w.Again([]store.PushID{waiting})
		passes(3 * time.Second)
		if n := len(r.All()); n != 6 { // five letters, and the one that waited
			t.Errorf("%d came at once, want 6", n)
		}
	})
}
