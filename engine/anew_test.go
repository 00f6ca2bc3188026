package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/engine/internal/stored"
	"github.com/parley-a2a/parley/store"
	"github.com/parley-a2a/parley/store/storetest"
)

func now01(id, text string) *a2a.SendMessageRequest {
	req := first01(id, text)
	req.Configuration = &a2a.SendMessageConfiguration{ReturnImmediately: true}
	return req
}

// A cancellation that was written without an agent ends with its turn, even for messages that
// come while the turn's owner is still there.
func TestBeginsAnewBehindACancellation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMemory()
		defer st.Close()
		w := newWorld(t, st, interview)
		w.mustSend(first01("mine", "go"))
		w.stop()
		w = newWorld(t, st, agent.Func(func(ctx context.Context, t *agent.Turn) error {
			select {
			case <-time.After(time.Minute):
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}))
		held, err := w.owners.Acquire(t.Context(), store.Key{ID: "mine"})
		if err != nil {
			t.Fatal(err)
		}
		task, err := w.CancelTask(t.Context(), &a2a.CancelTaskRequest{ID: "mine"})
		if err != nil {
			t.Fatal(err)
		}
		wantState(t, task, a2a.TaskStateCanceled)
		synctest.Wait()
		done := w.posted(first01("mine", "again"))
		synctest.Wait()
		held.Release()
		got := <-done
		if got.err != nil {
			t.Fatal(got.err)
		}
		wantState(t, got.task, a2a.TaskStateCompleted)
		wantUsers(t, got.task, "go", "again")
		w.stop()
	})
}

// looking is a store that does something between a caller's look at a task and
// what the caller makes of it.
type looking struct {
	store.Store
	then func()
	any  bool // also after a look at the row alone
}

func (l *looking) Get(ctx context.Context, k store.Key, most int64) (*store.Record, error) {
	rec, err := l.Store.Get(ctx, k, most)
	if then := l.then; (most > store.RowOnly || l.any) && then != nil {
		l.then = nil
		then()
	}
	return rec, err
}

// If a task ended and began anew in between, a cancel ends the turn that is
// there, and says so.
func TestCancelMeetsTheNextTurn(t *testing.T) {
	mem := store.NewMemory()
	t.Cleanup(func() { mem.Close() })
	w := newWorld(t, mem, interview)
	w.mustSend(first01("mine", "go"))
	w.stop()
	st := &looking{Store: mem}
	w = newWorld(t, st, interview)
	st.then = func() {
		w.mustSend(first01("mine", "Ada"))
		wantState(t, w.mustSend(first01("mine", "London")), a2a.TaskStateCompleted)
		wantState(t, w.mustSend(first01("mine", "go on")), a2a.TaskStateInputRequired)
	}
	task, err := w.CancelTask(t.Context(), &a2a.CancelTaskRequest{ID: "mine"})
	if err != nil {
		t.Fatalf("cancel: %v; the task is %s", err, w.mustGet("mine").Status.State)
	}
	wantState(t, task, a2a.TaskStateCanceled)
	wantState(t, w.mustGet("mine"), a2a.TaskStateCanceled)
}

