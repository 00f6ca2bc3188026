package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/parley-a2a/parley/store"
)

var letterBehaviours = []behaviour{
	{"dead letters come with progress, and stay", testLetters},
	{"dead letters in pages, in the order of their configs", testLetterPages},
	{"dead letters are replaced and removed, if they are there", testSetLetters},
	{"dead letters go with their config", testDropPush},
	{"push configs and dead letters go with their task", testPushDelete},
}

// letters returns the dead letters that q selects, read in pages.
func letters(t testing.TB, st store.Store, q store.LetterQuery, limit int) (all []store.DeadLetter) {
	t.Helper()
	for q.Limit = limit; ; q.After = &all[len(all)-1] {
		page, err := st.DeadLetters(t.Context(), q)
		if err != nil {
			t.Fatalf("dead letters %+v: %v", q, err)
		}
		all = append(all, page...)
		if len(page) < limit {
			return all
		}
	}
}

func seqs(letters []store.DeadLetter) (all []int64) {
	for i := range letters {
		all = append(all, letters[i].Seq)
	}
	return all
}

// withoutPlace clears At, whose values differ between drivers.
func withoutPlace(letters []store.DeadLetter) []store.DeadLetter {
	for i := range letters {
		letters[i].At = 0
	}
	return letters
}

// letter returns a dead letter of a config.
func letter(p store.PushConfig, seq int64) store.DeadLetter {
	return store.DeadLetter{
		PushID: p.PushID(), Seq: seq, Time: began.Add(time.Duration(seq) * time.Second), Tries: int32(seq), Reason: fmt.Sprint("reason ", seq),
	}
}

// bury adds dead letters to a config.
func bury(t testing.TB, st store.Store, p store.PushConfig, all ...store.DeadLetter) {
	t.Helper()
	a := advanced(p, p.Cursor)
	a.Dead = all
	advance(t, st, a)
}

func testLetters(t testing.TB, open Opener) {
	st := start(t, open)
	a := with(create(name("a"), 9), "node", "z", "b")
	from := with(create(name("imported"), 9), "", "x", "y")
	from.Letters = []store.DeadLetter{letter(from.Pushes[1], 2), letter(from.Pushes[0], 7), letter(from.Pushes[1], 1)}
	from.Letters[0].Key = name("ignored")
	from.Letters[1].Again = true
	must(t, st, a, from)
	z, b := a.Pushes[0], a.Pushes[1]

	odd := letter(z, 3)
	odd.PushID = store.PushID{Key: name("ignored"), ID: "ignored"}
	odd.Time, odd.Again, odd.Reason = odd.Time.Add(1).In(time.FixedZone("elsewhere", 3600)), true, "\x00\xff'"
	end := advanced(z, 9)
	end.Live, end.Reason, end.Dead = false, "gone", []store.DeadLetter{letter(z, 5), odd}
	stale := advanced(b, 9)
	stale.Created, stale.Dead = began.Add(time.Hour), []store.DeadLetter{letter(b, 4)}
	advance(t, st, stale, end)

	want := letter(z, 3)
	want.Again, want.Reason = true, "\x00\xff'"
	moved := letter(from.Pushes[1], 2)
	for range 2 {
		same(t, "all", withoutPlace(letters(t, st, store.LetterQuery{}, 9)),
			[]store.DeadLetter{want, letter(z, 5), from.Letters[1], letter(from.Pushes[1], 1), moved})
		same(t, "those to be sent again", withoutPlace(letters(t, st, store.LetterQuery{Again: true}, 9)), []store.DeadLetter{want, from.Letters[1]})
		same(t, "the config", pushOf(t, st, name("a"), "z").Reason, "gone")
		Check(t, st, name("a"), name("imported"))
		st = restart(t, st, open)
	}
	// If the delivery is abandoned again, the newer dead letter replaces the older.
	again := letter(z, 3)
	again.Tries = 99
	bury(t, st, z, again)
	same(t, "given up again", withoutPlace(letters(t, st, store.LetterQuery{}, 9))[0], again)
}

