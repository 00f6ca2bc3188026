package sqlite

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/parley-a2a/parley/store"
)

// manyPushes makes a store with that many push configs, 100 per task. Every tenth is live; the live
// ones belong to the nodes in turn.
func manyPushes(b *testing.B, configs int, nodes ...string) *Store {
	st := mustOpen(b, filepath.Join(b.TempDir(), "parley.db"), nil)
	var appends []*store.Append
	for i := range configs / 100 {
		a := task(fmt.Sprint(i), 10)
		for j := range 100 {
			a.Pushes = append(a.Pushes, store.PushConfig{
				ID: fmt.Sprintf("%08d-0000-4000-8000-000000000000", j), Host: "host", Body: make([]byte, 300), Created: began,
				Node: nodes[j/10%len(nodes)], Live: j%10 == 0,
			})
		}
		appends = append(appends, a)
	}
	for part := range slices.Chunk(appends, 500) {
		for _, err := range queued(st, part) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
	return st
}

// BenchmarkClaimPushes claims 50,000 live push configs of a dead node among 1,000,000, beside
// a living node with as many, 500 at a time. The claimer's name sorts before theirs in the
// index, so a careless scan would read the configs that the claimer already has.
func BenchmarkClaimPushes(b *testing.B) {
	const batch = 500
	var longest, took time.Duration
	claims := 0
	for b.Loop() {
		b.StopTimer()
		st := manyPushes(b, 1_000_000, "dead", "b living")
		if err := st.Beat(b.Context(), "b living", began.Add(time.Hour)); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		claimed := 0
		for n := batch; n == batch; claims++ {
			begin := time.Now()
			var err error
			if n, err = st.ClaimPushes(b.Context(), "a claimer", began, batch); err != nil {
				b.Fatal(err)
			}
			claimed += n
			d := time.Since(begin)
			longest, took = max(longest, d), took+d
		}
		if claimed != 50_000 {
			b.Fatalf("%d push configs were claimed", claimed)
		}
	}
	b.ReportMetric(took.Seconds()*1e3/float64(claims), "ms/batch")
	b.ReportMetric(longest.Seconds()*1e3, "max-ms")
}

// BenchmarkLivePushes reads the 100,000 live push configs among 1,000,000, 500
// at a time.
func BenchmarkLivePushes(b *testing.B) {
	st := manyPushes(b, 1_000_000, "node")
	var longest time.Duration
	for b.Loop() {
		found := 0
		for after := int64(0); ; {
			begin := time.Now()
			page, err := st.LivePushes(b.Context(), "node", after, 500)
			if err != nil {
				b.Fatal(err)
			}
			longest = max(longest, time.Since(begin))
			if len(page) == 0 {
				break
			}
			found, after = found+len(page), page[len(page)-1].At
		}
		if found != 100_000 {
			b.Fatalf("%d are live", found)
		}
	}
	b.ReportMetric(longest.Seconds()*1e3, "max-ms/page")
}
