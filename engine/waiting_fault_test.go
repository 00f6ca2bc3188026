package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
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

// waitingScenario goes through what happens to tasks beyond a process's capacity,
// with a restart while most of them wait.
func waitingScenario(t *testing.T, st store.Store) (ends map[string]a2a.TaskState, ag *worker) {
	ctx := context.Background()
	ends, ag = map[string]a2a.TaskState{}, newWorker(1)
	e, stop := startWith(t, st, ag, Options{Capacity: 1})
	post := func(req *a2a.SendMessageRequest) *a2a.Task {
		t.Helper()
		resp, err := e.SendMessage(ctx, req)
		if err != nil {
			t.Fatalf("send %s: %v", req.Message.Text(), err)
		}
		if ends[resp.Task.ID] == 0 {
			ends[resp.Task.ID] = a2a.TaskStateCompleted
		}
		return resp.Task
	}
	asks := post(send("ask"))
	first := post(sendNow("work 1"))
	post(sendNow("work 2"))
	canceled := post(sendNow("work 3"))
	early := post(sendNow("ask 4"))
	conf := sendNow("late")
	conf.Message.TaskID = asks.ID
	post(conf) // waits for room, too
	for _, w := range []*a2a.Task{canceled, first} {
		if _, err := e.CancelTask(ctx, &a2a.CancelTaskRequest{ID: w.ID}); err != nil {
			t.Fatalf("cancel: %v", err)
		}
		ends[w.ID] = a2a.TaskStateCanceled
	}
	stop()

	e, stop = startWith(t, st, ag, Options{Capacity: 1})
	defer stop()
	more := sendNow("early")
	more.Message.TaskID = early.ID
	post(more)
	evs, err := collect(e.SendStreamingMessage(ctx, send("work 5")))
	if err != nil || len(evs) == 0 {
		t.Fatalf("stream: %q, %v", brief(evs), err)
	}
	ends[evs[0].Task.ID] = a2a.TaskStateCompleted
	time.Sleep(10 * time.Minute)
	return ends, ag
}

func TestFaultsWhileTasksWait(t *testing.T) {
	var steps int
	synctest.Test(t, func(t *testing.T) {
		steps = storetest.Steps(func(st store.Store) {
			ends, ag := waitingScenario(t, st)
			checkState(t, st, ends)
			ag.check(t)
		})
	})
	if steps < 15 {
		t.Fatalf("the scenario has only %d writes", steps)
	}
	for _, f := range []storetest.Fault{storetest.FailBefore, storetest.FailAfter} {
		for step := range steps {
			t.Run(fmt.Sprintf("%s-%d", f, step), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					mem := store.NewMemory()
					defer mem.Close()
					ends, ag := waitingScenario(t, storetest.Faulty(mem, step, f))
					checkState(t, mem, ends)
					ag.check(t)
					if got := len(ends); got != 6 {
						t.Errorf("%d tasks", got)
					}
				})
			})
		}
	}
}

// fleet is several processes with little room, of which any may die or drain at
// any time.
type fleet struct {
	mu   sync.Mutex
	runs map[string]*run // a task → who works at it
	bad  []string
	n    atomic.Int64
}

type run struct {
	ship *ship
	ctx  context.Context
}

type ship struct {
	*world
	fleet *fleet
	room  int
	kill  func()
	dead  atomic.Bool
	now   int // protected by fleet.mu
}

func (s *ship) Run(ctx context.Context, t *agent.Turn) error {
	id, f := t.Task().ID, s.fleet
	me := &run{s, ctx}
	f.mu.Lock()
	if r := f.runs[id]; r != nil && !r.ship.dead.Load() && r.ctx.Err() == nil {
		f.bad = append(f.bad, "task "+id+" ran twice at a time")
	}
	f.runs[id] = me
	if s.now++; s.room > 0 && s.now > s.room {
		f.bad = append(f.bad, fmt.Sprintf("%d at work where there is room for %d", s.now, s.room))
	}
	f.mu.Unlock()
	f.n.Add(1)
	done := func() {
		f.mu.Lock()
		s.now--
		if f.runs[id] == me {
			delete(f.runs, id)
		}
		f.mu.Unlock()
	}
	select {
	case <-time.After(rand.N(time.Second)):
	case <-ctx.Done():
		done()
		return context.Cause(ctx)
	}
	if strings.HasPrefix(t.Text(), "ask") {
		done()
		m, err := t.Ask(ctx, "?")
		if err != nil {
			return err
		}
		return t.Complete(m.Text())
	}
	defer done()
	return t.Complete("done")
}

