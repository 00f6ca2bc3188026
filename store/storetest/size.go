package storetest

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/parley-a2a/parley/store"
)

var sizeBehaviours = []behaviour{
	{"a record tells its size, and has its seal if that is within the bound", testSizes},
	{"lists end by bytes", testListBytes},
	{"logs come in pages by bytes", testEntryBytes},
}

// big is larger than what a driver reads at once.
const big = store.PageBytes + store.PageBytes/4

// sized stores tasks of all kinds. It returns the size of each as a whole, and in a list
// without bodies.
func sized(t testing.TB, st store.Store) (keys []store.Key, whole, brief []int64) {
	t.Helper()
	fill := func(n int) []byte { return bytes.Repeat([]byte("x"), n) }
	blob := func(n int) store.Blob { return store.Blob{Hash: fmt.Sprint("blob of ", n), Data: fill(n)} }
	add := func(size, listed int64, as ...*store.Append) {
		must(t, st, as...)
		keys, whole, brief = append(keys, as[0].Row.Key), append(whole, size), append(brief, listed)
	}
	seal := func(a *store.Append, head, body int) *store.Append {
		a.Row.Active, a.Seal = false, &store.Seal{Head: fill(head), Body: fill(body)}
		return a
	}
	add(700, 300, seal(create(name("small"), 2), 300, 400))
	add(0, 0, seal(create(name("nothing"), 1), 0, 0))
	add(300+5000, 300, seal(create(name("body of its own"), 1), 300, 5000))
	add(big+10, big, seal(create(name("large head"), 1), big, 10))
	add(10+big, 10, seal(create(name("large body"), 1), 10, big))

	a := create(name("blobs"), 1)
	a.Blobs = []store.Blob{blob(40_000), blob(50_000)}
	b := seal(then(a, 1), 20, 30)
	b.Blobs = []store.Blob{blob(50_000)} // counted once
	add(90_050, 20, a, b)

	a = create(name("at work"), 2)
	b = then(a, 1)
	b.Entries[0].Body = fill(100_000)
	b.Blobs = []store.Blob{blob(40_000)} // counted for each task
	packed := int64(len(store.Pack(nil, append(a.Entries[:2:2], b.Entries...))))
	add(packed+40_000, packed+40_000, a, b)

	a = seal(create(name("reopened"), 1), 1000, 1000)
	b = then(a, 1)
	packed = int64(len(store.Pack(nil, append(a.Entries[:1:1], b.Entries...))))
	add(packed, packed, a, b)
	return keys, whole, brief
}

func testSizes(t testing.TB, open Opener) {
	st := start(t, open)
	keys, whole, _ := sized(t, st)
	st = restart(t, st, open)
	for i, k := range keys {
		for _, most := range []int64{-1, store.RowOnly, 1, whole[i] - 1, whole[i], whole[i] + 1, store.Whole} {
			r, err := st.Get(t.Context(), k, most)
			if err != nil {
				t.Fatalf("get %q, at most %d bytes: %v", k.ID, most, err)
			}
			want := get(t, st, k, true)
			if most <= store.RowOnly {
				want.Size = 0
			} else if r.Size != whole[i] {
				t.Errorf("%q has %d bytes, want %d", k.ID, r.Size, whole[i])
			}
			if most <= store.RowOnly || most < whole[i] {
				want.Seal = nil
			}
			same(t, fmt.Sprintf("%q, at most %d bytes", k.ID, most), r, want)
		}
	}
	remove(t, st, row(t, st, name("blobs")))
	if r := get(t, st, name("at work"), true); r.Size != whole[6] { // it shares a blob with the deleted task
		t.Errorf("with one task less another has %d bytes, want %d", r.Size, whole[6])
	}
}

