package storetest

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/parley-a2a/parley/store"
)

var outboxBehaviours = []behaviour{
	{"push configs come with entries or by themselves, and stay", testPush},
	{"a refused append brings no push config", testPushAtomic},
	{"push configs of a task, in pages by their names", testPushNames},
	{"a replaced push config is another one, in the same place", testPushReplaced},
	{"progress is stored for those that are there", testAdvance},
	{"live push configs of a node, in pages", testLive},
	{"push configs of lost nodes are claimed, others not", testClaimPushes},
	{"two claimers never get the same push config", testClaimPushesRace},
}

// push returns a config that has delivered the first entry of its task.
func push(k store.Key, id, node string) store.PushConfig {
	return store.PushConfig{
		Key: k, ID: id, Host: "host of " + id, Body: []byte("body of " + id),
		Created: began, Node: node, Live: true, Progress: store.Progress{Cursor: 1},
	}
}

// with adds push configs of a node to an append.
func with(a *store.Append, node string, ids ...string) *store.Append {
	for _, id := range ids {
		a.Pushes = append(a.Pushes, push(a.Row.Key, id, node))
	}
	return a
}

func setPush(t testing.TB, st store.Store, all ...store.PushConfig) {
	t.Helper()
	for i := range all {
		if err := st.SetPush(t.Context(), &all[i]); err != nil {
			t.Fatalf("set push config %q of %q: %v", all[i].ID, all[i].Key.ID, err)
		}
	}
}

// pushOf returns a push config, or nil.
func pushOf(t testing.TB, st store.Store, k store.Key, id string) *store.PushConfig {
	t.Helper()
	p, err := st.Push(t.Context(), store.PushID{Key: k, ID: id})
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		t.Fatalf("push config %q of %q: %v", id, k.ID, err)
	}
	return p
}

// pushes returns all push configs of a task, read in pages.
func pushes(t testing.TB, st store.Store, k store.Key, limit int) (all []store.PushConfig) {
	t.Helper()
	for after := ""; ; after = all[len(all)-1].ID {
		page, err := st.Pushes(t.Context(), k, after, limit)
		if err != nil {
			t.Fatalf("push configs of %q: %v", k.ID, err)
		}
		all = append(all, page...)
		if len(page) < limit {
			return all
		}
	}
}

func advance(t testing.TB, st store.Store, all ...store.Advance) {
	t.Helper()
	if err := st.Advance(t.Context(), all); err != nil {
		t.Fatalf("advance: %v", err)
	}
}

// advanced returns the Advance of a config to a cursor.
func advanced(p store.PushConfig, cursor int64) store.Advance {
	return store.Advance{PushID: p.PushID(), Created: p.Created, Live: p.Live, Progress: store.Progress{Cursor: cursor}}
}

// live returns all live push configs of a node, read in pages.
func live(t testing.TB, st store.Store, node string, limit int) (all []store.PushState) {
	t.Helper()
	for after := int64(0); ; after = all[len(all)-1].At {
		page, err := st.LivePushes(t.Context(), node, after, limit)
		if err != nil {
			t.Fatalf("live push configs of %s: %v", node, err)
		}
		all = append(all, page...)
		if len(page) < limit {
			return all
		}
	}
}

func liveIDs(t testing.TB, st store.Store, node string) (ids []string) {
	t.Helper()
	for _, p := range live(t, st, node, 100) {
		ids = append(ids, p.ID)
	}
	return ids
}

