package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/wake"
	"github.com/parley-a2a/parley/store"
)

// cut is a store whose process can be killed, or cut off for a while, with its messages to
// other processes.
type cut struct{ *mortal }

func (c cut) Post(ctx context.Context, all []store.Mail) error {
	if c.dead.Load() {
		return store.ErrClosed
	}
	return c.Store.Post(ctx, all)
}

func (c cut) Mail(ctx context.Context, node string, limit int) ([]store.Mail, error) {
	if c.dead.Load() {
		return nil, store.ErrClosed
	}
	return c.Store.Mail(ctx, node, limit)
}

// slowWhim does what the seed in its message says, and takes its time.
var slowWhim = agent.Func(func(ctx context.Context, t *agent.Turn) error {
	var seed uint64
	fmt.Sscan(t.Text(), &seed)
	r := rand.New(rand.NewPCG(seed, 6))
	for range 1 + r.IntN(6) {
		switch r.IntN(10) {
		case 6:
			if _, err := t.Authenticate(ctx, fmt.Sprint("log in ", r.IntN(2))); err != nil {
				return err
			}
		case 7:
			wait := time.Duration(r.IntN(20000)) * time.Millisecond
			if _, err := t.AuthenticateBy(ctx, "log in elsewhere", func(ctx context.Context) error { return wake.Pause(ctx, wait) }); err != nil {
				return err
			}
		case 8:
			took := time.Duration(r.IntN(3000)) * time.Millisecond
			if _, err := agent.Step(ctx, t, "step", func(ctx context.Context) (int, error) { return 1, wake.Pause(ctx, took) }); err != nil {
				return err
			}
		case 9:
			stepped := make(chan error, 1)
			took := time.Duration(r.IntN(3000)) * time.Millisecond
			go func() {
				_, err := agent.Step(ctx, t, "beside", func(ctx context.Context) (int, error) { return 1, wake.Pause(ctx, took) })
				stepped <- err
			}()
			_, err := t.Ask(ctx, "beside?")
			if err := errors.Join(err, <-stepped); err != nil {
				return err
			}
		case 0:
			if err := t.Status("at it"); err != nil {
				return err
			}
		case 1:
			if err := t.Artifact("text").Last(a2a.TextPart("text")); err != nil {
				return err
			}
		case 2:
			if _, err := t.Ask(ctx, "what now?"); err != nil {
				return err
			}
		default:
			select {
			case <-time.After(time.Duration(r.IntN(4000)) * time.Millisecond):
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
	}
	switch r.IntN(6) {
	case 0:
		return t.Reply("direct, if there is no task yet")
	case 1:
		return t.Fail("as it likes")
	}
	return nil
})

// processes are some that share a store, and the clients that come to any of
// them.
type processes struct {
	*testing.T
	st store.Store
	r  *rand.Rand

	mu    sync.Mutex // protects the fields below
	alive []*cutWorld
	ids   []string
	sent  []outcome
}

type cutWorld struct {
	*world
	kill func()
}

// outcome is a client's view of one of its messages.
type outcome struct {
	task, message string
	err           error
	direct        bool // answered without a task
}

func (s *processes) begin() {
	c := cut{&mortal{Store: s.st}}
	w := newWorldSet(s.T, c, slowWhim, testCard(), &Options{
		Capacity:    s.r.IntN(3) * s.r.IntN(4),
		Work:        int64(s.r.IntN(2)) << 19,
		Limits:      Limits{Running: s.r.IntN(2) * 1000},
		CreateAfter: time.Millisecond,
		CancelWait:  time.Second,
		LongPoll:    time.Millisecond,
		MaxLost:     100,
		DeadAfter:   10 * time.Second,
		StoreWait:   2 * time.Second,
		Retries:     Retries{Anonymous: s.r.IntN(2) == 0},
	}, func(e *Engine) {
		if s.r.IntN(2) == 0 {
			e.owners.MaxParked = s.r.IntN(2)
		}
	})
	s.mu.Lock()
	s.alive = append(s.alive, &cutWorld{w, func() { c.dead.Store(true); w.stop() }})
	s.mu.Unlock()
}

// end ends one process, in good order or not.
func (s *processes) end(kill bool) {
	s.mu.Lock()
	w := s.alive[0]
	s.alive = s.alive[1:]
	s.mu.Unlock()
	if kill {
		w.kill()
	} else {
		w.stop()
	}
	synctest.Wait() // until its callers are told
	w.wantNothingCounted()
	if w.AtWork() != 0 || w.topics.LenLocked() != 0 || len(w.forwards.asked)+w.forwards.begun() != 0 {
		s.Errorf("%d owners, %d topics and %v %v are left", w.AtWork(), w.topics.LenLocked(), w.forwards.asked, w.forwards.begun())
	}
}

func (s *processes) call(r *rand.Rand) {
	ctx, cancel := context.WithTimeout(s.Context(), time.Duration(r.IntN(20000))*time.Millisecond)
	defer cancel()
	s.mu.Lock()
	w := s.alive[r.IntN(len(s.alive))]
	req := send(fmt.Sprint(r.Uint64()))
	switch n := len(s.ids); {
	case r.IntN(3) == 0:
		req.Legacy = &a2a.Legacy{Version: "0.1", CreateByID: true, Reopen: true, TaskOnly: true, FinishedToo: true}
		req.Message.TaskID = fmt.Sprint("chosen-", r.IntN(chosenIDs))
	case n > 0 && r.IntN(4) > 0:
		req.Message.TaskID = s.ids[r.IntN(n)]
	}
	s.mu.Unlock()
	id := req.Message.TaskID
	if r.IntN(3) == 0 {
		req.Message.Metadata = a2a.JSON(`{"x":"` + strings.Repeat("x", (10+r.IntN(60))<<10) + `"}`)
	}
	if r.IntN(5) == 0 && id != "" {
		_, err := w.CancelTask(ctx, &a2a.CancelTaskRequest{ID: id})
		s.known(ctx, err)
		return
	}
	req.Configuration = &a2a.SendMessageConfiguration{ReturnImmediately: r.IntN(3) == 0}
	if r.IntN(5) == 0 {
		n := int64(r.IntN(6))
		req.Configuration.IfGenerationMatch = &n
	}
	o := outcome{task: id, message: req.Message.MessageID}
	if r.IntN(3) > 0 {
		resp, err := w.SendMessage(ctx, req)
		if o.err = err; err == nil && resp.Task != nil {
			o.task = resp.Task.ID
		} else if err == nil {
			o.direct = true
		}
	} else {
		evs, err := collect(w.SendStreamingMessage(ctx, withMessages(req, 1)))
		o.err = err
		if len(evs) > 0 && evs[0].Task != nil {
			o.task = evs[0].Task.ID
			checkStream(s.T, w.world, evs)
			o.err = nil // it was taken
		} else if len(evs) > 0 {
			o.direct = true
		}
	}
	s.known(ctx, o.err)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent = append(s.sent, o)
	if id == "" && o.task != "" {
		s.ids = append(s.ids, o.task)
	}
}

// known fails the test over an error that no client should see.
func (s *processes) known(ctx context.Context, err error) {
	if coded := new(*a2a.Error); err != nil && !errors.As(err, coded) && ctx.Err() == nil {
		s.Errorf("an internal error: %v", err)
	}
}

// Clients do random things at several processes, which begin, end and die: each accepted
// message is in the log once, a refused one is not, and the logs are the same as with one
// process.
func TestRandomProcesses(t *testing.T) {
	for i := range *randomRounds {
		seed := uint64(i)
		if *randomRounds > 1000 {
			seed = rand.Uint64()
		}
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { randomProcesses(t, seed) })
		})
	}
}

