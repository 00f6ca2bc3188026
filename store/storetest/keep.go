package storetest

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/parley-a2a/parley/store"
)

var keepBehaviours = []behaviour{
	{"a kept value is replaced only by a writer that saw it", testKeep},
	{"callers who keep at once agree", testKeepRace},
}

// keep calls Keep. Its result tells nil and empty bytes apart.
func keep(t testing.TB, st store.Store, name string, was, is []byte) string {
	t.Helper()
	b, err := st.Keep(t.Context(), name, was, is)
	if err != nil {
		t.Fatalf("keep %q: %v", name, err)
	}
	return shown(b)
}

func shown(b []byte) string {
	if b == nil {
		return "nothing"
	}
	return strconv.Quote(string(b))
}

// kept returns all kept values.
func kept(t testing.TB, st store.Store) map[string]string {
	t.Helper()
	m := map[string]string{}
	for name, b := range allKept(t, st) {
		m[name] = shown(b)
	}
	return m
}

func allKept(t testing.TB, st store.Store) map[string][]byte {
	t.Helper()
	all, err := st.Kept(t.Context())
	if err != nil {
		t.Fatalf("what is kept: %v", err)
	}
	return all
}

func testKeep(t testing.TB, open Opener) {
	st := start(t, open)
	a, b, empty := []byte("a"), []byte("b"), []byte{}
	for _, s := range []struct {
		was, is []byte
		now     string
	}{
		{nil, nil, "nothing"}, // only reads
		{a, b, "nothing"},
		{empty, b, "nothing"},
		{nil, a, `"a"`},
		{nil, nil, `"a"`},
		{nil, b, `"a"`},
		{empty, b, `"a"`},
		{b, nil, `"a"`},
		{a, b, `"b"`},
		{a, nil, `"b"`},
		{b, b, `"b"`},
		{b, empty, `""`},
		{nil, nil, `""`},
		{nil, a, `""`},
		{empty, empty, `""`},
		{empty, a, `"a"`},
		{a, nil, "nothing"},
		{nil, nil, "nothing"},
		{nil, empty, `""`},
		{empty, nil, "nothing"},
		{empty, a, "nothing"},
		{nil, []byte("last"), `"last"`},
	} {
		what := fmt.Sprintf("%s for %s", shown(s.is), shown(s.was))
		same(t, what, keep(t, st, "n", s.was, s.is), s.now)
		st = restart(t, st, open)
		same(t, "read after "+what, keep(t, st, "n", nil, nil), s.now)
		want := map[string]string{"n": s.now}
		if s.now == "nothing" {
			want = nil
		}
		same(t, "all after "+what, kept(t, st), want)
	}

	want := map[string]string{"n": `"last"`}
	for _, n := range []string{"", " ", "N", "kept: n", "a\x00", "a\x00b", "\xff", "line\nbreak", strings.Repeat("long ", 4000)} {
		same(t, "another name", keep(t, st, n, nil, []byte(n)), shown([]byte(n)))
		want[n] = shown([]byte(n))
		// Secrets are separate.
		if s, err := st.Secret(t.Context(), n); err != nil || len(s) != store.SecretSize {
			t.Errorf("the secret %q: %q, %v", n, s, err)
		}
	}
	st = restart(t, st, open)
	same(t, "all", kept(t, st), want)

	// The caller owns the returned bytes.
	got, err := st.Keep(t.Context(), "n", nil, nil)
	all, allErr := st.Kept(t.Context())
	if err != nil || allErr != nil {
		t.Fatal(err, allErr)
	}
	clear(got)
	clear(all["n"])
	if got, err = st.Keep(t.Context(), "n", []byte("last"), []byte("mine")); err != nil {
		t.Fatal(err)
	}
	clear(got)
	same(t, "after callers changed theirs", keep(t, st, "n", nil, nil), `"mine"`)
}

func testKeepRace(t testing.TB, open Opener) {
	st := start(t, open)
	const callers, rounds = 8, 10
	first := make([]string, callers)
	var wg sync.WaitGroup
	for c := range callers {
		wg.Go(func() {
			b, err := st.Keep(t.Context(), "first", nil, fmt.Append(nil, "of ", c))
			if err != nil {
				t.Errorf("keep: %v", err)
			}
			first[c] = shown(b)
			var was []byte
			for range rounds {
				for done := false; !done; {
					var n int
					fmt.Sscan(string(was), &n)
					// The value shows who won only if no two callers store the same.
					next := fmt.Appendf(nil, "%d %d", n+1, c)
					now, err := st.Keep(t.Context(), "sum", was, next)
					if err != nil {
						t.Errorf("keep: %v", err)
						return
					}
					done = string(now) == string(next)
					was = now
				}
			}
		})
	}
	wg.Wait()
	for _, f := range first {
		same(t, "the first", f, first[0])
	}
	var n, c int
	now, err := st.Keep(t.Context(), "sum", nil, nil)
	fmt.Sscanf(string(now), "%d %d", &n, &c)
	if err != nil || n != callers*rounds {
		t.Errorf("%d callers counted to %d each, together to %q, %v", callers, rounds, now, err)
	}
}