func testPush(t testing.TB, open Opener) {
	st := start(t, open)
	a := with(create(name("a"), 2), "node", "z", "b")
	a.Pushes[0].Key = name("ignored")
	zone := time.FixedZone("elsewhere", 3600)
	a.Pushes[1].Created = began.Add(999 * time.Microsecond).In(zone)
	a.Pushes[1].Progress = store.Progress{
		Cursor: 2, Tries: 3, Since: began.Add(time.Hour + 1).In(zone), Due: began.Add(2*time.Hour + 1).In(zone), Reason: "500",
	}
	a.Pushes[1].Live = false
	must(t, st, a)
	b := then(a, 1)
	b.Pushes = []store.PushConfig{push(b.Row.Key, "m", "")}
	b.Pushes[0].Body, b.Pushes[0].Host, b.Pushes[0].Created = nil, "", time.Time{}
	must(t, st, b, create(name("other"), 1))
	single := push(name("other"), "b", "another")
	setPush(t, st, single)

	first := a.Pushes[1]
	first.Created, first.Since, first.Due = began, began.Add(time.Hour), began.Add(2*time.Hour)
	last := a.Pushes[0]
	last.Key = name("a")
	for range 2 {
		same(t, "of the task", pushes(t, st, name("a"), 2), []store.PushConfig{first, b.Pushes[0], last})
		same(t, "of the other", pushes(t, st, name("other"), 9), []store.PushConfig{single})
		same(t, "of an unknown task", pushes(t, st, name("unknown"), 9), []store.PushConfig(nil))
		for _, p := range []store.PushConfig{first, b.Pushes[0], last, single} {
			got := pushOf(t, st, p.Key, p.ID)
			same(t, "one", got, &p)
			if got.Created != p.Created || got.Since != p.Since || got.Due != p.Due { // exactly equal
				t.Errorf("times %v, %v, %v; want %v, %v, %v", got.Created, got.Since, got.Due, p.Created, p.Since, p.Due)
			}
		}
		for _, id := range []store.PushID{{Key: name("a"), ID: ""}, {Key: name("a"), ID: "x"}, {Key: name("other"), ID: "z"}, {Key: name("x"), ID: "b"}} {
			if p := pushOf(t, st, id.Key, id.ID); p != nil {
				t.Errorf("%q of %q: %+v", id.ID, id.Key.ID, p)
			}
		}
		Check(t, st, name("a"), name("other"))
		clear(pushOf(t, st, name("a"), "z").Body) // the caller owns these bytes
		clear(pushes(t, st, name("a"), 9)[2].Body)
		clear(live(t, st, "node", 9)[0].Body)
		same(t, "one whose bytes a caller changed", pushOf(t, st, name("a"), "z"), &last)
		st = restart(t, st, open)
	}
	if _, err := st.Pushes(t.Context(), name("a"), "", 0); err == nil {
		t.Error("a limit of 0 was answered")
	}
}

func testPushAtomic(t testing.TB, open Opener) {
	st := start(t, open)
	a := with(signed(create(name("a"), 2), "taken"), "node", "p")
	must(t, st, a)
	before := state(t, st, a.Row.Key)
	stale := with(then(a, 1), "other", "p", "q")
	stale.Epoch = 7
	letter := []store.DeadLetter{{PushID: store.PushID{ID: "r"}, Seq: 1, Time: began}}
	change := func(a *store.Append, f func(*store.Append)) *store.Append { f(a); return a }
	for what, x := range map[string]struct {
		a    *store.Append
		want error
	}{
		"a conflict":                {with(create(name("a"), 1), "other", "p", "q"), store.ErrConflict},
		"a lost lease":              {stale, store.ErrLeaseLost},
		"a duplicate":               {with(signed(then(a, 1), "taken"), "other", "p", "q"), store.ErrDuplicate},
		"a duplicate in another":    {with(signed(create(name("b"), 1), "taken"), "other", "p", "q"), store.ErrDuplicate},
		"no such task":              {with(then(create(name("b"), 1), 1), "other", "p", "q"), store.ErrNotFound},
		"one without a name":        {with(then(a, 1), "other", "p", ""), errAny},
		"one without entries":       {with(then(a, 0), "other", "p"), errAny},
		"one with receipts alone":   {with(alone("free"), "other", "p"), errAny},
		"a letter of none":          {change(with(then(a, 1), "other", "q"), func(a *store.Append) { a.Letters = letter }), errAny},
		"a letter alone":            {change(then(a, 1), func(a *store.Append) { a.Letters = letter }), errAny},
		"a letter, receipts and no": {change(alone("free"), func(a *store.Append) { a.Letters = letter }), errAny},
	} {
		err := store.Do(t.Context(), st, x.a)
		if x.want == errAny && err == nil || x.want != errAny && !errors.Is(err, x.want) {
			t.Errorf("%s: %v, want %v", what, err, x.want)
		}
		same(t, "the task after "+what, state(t, st, a.Row.Key), before)
		same(t, "another after "+what, pushes(t, st, name("b"), 9), []store.PushConfig(nil))
	}
	p := push(name("unknown"), "p", "node")
	wantError(t, "of an unknown task", st.SetPush(t.Context(), &p), store.ErrNotFound)
	p = push(name("a"), "", "node")
	if err := st.SetPush(t.Context(), &p); err == nil || errors.Is(err, store.ErrNotFound) {
		t.Errorf("without a name: %v", err)
	}
	st = restart(t, st, open)
	same(t, "the task after a restart", state(t, st, a.Row.Key), before)
	Check(t, st, a.Row.Key, name("b"))
}