// Many callers at once, repeatedly, on tasks that end as quickly as they begin: no message is
// refused, lost or doubled, even if the store fails meanwhile.
func TestManyTurnsAtOnce(t *testing.T) {
	const callers, rounds = 8, 4
	for _, fault := range []storetest.Fault{storetest.FailBefore, storetest.FailAfter} {
		for step := range 12 {
			t.Run(fmt.Sprintf("%s/%d", fault, step+2), func(t *testing.T) {
				mem := store.NewMemory()
				t.Cleanup(func() { mem.Close() })
				w := newWorld(t, storetest.Faulty(mem, step+2, fault), parrot)
				for !w.Registered() { // or that write fails, and Run with it
					runtime.Gosched()
				}
				var all sync.WaitGroup
				for i := range callers {
					all.Go(func() {
						for round := range rounds {
							said := fmt.Sprint(i, "-", round)
							resp, err := w.SendMessage(t.Context(), first01("mine", said))
							if err != nil {
								t.Errorf("message %s: %v", said, err)
								return
							}
							if !resp.Task.Status.State.Terminal() || !slices.Contains(users(resp.Task), said) {
								t.Errorf("answered with %s, %q", resp.Task.Status.State, users(resp.Task))
							}
						}
					})
				}
				all.Wait()
				task := w.mustGet("mine")
				got := users(task)
				slices.Sort(got)
				if n := len(slices.Compact(got)); len(got) != callers*rounds || n != len(got) {
					t.Errorf("%d messages of %d, %d different", len(got), callers*rounds, n)
				}
				if len(task.Artifacts) != callers*rounds {
					t.Errorf("%d artifacts", len(task.Artifacts))
				}
				w.stop()
				if w.AtWork() != 0 || w.topics.LenLocked() != 0 {
					t.Errorf("%d owners and %d topics are left", w.AtWork(), w.topics.LenLocked())
				}
				checkState(t, mem, map[string]a2a.TaskState{"mine": a2a.TaskStateCompleted})
			})
		}
	}
}

// Of 64 messages that expect the same generation exactly one is accepted, in every state of the
// task.
func TestIfGenerationMatchOfMany(t *testing.T) {
	for _, c := range []struct {
		name    string
		prepare func(*testing.T, store.Store) (*world, *a2a.Task)
		request func(*a2a.Task) *a2a.SendMessageRequest
		loses   error
		won     int
	}{
		{"waiting without an owner", func(t *testing.T, st store.Store) (*world, *a2a.Task) {
			w := newWorld(t, st, interview)
			task := w.mustSend(send("go"))
			w.stop()
			return newWorld(t, st, interview), task
		}, nil, &a2a.Error{Code: a2a.CodeTaskGenerationMismatch}, 1},
		{"at work with messages in the queue", func(t *testing.T, st store.Store) (*world, *a2a.Task) {
			w := newWorld(t, st, everything)
			task := w.mustSend(sendNow("wait"))
			w.eventually(task.ID, a2a.TaskStateWorking)
			for range 3 {
				req := reply(task, "queued")
				req.Configuration = &a2a.SendMessageConfiguration{ReturnImmediately: true}
				w.mustSend(req)
			}
			return w, w.mustGet(task.ID)
		}, nil, &a2a.Error{Code: a2a.CodeTaskGenerationMismatch}, 1},
		{"finished", func(t *testing.T, st store.Store) (*world, *a2a.Task) {
			w := newWorld(t, st, parrot)
			return w, w.mustSend(send("go"))
		}, nil, a2a.ErrUnsupportedOperation, 0},
		{"finished, of 0.1", func(t *testing.T, st store.Store) (*world, *a2a.Task) {
			w := newWorld(t, st, parrot)
			return w, w.mustSend(first01("mine", "go"))
		}, func(task *a2a.Task) *a2a.SendMessageRequest { return first01(task.ID, "me") },
			&a2a.Error{Code: a2a.CodeTaskGenerationMismatch}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			st := store.NewMemory()
			t.Cleanup(func() { st.Close() })
			w, task := c.prepare(t, st)
			var all sync.WaitGroup
			errs := make(chan error, 64)
			for range cap(errs) {
				all.Go(func() {
					req := reply(task, "me")
					if c.request != nil {
						req = c.request(task)
					}
					req.Configuration = &a2a.SendMessageConfiguration{ReturnImmediately: true}
					_, err := w.SendMessage(t.Context(), expecting(req, task.Generation))
					errs <- err
				})
			}
			all.Wait()
			close(errs)
			won := 0
			for err := range errs {
				if err == nil {
					won++
				} else {
					wantError(t, err, c.loses)
				}
			}
			if won != c.won {
				t.Errorf("%d won, want %d", won, c.won)
			}
			n := 0
			for _, text := range users(w.mustGet(task.ID)) {
				if text == "me" {
					n++
				}
			}
			if n != won {
				t.Errorf("%d messages are in the history, %d were taken", n, won)
			}
		})
	}
}

