package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/store"
)

// ill is a store whose writes fail with an error while it is set.
type ill struct {
	store.Store
	beats bool // in any case: they are small
	mu    sync.Mutex
	err   error
}

func (i *ill) set(err error) {
	i.mu.Lock()
	i.err = err
	i.mu.Unlock()
}

func (i *ill) get() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.err
}

func (i *ill) Append(a *store.Append, done func(error)) {
	if err := i.get(); err != nil {
		go done(err)
		return
	}
	i.Store.Append(a, done)
}

func (i *ill) Keep(ctx context.Context, name string, was, is []byte) ([]byte, error) {
	if err := i.get(); err != nil {
		return nil, err
	}
	return i.Store.Keep(ctx, name, was, is)
}

func (i *ill) Beat(ctx context.Context, node string, now time.Time) error {
	if err := i.get(); err != nil && !i.beats {
		return err
	}
	return i.Store.Beat(ctx, node, now)
}

func (i *ill) Claim(ctx context.Context, node string, dead time.Time, limit int) ([]store.Row, error) {
	if err := i.get(); err != nil {
		return nil, err
	}
	return i.Store.Claim(ctx, node, dead, limit)
}

// lineLog notes what is logged.
type lineLog struct {
	slog.Handler
	read  func(line string) // nil: nobody reads along
	mu    sync.Mutex
	lines []string
}

func (c *lineLog) Handle(_ context.Context, r slog.Record) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lines = append(c.lines, r.Message)
	if c.read != nil {
		c.read(r.Message)
	}
	return nil
}

func (c *lineLog) WithAttrs([]slog.Attr) slog.Handler { return c }

func (c *lineLog) count(text string) (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range c.lines {
		if strings.Contains(l, text) {
			n++
		}
	}
	return n
}

// A store that does not take writes is told in words that are fit for a probe,
// once in the log, and no longer than it lasts. Stored tasks can be read.
func TestTrouble(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{fmt.Errorf("sqlite: commit: %w", store.ErrFull), "the disk is full: tasks cannot be stored"},
		{fmt.Errorf("sqlite: commit: %w", store.ErrReadOnly), "the database cannot be written (read-only)"},
		{fmt.Errorf("sqlite: commit: %w", store.ErrBusy), "the database is locked by another program"},
		{errors.New("disk I/O error at /var/lib/parley.db"), "tasks cannot be stored at the moment"},
	} {
		synctest.Test(t, func(t *testing.T) {
			mem := store.NewMemory()
			defer mem.Close()
			st := &ill{Store: mem}
			log := &lineLog{Handler: slog.NewTextHandler(testLog{t}, &slog.HandlerOptions{Level: slog.LevelInfo})}
			w := newWorldWith(t, st, parrot, testCard(), &Options{Logger: slog.New(log)})
			synctest.Wait() // Run has registered with the store: it fails otherwise
			old := w.mustSend(send("old"))
			if err := w.Trouble(); err != nil {
				t.Fatal(err)
			}
			log.read = func(line string) {
				if strings.Contains(line, "does not take writes") && w.Trouble() == nil {
					t.Error("the log says it before Trouble")
				}
			}
			st.set(c.err)
			results := make(chan error, 5)
			for range 5 {
				go func() {
					_, err := w.SendMessage(t.Context(), send("x"))
					results <- err
				}()
			}
			time.Sleep(10 * time.Second)
			err := w.Trouble()
			if err == nil || err.Error() != c.want {
				t.Errorf("trouble is %v, want %s", err, c.want)
			}
			if !errors.Is(err, c.err) {
				t.Errorf("the cause of %v is not %v", err, c.err)
			}
			wantState(t, w.mustGet(old.ID), a2a.TaskStateCompleted)
			for range 5 {
				err := <-results
				wantError(t, err, a2a.ErrUnavailable)
				if e := err.(*a2a.Error); strings.Contains(e.Message, "sqlite") || strings.Contains(e.Message, "/var") {
					t.Errorf("internals went out: %s", e.Message)
				}
			}
			time.Sleep(time.Hour)
			if w.Trouble() == nil {
				t.Error("the trouble was forgotten")
			}
			st.set(nil)
			time.Sleep(2 * time.Second)
			if err := w.Trouble(); err != nil {
				t.Errorf("the trouble is not over: %v", err)
			}
			wantState(t, w.mustSend(send("new")), a2a.TaskStateCompleted)
			if begun, over := log.count("does not take writes"), log.count("takes writes again"); begun != 1 || over != 1 {
				t.Errorf("logged %d and %d times", begun, over)
			}
			w.stop()
		})
	}
}

// One failed write is trouble until writes work, which is soon known; the task is not harmed.
func TestTroubleOfOneWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := store.NewMemory()
		defer mem.Close()
		st := &ill{Store: mem}
		w := newWorld(t, st, agent.Func(func(ctx context.Context, t *agent.Turn) error {
			st.set(store.ErrBusy)
			if err := t.Status("at it"); err != nil {
				return err
			}
			time.Sleep(50 * time.Millisecond)
			st.set(nil)
			return nil
		}))
		synctest.Wait() // the first write is the engine's own
		wantState(t, w.mustSend(send("x")), a2a.TaskStateCompleted)
		time.Sleep(2 * time.Second)
		if err := w.Trouble(); err != nil {
			t.Errorf("the trouble is not over: %v", err)
		}
		w.stop()
	})
}