func testPushNames(t testing.TB, open Opener) {
	st, odd := start(t, open), oddNames[1:]
	var keys []store.Key
	for i, n := range odd {
		keys = append(keys, store.Key{Tenant: n, Owner: odd[(i+1)%len(odd)], ID: odd[(i+2)%len(odd)]})
	}
	for i, k := range keys {
		must(t, st, with(create(k, 1), odd[i%len(odd)], odd...))
	}
	st = restart(t, st, open)
	want := slices.Sorted(slices.Values(odd))
	for i, k := range keys {
		all := pushes(t, st, k, 100)
		var ids []string
		for _, p := range all {
			same(t, "its node", p.Node, odd[i%len(odd)])
			ids = append(ids, p.ID)
		}
		same(t, "their names", ids, want)
		for _, limit := range []int{1, 5, len(odd)} {
			same(t, "the same in pages", pushes(t, st, k, limit), all)
		}
		p := push(k, odd[i%len(odd)], "node")
		p.Host, p.Reason = odd[i%len(odd)], odd[i%len(odd)]
		setPush(t, st, p)
		same(t, "with an odd host", pushOf(t, st, k, p.ID), &p)
	}
	Check(t, st, keys...)
	if p := pushOf(t, st, store.Key{Tenant: keys[0].Tenant, Owner: "stranger", ID: keys[0].ID}, "a"); p != nil {
		t.Errorf("a stranger's: %+v", p)
	}
}

func testPushReplaced(t testing.TB, open Opener) {
	st := start(t, open)
	a := with(create(name("a"), 5), "node", "p", "q", "r")
	must(t, st, a)
	old := a.Pushes[0]
	dead := advanced(old, 2)
	dead.Dead = []store.DeadLetter{{Seq: 2, Time: began, Tries: 1, Reason: "400"}}
	advance(t, st, dead)
	places := live(t, st, "node", 9)

	fresh := push(name("a"), "p", "node")
	fresh.Created, fresh.Host, fresh.Body, fresh.Cursor = began.Add(time.Millisecond), "elsewhere", []byte("other"), 5
	for _, how := range []string{"alone", "with an append"} {
		if how == "alone" {
			setPush(t, st, fresh)
		} else {
			fresh.Created = fresh.Created.Add(time.Millisecond)
			b := then(a, 1)
			b.Pushes = []store.PushConfig{fresh}
			must(t, st, b)
		}
		late := advanced(old, 4)
		late.Live, late.Reason = false, "late"
		late.Dead = []store.DeadLetter{{Seq: 3, Time: began, Tries: 1, Reason: "late"}}
		advance(t, st, late)
		for range 2 {
			same(t, how+": what a late report left", pushOf(t, st, name("a"), "p"), &fresh)
			same(t, how+": letters", seqs(letters(t, st, store.LetterQuery{}, 9)), []int64{2})
			now := live(t, st, "node", 9)
			for i := range now {
				same(t, how+": places", now[i].At, places[i].At)
				same(t, how+": names", now[i].ID, places[i].ID)
			}
			st = restart(t, st, open)
		}
		old = fresh
	}
	advance(t, st, advanced(fresh, 6))
	same(t, "a report in time", pushOf(t, st, name("a"), "p").Cursor, int64(6))

	// A config that was deleted and created again comes after the others.
	for range 2 {
		if err := st.DropPush(t.Context(), fresh.PushID()); err != nil {
			t.Fatal(err)
		}
	}
	advance(t, st, advanced(fresh, 6))
	if p := pushOf(t, st, name("a"), "p"); p != nil {
		t.Errorf("a late report brought it back: %+v", p)
	}
	setPush(t, st, old)
	same(t, "the order", liveIDs(t, st, "node"), []string{"q", "r", "p"})
	same(t, "letters", len(letters(t, st, store.LetterQuery{}, 9)), 0)
	Check(t, st, name("a"))
}