func testLetterPages(t testing.TB, open Opener) {
	st := start(t, open)
	var want, again, of []store.DeadLetter
	third := push(name("2"), "q", "node")
	for i := range 5 {
		a := with(create(name(fmt.Sprint(9-i)), 20), "node", "p", "q") // created in another order than that of their names
		if i == 2 {
			third = a.Pushes[1]
		}
		must(t, st, a)
		for j := range 14 {
			l := letter(a.Pushes[j/7], int64(1+j%7*2))
			l.Again = j%3 == 0
			bury(t, st, a.Pushes[j/7], l)
			want = append(want, l)
			if l.Again {
				again = append(again, l)
			}
			if i == 2 && j >= 7 {
				of = append(of, l)
			}
		}
	}
	id := third.PushID()
	for _, limit := range []int{1, 3, 7, 1000} {
		same(t, "all", withoutPlace(letters(t, st, store.LetterQuery{}, limit)), want)
		same(t, "again", withoutPlace(letters(t, st, store.LetterQuery{Again: true}, limit)), again)
		same(t, "of one", withoutPlace(letters(t, st, store.LetterQuery{Of: &id}, limit)), of)
	}
	same(t, "of one, again", seqs(letters(t, st, store.LetterQuery{Of: &id, Again: true}, 2)), []int64{5, 11})
	id.ID = "unknown"
	same(t, "of none", len(letters(t, st, store.LetterQuery{Of: &id}, 2)), 0)
	if _, err := st.DeadLetters(t.Context(), store.LetterQuery{}); err == nil {
		t.Error("a limit of 0 was answered")
	}
}

func testSetLetters(t testing.TB, open Opener) {
	st := start(t, open)
	a := with(create(name("a"), 9), "node", "p", "q")
	must(t, st, a)
	p, q := a.Pushes[0], a.Pushes[1]
	bury(t, st, p, letter(p, 1), letter(p, 2), letter(p, 3))
	set := func(gone bool, all ...store.DeadLetter) {
		t.Helper()
		if err := st.SetLetters(t.Context(), all, gone); err != nil {
			t.Fatal(err)
		}
	}
	changed := letter(p, 2)
	changed.Again, changed.Tries, changed.Reason, changed.Time = true, 7, "other", began.Add(time.Hour)
	elsewhere := letter(push(name("b"), "p", "node"), 1)
	set(false, letter(q, 1), changed, letter(p, 4), elsewhere)
	set(false)
	for range 2 {
		same(t, "replaced", withoutPlace(letters(t, st, store.LetterQuery{}, 9)), []store.DeadLetter{letter(p, 1), changed, letter(p, 3)})
		same(t, "to be sent again", seqs(letters(t, st, store.LetterQuery{Again: true}, 9)), []int64{2})
		st = restart(t, st, open)
	}
	changed.Again = false
	set(false, changed)
	same(t, "not again", len(letters(t, st, store.LetterQuery{Again: true}, 9)), 0)
	set(true, letter(p, 3), letter(q, 1), letter(p, 1), elsewhere)
	set(true, letter(p, 3))
	same(t, "removed", seqs(letters(t, restart(t, st, open), store.LetterQuery{}, 9)), []int64{2})
}

// many is a number of dead letters that a driver must remove in several steps.
const many = 2500

