package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/engine/internal/place"
	"github.com/parley-a2a/parley/store"
	"github.com/parley-a2a/parley/store/storetest"
)

// times counts how often a message is in a task's history.
func times(task *a2a.Task, text string) (n int) {
	for _, u := range users(task) {
		if u == text {
			n++
		}
	}
	return n
}

// Every step may fail, in either process, with or without effect: an accepted message is there
// once; any other is not there, or its sender was told to try again.
func TestPassedOnOverFaults(t *testing.T) {
	for _, at := range []string{"the owner", "who asks"} {
		for _, fault := range []storetest.Fault{storetest.FailBefore, storetest.FailAfter} {
			for step := range 24 {
				t.Run(fmt.Sprint(at, "/", fault, "/", step), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { testPassFault(t, at == "the owner", fault, step) })
				})
			}
		}
	}
}

func testPassFault(t *testing.T, owner bool, fault storetest.Fault, step int) {
	mem := store.NewMemory()
	defer mem.Close()
	var sts [2]store.Store
	sts[0], sts[1] = mem, mem
	if owner {
		sts[0] = storetest.Faulty(mem, step+2, fault) // not the first ones, which begin
	} else {
		sts[1] = storetest.Faulty(mem, step+1, fault)
	}
	here := newWorldWith(t, sts[0], busy, testCard(), shared(t))
	there := newWorldWith(t, sts[1], busy, testCard(), shared(t))
	resp, err := here.SendMessage(t.Context(), sendNow("x"))
	if err != nil {
		return // it is not about that
	}
	task := resp.Task
	var told []string
	for i := range 3 {
		text := fmt.Sprint("message ", i)
		req := reply(task, text)
		req.Configuration = &a2a.SendMessageConfiguration{ReturnImmediately: i != 1}
		switch _, err := there.SendMessage(t.Context(), req); {
		case err == nil:
			told = append(told, text)
		case !errors.Is(err, a2a.ErrUnavailable) && !errors.Is(err, a2a.ErrUnsupportedOperation):
			t.Errorf("%s: %v", text, err)
		}
	}
	canceled, err := there.CancelTask(t.Context(), &a2a.CancelTaskRequest{ID: task.ID})
	if err != nil {
		t.Errorf("cancel: %v", err)
	} else {
		wantState(t, canceled, a2a.TaskStateCanceled)
	}
	end := there.mustGet(task.ID)
	for i := range 3 {
		text := fmt.Sprint("message ", i)
		n := times(end, text)
		if n > 1 || n == 0 && slices.Contains(told, text) {
			t.Errorf("%q is there %d times: %q", text, n, users(end))
		}
	}
	if len(told) < 2 {
		t.Errorf("only %q were taken", told)
	}
	here.stop()
	there.stop()
	checkState(t, mem, map[string]a2a.TaskState{task.ID: a2a.TaskStateCanceled})
}

// mute is a store that does not let this process answer, and perhaps kills it when
// it would.
type mute struct {
	store.Store
	then func()
	on   atomic.Bool
}

func (m *mute) Post(ctx context.Context, all []store.Mail) error {
	if !m.on.Load() {
		return m.Store.Post(ctx, all)
	}
	if then := m.then; then != nil {
		then()
	}
	return nil // it is lost
}

// The process that has the task dies before it accepts the message, or after that and before it
// answers. Then the asking process or the next owner accepts the message, or it was accepted
// already, but never twice.
func TestOwnerDiesOverAMessage(t *testing.T) {
	for _, name := range []string{"before", "after"} {
		for _, known := range []bool{true, false} {
			t.Run(fmt.Sprint(name, "/known ", known), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					mem := store.NewMemory()
					defer mem.Close()
					o := shared(t)
					o.Retries.Anonymous = known
					st := &mute{Store: mem}
					here, kill := newMortal(t, st, busy, o)
					there := newWorldWith(t, mem, busy, testCard(), o)
					task := here.mustSend(sendNow("x"))
					synctest.Wait()
					var dead sync.WaitGroup
					if name == "before" {
						kill()
					} else {
						var once sync.Once
						st.then = func() { once.Do(func() { dead.Go(kill) }) }
						st.on.Store(true)
					}
					begun := time.Now()
					end := there.mustSend(reply(task, "stop"))
					if end.Status.Message.Text() != "stopped" || times(end, "stop") != 1 {
						t.Errorf("the task has become %s", end.AppendJSON(nil))
					}
					if took := time.Since(begun); took > 2*o.DeadAfter {
						t.Errorf("it took %v", took)
					}
					dead.Wait()
					there.stop()
					checkState(t, mem, map[string]a2a.TaskState{task.ID: a2a.TaskStateCompleted})
				})
			})
		}
	}
}

