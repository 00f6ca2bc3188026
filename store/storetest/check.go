package storetest

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/parley-a2a/parley/store"
)

// Check reports errors in the state of a store. keys are the tasks to check, whether they
// exist or not; it also checks other tasks that the lists of the same owners show.
//
// For each task: the log begins at 1 and has no gaps, the row's Last is its end, the pages of
// the log add up to it, its blobs are whole, a sealed task is not active, epochs and counts
// are not negative, its receipts refer to its entries and are found by name, its push configs
// are not ahead of its log, their dead letters refer to its entries, and its owner is among
// the owners of its ID. For each owner: the lists contain every existing task of keys once,
// in order and as Get shows it, and the totals of all filters are right. A task that does not
// exist has left nothing behind.
func Check(t testing.TB, st store.Store, keys ...store.Key) {
	t.Helper()
	type owner struct{ tenant, owner string }
	owners := map[owner]map[store.Key]bool{} // of keys
	for _, k := range keys {
		o := owner{k.Tenant, k.Owner}
		if owners[o] == nil {
			owners[o] = map[store.Key]bool{}
		}
		owners[o][k] = true
	}
	for o, known := range owners {
		records := listed(t, st, store.Query{Tenant: o.tenant, Owner: o.owner, Limit: 7})
		seen := map[store.Key]bool{}
		for i := range records {
			r := &records[i]
			if r.Tenant != o.tenant || r.Owner != o.owner {
				t.Errorf("check: %q/%q lists the task %q of %q/%q", o.tenant, o.owner, r.ID, r.Tenant, r.Owner)
			}
			if seen[r.Key] {
				t.Errorf("check: %q is listed twice", r.ID)
			}
			seen[r.Key] = true
			if i > 0 && !ordered(&records[i-1], r) {
				t.Errorf("check: %q (%v) is listed before %q (%v)", records[i-1].ID, records[i-1].Updated, r.ID, r.Updated)
			}
			same(t, "check: the task listed and got", r.Row, get(t, st, r.Key, false).Row)
			checkTask(t, st, r.Key)
		}
		for k := range known {
			if !seen[k] {
				checkAbsent(t, st, k)
			}
		}
		checkTotals(t, st, o.tenant, o.owner, records)
	}
}

// ordered reports whether a comes before b in lists.
func ordered(a, b *store.Record) bool {
	if a.Updated.Equal(b.Updated) {
		return a.ID > b.ID
	}
	return a.Updated.After(b.Updated)
}

func checkTask(t testing.TB, st store.Store, k store.Key) {
	t.Helper()
	r := get(t, st, k, true)
	if r.Key != k {
		t.Errorf("check: asked for %q, got %q", k, r.Key)
	}
	if all, err := st.Owners(t.Context(), k.Tenant, k.ID, 1<<20); err != nil || !slices.Contains(all, k.Owner) {
		t.Errorf("check: %q is not among the owners of %q: %q, %v", k.Owner, k.ID, all, err)
	}
	if r.Seal != nil && r.Active {
		t.Errorf("check: %q is sealed and active", k.ID)
	}
	if r.Epoch < 0 || r.Lost < 0 || r.Turn < 0 || r.Turn > r.Last || r.Attempt < 0 {
		t.Errorf("check: %q has an impossible row: %+v", k.ID, r.Row)
	}
	all := wholeLog(t, st, k)
	if int64(len(all)) != r.Last || r.Last < 1 {
		t.Errorf("check: %q has %d entries, its row says %d", k.ID, len(all), r.Last)
	}
	for i, e := range all {
		if e.Seq != int64(i)+1 {
			t.Errorf("check: %q has entry %d at place %d", k.ID, e.Seq, i+1)
			return
		}
	}
	var paged []store.Entry
	limit := len(all)/3 + 1
	for after := int64(0); ; after = paged[len(paged)-1].Seq {
		page := log(t, st, k, after, limit)
		if len(page) == 0 {
			break
		}
		paged = append(paged, page...)
	}
	same(t, "check: the log in pages", paged, all)
	checkBlobs(t, st, k)
	checkReceipts(t, st, &r.Row)
	checkPushes(t, st, &r.Row)
}

// checkBlobs checks that the blobs of a task are there. If a blob's name is a SHA-256, as
// with the engine, it also checks the content.
func checkBlobs(t testing.TB, st store.Store, k store.Key) {
	t.Helper()
	hashes, err := st.Blobs(t.Context(), k)
	if err != nil {
		t.Errorf("check: the blobs of %q: %v", k.ID, err)
	}
	for _, h := range hashes {
		data, err := st.Blob(t.Context(), h)
		if err != nil {
			t.Errorf("check: blob %q of %q: %v", h, k.ID, err)
		} else if got := fmt.Sprintf("%x", sha256.Sum256(data)); len(h) == len(got) && h != got {
			t.Errorf("check: blob %q of %q has other content, of %d bytes", h, k.ID, len(data))
		}
	}
}

