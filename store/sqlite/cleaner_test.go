package sqlite

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/parley-a2a/parley/store"
)

// The write-ahead log begins anew again and again, although readers overlap
// all the time.
func TestLogStaysShort(t *testing.T) {
	if testing.Short() {
		t.Skip("writes 64 MiB")
	}
	path := filepath.Join(t.TempDir(), "parley.db")
	st := mustOpen(t, path, nil)
	quit := make(chan struct{})
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for {
				select {
				case <-quit:
					return
				default:
				}
				if _, err := st.List(t.Context(), store.Query{Owner: "owner", Limit: 20}); err != nil {
					t.Errorf("list: %v", err)
					return
				}
			}
		})
	}
	for i := range 16 {
		var batch []*store.Append
		for j := range 64 {
			batch = append(batch, task(fmt.Sprint(i, "-", j), 64<<10))
		}
		for _, err := range queued(st, batch) {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	close(quit)
	wg.Wait()
	info, err := os.Stat(path + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() > 48<<20 { // it is cleaned at 16 MiB, writers go on meanwhile
		t.Errorf("the log has grown to %d MiB", info.Size()>>20)
	}
	t.Logf("log: %d MiB", info.Size()>>20)
}
