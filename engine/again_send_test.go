package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/store"
	"github.com/parley-a2a/parley/store/storetest"
)

// Many at once are one run, however they ask.
func TestSameMessageAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ag := &counted{Agent: agent.Func(func(ctx context.Context, t *agent.Turn) error {
			time.Sleep(10 * time.Millisecond)
			return parrot.Run(ctx, t)
		})}
		w := knowing(t, nil, ag)
		req := send("x")
		var answers []chan sent
		for range 8 {
			answers = append(answers, w.posted(repeated(req)), w.streamed(repeated(req)))
		}
		conflict := repeated(req)
		conflict.Message.Parts = []*a2a.Part{a2a.TextPart("y")}
		synctest.Wait()
		refused := w.posted(conflict)
		ids := map[string]int{}
		for i, c := range answers {
			got := <-c
			switch {
			case got.err != nil:
				t.Errorf("answer %d: %v", i, got.err)
			case got.task != nil:
				wantState(t, got.task, a2a.TaskStateCompleted)
				ids[got.task.ID]++
			default:
				if b := brief(got.evs); b != "task:submitted artifact:x. completed" {
					t.Errorf("stream %d is %s", i, b)
				}
				ids[got.evs[0].Task.ID]++
			}
		}
		if len(ids) != 1 {
			t.Errorf("the tasks are %v", ids)
		}
		wantError(t, (<-refused).err, a2a.ErrConflict)
		ag.want(t, 1)
		w.stop()
		if len(w.sends.m) != 0 || w.topics.LenLocked() != 0 || w.AtWork() != 0 {
			t.Errorf("%d sends, %d topics and %d owners are left", len(w.sends.m), w.topics.LenLocked(), w.AtWork())
		}
	})
}

// If the first sender leaves, the message is accepted nevertheless. Senders that wait, or come
// before the outcome is certain, get that outcome.
func TestFirstSenderLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ag := &counted{Agent: agent.Func(func(ctx context.Context, t *agent.Turn) error {
			time.Sleep(time.Second)
			return parrot.Run(ctx, t)
		})}
		w := newWorldWith(t, nil, ag, testCard(), &Options{Retries: Retries{Anonymous: true}, CreateAfter: time.Minute})
		req := send("x")
		ctx, cancel := context.WithCancel(t.Context())
		left := make(chan error)
		go func() { _, err := w.SendMessage(ctx, req); left <- err }()
		synctest.Wait()
		second := w.posted(repeated(req))
		impatient, giveUp := context.WithTimeout(t.Context(), time.Millisecond)
		defer giveUp()
		_, err := w.SendMessage(impatient, repeated(req))
		wantError(t, err, context.DeadlineExceeded)
		cancel()
		wantError(t, <-left, context.Canceled)
		third := w.streamed(repeated(req))
		got, evs := <-second, <-third
		if got.err != nil || evs.err != nil {
			t.Fatal(got.err, evs.err)
		}
		if got.task.ID != evs.evs[0].Task.ID {
			t.Error("they are two tasks")
		}
		ag.want(t, 1)
		w.stop()
		if len(w.sends.m) != 0 {
			t.Errorf("%d sends are left", len(w.sends.m))
		}
	})
}

// If nothing came of the first one the next goes on by itself.
func TestFirstSenderFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMemory()
		defer st.Close()
		gate := &slow{Store: st, wait: make(chan struct{})}
		ag := &counted{Agent: interview}
		w := knowing(t, gate, ag)
		task := w.mustSend(send("go"))
		gate.closed.Store(true)
		req := expecting(reply(task, "Ada"), task.Generation+7)
		first := w.posted(req) // waits for the store
		synctest.Wait()
		right := repeated(req)
		right.Configuration = nil
		second := w.posted(right)
		synctest.Wait()
		close(gate.wait)
		wantError(t, (<-first).err, a2a.ErrTaskGenerationMismatch)
		got := <-second
		if got.err != nil {
			t.Fatal(got.err)
		}
		wantTexts(t, got.task.History, "go", "Name?", "Ada")
		w.stop()
	})
}