// Mail that is lost is sent again, and asked for twice a message is taken once.
func TestAnswersAreLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := store.NewMemory()
		defer mem.Close()
		st := &mute{Store: mem}
		here := newWorldWith(t, st, waiting, testCard(), shared(t))
		there := newWorldWith(t, mem, waiting, testCard(), shared(t))
		task := here.mustSend(sendNow("x"))
		var lost atomic.Int32
		st.then = func() {
			if lost.Add(1) == 3 {
				st.on.Store(false)
			}
		}
		st.on.Store(true)
		req := reply(task, "more")
		req.Configuration = &a2a.SendMessageConfiguration{ReturnImmediately: true}
		wantUsers(t, there.mustSend(req), "x", "more")
		if n := lost.Load(); n != 3 {
			t.Errorf("%d answers were lost", n)
		}
		here.stop()
		there.stop()
	})
}

// A process that ends blocks no call to its tasks: calls that come meanwhile
// wait for the next owner.
func TestMessageForAProcessThatEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMemory()
		defer st.Close()
		slow := agent.Func(func(ctx context.Context, t *agent.Turn) error {
			if t.Attempt() > 1 {
				m, err := t.Ask(ctx, "?")
				if err != nil {
					return err
				}
				return t.Complete(m.Text())
			}
			<-ctx.Done()
			time.Sleep(5 * time.Second)
			return context.Cause(ctx)
		})
		here := newWorldWith(t, st, slow, testCard(), shared(t))
		there := newWorldWith(t, st, slow, testCard(), shared(t))
		task := here.mustSend(sendNow("x"))
		go here.stop()
		synctest.Wait()
		end := there.mustSend(reply(task, "late"))
		wantState(t, end, a2a.TaskStateCompleted)
		if end.Status.Message.Text() != "late" {
			t.Errorf("the task says %q", end.Status.Message.Text())
		}
		there.stop()
	})
}

// Two processes get an answer to the same question at the same time: one agent goes
// on with one of them, and the other answer is not lost.
func TestAnsweredInBoth(t *testing.T) {
	for i := range 100 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { testAnsweredInBoth(t, i%2 == 0) })
		})
	}
}

func testAnsweredInBoth(t *testing.T, short bool) {
	st := store.NewMemory()
	defer st.Close()
	var answers atomic.Int32
	ag := agent.Func(func(ctx context.Context, t *agent.Turn) error {
		if _, err := t.Ask(ctx, "?"); err != nil {
			return err
		}
		if answers.Add(1); t.Task().History[0].Parts[0].Text == "long" {
			<-ctx.Done()
			return context.Cause(ctx)
		}
		return t.Complete("done")
	})
	here := newWorldWith(t, st, ag, testCard(), shared(t))
	there := newWorldWith(t, st, ag, testCard(), shared(t))
	synctest.Wait() // until both are known to the store
	text := "long"
	if short {
		text = "short"
	}
	task := here.mustSend(send(text))
	wantState(t, task, a2a.TaskStateInputRequired)
	var all sync.WaitGroup
	var taken atomic.Int32
	for i, w := range []*world{here, there} {
		all.Go(func() {
			req := reply(task, fmt.Sprint(i))
			req.Configuration = &a2a.SendMessageConfiguration{ReturnImmediately: true}
			switch _, err := w.SendMessage(t.Context(), req); {
			case err == nil:
				taken.Add(1)
			case text == "long" || !errors.Is(err, a2a.ErrUnsupportedOperation):
				t.Errorf("message %d: %v", i, err)
			}
		})
	}
	all.Wait()
	want := a2a.TaskStateCompleted
	if text == "long" {
		want = a2a.TaskStateCanceled
		synctest.Wait() // until the agent has its answer: what is canceled before gets none
		if _, err := there.CancelTask(t.Context(), &a2a.CancelTaskRequest{ID: task.ID}); err != nil {
			t.Error(err)
		}
	}
	end := there.eventually(task.ID, want)
	if n := times(end, "0") + times(end, "1"); n != int(taken.Load()) || n != len(users(end))-1 {
		t.Errorf("%d messages were taken: %q", taken.Load(), users(end))
	}
	if n := answers.Load(); n != 1 {
		t.Errorf("agents got %d answers", n)
	}
	here.stop()
	there.stop()
	checkState(t, st, map[string]a2a.TaskState{task.ID: want})
}

