package engine

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/store"
)

// crashing leaves a task that was lost n times.
func crashing(t *testing.T, st store.Store, n int) *a2a.Task {
	t.Helper()
	task := crashed(t, st, 1)[0]
	for range n - 1 {
		_, kill := newMortal(t, st, waiting, &Options{MaxLost: 100})
		synctest.Wait()
		kill()
	}
	return task
}

// The first loss costs no time, the later ones more and more.
func TestBackoffGrows(t *testing.T) {
	for lost, want := range map[int][2]time.Duration{
		1: {0, 0},
		2: {750 * time.Millisecond, time.Second},
		3: {1500 * time.Millisecond, 2 * time.Second},
		4: {3 * time.Second, 4 * time.Second},
		9: {22500 * time.Millisecond, 30 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			st := store.NewMemory()
			defer st.Close()
			crashing(t, st, lost)
			start := time.Now()
			began := make(chan int, 1)
			w := newWorldWith(t, st, agent.Func(func(ctx context.Context, t *agent.Turn) error {
				began <- t.Attempt()
				return nil
			}), testCard(), &Options{MaxLost: 100})
			if attempt := <-began; attempt != lost+1 {
				t.Errorf("after %d losses the attempt is %d", lost, attempt)
			}
			if d := time.Since(start); d < want[0] || d > want[1] {
				t.Errorf("after %d losses it took %v, want %v", lost, d, want)
			}
			w.stop()
		})
	}
}

// Between two runs messages are taken, and the next run gets them.
func TestMessageBetweenRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMemory()
		defer st.Close()
		task := crashing(t, st, 5)
		start := time.Now()
		w := newWorldWith(t, st, agent.Func(func(ctx context.Context, t *agent.Turn) error {
			if time.Since(start) < time.Second {
				return agent.Public("too early", nil)
			}
			m, err := t.Ask(ctx, "?")
			if err != nil {
				return err
			}
			return t.Complete(m.Text())
		}), testCard(), &Options{MaxLost: 100})
		synctest.Wait()
		req := reply(task, "hello")
		req.Configuration = &a2a.SendMessageConfiguration{ReturnImmediately: true}
		wantState(t, w.mustSend(req), a2a.TaskStateSubmitted)
		if d := time.Since(start); d > 0 {
			t.Errorf("the sender waited %v", d)
		}
		end := w.eventually(task.ID, a2a.TaskStateCompleted)
		if end.Status.Message.Text() != "hello" {
			t.Errorf("the task ended with %q", end.Status.Message.Text())
		}
		w.stop()
	})
}

// Between two runs a task is canceled at once, and a drain does not wait.
func TestCancelBetweenRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMemory()
		defer st.Close()
		task := crashing(t, st, 5)
		never := agent.Func(func(ctx context.Context, _ *agent.Turn) error {
			t.Error("the agent ran")
			return nil
		})
		o := &Options{MaxLost: 100}
		start := time.Now()
		w := newWorldWith(t, st, never, testCard(), o)
		synctest.Wait()
		w.stop()

		w = newWorldWith(t, st, never, testCard(), o)
		synctest.Wait()
		got, err := w.CancelTask(t.Context(), &a2a.CancelTaskRequest{ID: task.ID})
		if err != nil {
			t.Fatal(err)
		}
		wantState(t, got, a2a.TaskStateCanceled)
		if d := time.Since(start); d > 0 {
			t.Errorf("it took %v", d)
		}
		if _, err := w.CancelTask(t.Context(), &a2a.CancelTaskRequest{ID: task.ID}); err != nil {
			t.Errorf("canceling again: %v", err)
		}
		time.Sleep(time.Minute)
		w.stop()
	})
}

// An agent's rule for lost processes counts after a crash, and not after a clean
// restart.
func TestDeclaredLosses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMemory()
		defer st.Close()
		var runs []int
		ag := agent.OnLost(agent.Exec([]string{"true"}, nil), agent.Lost{Fail: "x"})
		if got := agent.LostBy(agent.OnLost(ag, agent.Lost{Fail: "y", Runs: 2})); got.Fail != "y" || got.Runs != 2 {
			t.Errorf("declared anew it is %+v", got)
		}
		once := agent.OnLost(agent.Func(func(ctx context.Context, t *agent.Turn) error {
			runs = append(runs, t.Attempt())
			return waiting(ctx, t)
		}), agent.Lost{Fail: "the payment may have been made; look before you try again"})

		w := newWorld(t, st, once)
		task := w.mustSend(sendNow("x"))
		w.stop()
		_, kill := newMortal(t, st, once, nil)
		synctest.Wait()
		if !slices.Equal(runs, []int{1, 2}) {
			t.Fatalf("after a clean restart the runs are %v", runs)
		}
		kill()
		w = newWorld(t, st, once)
		end := w.eventually(task.ID, a2a.TaskStateFailed)
		if got := end.Status.Message.Text(); got != "the payment may have been made; look before you try again" {
			t.Errorf("the reason is %q", got)
		}
		if len(runs) != 2 {
			t.Errorf("the runs are %v", runs)
		}
		w.stop()
	})
}