// Two processes on one store that take the same message at once: one run is
// stopped, nothing of it is to be seen, and both callers have the same task.
func TestSameMessageInTwoProcesses(t *testing.T) {
	for name, req := range map[string]*a2a.SendMessageRequest{
		"a task":              send("x"),
		"a direct answer":     send("reply"),
		"an id of the client": first01("mine", "x"),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				st := store.NewMemory()
				defer st.Close()
				req.IdempotencyKey = "key"
				stopped := make(chan error, 2)
				ag := &counted{Agent: agent.Func(func(ctx context.Context, t *agent.Turn) error {
					time.Sleep(time.Millisecond)
					if t.Text() == "reply" {
						return t.Reply("hi")
					}
					if err := t.Status("at it"); err != nil {
						stopped <- err // the other one was quicker
						return err
					}
					select {
					case <-time.After(time.Second):
						return parrot.Run(ctx, t)
					case <-ctx.Done():
						stopped <- context.Cause(ctx)
						return context.Cause(ctx)
					}
				})}
				var processes [2]*world
				for i := range processes {
					processes[i] = newWorldWith(t, st, ag, testCard(), &Options{Retries: Retries{Anonymous: true}, DeadAfter: time.Hour})
				}
				synctest.Wait()
				answers := make(chan *a2a.SendMessageResponse, 2)
				for _, w := range processes {
					go func() {
						resp, err := w.SendMessage(context.Background(), repeated(req))
						if err != nil {
							t.Error(err)
						}
						answers <- resp
					}()
				}
				a, b := <-answers, <-answers
				if a == nil || b == nil {
					return
				}
				ag.want(t, 2)
				if name == "a direct answer" {
					if a.Message.MessageID != b.Message.MessageID || a.Message.Text() != "hi" || b.Message.Text() != "hi" {
						t.Errorf("answers %+v and %+v", a.Message, b.Message)
					}
				} else {
					if a.Task.ID != b.Task.ID {
						t.Error("they are two tasks")
					}
					wantError(t, <-stopped, agent.ErrEnded)
				}
				list, err := processes[0].ListTasks(t.Context(), &a2a.ListTasksRequest{})
				if want := 1; name != "a direct answer" && (err != nil || len(list.Tasks) != want) {
					t.Errorf("listed %+v, %v", list, err)
				}
				for _, w := range processes {
					w.stop()
				}
			})
		})
	}
}

// A message for a task that exists is taken even if its key turns out to be
// used, in another process, in the moment it is written: at worst once more.
func TestKeyIsTakenUnderAFollowUp(t *testing.T) {
	st := store.NewMemory()
	t.Cleanup(func() { st.Close() })
	racy := &racing{Store: st}
	w := knowing(t, racy, interview)
	task := w.mustSend(send("go"))
	req := reply(task, "Ada")
	req.IdempotencyKey = "key"
	racy.first = &store.Append{Receipts: []store.Receipt{{Name: "k:key", Time: time.Now(), Until: time.Now().Add(time.Hour), Digest: []byte("other"), Answer: []byte("{}")}}}
	got := w.mustSend(req)
	wantTexts(t, got.History, "go", "Name?", "Ada")
	// Its id is known; the key is another's.
	plain := repeated(req)
	plain.IdempotencyKey = ""
	sameTask(t, w.mustSend(plain), got)
	_, err := w.SendMessage(t.Context(), repeated(req))
	wantError(t, err, a2a.ErrConflict)
	w.stop()
}

// racing is a store to which another process appends something right before
// the next append of this one.
type racing struct {
	store.Store
	first *store.Append
}

func (r *racing) Append(a *store.Append, done func(error)) {
	if f := r.first; f != nil {
		r.first = nil
		if err := store.Do(context.Background(), r.Store, f); err != nil {
			panic(err)
		}
	}
	r.Store.Append(a, done)
}

