package storetest

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parley-a2a/parley/store"
)

var ownerBehaviours = []behaviour{
	{"tasks of lost nodes are claimed, others not", testClaim},
	{"a claimed task fences its old owner", testClaimFences},
	{"claims take no more than their limit", testClaimLimit},
	{"two claimers never get the same task", testClaimRace},
	{"a beat moves a node's time in both directions", testBeat},
	{"nodes are listed", testNodes},
	{"a secret is random and stays", testSecret},
}

// owned returns the append that begins an active task of a node.
func owned(id, node string) *store.Append {
	a := create(name(id), 1)
	a.Row.Node = node
	return a
}

func claim(t testing.TB, st store.Store, node string, deadBefore time.Time, limit int) []store.Row {
	t.Helper()
	rows, err := st.Claim(t.Context(), node, deadBefore, limit)
	if err != nil {
		t.Fatalf("claim for %s: %v", node, err)
	}
	slices.SortFunc(rows, func(a, b store.Row) int { return strings.Compare(a.ID, b.ID) })
	return rows
}

func beat(t testing.TB, st store.Store, node string, at time.Time) {
	t.Helper()
	if err := st.Beat(t.Context(), node, at); err != nil {
		t.Fatalf("beat of %s: %v", node, err)
	}
}

func testClaim(t testing.TB, open Opener) {
	st := start(t, open)
	idle := owned("ended", "dead")
	idle.Row.Active = false
	elsewhere := owned("elsewhere", "dead")
	elsewhere.Row.Tenant, elsewhere.Row.Owner = "t2", "o2" // claims cross tenants and owners
	must(t, st, owned("alive", "alive"), owned("just", "just"), owned("dead", "dead"),
		owned("unregistered", "unregistered"), owned("waiting", ""), owned("own", "me"), idle, elsewhere)
	beat(t, st, "alive", began.Add(time.Second))
	beat(t, st, "just", began)
	beat(t, st, "dead", began.Add(-time.Millisecond))
	st = restart(t, st, open)

	rows := claim(t, st, "me", began, 100)
	var ids []string
	for _, r := range rows {
		ids = append(ids, r.ID)
		if r.Node != "me" || r.Epoch != 2 || r.Lost != 1 {
			t.Errorf("claimed %s: node %s, epoch %d, lost %d; want me, 2, 1", r.ID, r.Node, r.Epoch, r.Lost)
		}
		same(t, "the row returned", r, get(t, st, r.Key, false).Row)
	}
	same(t, "claimed", ids, []string{"dead", "elsewhere", "unregistered"})
	if again := claim(t, st, "me", began, 100); len(again) != 0 {
		t.Errorf("claimed again: %v", again)
	}
	// When me is dead, each of its tasks can be claimed, at a higher epoch.
	for _, r := range claim(t, st, "other", began, 100) {
		want := int64(3)
		if r.ID == "own" {
			want = 2
		}
		if r.Epoch != want || r.Lost != int32(want-1) {
			t.Errorf("%s: epoch %d, lost %d; want %d, %d", r.ID, r.Epoch, r.Lost, want, want-1)
		}
	}
	Check(t, st, name("alive"), name("dead"), name("ended"), elsewhere.Row.Key)
}

func testClaimFences(t testing.TB, open Opener) {
	st := start(t, open)
	a := owned("a", "old")
	must(t, st, a)
	rows := claim(t, st, "new", began, 1)
	if len(rows) != 1 {
		t.Fatalf("claimed %d tasks, want 1", len(rows))
	}
	refuse(t, st, then(a, 1), store.ErrLeaseLost)
	b := then(a, 1)
	b.Row, b.Epoch = rows[0], rows[0].Epoch
	b.Row.Lost = 0 // the owner resets it
	must(t, st, b)
	if r := get(t, st, a.Row.Key, false); r.Lost != 0 || r.Node != "new" || r.Epoch != 2 || r.Last != 2 {
		t.Errorf("the new owner's row: %+v", r.Row)
	}
	refuse(t, st, then(a, 2), store.ErrLeaseLost)

	// A task that ends can no longer be claimed.
	c := then(b, 1)
	c.Row.Active = false
	must(t, st, c)
	if rows := claim(t, st, "third", began, 1); len(rows) != 0 {
		t.Errorf("claimed an ended task: %+v", rows)
	}
	Check(t, st, a.Row.Key)
}

