package sqlite

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/parley-a2a/parley/store"
)

// Reads that are interrupted leave their connection usable. Close, called while everything
// runs, causes no error other than ErrClosed.
func TestCloseBeneathItsUsers(t *testing.T) {
	st := mustOpen(t, filepath.Join(t.TempDir(), "x.db"), &Options{Readers: 2})
	body := make([]byte, 64<<10)
	task := func(i int) *store.Append {
		now := time.Now()
		a := &store.Append{Row: store.Row{Key: store.Key{ID: fmt.Sprint(i)}, State: 1, Created: now, Updated: now, Epoch: 1, Active: true}}
		for seq := range int64(20) {
			a.Entries = append(a.Entries, store.Entry{Seq: seq + 1, Time: now, Kind: 1, Body: body})
		}
		return a
	}
	if err := store.Do(t.Context(), st, task(0)); err != nil {
		t.Fatal(err)
	}
	var users sync.WaitGroup
	half := make(chan struct{}, 8)
	for u := range 8 {
		users.Go(func() {
			for i := 1; ; i++ {
				if i == 20 {
					half <- struct{}{}
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rand.IntN(3000))*time.Microsecond)
				if i%3 == 0 {
					ctx = t.Context()
				}
				var err error
				switch u {
				case 0:
					err = store.Do(t.Context(), st, task(i))
				case 1:
					_, err = st.Claim(t.Context(), fmt.Sprint("n", i), time.Now(), 3)
				case 2, 3:
					_, err = st.List(ctx, store.Query{Limit: 5})
				default:
					n := 0
					for _, failed := range store.EachEntry(ctx, st, store.Key{ID: "0"}, 0, store.Whole) {
						err = failed
						n++
					}
					if err == nil && n != 20 {
						t.Errorf("%d entries", n)
					}
				}
				cancel()
				switch {
				case errors.Is(err, store.ErrClosed):
					return
				case err != nil && !errors.Is(err, context.DeadlineExceeded):
					t.Errorf("user %d: %v", u, err)
					return
				}
			}
		})
	}
	for range cap(half) {
		<-half
	}
	if err := st.Close(); err != nil {
		t.Error(err)
	}
	users.Wait()
}