func testListBytes(t testing.TB, open Opener) {
	st := start(t, open)
	keys, whole, brief := sized(t, st)
	size := map[bool]map[store.Key]int64{true: {}, false: {}}
	seals := map[store.Key]*store.Seal{} // megabytes, so they are read once
	for i, k := range keys {
		size[true][k], size[false][k] = whole[i], brief[i]
		seals[k] = get(t, st, k, true).Seal
	}
	if _, err := st.List(t.Context(), store.Query{Tenant: "tenant", Owner: "owner", Limit: 1, MaxBytes: -1}); err == nil {
		t.Error("a negative bound was taken")
	}
	for _, most := range []int64{0, 1, 699, 700, 5300, 90_050, 140_000, big - 1, big + 10, big + big/3, store.Whole} {
		for i := range 8 {
			q := store.Query{Tenant: "tenant", Owner: "owner", Limit: 3 + i&4, MaxBytes: most, Body: i&1 > 0, AnyOwner: i&2 > 0}
			what := fmt.Sprintf("a list in pages of %d bytes, with bodies: %t, of any owner: %t", most, q.Body, q.AnyOwner)
			seen := 0
			for more := true; more && !t.Failed(); {
				p := list(t, st, q)
				sum := int64(0)
				for i := range p.Records {
					r := &p.Records[i]
					sum += r.Size
					if r.Size != size[q.Body][r.Key] {
						t.Errorf("%s: %q has %d bytes, want %d", what, r.ID, r.Size, size[q.Body][r.Key])
					}
					want := seals[r.Key]
					switch {
					case want == nil:
					case most > 0 && r.Size > most:
						want = nil
					case !q.Body:
						want = &store.Seal{Head: want.Head}
					}
					same(t, what+": the seal of "+r.ID, r.Seal, want)
				}
				n := len(p.Records)
				if n == 0 || n > q.Limit || p.Total != len(keys) {
					t.Fatalf("%s: %d records of %d", what, n, p.Total)
				}
				if most > 0 && sum > most && n > 1 {
					t.Errorf("%s: %d records have %d bytes", what, n, sum)
				}
				last := &p.Records[n-1]
				q.Before = &store.Position{Updated: last.Updated, ID: last.ID, Owner: last.Owner}
				seen += n
				if more = p.More; !more || n == q.Limit {
					continue
				}
				// There was no space for the next one.
				one := q
				one.Limit, one.MaxBytes = 1, 0
				if next := list(t, st, one); most == 0 || sum+next.Records[0].Size <= most {
					t.Errorf("%s: it ends with %d bytes, before %d", what, sum, next.Records[0].Size)
				}
			}
			if seen != len(keys) {
				t.Errorf("%s: %d records of %d", what, seen, len(keys))
			}
		}
	}
}

func testEntryBytes(t testing.TB, open Opener) {
	st := start(t, open)
	a := create(name("a"), 1)
	want := a.Entries
	must(t, st, a)
	for _, sizes := range [][]int{
		{store.PageBytes - 12, 1, 1, 1}, // including the {"entry":1}, slightly more than fits
		{3 * store.PageBytes},
		{1, 2 * store.PageBytes, 1, store.PageBytes, store.PageBytes - 1, 0, 1, 5},
		{0, 0, 0},
	} {
		a = then(a, len(sizes))
		for i, n := range sizes {
			a.Entries[i].Body = bytes.Repeat([]byte{byte('a' + i)}, n)
		}
		must(t, st, a)
		want = append(want, a.Entries...)
	}
	for range 8 { // separate rows, several of which fit in a page
		a = then(a, 2)
		for i := range a.Entries {
			a.Entries[i].Body = bytes.Repeat([]byte("r"), 100_000)
		}
		must(t, st, a)
		want = append(want, a.Entries...)
	}
	for after := range len(want) + 1 {
		limits := []int{0, 1, 3}
		if after%8 == 0 { // these mean no limit
			limits = append(limits, -1, 1000)
		}
		for _, limit := range limits {
			n, size := 0, 0
			rest := want[after:]
			for n < len(rest) && size < store.PageBytes && (limit <= 0 || n < limit) {
				size += len(rest[n].Body)
				n++
			}
			got := log(t, st, a.Row.Key, int64(after), limit)
			if len(got) != n {
				t.Errorf("after %d, limit %d: %d entries, want %d", after, limit, len(got), n)
				continue
			}
			same(t, fmt.Sprintf("after %d, limit %d", after, limit), got, append([]store.Entry{}, rest[:n]...))
			if full := size >= store.PageBytes || limit > 0 && n == limit; store.Full(got, limit) != full {
				t.Errorf("after %d, limit %d: the page is full: %t", after, limit, !full)
			}
		}
	}
	same(t, "the whole log", wholeLog(t, st, a.Row.Key), want)
	for _, last := range []int64{0, 5, 9} {
		n := int64(2)
		for e, err := range store.EachEntry(t.Context(), st, a.Row.Key, 2, last) {
			if n++; err != nil || e.Seq != n {
				t.Errorf("entry %d, %v; want %d", e.Seq, err, n)
			}
		}
		if n != max(last, 2) {
			t.Errorf("it ends at %d, want %d", n, last)
		}
	}
	Check(t, st, a.Row.Key)
}