// Under random events in processes, each task ends, no two processes work at one task at a
// time, and none has more at work than its capacity, even if one write of each fails or seems
// to fail.
func TestNothingIsLostOfWhatWaits(t *testing.T) {
	for seed := range uint64(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { testFleet(t, rand.New(rand.NewPCG(seed, 1)), seed%2 == 1) })
		})
	}
}

func testFleet(t *testing.T, rng *rand.Rand, faults bool) {
	st := store.NewMemory()
	defer st.Close()
	f := &fleet{runs: map[string]*run{}}
	launch := func() *ship {
		s := &ship{fleet: f, room: 1 + rng.IntN(3)}
		o := sharedRoom(t, s.room)
		o.MaxLost = 1000
		over := store.Store(st)
		if faults {
			over = storetest.Faulty(st, 5+rng.IntN(200), storetest.Fault(rng.IntN(2)))
		}
		s.world, s.kill = newMortal(t, over, s, o)
		return s
	}
	ships := []*ship{launch(), launch(), launch()}
	type one struct {
		key  store.Key
		asks bool
	}
	var tasks []one
	refused := func(err error) bool {
		return errors.Is(err, a2a.ErrUnavailable) || errors.Is(err, a2a.ErrUnsupportedOperation) || errors.Is(err, a2a.ErrTaskNotCancelable)
	}
	for range 300 {
		i := rng.IntN(len(ships))
		s := ships[i]
		switch what := rng.IntN(20); {
		case what == 0:
			s.dead.Store(true)
			s.kill()
			ships[i] = launch()
		case what == 1:
			s.stop()
			ships[i] = launch()
		case what < 5 && len(tasks) > 0:
			k := tasks[rng.IntN(len(tasks))].key
			if _, err := s.CancelTask(t.Context(), &a2a.CancelTaskRequest{Tenant: k.Tenant, ID: k.ID}); err != nil && !refused(err) {
				t.Errorf("cancel: %v", err)
			}
		case what < 9 && len(tasks) > 0:
			k := tasks[rng.IntN(len(tasks))].key
			more := of(k.Tenant, sendNow("more"))
			more.Message.TaskID = k.ID
			if _, err := s.SendMessage(t.Context(), more); err != nil && !refused(err) {
				t.Errorf("message: %v", err)
			}
		default:
			tenant, word := string(rune('X'+rng.IntN(3))), "work"
			if rng.IntN(3) == 0 {
				word = "ask"
			}
			resp, err := s.SendMessage(t.Context(), of(tenant, sendNow(word)))
			if err != nil {
				t.Fatalf("send: %v", err)
			}
			tasks = append(tasks, one{store.Key{Tenant: tenant, ID: resp.Task.ID}, word == "ask"})
		}
		time.Sleep(time.Duration(rng.IntN(200)) * time.Millisecond)
	}
	time.Sleep(10 * time.Minute)
	var keys []store.Key
	ended := 0
	for _, task := range tasks {
		rec, err := st.Get(t.Context(), task.key, store.Whole)
		if err != nil {
			t.Fatal(err)
		}
		state := a2a.TaskState(rec.State)
		if rec.Active || !state.Terminal() && !(task.asks && state == a2a.TaskStateInputRequired) {
			t.Errorf("in the end there is %+v", rec.Row)
		}
		if state == a2a.TaskStateFailed {
			t.Errorf("a task failed: %+v", rec.Row)
		}
		if state.Terminal() {
			ended++
		}
		keys = append(keys, task.key)
	}
	for _, s := range ships {
		s.stop()
	}
	storetest.Check(t, st, keys...)
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, bad := range f.bad {
		t.Error(bad)
	}
	t.Logf("%d tasks, %d ended, %d runs", len(tasks), ended, f.n.Load())
}
