package engine

import (
	"testing"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/store"
)

// The log has each generation, for readers of the log alone: it grows by one with each status
// and each chunk.
func TestLogHasGenerations(t *testing.T) {
	st := store.NewMemory()
	defer st.Close()
	w := newWorld(t, st, chunks)
	evs, err := collect(w.SendStreamingMessage(t.Context(), send("a b c")))
	if err != nil {
		t.Fatal(err)
	}
	w.stop()
	entries, err := st.Entries(t.Context(), store.Key{ID: evs[0].Task.ID}, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	last := evs[0].Task.Generation
	for _, stored := range entries {
		en, err := a2a.DecodeEntry(stored.Seq, stored.Time, a2a.EntryKind(stored.Kind), stored.Body)
		if err != nil {
			t.Fatal(err)
		}
		if ev := en.Event(); ev != nil {
			if got := generationOf(ev); got != last+1 {
				t.Errorf("entry %d has generation %d behind %d", en.Seq, got, last)
			}
			last++
		}
	}
	if want := generationOf(evs[len(evs)-1]); last != want {
		t.Errorf("the log ends with generation %d, the stream with %d", last, want)
	}
}
