package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/store"
	"github.com/parley-a2a/parley/store/storetest"
)

// frozen is a store whose process can be paused: nothing it calls gets through
// until it wakes.
type frozen struct {
	store.Store
	mu    sync.Mutex
	gate  chan struct{} // nil: awake
	beats atomic.Int32
}

func (f *frozen) freeze() {
	f.mu.Lock()
	f.gate = make(chan struct{})
	f.mu.Unlock()
}

func (f *frozen) thaw() {
	f.mu.Lock()
	close(f.gate)
	f.gate = nil
	f.mu.Unlock()
}

func (f *frozen) pass() {
	f.mu.Lock()
	gate := f.gate
	f.mu.Unlock()
	if gate != nil {
		<-gate
	}
}

func (f *frozen) Append(a *store.Append, done func(error)) {
	f.pass()
	f.Store.Append(a, done)
}

func (f *frozen) Get(ctx context.Context, k store.Key, most int64) (*store.Record, error) {
	f.pass()
	return f.Store.Get(ctx, k, most)
}

func (f *frozen) Entries(ctx context.Context, k store.Key, after int64, limit int) ([]store.Entry, error) {
	f.pass()
	return f.Store.Entries(ctx, k, after, limit)
}

func (f *frozen) Beat(ctx context.Context, node string, now time.Time) error {
	f.pass()
	f.beats.Add(1)
	return f.Store.Beat(ctx, node, now)
}

func (f *frozen) Claim(ctx context.Context, node string, dead time.Time, limit int) ([]store.Row, error) {
	f.pass()
	return f.Store.Claim(ctx, node, dead, limit)
}

// shared is for processes that share a store.
func shared(t testing.TB) *Options {
	return &Options{DeadAfter: 10 * time.Second, Logger: slog.New(slog.NewTextHandler(testLog{t}, nil))}
}

// A process that was paused past its heartbeat, while another took over its tasks, cannot write
// any of them when it wakes, even if it tries that first. Its agents are told, and its callers
// see what the other process did.
func TestPausedProcessIsFenced(t *testing.T) {
	writes := map[string]func(w *world, turn *agent.Turn, task *a2a.Task) error{
		"artifact": func(w *world, turn *agent.Turn, _ *a2a.Task) error {
			return turn.Artifact("stale").Last(a2a.TextPart("stale"))
		},
		"status":     func(_ *world, turn *agent.Turn, _ *a2a.Task) error { return turn.Status("stale") },
		"completion": func(_ *world, turn *agent.Turn, _ *a2a.Task) error { return turn.Complete("stale") },
		"failure":    func(_ *world, turn *agent.Turn, _ *a2a.Task) error { return turn.Fail("stale") },
		"question": func(w *world, turn *agent.Turn, _ *a2a.Task) error {
			_, err := turn.Ask(w.t.Context(), "stale?")
			return err
		},
		"step": func(w *world, turn *agent.Turn, _ *a2a.Task) error {
			_, err := agent.Step(w.t.Context(), turn, "stale", func(context.Context) (int, error) { return 1, nil })
			return err
		},
		"cancel": func(w *world, _ *agent.Turn, task *a2a.Task) error {
			_, err := w.CancelTask(w.t.Context(), &a2a.CancelTaskRequest{ID: task.ID})
			return err
		},
		"follow-up": func(w *world, _ *agent.Turn, task *a2a.Task) error {
			_, err := w.SendMessage(w.t.Context(), reply(task, "stale"))
			return err
		},
		"nothing": func(*world, *agent.Turn, *a2a.Task) error { return nil },
	}
	for name, write := range writes {
		for _, ends := range []bool{true, false} { // whether the other has ended the task by then
			t.Run(fmt.Sprint(name, "/", ends), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { testPaused(t, name, write, ends) })
			})
		}
	}
}

