package sqlite

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/parley-a2a/parley/store"
)

func TestAllPushesHasThoseThatAreDone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "parley.db")
	st, err := Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	var want []string
	for _, id := range []string{"b", "a", "c"} {
		key := store.Key{ID: id}
		a := &store.Append{Row: store.Row{Key: key, Context: "x", Updated: time.Now(), Created: time.Now(), Epoch: 1}, Entries: []store.Entry{{Seq: 1, Time: time.Now(), Kind: 1}}}
		if err := store.Do(t.Context(), st, a); err != nil {
			t.Fatal(err)
		}
		for _, p := range []store.PushConfig{
			{Key: key, ID: "live", Node: "n", Live: true, Created: time.Now()},
			{Key: key, ID: "done", Node: "m", Created: time.Now(), Progress: store.Progress{Cursor: 1, Reason: "r"}},
		} {
			if err := st.SetPush(t.Context(), &p); err != nil {
				t.Fatal(err)
			}
			want = append(want, id+p.ID)
		}
	}
	r, err := OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var got []string
	for after := int64(0); ; {
		page, err := r.AllPushes(t.Context(), after, 4)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range page {
			if p.Last != 1 || (p.ID == "done") == p.Live {
				t.Errorf("%+v", p)
			}
			got, after = append(got, p.Key.ID+p.ID), p.At
		}
		if len(page) < 4 {
			break
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if _, err := r.AllPushes(t.Context(), 0, 0); err == nil {
		t.Error("a limit of 0 was taken")
	}
}
