package engine

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/store"
)

// users returns what clients said, in order.
func users(task *a2a.Task) (out []string) {
	for _, m := range task.History {
		if m.Role == a2a.RoleUser {
			out = append(out, m.Text())
		}
	}
	return out
}

func wantUsers(t testing.TB, task *a2a.Task, want ...string) {
	t.Helper()
	if got := users(task); !slices.Equal(got, want) {
		t.Errorf("the clients' messages are %q, want %q", got, want)
	}
}

type sent struct {
	task *a2a.Task
	evs  []*a2a.StreamResponse
	err  error
}

// posted sends in the background.
func (w *world) posted(req *a2a.SendMessageRequest) chan sent {
	done := make(chan sent, 1)
	go func() {
		resp, err := w.SendMessage(context.Background(), req)
		if err != nil {
			done <- sent{err: err}
			return
		}
		done <- sent{task: resp.Task}
	}()
	return done
}

// streamed is posted for a stream.
func (w *world) streamed(req *a2a.SendMessageRequest) chan sent {
	done := make(chan sent, 1)
	go func() {
		evs, err := collect(w.SendStreamingMessage(context.Background(), req))
		done <- sent{evs: evs, err: err}
	}()
	return done
}

// Messages that come while the agent is about to end its turn, and that it
// does not take, begin the next turns: each is read once and in the history
// once, and each sender is told of the end of its own turn.
func TestMessagesForAnEndingTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMemory()
		defer st.Close()
		g := newGated()
		w := newWorld(t, st, g)
		one := w.posted(first01("mine", "one"))
		turn := <-g.entered
		if _, err := agent.Step(t.Context(), turn, "a", func(context.Context) (int, error) { return 1, nil }); err != nil {
			t.Fatal(err)
		}
		two := w.posted(first01("mine", "two"))
		synctest.Wait()
		newer := w.posted(reply(&a2a.Task{ID: "mine"}, "of 1.0")) // behind one that begins a turn: read with it
		synctest.Wait()
		three := w.streamed(first01("mine", "three"))
		synctest.Wait()

		g.leave <- nil
		turn = <-g.entered
		if turn.Text() != "two" || turn.Attempt() != 1 {
			t.Errorf("turn 2 has %q, attempt %d", turn.Text(), turn.Attempt())
		}
		got := <-one
		if got.err != nil {
			t.Fatal(got.err)
		}
		wantState(t, got.task, a2a.TaskStateCompleted)
		synctest.Wait()
		for name, c := range map[string]chan sent{"two": two, "of 1.0": newer, "three": three} {
			select {
			case got := <-c:
				t.Fatalf("%s was answered with the end of the turn before: %+v", name, got)
			default:
			}
		}
		if m, err := turn.Ask(t.Context(), "?"); err != nil || m.Text() != "of 1.0" {
			t.Errorf("the next message is %v, %v", m, err)
		}
		again, err := agent.Step(t.Context(), turn, "b", func(context.Context) (int, error) { return 2, nil })
		if err != nil || again != 2 {
			t.Errorf("a step of the turn before answered: %d, %v", again, err)
		}
		if err := turn.Artifact("out").Last(a2a.TextPart("x")); err != nil {
			t.Error(err)
		}
		g.leave <- nil
		turn = <-g.entered
		if turn.Text() != "three" {
			t.Errorf("turn 3 has %q", turn.Text())
		}
		for _, c := range []chan sent{two, newer} {
			got := <-c
			if got.err != nil {
				t.Fatal(got.err)
			}
			wantState(t, got.task, a2a.TaskStateCompleted)
			wantUsers(t, got.task, "one", "two", "of 1.0", "three")
			if len(got.task.Artifacts) != 1 {
				t.Errorf("%d artifacts", len(got.task.Artifacts))
			}
		}
		g.leave <- errors.New("no")
		if got := <-three; got.err != nil || brief(got.evs) != "task:submitted submitted artifact:x. submitted failed" {
			t.Errorf("the stream is %q, %v", brief(got.evs), got.err)
		}
		task := w.mustGet("mine")
		wantUsers(t, task, "one", "two", "of 1.0", "three")
		w.stop()
		if w.AtWork() != 0 || w.topics.LenLocked() != 0 {
			t.Errorf("%d owners and %d topics are left", w.AtWork(), w.topics.LenLocked())
		}
		checkState(t, st, map[string]a2a.TaskState{"mine": a2a.TaskStateFailed})
	})
}