// lateWord is a store that reports the outcome of appends when it is told to.
type lateWord struct {
	store.Store
	on   atomic.Bool
	told chan func()
}

func (l *lateWord) Append(a *store.Append, done func(error)) {
	if !l.on.Load() {
		l.Store.Append(a, done)
		return
	}
	l.Store.Append(a, func(err error) { l.told <- func() { done(err) } })
}

// A message that was committed by a process that lost the task before it heard so
// is taken: its sender is told so, and it is not sent to the next one again.
func TestCommittedBeforeTheTaskWasLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := store.NewMemory()
		defer mem.Close()
		st := &lateWord{Store: mem, told: make(chan func(), 10)}
		here := newWorldWith(t, st, waiting, testCard(), shared(t))
		task := here.mustSend(sendNow("x"))
		synctest.Wait()
		st.on.Store(true)
		req := reply(task, "more")
		req.Configuration = &a2a.SendMessageConfiguration{ReturnImmediately: true}
		sent := here.posted(req)
		tell := <-st.told
		key := store.Key{ID: task.ID}
		other := newWorldWith(t, mem, waiting, testCard(), shared(t))
		synctest.Wait()
		if _, err := mem.Take(t.Context(), other.node, place.Everyone, key); err != nil {
			t.Fatal(err)
		}
		o, err := here.owners.Acquire(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		if ours, err := here.topics.Verify(t.Context(), o, true); ours || err != nil {
			t.Errorf("the task is ours: %v, %v", ours, err)
		}
		o.Release()
		st.on.Store(false)
		tell()
		got := <-sent
		if got.err != nil {
			t.Fatal(got.err)
		}
		wantUsers(t, got.task, "x", "more")
		synctest.Wait()
		wantUsers(t, other.mustGet(task.ID), "x", "more")
		here.stop()
		other.stop()
	})
}

// lookedBefore is a store in which something happens after the first look for a receipt that is
// not there.
type lookedBefore struct {
	store.Store
	then func()
}

func (l *lookedBefore) Receipt(ctx context.Context, k store.Key, name string) (*store.Receipt, error) {
	r, err := l.Store.Receipt(ctx, k, name)
	if then := l.then; then != nil && errors.Is(err, store.ErrNotFound) {
		l.then = nil
		then()
	}
	return r, err
}

// A message that another process takes while this one looks for it is not refused
// because the task ended with it.
func TestTakenBehindTheLookUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := store.NewMemory()
		defer mem.Close()
		st := &lookedBefore{Store: mem}
		asks := agent.Func(func(ctx context.Context, t *agent.Turn) error {
			m, err := t.Ask(ctx, "?")
			if err != nil {
				return err
			}
			return t.Complete(m.Text())
		})
		o := func() *Options {
			o := shared(t)
			o.Retries.Anonymous = true
			return o
		}
		here := newWorldWith(t, mem, asks, testCard(), o())
		there := newWorldWith(t, st, asks, testCard(), o())
		task := here.mustSend(send("x"))
		synctest.Wait()
		req := reply(task, "end")
		st.then = func() { wantState(t, here.mustSend(repeated(req)), a2a.TaskStateCompleted) }
		wantUsers(t, there.mustSend(repeated(req)), "x", "end")
		_, err := there.SendMessage(t.Context(), reply(task, "more"))
		wantError(t, err, a2a.ErrUnsupportedOperation)
		here.stop()
		there.stop()
	})
}

// badPost is a store that fails to post once.
type badPost struct {
	store.Store
	on atomic.Bool
}

func (b *badPost) Post(ctx context.Context, all []store.Mail) error {
	if b.on.CompareAndSwap(true, false) {
		return store.ErrUnreachable
	}
	return b.Store.Post(ctx, all)
}

// Where the answer to a forwarded message is lost, and what comes next is whether the agent
// took it, the sender's stream begins with the task as of the message.
func TestFirstAnswerIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := store.NewMemory()
		defer mem.Close()
		st := &badPost{Store: mem}
		ag := agent.Func(func(ctx context.Context, t *agent.Turn) error {
			time.Sleep(lookAgain / 2)
			_, err := t.Ask(ctx, "and now?")
			return err
		})
		here := newWorldWith(t, st, ag, testCard(), shared(t))
		there := newWorldWith(t, mem, ag, testCard(), shared(t))
		task := here.mustSend(sendNow("x"))
		synctest.Wait()
		st.on.Store(true)
		got := <-there.streamed(reply(task, "stop"))
		if got.err != nil {
			t.Fatal(got.err)
		}
		if st.on.Load() {
			t.Error("the answer was not lost")
		}
		first := got.evs[0].Task
		if first == nil || first.ID != task.ID {
			t.Fatalf("the stream is %s", brief(got.evs))
		}
		wantUsers(t, first, "x", "stop")
		sameTask(t, foldStream(got.evs), here.mustGet(task.ID))
		here.stop()
		there.stop()
	})
}