// A task that begins with the client's id needs nothing of what the engine
// takes up at its start, and nothing of that can take it away.
func TestClientsIDBeforeTheClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := store.NewMemory()
		defer mem.Close()
		st := &slowClaim{mem, make(chan struct{}), make(chan struct{}), make(chan struct{})}
		g := newGated()
		w := newWorld(t, st, g)
		<-st.reached
		first := w.posted(first01("mine", "one"))
		turn := <-g.entered
		second := w.posted(first01("mine", "two"))
		synctest.Wait()
		st.proceed <- struct{}{}
		if m, err := turn.Ask(t.Context(), "?"); err != nil || m.Text() != "two" {
			t.Errorf("the second message is %v, %v", m, err)
		}
		g.leave <- nil
		for _, c := range []chan sent{first, second} {
			got := <-c
			if got.err != nil {
				t.Fatal(got.err)
			}
			wantState(t, got.task, a2a.TaskStateCompleted)
			wantUsers(t, got.task, "one", "two")
		}
		w.stop()
		_, err := w.SendMessage(t.Context(), first01("other", "late"))
		wantError(t, err, a2a.ErrUnavailable)
		if _, err := mem.Get(t.Context(), store.Key{ID: "other"}, store.RowOnly); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("a task began while the engine stops: %v", err)
		}
		if w.AtWork() != 0 || w.topics.LenLocked() != 0 {
			t.Errorf("%d owners and %d topics are left", w.AtWork(), w.topics.LenLocked())
		}
	})
}

// A task that was begun anew is listed as what it is, counts once, and a
// process that dies before the turn did anything leaves it to the next.
func TestListsAndCrashOfATaskBegunAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMemory()
		defer st.Close()
		w := newWorld(t, st, agent.Func(func(ctx context.Context, t *agent.Turn) error {
			if t.Text() == "block" {
				<-ctx.Done()
				return context.Cause(ctx)
			}
			return parrot(ctx, t)
		}))
		blob := strings.Repeat("b", 2*stored.MinBlob)
		req := first01("mine", "one")
		req.Message.Parts = append(req.Message.Parts, a2a.RawPart([]byte(blob), "", ""))
		w.mustSend(req)
		time.Sleep(time.Second)
		w.mustSend(first01("other", "x"))
		time.Sleep(time.Second)
		w.mustSend(now01("mine", "block"))
		list := func(state a2a.TaskState, want ...string) {
			t.Helper()
			resp, err := w.ListTasks(t.Context(), &a2a.ListTasksRequest{Status: state, IncludeArtifacts: true})
			if err != nil {
				t.Fatal(err)
			}
			var ids []string
			for _, task := range resp.Tasks {
				ids = append(ids, task.ID)
				if task.ID == "mine" && (string(task.History[0].Parts[1].Raw) != blob || len(task.Artifacts) == 0) {
					t.Errorf("the list lost content: %d artifacts", len(task.Artifacts))
				}
			}
			if !slices.Equal(ids, want) || int(resp.TotalSize) != len(want) {
				t.Errorf("tasks that are %s: %q of %d, want %q", state, ids, resp.TotalSize, want)
			}
		}
		list(0, "mine", "other")
		list(a2a.TaskStateCompleted, "other")
		list(a2a.TaskStateSubmitted, "mine")
		w.stop()

		got := make(chan int, 1)
		w = newWorld(t, st, agent.Func(func(ctx context.Context, t *agent.Turn) error {
			got <- t.Attempt()
			return parrot(ctx, t)
		}))
		if n := <-got; n != 2 {
			t.Errorf("attempt %d", n)
		}
		task := w.eventually("mine", a2a.TaskStateCompleted)
		list(a2a.TaskStateCompleted, "mine", "other")
		list(a2a.TaskStateSubmitted)
		wantUsers(t, task, "one", "block")
		n := int32(1)
		short, err := w.GetTask(t.Context(), &a2a.GetTaskRequest{ID: "mine", HistoryLength: &n})
		if err != nil {
			t.Fatal(err)
		}
		wantUsers(t, short, "block")

		// Cursors before and at the end that was not the last.
		end := int64(0)
		entries, err := st.Entries(t.Context(), store.Key{ID: "mine"}, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, en := range entries {
			if a2a.EntryKind(en.Kind) == a2a.EntryStatus && end == 0 {
				end = en.Seq
			}
		}
		for after, want := range map[int64]string{
			2: "task:submitted artifact:one. completed", end: "task:completed", end + 2: "task:submitted artifact:block. completed",
		} {
			evs, err := collect(w.SubscribeToTask(t.Context(), &a2a.SubscribeToTaskRequest{ID: "mine", After: after}))
			if err != nil || brief(evs) != want {
				t.Errorf("after %d: %s, %v, want %s", after, brief(evs), err, want)
			}
		}
		w.stop()
		checkState(t, st, map[string]a2a.TaskState{"mine": a2a.TaskStateCompleted, "other": a2a.TaskStateCompleted})
	})
}