// A disk that is nearly full takes a beat and no task: that is no coming and going.
func TestTroubleOfADiskThatIsNearlyFull(t *testing.T) {
	for _, dead := range []time.Duration{0, 10 * time.Second} { // alone, and with others
		synctest.Test(t, func(t *testing.T) {
			mem := store.NewMemory()
			defer mem.Close()
			st := &ill{Store: mem, beats: true}
			w := newWorldWith(t, st, parrot, testCard(), &Options{DeadAfter: dead})
			synctest.Wait()
			st.set(store.ErrFull)
			_, err := w.SendMessage(t.Context(), send("x"))
			wantError(t, err, a2a.ErrUnavailable)
			for range 600 {
				if w.Trouble() == nil {
					t.Fatal("the trouble is over, and there is no room")
				}
				time.Sleep(100 * time.Millisecond)
			}
			st.set(nil)
			time.Sleep(2 * time.Second)
			wantState(t, w.mustSend(send("new")), a2a.TaskStateCompleted)
			if kept, err := mem.Kept(t.Context()); err != nil || len(kept["room"]) != 0 {
				t.Errorf("%d bytes are left, %v", len(kept["room"]), err)
			}
			w.stop()
		})
	}
}

// Refusals are no trouble.
func TestRefusalsAreNoTrouble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMemory()
		w := newWorld(t, st, waiting)
		for _, err := range []error{store.ErrConflict, store.ErrLeaseLost, store.ErrDuplicate, store.ErrNotFound, store.ErrClosed} {
			w.wrote(fmt.Errorf("x: %w", err))
			if err := w.Trouble(); err != nil {
				t.Error(err)
			}
		}
		w.stop()
		st.Close()
	})
}

// A store that cannot be written at the start ends Run; one that cannot later
// does not, and what was left unfinished is taken up when it can.
func TestStoreThatFailsAfterTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := store.NewMemory()
		defer mem.Close()
		task := crashed(t, mem, 1)[0]
		st := &ill{Store: mem}
		st.set(store.ErrReadOnly)
		if err := New(st, parrot, testCard(), nil).Run(t.Context()); !errors.Is(err, store.ErrReadOnly) {
			t.Errorf("Run returned %v", err)
		}
		st.set(nil)
		w := newWorld(t, &illClaim{Store: st, st: st}, parrot)
		time.Sleep(time.Hour)
		if w.Trouble() == nil {
			t.Error("there is no trouble")
		}
		st.set(nil)
		time.Sleep(time.Minute)
		wantState(t, w.mustGet(task.ID), a2a.TaskStateCompleted)
		w.stop()
	})
}

// illClaim falls ill with the first claim.
type illClaim struct {
	store.Store
	st   *ill
	once sync.Once
}

func (i *illClaim) Claim(ctx context.Context, node string, dead time.Time, limit int) ([]store.Row, error) {
	i.once.Do(func() { i.st.set(store.ErrFull) })
	return i.Store.Claim(ctx, node, dead, limit)
}

// If the store is full, a caller that brings something new is refused at once instead of
// waiting; work under way waits until there is room.
func TestWhatIsNewIsRefusedAtOnce(t *testing.T) {
	for _, cause := range []error{store.ErrFull, store.ErrReadOnly} {
		synctest.Test(t, func(t *testing.T) {
			m := store.NewMemory()
			defer m.Close()
			st := &ill{Store: m}
			g := newGated()
			w := newWorld(t, st, g)
			old := w.posted(send("old"))
			turn := <-g.entered
			if err := turn.Status("at it"); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			st.set(fmt.Errorf("write: %w", cause))
			if err := turn.Status("more"); err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			for range 2 {
				_, err := w.SendMessage(t.Context(), send("new"))
				wantError(t, err, a2a.ErrUnavailable)
				if strings.Contains(err.Error(), "write: ") && !errors.Is(err, cause) {
					t.Errorf("%v", err)
				}
			}
			if took := time.Since(began); took > 2*time.Second {
				t.Errorf("refused after %v", took)
			}
			time.Sleep(5 * time.Second)
			st.set(nil)
			g.leave <- nil
			got := <-old
			if got.err != nil {
				t.Fatal(got.err)
			}
			wantState(t, got.task, a2a.TaskStateCompleted)
			time.Sleep(5 * time.Second)
			if again := w.posted(send("again")); again != nil {
				(<-g.entered).Status("at it")
				g.leave <- nil
				wantState(t, (<-again).task, a2a.TaskStateCompleted)
			}
			w.stop()
		})
	}
}

// An answer accepted before can be asked for again, also by repeating the
// message.
func TestWhatIsKnownIsAnsweredInTrouble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := store.NewMemory()
		defer m.Close()
		st := &ill{Store: m}
		w := knowing(t, st, parrot)
		req := send("x")
		task := w.mustSend(req)
		synctest.Wait()
		st.set(fmt.Errorf("write: %w", store.ErrFull))
		if _, err := w.SendMessage(t.Context(), send("new")); !errors.Is(err, a2a.ErrUnavailable) {
			t.Errorf("what is new: %v", err)
		}
		if w.Trouble() == nil {
			t.Error("no trouble")
		}
		sameTask(t, w.mustSend(repeated(req)), task)
		st.set(nil)
		w.stop()
	})
}