func testAdvance(t testing.TB, open Opener) {
	st := start(t, open)
	a := with(create(name("a"), 9), "node", "p", "q")
	b := with(create(name("b"), 9), "node", "p")
	must(t, st, a, b)
	p, q, other := a.Pushes[0], a.Pushes[1], b.Pushes[0]
	failed := advanced(p, 3)
	failed.Progress = store.Progress{Cursor: 3, Tries: 2, Since: began.Add(1e6 + 1), Due: began.Add(5e6 + 1), Reason: "no route"}
	ended := advanced(other, 9)
	ended.Live = false
	unknown := advanced(push(name("a"), "unknown", "node"), 5)
	gone := advanced(push(name("gone"), "p", "node"), 5)
	stale := advanced(q, 5)
	stale.Created = began.Add(-time.Millisecond)
	advance(t, st, failed, unknown, gone, stale, ended)
	advance(t, st)

	p.Progress = store.Progress{Cursor: 3, Tries: 2, Since: began.Add(1e6), Due: began.Add(5e6), Reason: "no route"}
	other.Cursor, other.Live = 9, false
	for range 2 {
		same(t, "one that failed", pushOf(t, st, p.Key, "p"), &p)
		same(t, "one that was created anew", pushOf(t, st, q.Key, "q"), &q)
		same(t, "one that ended", pushOf(t, st, other.Key, "p"), &other)
		same(t, "live", liveIDs(t, st, "node"), []string{"p", "q"})
		Check(t, st, name("a"), name("b"))
		st = restart(t, st, open)
	}
	finer := advanced(p, 4) // finer digits are dropped on both sides; earlier failures are forgotten
	finer.Created = began.Add(999 * time.Microsecond)
	revived := ended
	revived.Live, revived.Cursor = true, 2
	twice := []store.Advance{advanced(q, 2), advanced(q, 4)}
	twice[1].Node = "node"
	foreign := advanced(p, 9) // another node delivers it meanwhile
	foreign.Node = "somebody"
	advance(t, st, append(twice, finer, revived, foreign)...)
	p.Progress = store.Progress{Cursor: 4}
	other.Cursor, other.Live, q.Cursor = 2, true, 4
	same(t, "one that went on", pushOf(t, st, p.Key, "p"), &p)
	same(t, "one that lives again", pushOf(t, st, other.Key, "p"), &other)
	same(t, "one that is named twice", pushOf(t, st, q.Key, "q"), &q)
	same(t, "live", liveIDs(t, st, "node"), []string{"p", "q", "p"})
}

func testLive(t testing.TB, open Opener) {
	st := start(t, open)
	var want []string
	for i := range 30 {
		a := with(create(name(fmt.Sprint(i)), 1+i%3), []string{"me", "other", ""}[i%3], fmt.Sprint("p", i), fmt.Sprint("q", i))
		a.Pushes[1].Live = i%2 == 0
		must(t, st, a)
		if i%3 == 0 {
			want = append(want, fmt.Sprint("p", i))
			if i%2 == 0 {
				want = append(want, fmt.Sprint("q", i))
			}
		}
	}
	for _, limit := range []int{1, 4, 15, 100} {
		for _, p := range live(t, st, "me", limit) {
			same(t, "the config", &p.PushConfig, pushOf(t, st, p.Key, p.ID))
			same(t, "the log's end", p.Last, row(t, st, p.Key).Last)
		}
	}
	must(t, st, then(create(name("0"), 1), 4))
	same(t, "the log's end", live(t, st, "me", 9)[0].Last, int64(5))
	for range 2 {
		same(t, "in order", liveIDs(t, st, "me"), want)
		same(t, "of nobody", len(live(t, st, "", 4)), 15)
		same(t, "of an unknown node", len(live(t, st, "unknown", 4)), 0)
		st = restart(t, st, open)
	}
	// Configs that are added or removed between two pages do not affect the others.
	page, err := st.LivePushes(t.Context(), "me", 0, 3) // p0, q0, p3
	if err != nil || len(page) != 3 {
		t.Fatalf("%d, %v", len(page), err)
	}
	remove(t, st, row(t, st, name("3")))
	setPush(t, st, push(name("0"), "new", "me"), push(name("0"), "p0", "me"))
	rest, err := st.LivePushes(t.Context(), "me", page[2].At, 100)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, p := range rest {
		ids = append(ids, p.ID)
	}
	same(t, "behind a page", ids, append(slices.Clone(want[3:]), "new"))
	if _, err := st.LivePushes(t.Context(), "me", 0, 0); err == nil {
		t.Error("a limit of 0 was answered")
	}
}

