package sqlite

import (
	"context"
	"path/filepath"
	"testing"
)

// lateEnd is a context that has not ended at the first call of Err, and has ended at later
// ones.
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

// TestInterruptedSnapshotEnds: SQLite checks for interrupts every so many operations, also
// after a BEGIN that has worked but then returns an error. If a connection went back to the
// pool with that snapshot open, its next users would see old data.
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
