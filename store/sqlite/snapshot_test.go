package sqlite

import (
	"context"
	"path/filepath"
	"testing"
)

// lateEnd is a context that has not ended when it is asked first, and has
// then.
type lateEnd struct {
	context.Context
	asked int
}

func (l *lateEnd) Err() error {
	if l.asked++; l.asked == 1 {
		return nil
	}
	return context.Canceled
}

// TestInterruptedSnapshotEnds: SQLite looks at interrupts every so many
// operations, also right behind a BEGIN that has worked and then says that it
// failed. A connection that went back to the pool with that snapshot open would
// show everybody the past.
func TestInterruptedSnapshotEnds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	st, err := Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	c, err := openReader(path, "ro")
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	interrupted := 0
	for range 5000 {
		c.SetInterrupt(&lateEnd{Context: context.Background()})
		if c.snapshot(func() error { return nil }) != nil {
			interrupted++
		}
		c.SetInterrupt(context.Background())
		if !c.GetAutocommit() {
			t.Fatal("the snapshot is still open")
		}
	}
	if interrupted == 0 {
		t.Error("nothing was interrupted")
	}
}