func TestDeclaredRuns(t *testing.T) {
	for most := 1; most <= 5; most++ {
		synctest.Test(t, func(t *testing.T) {
			st := store.NewMemory()
			defer st.Close()
			runs := 0
			ag := agent.OnLost(agent.Func(func(ctx context.Context, t *agent.Turn) error {
				runs++
				return waiting(ctx, t)
			}), agent.Lost{Runs: most})
			w, kill := newMortal(t, st, ag, nil)
			task := w.mustSend(sendNow("x"))
			for range most {
				time.Sleep(time.Minute)
				kill()
				w, kill = newMortal(t, st, ag, nil)
			}
			w.eventually(task.ID, a2a.TaskStateFailed)
			if runs != most {
				t.Errorf("it ran %d times, want %d", runs, most)
			}
			w.stop()
		})
	}
}

// However often it is restarted in good order, a long task is not given up, and
// each run is counted.
func TestCleanRestartsCostNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMemory()
		defer st.Close()
		var attempts []int
		ag := agent.Func(func(ctx context.Context, t *agent.Turn) error {
			attempts = append(attempts, t.Attempt())
			if len(attempts) <= 10 {
				return waiting(ctx, t)
			}
			return nil
		})
		w := newWorld(t, st, ag)
		task := w.mustSend(sendNow("x"))
		start := time.Now()
		for range 10 {
			synctest.Wait()
			w.stop()
			w = newWorld(t, st, ag)
		}
		w.eventually(task.ID, a2a.TaskStateCompleted)
		if want := []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}; !slices.Equal(attempts, want) {
			t.Errorf("attempts are %v", attempts)
		}
		if r := row(t, st, task.ID); r.Lost != 0 {
			t.Errorf("%d losses were counted", r.Lost)
		}
		if d := time.Since(start); d > 0 {
			t.Errorf("it took %v", d)
		}
		w.stop()
	})
}

// An agent that does not stop in time is lost with its process, once; what was
// left in good order is not.
func TestAgentsThatDoNotStopAreLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMemory()
		defer st.Close()
		e := New(st, agent.Func(func(ctx context.Context, t *agent.Turn) error {
			if t.Text() != "deaf" {
				return waiting(ctx, t)
			}
			time.Sleep(time.Minute)
			return t.Complete("too late")
		}), testCard(), &Options{DrainWait: time.Second})
		ctx, cancel := context.WithCancel(t.Context())
		ran := make(chan error, 1)
		go func() { ran <- e.Run(ctx) }()
		var tasks []*a2a.Task
		for _, text := range []string{"deaf", "good"} {
			resp, err := e.SendMessage(ctx, sendNow(text))
			if err != nil {
				t.Fatal(err)
			}
			tasks = append(tasks, resp.Task)
		}
		cancel()
		if err := <-ran; err == nil {
			t.Error("Run did not say that an agent goes on")
		}
		w, kill := newMortal(t, st, waiting, nil)
		synctest.Wait()
		if deaf, good := row(t, st, tasks[0].ID).Lost, row(t, st, tasks[1].ID).Lost; deaf != 1 || good != 0 {
			t.Errorf("losses are %d and %d, want 1 and 0", deaf, good)
		}
		time.Sleep(time.Minute) // the deaf one speaks
		wantState(t, w.mustGet(tasks[0].ID), a2a.TaskStateSubmitted)
		kill()
	})
}

// While a caller is about to act the agent is not begun: it may be a
// cancellation.
func TestNoRunBeforeTheCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMemory()
		defer st.Close()
		task := crashed(t, st, 1)[0]
		e := New(st, agent.Func(func(ctx context.Context, _ *agent.Turn) error {
			t.Error("the agent ran")
			return nil
		}), testCard(), nil)
		o, err := e.owners.Acquire(t.Context(), store.Key{ID: task.ID})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if asked, _, err := o.RequestCancel(&a2a.CancelRequested{}); err != nil || asked == nil {
			t.Errorf("the cancellation: %v, %v", asked, err)
		}
		o.Release()
		synctest.Wait()
		if got := a2a.TaskState(row(t, st, task.ID).State); got != a2a.TaskStateCanceled {
			t.Errorf("the task is %s", got)
		}
	})
}
