package engine

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/engine/internal/task"
	"github.com/parley-a2a/parley/store"
)

// foreign is a store in which another process has written the entries of an append first.
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

// A log that another process wrote ends the ownership at once, without waiting.
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

// breaking is a store whose appends fail from a moment on.
type breaking struct {
	store.Store
	broken atomic.Bool
}

func (b *breaking) Append(a *store.Append, done func(error)) {
	if b.broken.Load() {
		a = &store.Append{Row: a.Row, After: a.After, Epoch: a.Epoch} // refused
	}
	b.Store.Append(a, done)
}

// When the store has failed for too long, callers stop waiting for what will not come.
func TestNobodyWaitsForAGivenUpTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := store.NewMemory()
		defer mem.Close()
		st := &breaking{Store: mem}
		w := newWorld(t, st, agent.Func(func(ctx context.Context, t *agent.Turn) error {
			if err := t.Status("begun"); err != nil {
				return err
			}
			time.Sleep(time.Second)
			return t.Status("more")
		}))
		errs := make(chan error, 2)
		began := make(chan *a2a.Task, 1)
		go func() {
			for ev, err := range w.SendStreamingMessage(t.Context(), send("x")) {
				if err != nil {
					errs <- err
				} else if ev.Task != nil {
					began <- ev.Task
				}
			}
		}()
		task := <-began
		go func() {
			_, err := w.SendMessage(t.Context(), reply(task, "y"))
			errs <- err
		}()
		synctest.Wait()
		st.broken.Store(true)
		for range 2 {
			select {
			case err := <-errs:
				wantError(t, err, a2a.ErrUnavailable)
			case <-time.After(time.Hour):
				t.Fatal("somebody waits for ever")
			}
		}
		st.broken.Store(false)
		wantState(t, w.mustGet(task.ID), a2a.TaskStateWorking)
		if _, err := w.CancelTask(t.Context(), &a2a.CancelTaskRequest{ID: task.ID}); err != nil {
			t.Error(err)
		}
		w.stop()
	})
}

// shapes is a store that notes the kinds of entries in each append and can be
// made to stall.
type shapes struct {
	store.Store
	stall chan struct{} // nil: never; appends of artifacts alone wait for it
	at    chan struct{} // gets a value when one begins to wait
	seen  []string      // owned by the owner's goroutine
}

func (s *shapes) Append(a *store.Append, done func(error)) {
	kinds := ""
	for _, en := range a.Entries {
		kinds += fmt.Sprint(en.Kind)
	}
	s.seen = append(s.seen, kinds)
	if s.stall != nil && strings.Trim(kinds, "4") == "" {
		s.at <- struct{}{}
		<-s.stall
	}
	s.Store.Append(a, done)
}

func TestMessageIsNotSplitFromItsEffect(t *testing.T) {
	t.Run("a large first message", func(t *testing.T) {
		mem := store.NewMemory()
		defer mem.Close()
		st := &shapes{Store: mem}
		w := newWorld(t, st, parrot)
		w.mustSend(send(strings.Repeat("x", 2*task.MaxFlightBytes)))
		w.stop()
		if !strings.HasPrefix(st.seen[0], "12") {
			t.Errorf("appends are %q: the task was created without its message", st.seen)
		}
	})
	t.Run("an answer behind many chunks", func(t *testing.T) {
		mem := store.NewMemory()
		defer mem.Close()
		st := &shapes{Store: mem, stall: make(chan struct{}), at: make(chan struct{}, 8)}
		emitted := make(chan struct{})
		w := newWorld(t, st, agent.Func(func(ctx context.Context, t *agent.Turn) error {
			a := t.Artifact("a")
			asked := make(chan error)
			go func() {
				_, err := t.Ask(ctx, "?")
				asked <- err
			}()
			for t.Task().Status.State != a2a.TaskStateInputRequired {
			}
			<-emitted
			for i := range task.MaxFlight {
				if i == 1 {
					<-st.at // from here on all gathers
				}
				if err := a.Add(a2a.TextPart("x")); err != nil {
					return err
				}
			}
			emitted <- struct{}{}
			return <-asked
		}))
		task := w.mustSend(send("x"))
		emitted <- struct{}{}
		<-emitted
		unsaved := func() int {
			for _, s := range w.Standings() {
				if s.ID == task.ID {
					return s.Unsaved
				}
			}
			return 0
		}
		before := unsaved()
		done := make(chan error, 1)
		go func() {
			_, err := w.SendMessage(t.Context(), reply(task, "y"))
			done <- err
		}()
		for { // until the answer is behind the chunks
			if unsaved() > before {
				break
			}
		}
		close(st.stall)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		w.stop()
		for _, s := range st.seen {
			if strings.HasSuffix(s, "2") && s != "12" { // the task, if its agent took its time
				t.Errorf("an append ends with the answer and without the status")
			}
		}
	})
}
