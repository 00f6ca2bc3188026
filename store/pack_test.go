package store_test

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/parley-a2a/parley/store"
)

var packedAt = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func TestPack(t *testing.T) {
	all := []store.Entry{
		{Seq: 41, Time: packedAt, Kind: 1, Body: []byte("a")},
		{Seq: 42, Time: time.UnixMilli(-1).UTC(), Kind: 255, Body: nil},
		{Seq: 43, Time: time.Time{}, Kind: 0, Body: bytes.Repeat([]byte("x"), 1000)},
	}
	row := store.Pack(nil, all)
	for after := int64(40); after <= 43; after++ {
		got, err := store.Unpack(nil, row, 41, 43, after)
		if d := cmp.Diff(all[after-40:], got, cmpopts.EquateEmpty()); d != "" || err != nil {
			t.Errorf("after %d: %v (-want +got)\n%s", after, err, d)
		}
	}
	for most := 1; most < 1100; most += 99 {
		if parts := slices.Concat(slices.Collect(store.PackParts(all, most))...); !bytes.Equal(parts, row) {
			t.Errorf("parts of %d bytes are not the whole", most)
		}
	}
	for what, wrong := range map[string]struct {
		row         []byte
		first, last int64
	}{
		"fewer": {row, 41, 44}, "more": {row, 41, 42}, "none": {nil, 41, 41}, "cut": {row[:len(row)-1], 41, 43},
	} {
		if _, err := store.Unpack(nil, wrong.row, wrong.first, wrong.last, 0); err == nil {
			t.Errorf("a row with %s entries was taken", what)
		}
	}
}

// A page that may keep a row does not copy a body that is most of the row. It copies all
// others, because they would keep the row in memory.
func TestUnpackKeepsTheRow(t *testing.T) {
	row := store.Pack(nil, []store.Entry{{Seq: 1, Body: []byte("a")}, {Seq: 2, Body: make([]byte, 1000)}, {Seq: 3, Body: []byte("b")}})
	for _, keep := range []bool{false, true} {
		page := store.NewEntryPage(0, 0)
		unpack := page.Unpack
		if keep {
			unpack = page.Keep
		}
		if err := unpack(row, 1, 3); err != nil {
			t.Fatal(err)
		}
		before := row[len(row)/2]
		for i := range row {
			row[i]++
		}
		e := page.Entries
		if string(e[0].Body) != "a" || string(e[2].Body) != "b" || (e[1].Body[500] == before) == keep {
			t.Errorf("keep %t: %q, %q, and %d where %d was", keep, e[0].Body, e[2].Body, e[1].Body[500], before)
		}
		for i := range row {
			row[i]--
		}
	}
}

// A damaged row is an error or other entries, never a crash.
func FuzzUnpack(f *testing.F) {
	f.Add(store.Pack(nil, []store.Entry{{Time: packedAt, Kind: 3, Body: []byte("body")}, {Kind: 4}}), uint8(2))
	f.Add([]byte{1, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}, uint8(1))
	f.Fuzz(func(t *testing.T, row []byte, n uint8) {
		entries, err := store.Unpack(nil, row, 1, int64(n), 0)
		if err != nil {
			return
		}
		again, err := store.Unpack(nil, store.Pack(nil, entries), 1, int64(n), 0)
		if d := cmp.Diff(entries, again, cmpopts.EquateEmpty()); d != "" || err != nil {
			t.Errorf("packed again: %v\n%s", err, d)
		}
	})
}