func testPaused(t *testing.T, name string, write func(*world, *agent.Turn, *a2a.Task) error, ends bool) {
	mem := store.NewMemory()
	defer mem.Close()
	st := &frozen{Store: mem}
	turns := make(chan *agent.Turn, 1)
	told := make(chan error, 1)
	paused := newWorldWith(t, st, agent.Func(func(ctx context.Context, t *agent.Turn) error {
		if err := t.Status("at it"); err != nil {
			return err
		}
		turns <- t
		<-ctx.Done()
		told <- context.Cause(ctx)
		return context.Cause(ctx)
	}), testCard(), shared(t))
	task := paused.mustSend(sendNow("x"))
	turn := <-turns
	synctest.Wait()
	stream := make(chan string, 1)
	go func() {
		evs, err := collect(paused.SubscribeToTask(context.Background(), &a2a.SubscribeToTaskRequest{ID: task.ID}))
		stream <- fmt.Sprint(brief(evs), " ", err)
	}()
	synctest.Wait()

	st.freeze()
	finish := make(chan bool, 1)
	other := newWorldWith(t, mem, agent.Func(func(ctx context.Context, t *agent.Turn) error {
		if t.Attempt() != 2 {
			return errors.New("another attempt than the second")
		}
		if err := t.Status("taken over"); err != nil {
			return err
		}
		<-finish
		return t.Complete("done")
	}), testCard(), shared(t))
	time.Sleep(20 * time.Second)
	if got := other.mustGet(task.ID).Status.Message.Text(); got != "taken over" {
		t.Fatalf("after a while the task says %q", got)
	}
	if ends {
		finish <- true
		synctest.Wait()
	}

	// Everything in the paused process happens at once when it wakes.
	wrote := make(chan error, 1)
	go func() {
		err := write(paused, turn, task)
		for i := 0; err == nil && i < 3 && name != "nothing" && name != "cancel" && name != "follow-up"; i++ {
			time.Sleep(time.Millisecond) // an agent may be ahead of the disk by a little
			err = turn.Status("stale")
		}
		wrote <- err
	}()
	st.thaw()
	synctest.Wait()
	if cause := <-told; cause != agent.ErrEnded {
		t.Errorf("the agent was told %v", cause)
	}
	wantText := "taken over"
	if ends {
		wantText = "done"
	}
	if got := paused.mustGet(task.ID).Status.Message.Text(); got != wantText {
		t.Errorf("who asks the paused process is told %q, want %q", got, wantText)
	}
	if !ends {
		finish <- true
	}
	end := other.eventually(task.ID, a2a.TaskStateCompleted)
	if err := <-wrote; (err == nil) != (name == "nothing") {
		t.Errorf("the late write returned %v", err)
	}
	if got, want := <-stream, "task:working working completed <nil>"; got != want {
		t.Errorf("its stream is %q, want %q", got, want)
	}
	sameTask(t, paused.mustGet(task.ID), end)
	said := 1
	if name == "follow-up" && !ends {
		said++ // it was passed on to the process that has the task, whose agent never took it
	}
	if end.Status.Message.Text() != "done" || len(end.Artifacts) != 0 || len(users(end)) != said {
		t.Errorf("the task has become %s", end.AppendJSON(nil))
	}
	synctest.Wait()
	checkState(t, mem, map[string]a2a.TaskState{task.ID: a2a.TaskStateCompleted})

	// It goes on as any other process.
	again := paused.mustSend(sendNow("y"))
	<-turns
	if _, err := paused.CancelTask(t.Context(), &a2a.CancelTaskRequest{ID: again.ID}); err != nil {
		t.Error(err)
	}
	paused.stop()
	other.stop()
}

// A process that wakes no longer gives stale answers, even before it has checked which tasks it
// has lost.
func TestNoStaleReadAfterAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := store.NewMemory()
		defer mem.Close()
		st := &frozenBeat{Store: mem}
		paused := newWorldWith(t, st, waiting, testCard(), shared(t))
		task := paused.mustSend(sendNow("x"))
		st.held.Store(true)
		other := newWorldWith(t, mem, parrot, testCard(), shared(t))
		time.Sleep(20 * time.Second)
		wantState(t, other.mustGet(task.ID), a2a.TaskStateCompleted)
		wantState(t, paused.mustGet(task.ID), a2a.TaskStateCompleted)
		st.held.Store(false)
		paused.stop()
		other.stop()
	})
}

// frozenBeat is a store whose beats fail while they are held.
type frozenBeat struct {
	store.Store
	held atomic.Bool
}

func (f *frozenBeat) Beat(ctx context.Context, node string, now time.Time) error {
	if f.held.Load() {
		return errors.New("no connection")
	}
	return f.Store.Beat(ctx, node, now)
}

// A process that is there all the time takes over from those that die, and
// leaves alone those that live, also when they drain for long.
func TestTakeOverWhileRunning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMemory()
		defer st.Close()
		var runs atomic.Int32
		ag := agent.Func(func(ctx context.Context, t *agent.Turn) error {
			if t.Attempt() == 1 {
				return waiting(ctx, t)
			}
			runs.Add(1)
			return t.Complete("taken over")
		})
		other := newWorldWith(t, st, ag, testCard(), shared(t))
		living := newWorldWith(t, st, ag, testCard(), shared(t)) // either may take over
		mine := living.mustSend(sendNow("mine"))
		o := shared(t)
		o.DrainWait = time.Hour
		stubborn := New(st, agent.Func(func(ctx context.Context, t *agent.Turn) error {
			time.Sleep(20 * time.Minute)
			return t.Complete("after a long drain")
		}), testCard(), o)
		ctx, cancel := context.WithCancel(t.Context())
		ran := make(chan error, 1)
		go func() { ran <- stubborn.Run(ctx) }()
		resp, err := stubborn.SendMessage(ctx, sendNow("slow"))
		if err != nil {
			t.Fatal(err)
		}
		cancel()

		dying, kill := newMortal(t, st, waiting, shared(t))
		lost := dying.mustSend(sendNow("lost"))
		time.Sleep(time.Minute)
		kill()
		time.Sleep(9 * time.Second)
		wantState(t, other.mustGet(lost.ID), a2a.TaskStateSubmitted)
		time.Sleep(10 * time.Second)
		wantState(t, other.mustGet(lost.ID), a2a.TaskStateCompleted)
		wantState(t, living.mustGet(lost.ID), a2a.TaskStateCompleted)

		if err := <-ran; err != nil {
			t.Error(err)
		}
		if got := other.mustGet(resp.Task.ID).Status.Message.Text(); got != "after a long drain" {
			t.Errorf("the task of the process that drained says %q", got)
		}
		wantState(t, other.mustGet(mine.ID), a2a.TaskStateSubmitted)
		more := reply(mine, "hello")
		more.Configuration = &a2a.SendMessageConfiguration{ReturnImmediately: true}
		wantUsers(t, other.mustSend(more), "mine", "hello")
		living.stop() // in good order: nothing is waited for, and nothing lost
		time.Sleep(5 * time.Second)
		wantState(t, other.mustGet(mine.ID), a2a.TaskStateCompleted)
		if r := row(t, st, mine.ID); r.Lost != 0 || r.Attempt != 2 {
			t.Errorf("the row is %+v", r)
		}
		if n := runs.Load(); n != 2 {
			t.Errorf("%d tasks were taken over", n)
		}
		other.stop()
		storetest.Check(t, st, store.Key{ID: mine.ID}, store.Key{ID: lost.ID}, store.Key{ID: resp.Task.ID})
	})
}