// A client that chose an id is never told that there is no such task: where it
// is deleted under way, it begins.
func TestClientsIDIsDeletedUnderWay(t *testing.T) {
	mem := store.NewMemory()
	t.Cleanup(func() { mem.Close() })
	st := &looking{Store: mem, any: true}
	w := newWorld(t, st, parrot)
	w.mustSend(first01("mine", "one"))
	w.stop() // until its owner has left the next message would not be looked up
	w = newWorld(t, st, parrot)
	remove := func() {
		rec, err := mem.Get(t.Context(), store.Key{ID: "mine"}, store.RowOnly)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := mem.Delete(t.Context(), []store.Row{rec.Row}); n != 1 || err != nil {
			t.Fatalf("deleted %d, %v", n, err)
		}
	}
	st.then = remove // before it is loaded
	wantUsers(t, w.mustSend(first01("mine", "two")), "two")
	w.stop()
	w = newWorld(t, st, parrot)
	held, err := w.owners.Acquire(t.Context(), store.Key{ID: "mine"})
	if err != nil {
		t.Fatal(err)
	}
	remove() // before it is written
	done := w.posted(first01("mine", "three"))
	defer held.Release()
	got := <-done
	if got.err != nil {
		t.Fatal(got.err)
	}
	wantUsers(t, got.task, "three")
}

// Two processes at one store, which is not how it is run: what one of them
// takes from the other is done once more, and every message is there once.
func TestFirstMessagesInTwoProcesses(t *testing.T) {
	for round := range 20 {
		t.Run(fmt.Sprint(round), func(t *testing.T) {
			st := store.NewMemory()
			t.Cleanup(func() { st.Close() })
			ws := []*world{newWorld(t, st, interview), newWorld(t, st, interview)}
			var all sync.WaitGroup
			errs := make([]error, 2)
			for i, w := range ws {
				all.Go(func() { _, errs[i] = w.SendMessage(t.Context(), now01("mine", fmt.Sprint(i))) })
			}
			all.Wait()
			// From the log: the process that lost the task does not know until it writes.
			task, err := New(st, interview, testCard(), nil).GetTask(t.Context(), &a2a.GetTaskRequest{ID: "mine"})
			if err != nil {
				t.Fatal(err)
			}
			got := users(task)
			slices.Sort(got)
			if !slices.Equal(got, slices.Compact(slices.Clone(got))) {
				t.Errorf("the messages are %q", got)
			}
			for i, err := range errs {
				if has := slices.Contains(got, fmt.Sprint(i)); err == nil && !has {
					t.Errorf("message %d is not in %q", i, got)
				} else if err != nil && !errors.Is(err, a2a.ErrUnavailable) {
					t.Errorf("message %d: %v", i, err)
				}
			}
		})
	}
}
