package archive_test

import (
	"bytes"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/store"
	"github.com/parley-a2a/parley/store/archive"
)

// fullDisk is a store whose appends wait until fail is called, and then all fail.
type fullDisk struct {
	*store.Memory

	mu      sync.Mutex // protects the fields below
	failed  bool
	waiting []func(error)
}

var errFull = errors.New("the disk is full")

func (d *fullDisk) Append(_ *store.Append, done func(error)) {
	d.mu.Lock()
	if !d.failed {
		d.waiting = append(d.waiting, done)
		d.mu.Unlock()
		return
	}
	d.mu.Unlock()
	done(errFull)
}

func (d *fullDisk) fail() {
	d.mu.Lock()
	waiting := d.waiting
	d.failed, d.waiting = true, nil
	d.mu.Unlock()
	for _, done := range waiting {
		done(errFull)
	}
}

// An import ends with an error when a batch of its appends fails while the next append
// waits for its turn.
func TestImportEndsWhenABatchFails(t *testing.T) {
	from := memory(t)
	for i := range 300 { // more than are on their way at a time
		at := time.UnixMilli(int64(i)).UTC()
		a := &store.Append{Row: store.Row{Key: store.Key{ID: fmt.Sprint(i)}, State: 1, Updated: at, Created: at}, Entries: []store.Entry{{Seq: 1, Time: at, Kind: 1}}}
		if err := store.Do(t.Context(), from, a); err != nil {
			t.Fatal(err)
		}
	}
	text := export(t, from)
	synctest.Test(t, func(t *testing.T) {
		disk := &fullDisk{Memory: store.NewMemory()}
		defer disk.Close()
		ended := make(chan error, 1)
		go func() {
			_, err := archive.Import(t.Context(), disk, bytes.NewReader(text), true)
			ended <- err
		}()
		synctest.Wait()
		disk.fail()
		synctest.Wait()
		select {
		case err := <-ended:
			if !errors.Is(err, errFull) {
				t.Errorf("import: %v, want %v", err, errFull)
			}
		default:
			t.Fatal("the import has not ended")
		}
	})
}