// A question that one process asked is answered at another; then the first does
// not tell the old state.
func TestAnswerAtAnotherProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMemory()
		defer st.Close()
		one := newWorldWith(t, st, interview, testCard(), shared(t))
		two := newWorldWith(t, st, interview, testCard(), shared(t))
		task := one.mustSend(send("x"))
		wantState(t, task, a2a.TaskStateInputRequired)
		two.mustSend(reply(task, "Ada"))
		end := two.mustSend(reply(task, "London"))
		wantState(t, end, a2a.TaskStateCompleted)
		sameTask(t, one.mustGet(task.ID), end)
		one.stop()
		two.stop()
	})
}

// An idle process whose store is its own writes nothing.
func TestNoBeatsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := store.NewMemory()
		defer mem.Close()
		st := &frozen{Store: mem}
		w := newWorld(t, st, parrot)
		time.Sleep(24 * time.Hour)
		if n := st.beats.Load(); n != 1 {
			t.Errorf("%d beats in a day", n)
		}
		w.stop()
	})
}

// A process that loaded a task to go on with it, and has not done so yet, shows what the
// process that had the task before does to it meanwhile.
func TestLoadedWhileAnotherGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := pair(t, interview)
		task := here.mustSend(send("go"))
		wantState(t, task, a2a.TaskStateInputRequired)
		o, err := there.owners.Acquire(t.Context(), store.Key{ID: task.ID}) // as a message that waits for memory does
		if err != nil {
			t.Fatal(err)
		}
		end := here.mustSend(reply(task, "Ada"))
		got := there.mustGet(task.ID)
		o.Release()
		sameTask(t, got, end)
		here.stop()
		there.stop()
	})
}

// lateAppend is a store whose appends wait while it is frozen.
type lateAppend struct {
	store.Store
	late frozen
}

func (l *lateAppend) Append(a *store.Append, done func(error)) {
	l.late.pass()
	l.Store.Append(a, done)
}

// An agent that asks again while an answer is on its way to a store that others have, too,
// gets that answer, and its client no second question.
func TestNoQuestionBehindItsAnswer(t *testing.T) {
	for _, kind := range []string{"ask", "authenticate"} {
		t.Run(kind, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				mem := store.NewMemory()
				defer mem.Close()
				st := &lateAppend{Store: mem}
				again := make(chan bool)
				ag := agent.Func(func(ctx context.Context, t *agent.Turn) error {
					ask := t.Ask
					if kind == "authenticate" {
						ask = t.Authenticate
					}
					short, cancel := context.WithTimeout(ctx, time.Second)
					defer cancel()
					if _, err := ask(short, "Name?"); !errors.Is(err, context.DeadlineExceeded) {
						return err
					}
					<-again
					_, err := ask(ctx, "Name?")
					return err
				})
				w := newWorldWith(t, st, ag, testCard(), shared(t))
				task := w.mustSend(send("go"))
				time.Sleep(2 * time.Second)
				st.late.freeze()
				answered := make(chan error, 1)
				go func() {
					_, err := w.SendMessage(t.Context(), reply(task, "Ada"))
					answered <- err
				}()
				synctest.Wait()
				again <- true
				synctest.Wait()
				st.late.thaw()
				if err := <-answered; err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				var states []string
				for en, err := range w.FollowLog(t.Context(), store.Key{ID: task.ID}, 0) {
					if err != nil {
						t.Fatal(err)
					}
					if en.Kind == uint8(a2a.EntryStatus) {
						e, err := a2a.DecodeEntry(en.Seq, en.Time, a2a.EntryStatus, en.Body)
						if err != nil {
							t.Fatal(err)
						}
						states = append(states, short(e.Status.Status.State))
					}
				}
				if len(states) != 3 || states[1] != "working" || states[2] != "completed" {
					t.Errorf("the states are %v", states)
				}
				w.stop()
			})
		})
	}
}