// Answers that come several times, since a process was slow to hear them, leave room for
// the last one, which says whether the agent took the message.
func TestVerdictBehindManyAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := forwards{asked: map[string]chan *memoAnswer{}}
		answers := p.ask("1")
		later := &memoAnswer{Seq: 3, Later: true}
		p.answered("1", later)
		<-answers
		for range 3 {
			p.answered("1", later)
		}
		p.answered("1", &memoAnswer{Seq: 3, Unread: true})
		if !(&verdict{"1", answers}).unread(t.Context(), &Engine{}) {
			t.Error("the sender is not told that the agent did not take the message")
		}
	})
}

// Credentials that the agent did not take when it ended the task are decided upon, also
// where another process has the task before that end is stored: the sender's process is
// told, and nothing waits for it any longer.
func TestCredentialsBehindAnEndThatIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := store.NewMemory()
		defer mem.Close()
		st := &lateWord{Store: mem, told: make(chan func(), 10)}
		ends := make(chan bool)
		here := newWorldWith(t, st, agent.Func(func(ctx context.Context, t *agent.Turn) error {
			_, err := t.AuthenticateBy(ctx, "log in", func(context.Context) error {
				<-ends
				return errors.New("refused")
			})
			return err
		}), testCard(), shared(t))
		other := newWorldWith(t, mem, waiting, testCard(), shared(t))
		task := here.mustSend(send("x"))
		wantState(t, task, a2a.TaskStateAuthRequired)
		synctest.Wait()
		st.on.Store(true)
		sent := make(chan accepted, 1)
		go func() {
			req := reply(task, "hunter2")
			d, err := here.deliverAs(t.Context(), &access{}, req, here.forwardName(&access{}, req), sender{here: true, fate: true})
			if err != nil {
				t.Error(err)
			}
			sent <- d
		}()
		tell := <-st.told
		ends <- true
		synctest.Wait()
		key := store.Key{ID: task.ID}
		if _, err := mem.Take(t.Context(), other.node, place.Everyone, key); err != nil {
			t.Fatal(err)
		}
		o, err := here.owners.Acquire(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		if ours, err := here.topics.Verify(t.Context(), o, true); ours || err != nil {
			t.Errorf("the task is ours: %v, %v", ours, err)
		}
		o.Release()
		st.on.Store(false)
		tell()
		d := <-sent
		synctest.Wait()
		if d.post == nil || !d.post.Fate.Was() {
			t.Error("nobody decided what becomes of the message")
		}
		d.leave(here.Engine)
		here.stop()
		other.stop()
	})
}

// unsure is a store whose first append takes effect and is said to have failed, later.
type unsure struct {
	store.Store
	first sync.Once
	then  func() // before it is said
}

func (l *unsure) Append(a *store.Append, done func(error)) {
	failed := false
	l.first.Do(func() {
		failed = true
		l.Store.Append(a, func(error) {
			go func() {
				l.then()
				done(errors.New("nobody knows"))
			}()
		})
	})
	if !failed {
		l.Store.Append(a, done)
	}
}

// A message that began a task with a chosen id is not accepted a second time if it is uncertain
// whether it was accepted and another process has gone on with the task meanwhile.
func TestUncertainBeginningThatOthersWentOnWith(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMemory()
		defer st.Close()
		l := &unsure{Store: st}
		here := newWorldWith(t, l, interview, testCard(), shared(t))
		there := newWorldWith(t, st, interview, testCard(), shared(t))
		l.then = func() { there.mustSend(first01("chosen", "Ada")) }
		resp, err := here.SendMessage(t.Context(), first01("chosen", "one"))
		if err != nil {
			t.Fatal(err)
		}
		task := there.mustGet("chosen")
		if times(task, "one") != 1 || times(task, "Ada") != 1 || resp.Task.ID != "chosen" {
			t.Errorf("the messages are %q", users(task))
		}
	})
}