func claimPushes(t testing.TB, st store.Store, node string, deadBefore time.Time, limit int) int {
	t.Helper()
	n, err := st.ClaimPushes(t.Context(), node, deadBefore, limit)
	if err != nil {
		t.Fatalf("claim push configs for %s: %v", node, err)
	}
	return n
}

func testClaimPushes(t testing.TB, open Opener) {
	st := start(t, open)
	nodes := []string{"alive", "just", "dead", "left", "unregistered", "", "me"}
	a := create(name("a"), 3)
	a.Row.Active = false // the owner of the task does not matter
	for _, n := range nodes {
		with(a, n, "of "+n, "quiet of "+n)
		a.Pushes[len(a.Pushes)-1].Live = false
	}
	must(t, st, a, with(create(store.Key{Tenant: "t2", Owner: "o2", ID: "a"}, 1), "dead", "elsewhere"))
	beat(t, st, "alive", began.Add(time.Second))
	beat(t, st, "just", began)
	beat(t, st, "dead", began.Add(-time.Millisecond))
	beat(t, st, "left", began.Add(time.Second))
	leave(t, st, "left")
	for _, limit := range []int{0, -1} {
		same(t, "with no limit to speak of", claimPushes(t, st, "me", began, limit), 0)
	}
	st = restart(t, st, open)
	counts := []int{}
	for range 4 {
		counts = append(counts, claimPushes(t, st, "me", began, 2))
	}
	same(t, "configs per claim", counts, []int{2, 2, 1, 0})
	same(t, "claimed", liveIDs(t, st, "me"), []string{"of dead", "of left", "of unregistered", "of ", "of me", "elsewhere"})
	for _, n := range nodes {
		same(t, "one that is not live", pushOf(t, st, name("a"), "quiet of "+n).Node, n)
	}
	p := pushOf(t, st, name("a"), "of dead")
	same(t, "what else it is", *p, push(name("a"), "of dead", "me"))
	same(t, "the task", row(t, st, name("a")), rowAt(a.Row, 3))

	// Claim forgets dead nodes; their configs can still be claimed.
	beat(t, st, "me", began.Add(-time.Hour))
	claim(t, st, "other", began, 9)
	same(t, "of a forgotten node", claimPushes(t, st, "other", began, 99), 6)
	same(t, "of one that beats no more", claimPushes(t, st, "other", began.Add(time.Millisecond), 99), 1)
	same(t, "of the others", liveIDs(t, st, "alive"), []string{"of alive"})
	Check(t, restart(t, st, open), name("a"))
}

func testClaimPushesRace(t testing.TB, open Opener) {
	st := start(t, open)
	const configs, claimers = 40, 8
	for i := range configs {
		must(t, st, with(create(name(fmt.Sprint(i)), 1), "dead", "p"))
	}
	counts := make(chan int, claimers)
	for c := range claimers {
		node := fmt.Sprint("claimer ", c)
		beat(t, st, node, began.Add(time.Hour))
		go func() {
			all := 0
			for n := 3; n == 3; all += n {
				var err error
				if n, err = st.ClaimPushes(t.Context(), node, began, 3); err != nil {
					t.Errorf("claim: %v", err)
					break
				}
			}
			counts <- all
		}()
	}
	all, have := 0, 0
	for range claimers {
		all += <-counts
	}
	for c := range claimers {
		have += len(live(t, st, fmt.Sprint("claimer ", c), 7))
	}
	if all != configs || have != configs {
		t.Errorf("%d configs: %d were claimed, the claimers have %d", configs, all, have)
	}
}

// rowAt returns the row of a log that ends at last.
func rowAt(r store.Row, last int64) store.Row {
	r.Last = last
	return r
}