func randomProcesses(t *testing.T, seed uint64) {
	st := store.NewMemory()
	defer st.Close()
	s := &processes{T: t, st: st, r: rand.New(rand.NewPCG(seed, 4))}
	for range 3 {
		s.begin()
	}
	synctest.Wait() // until the store knows them
	var callers sync.WaitGroup
	for range 8 {
		r := rand.New(rand.NewPCG(s.r.Uint64(), 5))
		callers.Go(func() {
			for range 10 {
				s.call(r)
				time.Sleep(time.Duration(r.IntN(2000)) * time.Millisecond)
			}
		})
	}
	for range 4 {
		time.Sleep(time.Duration(s.r.IntN(15000)) * time.Millisecond)
		s.begin()
		synctest.Wait()
		s.end(s.r.IntN(2) == 0)
	}
	callers.Wait()
	for i := range chosenIDs {
		id := fmt.Sprint("chosen-", i)
		if _, err := st.Get(t.Context(), store.Key{ID: id}, store.RowOnly); err == nil {
			s.ids = append(s.ids, id)
		}
	}
	ends := map[string]a2a.TaskState{}
	tasks := map[string]*a2a.Task{}
	slices.Sort(s.ids)
	for _, id := range slices.Compact(s.ids) {
		tasks[id] = finish(t, s.alive[s.r.IntN(len(s.alive))].world, id)
		ends[id] = tasks[id].Status.State
	}
	for _, o := range s.sent {
		n := 0
		if task := tasks[o.task]; task != nil {
			for _, m := range task.History {
				if m.MessageID == o.message {
					n++
				}
			}
		}
		var coded *a2a.Error
		switch {
		case n > 1, n == 0 && o.err == nil && !o.direct:
			t.Errorf("message %s is %d times in task %s: %v", o.message, n, o.task, o.err)
		case n == 1 && errors.As(o.err, &coded) && coded.Code != a2a.CodeUnavailable && coded.Code != a2a.CodeUnsupportedOperation:
			t.Errorf("message %s was refused, and is in task %s: %v", o.message, o.task, o.err)
		}
	}
	for len(s.alive) > 0 {
		s.end(false)
	}
	checkState(t, st, ends)
}