// checkReceipts checks that each receipt of a task refers to an existing entry and is found
// by its name.
func checkReceipts(t testing.TB, st store.Store, row *store.Row) {
	t.Helper()
	all := receipts(t, st, row.Key)
	for i := range all {
		r := &all[i]
		if r.TaskID != row.ID || r.Context != row.Context {
			t.Errorf("check: %q in context %q has a receipt of %q in %q", row.ID, row.Context, r.TaskID, r.Context)
		}
		if r.Seq < 1 || r.Seq > row.Last || r.Name == "" {
			t.Errorf("check: %q has %d entries and a receipt %q of entry %d", row.ID, row.Last, r.Name, r.Seq)
		}
		if i > 0 && all[i-1].Name >= r.Name {
			t.Errorf("check: receipt %q of %q comes before %q", all[i-1].Name, row.ID, r.Name)
		}
		if byName := lookUp(t, st, row.Key, r.Name); byName == nil {
			t.Errorf("check: receipt %q of %q is not found by its name", r.Name, row.ID)
		} else {
			same(t, "check: the receipt by name and by task", *byName, *r)
		}
	}
}

// checkPushes checks that each push config of a task is found by its name and is not ahead of
// the log, and that its dead letters refer to existing entries.
func checkPushes(t testing.TB, st store.Store, row *store.Row) {
	t.Helper()
	all := pushes(t, st, row.Key, 3)
	for i := range all {
		p := &all[i]
		if p.Key != row.Key || p.ID == "" {
			t.Errorf("check: %q has a push config %q of %q", row.ID, p.ID, p.Key.ID)
		}
		if p.Cursor < 0 || p.Cursor > row.Last || p.Tries < 0 {
			t.Errorf("check: %q has %d entries and a push config %q at %d after %d attempts", row.ID, row.Last, p.ID, p.Cursor, p.Tries)
		}
		if i > 0 && all[i-1].ID >= p.ID {
			t.Errorf("check: push config %q of %q comes before %q", all[i-1].ID, row.ID, p.ID)
		}
		if byName := pushOf(t, st, row.Key, p.ID); byName == nil {
			t.Errorf("check: push config %q of %q is not found by its name", p.ID, row.ID)
		} else {
			same(t, "check: the push config by name and by task", *byName, *p)
		}
		dead := letters(t, st, store.LetterQuery{Of: new(p.PushID())}, 1000)
		for j := range dead {
			l := &dead[j]
			if l.PushID != p.PushID() || l.Seq < 1 || l.Seq > row.Last || l.Tries < 0 {
				t.Errorf("check: push config %q of %q, with %d entries, has the dead letter %+v", p.ID, row.ID, row.Last, *l)
			}
			if j > 0 && dead[j-1].Seq >= l.Seq {
				t.Errorf("check: of push config %q of %q the dead letter %d comes before %d", p.ID, row.ID, dead[j-1].Seq, l.Seq)
			}
		}
	}
}

// checkAbsent checks a task that no list shows.
func checkAbsent(t testing.TB, st store.Store, k store.Key) {
	t.Helper()
	if _, err := st.Get(t.Context(), k, store.RowOnly); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("check: %q is in no list, get says %v", k.ID, err)
	}
	if es := log(t, st, k, 0, 0); len(es) > 0 {
		t.Errorf("check: %q does not exist and has %d entries", k.ID, len(es))
	}
	if rs := receipts(t, st, k); len(rs) > 0 {
		t.Errorf("check: %q does not exist and has %d receipts", k.ID, len(rs))
	}
	if ps := pushes(t, st, k, 99); len(ps) > 0 {
		t.Errorf("check: %q does not exist and has %d push configs", k.ID, len(ps))
	}
}

// checkTotals lists with each context and state that occurs, and since some times.
func checkTotals(t testing.TB, st store.Store, tenant, owner string, records []store.Record) {
	t.Helper()
	type filter struct {
		context string
		state   int32
		since   time.Time
	}
	times := []time.Time{{}}
	for i := 0; i < len(records); i += 1 + len(records)/3 {
		times = append(times, records[i].Updated, records[i].Updated.Add(time.Millisecond))
	}
	want := map[filter]int{}
	for i := range records {
		r := &records[i]
		filters := map[filter]bool{} // a set, because an empty context and state 0 in a query mean any
		for _, since := range times {
			if !r.Updated.Before(since) {
				filters[filter{"", 0, since}] = true
				filters[filter{r.Context, 0, since}] = true
				filters[filter{"", r.State, since}] = true
				filters[filter{r.Context, r.State, since}] = true
			}
		}
		for f := range filters {
			want[f]++
		}
	}
	for f, n := range want {
		q := store.Query{Tenant: tenant, Owner: owner, Context: f.context, State: f.state, Since: f.since, Limit: 1}
		if p := list(t, st, q); p.Total != n {
			t.Errorf("check: context %q, state %d, since %v: total %d, %d are listed", f.context, f.state, f.since, p.Total, n)
		}
	}
}