// Where nothing but the message is of another version it is refused as ever.
func TestUnreadMessagesOfLaterVersions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGated()
		w := newWorld(t, nil, g)
		one := w.posted(first01("mine", "one"))
		<-g.entered
		time.Sleep(time.Second) // now it exists
		later := w.posted(reply(&a2a.Task{ID: "mine"}, "of 1.0"))
		synctest.Wait()
		old := w.posted(first01("mine", "two")) // behind it, and not held up by it
		synctest.Wait()
		g.leave <- nil
		wantError(t, (<-later).err, a2a.ErrUnsupportedOperation)
		if turn := <-g.entered; turn.Text() != "two" {
			t.Errorf("turn 2 has %q", turn.Text())
		}
		g.leave <- nil
		for _, c := range []chan sent{one, old} {
			if got := <-c; got.err != nil {
				t.Error(got.err)
			}
		}

		task := send("born in 1.0")
		born := w.posted(task)
		id := (<-g.entered).Task().ID
		synctest.Wait()
		time.Sleep(time.Second)
		req := first01(id, "of 0.1")
		refused := w.posted(req)
		synctest.Wait()
		g.leave <- nil
		wantError(t, (<-refused).err, a2a.ErrUnsupportedOperation)
		if got := <-born; got.err != nil {
			t.Error(got.err)
		}
		w.stop()
	})
}

// An agent that ended the task and goes on does not get the message of the next
// turn, nor does it hold the turn up.
func TestEndingTurnWhoseAgentLingers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := make(chan error, 1)
		g := newGated()
		w := newWorld(t, nil, agent.Func(func(ctx context.Context, t *agent.Turn) error {
			err := g.Run(ctx, t)
			if t.Text() != "one" {
				return err
			}
			if err := t.Complete("done"); err != nil {
				return err
			}
			_, err = t.Ask(context.Background(), "more?")
			asked <- err
			<-ctx.Done()
			time.Sleep(time.Hour)
			return t.Artifact("late").Last(a2a.TextPart("late"))
		}))
		one := w.posted(first01("mine", "one"))
		<-g.entered
		two := w.posted(first01("mine", "two"))
		synctest.Wait()
		g.leave <- nil
		if turn := <-g.entered; turn.Text() != "two" {
			t.Errorf("turn 2 has %q", turn.Text())
		}
		if err := <-asked; !errors.Is(err, agent.ErrEnded) {
			t.Errorf("the last agent was answered: %v", err)
		}
		wantTexts(t, (<-one).task.History, "one", "two")
		g.leave <- nil
		task := (<-two).task
		wantTexts(t, task.History, "one", "two", "done")
		if len(task.Artifacts) > 0 {
			t.Errorf("artifacts %s", task.AppendJSON(nil))
		}
		time.Sleep(2 * time.Hour)
		w.stop()
	})
}