func testClaimLimit(t testing.TB, open Opener) {
	st := start(t, open)
	var keys []store.Key
	for i := range 10 {
		a := owned(fmt.Sprint(i), fmt.Sprint("node ", i%3))
		keys = append(keys, a.Row.Key)
		must(t, st, a)
	}
	for _, limit := range []int{0, -1} {
		if rows := claim(t, st, "me", began, limit); len(rows) != 0 {
			t.Errorf("a limit of %d gave %d tasks", limit, len(rows))
		}
	}
	var counts []int
	seen := map[store.Key]bool{}
	for range 4 {
		rows := claim(t, st, "me", began, 4)
		counts = append(counts, len(rows))
		for _, r := range rows {
			if seen[r.Key] {
				t.Errorf("%s was claimed twice", r.ID)
			}
			seen[r.Key] = true
		}
	}
	same(t, "tasks per claim", counts, []int{4, 4, 2, 0})
	Check(t, st, keys...)
}

func testClaimRace(t testing.TB, open Opener) {
	st := start(t, open)
	const tasks, claimers = 40, 8
	for i := range tasks {
		must(t, st, owned(fmt.Sprint(i), "dead"))
	}
	var mu sync.Mutex
	seen := map[store.Key]string{}
	var wg sync.WaitGroup
	for c := range claimers {
		node := fmt.Sprint("claimer ", c)
		beat(t, st, node, began.Add(time.Hour))
		wg.Go(func() {
			for {
				rows, err := st.Claim(t.Context(), node, began, 3)
				if err != nil {
					t.Errorf("claim: %v", err)
					return
				}
				mu.Lock()
				for _, r := range rows {
					if was, ok := seen[r.Key]; ok {
						t.Errorf("%s got %s, which %s has", node, r.ID, was)
					}
					seen[r.Key] = node
				}
				mu.Unlock()
				if len(rows) < 3 {
					return
				}
			}
		})
	}
	wg.Wait()
	if len(seen) != tasks {
		t.Errorf("%d of %d tasks were claimed", len(seen), tasks)
	}
}

func testBeat(t testing.TB, open Opener) {
	st := start(t, open)
	must(t, st, owned("a", "node"))
	beat(t, st, "node", began.Add(time.Hour))
	if rows := claim(t, st, "me", began.Add(time.Minute), 1); len(rows) != 0 {
		t.Error("claimed from a node that beats")
	}
	beat(t, st, "node", began) // the node's clock was set back
	if rows := claim(t, st, "me", began.Add(time.Minute), 1); len(rows) != 1 {
		t.Error("a node that has not beaten for long kept its task")
	}
}

func testSecret(t testing.TB, open Opener) {
	st := start(t, open)
	secrets := make([][]byte, 16)
	var wg sync.WaitGroup
	for i := range secrets {
		wg.Go(func() {
			var err error
			if secrets[i], err = st.Secret(t.Context(), "a"); err != nil {
				t.Errorf("secret: %v", err)
			}
		})
	}
	wg.Wait()
	first := secrets[0]
	if len(first) != store.SecretSize || bytes.Equal(first, make([]byte, store.SecretSize)) {
		t.Fatalf("secret %x, want %d random bytes", first, store.SecretSize)
	}
	for _, s := range secrets {
		same(t, "the same secret for everybody", s, first)
	}
	other, err := st.Secret(t.Context(), "b")
	if err != nil || bytes.Equal(other, first) {
		t.Errorf("another name gave the same secret, or %v", err)
	}
	kept := bytes.Clone(first)
	clear(first)
	again, err := restart(t, st, open).Secret(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	same(t, "after a restart", again, kept)
}

// testNodes tests the list of nodes that drivers have for operators.
func testNodes(t testing.TB, open Opener) {
	st := start(t, open)
	lister, ok := st.(interface {
		AllNodes(context.Context) ([]store.NodeState, error)
	})
	if !ok {
		t.Skip("it does not list its nodes")
	}
	at := store.Milli(time.Now())
	for name, beat := range map[string]time.Time{"b": at, "a": at.Add(-time.Hour), "c": at} {
		if err := st.Beat(t.Context(), name, beat); err != nil {
			t.Fatal(err)
		}
	}
	if err := st.Leave(t.Context(), "c"); err != nil {
		t.Fatal(err)
	}
	all, err := lister.AllNodes(t.Context())
	if err != nil || len(all) != 3 {
		t.Fatalf("there are %v, %v", all, err)
	}
	for i, want := range []store.NodeState{{Name: "a"}, {Name: "b"}, {Name: "c", Left: true}} {
		if got := all[i]; got.Name != want.Name || got.Left != want.Left || !got.Left && got.Beat.IsZero() {
			t.Errorf("node %d is %+v, want %+v", i, got, want)
		}
	}
	if all[0].Beat.After(all[1].Beat) {
		t.Errorf("%s has beaten after %s", all[0].Name, all[1].Name)
	}
}
