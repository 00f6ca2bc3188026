package storetest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/parley-a2a/parley/store"
)

// faultBehaviours run a scenario with every write failing once, in both ways. After a failure
// the scenario's writer does what the contract says: it reads the state and continues from
// there.
func faultBehaviours() (all []behaviour) {
	keys := []store.Key{name("a"), name("b")}
	old, waits := name("old"), name("waits")
	blobs := []store.Blob{{Hash: "shared", Data: []byte("1")}, {Hash: "own", Data: []byte("2")}}
	scenario := func(t testing.TB, st store.Store) {
		retry(t, "beat", func() error { return st.Beat(t.Context(), "node", began) })
		retry(t, "keep", func() error {
			b, err := st.Keep(t.Context(), "kept", nil, []byte("value"))
			if err == nil && string(b) != "value" {
				t.Errorf("kept: %q", b)
			}
			return err
		})
		retry(t, "secret", func() error { _, err := st.Secret(t.Context(), "name"); return err })
		for _, k := range keys {
			a := with(signed(create(k, 2), "first of "+k.ID), "gone", "came along", "dropped")
			ensure(t, st, a)
			ensure(t, st, signed(then(a, 3), "second of "+k.ID))
			p := push(k, "set", "gone")
			retry(t, "set push config", func() error { return st.SetPush(t.Context(), &p) })
			retry(t, "claim push configs", func() error { _, err := st.ClaimPushes(t.Context(), "node", began, 10); return err })
			ahead := advanced(p, 4)
			ahead.Dead = []store.DeadLetter{letter(p, 2), letter(p, 3)}
			other := advanced(a.Pushes[0], 5)
			other.Live = false
			retry(t, "advance", func() error { return st.Advance(t.Context(), []store.Advance{ahead, other}) })
			again := letter(p, 2)
			again.Again = true
			retry(t, "set letters", func() error { return st.SetLetters(t.Context(), []store.DeadLetter{again}, false) })
			retry(t, "remove letters", func() error { return st.SetLetters(t.Context(), []store.DeadLetter{letter(p, 3)}, true) })
			retry(t, "drop push config", func() error { return st.DropPush(t.Context(), a.Pushes[1].PushID()) })
		}
		for _, a := range []*store.Append{alone("answered"), alone("forgotten")} {
			a.Row.Context = "context of " + a.Receipts[0].Name
			ensure(t, st, a)
		}
		retry(t, "forget", func() error {
			_, err := st.Forget(t.Context(), store.ForgetQuery{Tenant: "tenant", Owner: "owner", Context: "context of forgotten", Limit: 9})
			return err
		})
		retry(t, "claim", func() error { _, err := st.Claim(t.Context(), "next", began.Add(time.Hour), 10); return err })
		retry(t, "leave", func() error { return st.Leave(t.Context(), "next") })
		for _, k := range keys {
			retry(t, "take", func() error {
				_, err := st.Take(t.Context(), "last", began, k)
				if errors.Is(err, store.ErrNotFound) && row(t, st, k).Node == "last" {
					return nil // the first attempt took it
				}
				return err
			})
			r := get(t, st, k, false)
			end := &store.Append{Row: r.Row, After: r.Last, Epoch: r.Epoch, Entries: entries(r.Last, 1)}
			end.Row.Active = false
			end.Seal = &store.Seal{Head: []byte("head"), Body: []byte("body")}
			end.Blobs = blobs[:1]
			ensure(t, st, end)
		}
		ensure(t, st, waiting(waits))
		retry(t, "draw", func() error { _, err := st.Draw(t.Context(), "last", "", 10); return err })
		retry(t, "post", func() error { return st.Post(t.Context(), []store.Mail{{Node: "node", Body: []byte("mail")}}) })
		retry(t, "mail", func() error { _, err := st.Mail(t.Context(), "node", 10); return err }) // perhaps again, perhaps lost
		past := with(signed(finished("old", 3, began), "of the old one"), "node", "p")
		past.Letters = []store.DeadLetter{letter(past.Pushes[0], 1)}
		past.Blobs = blobs
		ensure(t, st, past)
		retry(t, "delete", func() error {
			rows, err := st.Idle(t.Context(), store.IdleQuery{State: 3, Before: began.Add(time.Hour), Limit: 10})
			if err == nil {
				_, err = st.Delete(t.Context(), rows)
			}
			return err
		})
	}
	steps := Steps(func(st store.Store) { scenario(&verdict{ctx: context.Background()}, st) })
	for _, f := range []Fault{FailBefore, FailAfter} {
		for step := range steps {
			all = append(all, behaviour{fmt.Sprintf("each write may fail: %s step %d", f, step), func(t testing.TB, open Opener) {
				st := start(t, open)
				scenario(t, Faulty(st, step, f))
				st = restart(t, st, open)
				Check(t, st, append(keys, old, waits)...)
				checkAbsent(t, st, old)
				if r := row(t, st, waits); r.Node != "last" || r.Epoch != 1 || r.Lost != 0 {
					t.Errorf("the task that waited: %+v", r)
				}
				if _, err := st.Blob(t.Context(), "own"); !errors.Is(err, store.ErrNotFound) {
					t.Errorf("the blob of the deleted task: %v", err)
				}
				if _, err := st.Blob(t.Context(), "shared"); err != nil {
					t.Errorf("the blob that others refer to: %v", err)
				}
				for n, want := range map[string]bool{"answered": true, "forgotten": false, "of the old one": false} {
					if got := lookUp(t, st, old, n) != nil; got != want {
						t.Errorf("receipt %q is there: %t, want %t", n, got, want)
					}
				}
				same(t, "kept", kept(t, st), map[string]string{"kept": `"value"`})
				same(t, "live push configs", liveIDs(t, st, "node"), []string{"set", "set"})
				for _, k := range keys {
					same(t, "receipts", len(receipts(t, st, k)), 2)
					ps := pushes(t, st, k, 9)
					if len(ps) != 2 || ps[0].Live || ps[0].Cursor != 5 || !ps[1].Live || ps[1].Cursor != 4 {
						t.Errorf("push configs of %s: %+v", k.ID, ps)
					}
					dead := withoutPlace(letters(t, st, store.LetterQuery{Of: &store.PushID{Key: k, ID: "set"}}, 9))
					want := letter(push(k, "set", ""), 2)
					want.Again = true
					same(t, "dead letters", dead, []store.DeadLetter{want})
					r := get(t, st, k, true)
					if r.Last != 6 || r.Seal == nil || r.Active || r.Node != "last" || r.Epoch != 3 || r.Lost != 1 {
						t.Errorf("%s is not what the writer left: %+v", k.ID, r)
					}
				}
			}})
		}
	}
	return all
}

// retry calls f once more if a fault was injected.
func retry(t testing.TB, what string, f func() error) {
	t.Helper()
	err := f()
	if errors.Is(err, ErrFault) {
		err = f()
	}
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// ensure appends. If the outcome is unknown, it checks whether the append happened, and
// accepts its own receipt as proof.
func ensure(t testing.TB, st store.Store, a *store.Append) {
	t.Helper()
	err := store.Do(t.Context(), st, a)
	if errors.Is(err, ErrFault) && a.Alone() {
		if err = store.Do(t.Context(), st, a); errors.Is(err, store.ErrDuplicate) {
			return
		}
	}
	if errors.Is(err, ErrFault) {
		r, getErr := st.Get(t.Context(), a.Row.Key, store.RowOnly)
		if getErr == nil && r.Last == a.After+int64(len(a.Entries)) {
			return
		}
		err = store.Do(t.Context(), st, a)
	}
	if err != nil {
		t.Fatalf("append to %q after %d: %v", a.Row.ID, a.After, err)
	}
}
