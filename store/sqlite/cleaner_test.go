package sqlite

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/parley-a2a/parley/store"
)

// The write-ahead log restarts again and again, although readers overlap all the time.
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
	// The log is cleaned at 16 MiB while writers continue: how far it grows depends on the
	// machine, but it must not grow with all that is written.
	const round, most = 4 << 20, 512 << 20
	written, size := 0, 0
	for i := 0; written < 64<<20 || size > written-16<<20; i++ {
		if written >= most {
			t.Errorf("after %d MiB the log is %d MiB long", written>>20, size>>20)
			break
		}
		var batch []*store.Append
		for j := range 64 {
			batch = append(batch, task(fmt.Sprint(i, "-", j), round/64))
		}
		for _, err := range queued(st, batch) {
			if err != nil {
				t.Fatal(err)
			}
		}
		info, err := os.Stat(path + "-wal")
		if err != nil {
			t.Fatal(err)
		}
		written, size = written+round, int(info.Size())
	}
	close(quit)
	wg.Wait()
	t.Logf("%d MiB written, log of %d MiB", written>>20, size>>20)
}

// An append does not wait while the log is moved into the database.
func TestAppendsBesideTheCleaner(t *testing.T) {
	st := mustOpen(t, filepath.Join(t.TempDir(), "parley.db"), nil)
	st.cleaner.using.Lock() // as a pass does that takes its time
	mustAppend(t, st, task("beside", 100))
	st.cleaner.using.Unlock()
}
