package store

import (
	"testing"
	"time"
)

// When an owner's last receipt is removed, not even the owner's name stays.
func TestNothingStaysOfAnOwner(t *testing.T) {
	m := NewMemory()
	defer m.Close()
	now := time.Now()
	a := &Append{Row: Row{Key: Key{Owner: "erased", ID: "a"}, Updated: now}, Entries: []Entry{{Seq: 1, Time: now}}, Receipts: []Receipt{{Name: "of a task", Time: now, Until: now}}}
	alone := &Append{Row: Row{Key: Key{Owner: "forgotten"}, Context: "c"}, Receipts: []Receipt{{Name: "alone", Time: now, Until: now}}}
	for _, a := range []*Append{a, alone} {
		if err := Do(t.Context(), m, a); err != nil {
			t.Fatal(err)
		}
	}
	rows, err := m.Rows(t.Context(), []Key{a.Row.Key})
	if err != nil {
		t.Fatal(err)
	}
	if n, err := m.Delete(t.Context(), rows); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	if n, err := m.Forget(t.Context(), ForgetQuery{Before: now, Limit: 9}); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	if len(m.data.receipts) > 0 {
		t.Errorf("owners are known: %v", m.data.receipts)
	}
}