// A cancellation is for the messages that came before it, too, and not for
// those that come after it.
func TestMessagesAroundACancellation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		entered := make(chan *agent.Turn)
		w := newWorld(t, nil, agent.Func(func(ctx context.Context, t *agent.Turn) error {
			entered <- t
			if t.Text() == "after" {
				return nil
			}
			<-ctx.Done()
			time.Sleep(time.Second)
			return context.Cause(ctx)
		}))
		one := w.posted(first01("mine", "one"))
		<-entered
		before := w.posted(first01("mine", "before"))
		synctest.Wait()
		canceled := make(chan sent, 1)
		go func() {
			task, err := w.CancelTask(t.Context(), &a2a.CancelTaskRequest{ID: "mine"})
			canceled <- sent{task: task, err: err}
		}()
		synctest.Wait()
		after := w.posted(first01("mine", "after"))
		if turn := <-entered; turn.Text() != "after" {
			t.Errorf("turn 2 has %q", turn.Text())
		}
		for _, c := range []chan sent{one, canceled} {
			got := <-c
			if got.err != nil {
				t.Fatal(got.err)
			}
			wantState(t, got.task, a2a.TaskStateCanceled)
		}
		wantError(t, (<-before).err, a2a.ErrUnsupportedOperation)
		got := <-after
		if got.err != nil {
			t.Fatal(got.err)
		}
		wantState(t, got.task, a2a.TaskStateCompleted)
		wantUsers(t, got.task, "one", "before", "after")
		w.stop()
	})
}

// The end and the turn after it are one commit. A process that dies there leaves the turn to
// the next process, with its message and nothing of the turn before.
func TestCrashBetweenEndAndNextTurn(t *testing.T) {
	for _, how := range []string{"killed", "drained"} {
		t.Run(how, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				mem := store.NewMemory()
				defer mem.Close()
				crashed := store.NewMemory()
				defer crashed.Close()
				g := newGated()
				alive := true
				var w *world
				c := &counting{Store: mem, before: func(a *store.Append) {
					if !alive {
						return
					}
					if err := store.Do(context.Background(), crashed, a); err != nil {
						panic(err)
					}
					if a2a.EntryKind(a.Entries[len(a.Entries)-1].Kind) == a2a.EntryStatus { // the next turn's beginning
						alive = false
						if how == "drained" {
							go w.stop()
							<-w.draining
						}
					}
				}}
				w = newWorld(t, c, g)
				w.posted(first01("mine", "one"))
				turn := <-g.entered
				time.Sleep(time.Second)
				two := w.posted(first01("mine", "two"))
				synctest.Wait()
				if _, err := agent.Step(t.Context(), turn, "a", func(context.Context) (int, error) { return 1, nil }); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				g.leave <- nil
				if how == "drained" {
					synctest.Wait()
				} else {
					<-g.entered
					g.leave <- nil
					<-two
					w.stop()
				}
				if alive {
					t.Fatal("the turn did not end")
				}

				w = newWorld(t, crashed, g)
				turn = <-g.entered
				if turn.Text() != "two" {
					t.Errorf("the turn begins with %q", turn.Text())
				}
				if n, err := agent.Step(t.Context(), turn, "b", func(context.Context) (int, error) { return 2, nil }); err != nil || n != 2 {
					t.Errorf("a step of the turn before answered: %d, %v", n, err)
				}
				g.leave <- nil
				task := w.eventually("mine", a2a.TaskStateCompleted)
				wantUsers(t, task, "one", "two")
				w.stop()
				checkState(t, crashed, map[string]a2a.TaskState{"mine": a2a.TaskStateCompleted})
			})
		})
	}
}

// A message that was accepted before a crash is not lost either, if the run
// after it does not take it.
func TestMessageFromBeforeACrash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMemory()
		defer st.Close()
		g := newGated()
		w := newWorld(t, st, g)
		w.posted(first01("mine", "one"))
		<-g.entered
		w.posted(first01("mine", "two"))
		synctest.Wait()
		w.stop()
		w = newWorld(t, st, g)
		for _, want := range []string{"one", "two"} {
			if turn := <-g.entered; turn.Text() != want {
				t.Errorf("the turn begins with %q, want %q", turn.Text(), want)
			}
			g.leave <- nil
		}
		synctest.Wait()
		wantUsers(t, w.eventually("mine", a2a.TaskStateCompleted), "one", "two")
		w.stop()
		checkState(t, st, map[string]a2a.TaskState{"mine": a2a.TaskStateCompleted})
	})
}
