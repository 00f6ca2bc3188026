package place

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/store"
)

// Both places answer what an engine asks, each in its way.
func TestPlacesAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMemory()
		defer st.Close()
		var heard atomic.Int64 // how many of them have ended
		hear := func(ctx context.Context) {
			<-ctx.Done()
			heard.Add(1)
		}
		alone := &Alone{Node: "n", Store: st}
		fleet := &Fleet{
			Node: "n", Store: st, DeadAfter: time.Minute, Log: slog.New(slog.DiscardHandler), Beaten: func() {}, Wrote: func(error) {},
			Hear: []func(context.Context){hear, hear},
		}
		for _, c := range []struct {
			Place
			shares bool
		}{{alone, false}, {fleet, true}} {
			name := fmt.Sprintf("%T", c.Place)
			if err := c.Present(t.Context()); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if c.Registered() != c.shares { // alone the first beat can wait for Run
				t.Errorf("%s: registered: %v", name, c.Registered())
			}
			for err, want := range map[error]bool{
				ErrTaken: true, store.ErrLeaseLost: true, fmt.Errorf("append: %w", store.ErrConflict): true,
				store.ErrNotFound: false, errors.New("full"): false,
			} {
				if got := c.Moved(err); got != (want && c.shares) {
					t.Errorf("%s: moved because of %v: %v", name, err, got)
				}
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			heard.Store(0)
			if c.Attend(ctx); heard.Load() != 2 && c.shares {
				t.Errorf("%s: it returned when %d of 2 who hear had ended", name, heard.Load())
			}
			if c.Lapsed() {
				t.Errorf("%s: it has lapsed", name)
			}
		}
		if !fleet.DeadBefore().Before(time.Now()) || !alone.DeadBefore().After(time.Now().Add(24*time.Hour)) {
			t.Errorf("others are dead that beat before %v and %v", fleet.DeadBefore(), alone.DeadBefore())
		}
	})
}
