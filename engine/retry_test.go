package engine

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/store"
)

// foreign is a store in which somebody else has written the entries of an
// append before it.
type foreign struct {
	store.Store
	at int64
}

func (f *foreign) Append(a *store.Append, done func(error)) {
	if a.After == f.at {
		theirs := *a
		theirs.Entries = []store.Entry{{Seq: a.After + 1, Time: a.Entries[0].Time, Kind: uint8(a2a.EntryStep), Body: []byte(`{}`)}}
		theirs.Seal = nil
		f.Store.Append(&theirs, func(error) {})
	}
	f.Store.Append(a, done)
}

// A log that somebody else wrote ends the ownership at once, it is not waited
// for.
func TestForeignEntryIsFinal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := store.NewMemory()
		defer mem.Close()
		w := newWorld(t, &foreign{mem, 2}, agent.Func(func(ctx context.Context, t *agent.Turn) error {
			<-ctx.Done()
			return context.Cause(ctx)
		}))
		task := w.mustSend(sendNow("x"))
		start := time.Now()
		_, err := w.SendMessage(t.Context(), reply(task, "y"))
		wantError(t, err, a2a.ErrUnavailable)
		if d := time.Since(start); d > time.Second {
			t.Errorf("the sender waited %v", d)
		}
		w.stop()
	})
}
