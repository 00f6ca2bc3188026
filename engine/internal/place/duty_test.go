package place

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/store"
)

// skewed is a store with a clock that is ahead.
type skewed struct {
	store.Store
	ahead time.Duration
}

func (s *skewed) Now(context.Context) (time.Time, error) { return time.Now().Add(s.ahead), nil }

// A process that dies with a duty keeps it no longer than its term, also if the store's
// clock is set back then, as by a primary whose clock is another.
func TestDutyAfterTheClockWasSetBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := store.NewMemory()
		defer mem.Close()
		begin := func(node string, ahead time.Duration) *Duty {
			f := &Fleet{
				Node: node, Store: &skewed{mem, ahead}, DeadAfter: time.Minute, Log: slog.New(slog.DiscardHandler), Beaten: func() {}, Wrote: func(error) {},
			}
			if err := f.Register(t.Context()); err != nil {
				t.Fatal(err)
			}
			return f.Duty("d", time.Minute)
		}
		one, two := begin("one", 24*time.Hour), begin("two", 24*time.Hour)
		if is, err := one.Serves(t.Context()); !is || err != nil {
			t.Fatal(is, err)
		}
		if is, err := two.Serves(t.Context()); is || err != nil {
			t.Errorf("two at it: %v, %v", is, err)
		}
		three := begin("three", 0)
		time.Sleep(2 * time.Minute)
		if is, err := three.Serves(t.Context()); !is || err != nil {
			t.Errorf("nobody serves: %v, %v", is, err)
		}
	})
}