// However the store fails, and however often the message comes: it is one task,
// and every answer names that one.
func TestSameMessageWhileTheStoreFails(t *testing.T) {
	const senders = 4
	scenario := func(t *testing.T, st store.Store) map[string]a2a.TaskState {
		e, stop := startAgain(t, st)
		e.opts.Retries.Anonymous = true
		req := send("a b")
		req.IdempotencyKey = "key"
		ids := make(chan string, 100)
		var all sync.WaitGroup
		ask := func(e *Engine, req *a2a.SendMessageRequest) {
			all.Go(func() {
				resp, err := e.SendMessage(context.Background(), repeated(req))
				if err != nil {
					t.Errorf("send: %v", err)
					return
				}
				ids <- resp.Task.ID
			})
			all.Go(func() {
				evs, err := collect(e.SendStreamingMessage(context.Background(), repeated(req)))
				if err != nil {
					t.Errorf("stream: %v", err)
					return
				}
				if got := brief(evs); got != "task:submitted artifact:a chunk:b. completed" {
					t.Errorf("the stream is %s", got)
				}
				ids <- evs[0].Task.ID
			})
		}
		for range senders {
			ask(e, req)
		}
		all.Wait()
		stop()
		e, stop = startAgain(t, st)
		e.opts.Retries.Anonymous = true
		ask(e, req)
		all.Wait()

		asked, err := e.SendMessage(context.Background(), send("ask"))
		if err != nil {
			t.Fatal(err)
		}
		name := reply(asked.Task, "Ada")
		for range senders {
			all.Go(func() {
				resp, err := e.SendMessage(context.Background(), repeated(name))
				if err != nil {
					t.Errorf("answer: %v", err)
					return
				}
				if got := fmt.Sprint(users(resp.Task)); got != "[ask Ada]" {
					t.Errorf("the client's messages are %s", got)
				}
			})
		}
		all.Wait()
		if _, err := e.CancelTask(context.Background(), &a2a.CancelTaskRequest{ID: asked.Task.ID}); err != nil {
			t.Error(err)
		}
		stop()
		close(ids)
		ends := map[string]a2a.TaskState{}
		for id := range ids {
			ends[id] = a2a.TaskStateCompleted
		}
		if len(ends) != 1 {
			t.Errorf("the tasks are %v", ends)
		}
		ends[asked.Task.ID] = a2a.TaskStateCanceled
		return ends
	}
	faultsOf(t, scenario)
}

// If the process dies before the commit, nothing is left: the message is new. If it dies after
// the commit, the task runs once more, and the message leads to it.
func TestMessageComesAgainAfterACrash(t *testing.T) {
	for _, committed := range []bool{false, true} {
		t.Run(fmt.Sprint("committed ", committed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				st := store.NewMemory()
				g := newGated()
				ag := &counted{Agent: g}
				w := newWorldWith(t, st, ag, testCard(), &Options{Retries: Retries{Anonymous: true}, CreateAfter: time.Hour, StoreWait: time.Millisecond})
				req := send("x")
				req.IdempotencyKey = "key"
				first := w.posted(req)
				turn := <-g.entered
				if committed {
					if err := turn.Status("at it"); err != nil {
						t.Fatal(err)
					}
				}
				synctest.Wait()
				st = st.Reopen() // the old process cannot write any more
				defer st.Close()
				g.leave <- errors.New("lost")
				if got := <-first; got.err == nil {
					t.Errorf("answered %+v", got)
				}
				w.stop()

				w = knowing(t, st, ag)
				again := w.posted(repeated(req))
				turn = <-g.entered
				want := 1
				if committed {
					want = 2
				}
				if turn.Attempt() != want {
					t.Errorf("attempt %d, want %d", turn.Attempt(), want)
				}
				g.leave <- nil
				got := <-again
				if got.err != nil {
					t.Fatal(got.err)
				}
				wantState(t, got.task, a2a.TaskStateCompleted)
				sameTask(t, w.mustSend(repeated(req)), got.task)
				ag.want(t, 2)
				w.stop()
				storetest.Check(t, st, store.Key{ID: got.task.ID})
				list, err := w.ListTasks(context.Background(), &a2a.ListTasksRequest{})
				if err != nil || len(list.Tasks) != 1 {
					t.Errorf("listed %+v, %v", list, err)
				}
			})
		})
	}
}