func testDropPush(t testing.TB, open Opener) {
	st := start(t, open)
	a := with(create(name("a"), many), "node", "q", "p")
	must(t, st, a)
	q, p := a.Pushes[0], a.Pushes[1] // the newer one is dropped, because the next config may get the same key
	var all []store.DeadLetter
	for seq := range int64(many) {
		all = append(all, letter(p, seq+1))
	}
	bury(t, st, p, all...)
	bury(t, st, q, letter(q, 7))
	for _, id := range []store.PushID{p.PushID(), p.PushID(), {Key: name("a"), ID: "unknown"}, {Key: name("unknown"), ID: "q"}} {
		if err := st.DropPush(t.Context(), id); err != nil {
			t.Fatalf("drop %q: %v", id.ID, err)
		}
	}
	for range 2 {
		if got := pushOf(t, st, name("a"), "p"); got != nil {
			t.Errorf("it is there: %+v", got)
		}
		same(t, "the other", pushOf(t, st, name("a"), "q"), &q)
		same(t, "letters", withoutPlace(letters(t, st, store.LetterQuery{}, 9)), []store.DeadLetter{letter(q, 7)})
		same(t, "live", liveIDs(t, st, "node"), []string{"q"})
		Check(t, st, name("a"))
		st = restart(t, st, open)
	}
	setPush(t, st, p)
	same(t, "letters of one of its name", len(letters(t, st, store.LetterQuery{Of: new(p.PushID())}, 9)), 0)
}

func testPushDelete(t testing.TB, open Opener) {
	st := start(t, open)
	short := with(create(name("short"), 2), "node", "p")
	configs := create(name("many configs"), 2)
	for i := range 300 {
		with(configs, "node", fmt.Sprint("p", i))
	}
	dead := with(create(name("many letters"), 9), "node", "p", "q")
	long := with(create(name("long"), 1), "node", "p")
	stays := with(create(name("stays"), 2), "node", "p")
	batch := []*store.Append{short, configs, dead, stays, long}
	for range 300 {
		batch = append(batch, then(batch[len(batch)-1], 1))
	}
	mustAll(t, st, batch)
	firsts := batch[:5]
	for _, a := range firsts {
		bury(t, st, a.Pushes[0], letter(a.Pushes[0], 1))
	}
	for range 2 { // more dead letters than entries: only their number matters
		var all []store.DeadLetter
		for seq := range int64(400) {
			all = append(all, letter(dead.Pushes[1], seq+1))
		}
		bury(t, st, dead.Pushes[1], all...)
	}
	var rows []store.Row
	for _, a := range firsts {
		if a != stays {
			rows = append(rows, row(t, st, a.Row.Key))
		}
	}
	same(t, "deleted", remove(t, st, rows...), 4)
	for range 2 {
		for _, a := range firsts {
			if a == stays {
				continue
			}
			same(t, "push configs of "+a.Row.ID, len(pushes(t, st, a.Row.Key, 9)), 0)
			if p := pushOf(t, st, a.Row.Key, a.Pushes[0].ID); p != nil {
				t.Errorf("a config of %q: %+v", a.Row.ID, p)
			}
			p := a.Pushes[0]
			wantError(t, "a new one", st.SetPush(t.Context(), &p), store.ErrNotFound)
			bury(t, st, p, letter(p, 1))
			Check(t, st, a.Row.Key)
		}
		same(t, "live", live(t, st, "node", 9), []store.PushState{{PushConfig: stays.Pushes[0], Last: 2, At: live(t, st, "node", 1)[0].At}})
		same(t, "letters", withoutPlace(letters(t, st, store.LetterQuery{}, 9)), []store.DeadLetter{letter(stays.Pushes[0], 1)})
		same(t, "claimed", claimPushes(t, st, "node", began, 9), 0)
		st = restart(t, st, open)
	}
	// The names are free again, and new ones inherit nothing.
	for _, a := range firsts {
		if a != stays {
			fresh := create(a.Row.Key, 1)
			must(t, st, fresh)
			same(t, "configs of a new task", len(pushes(t, st, a.Row.Key, 9)), 0)
			setPush(t, st, a.Pushes[0])
		}
	}
	same(t, "letters", len(letters(t, st, store.LetterQuery{}, 9)), 1)
	same(t, "claimed", claimPushes(t, st, "other", began, 3), 3)
	Check(t, st, name("short"), name("many configs"), name("many letters"), name("long"), name("stays"))
}
