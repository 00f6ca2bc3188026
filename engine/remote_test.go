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
	"github.com/parley-a2a/parley/engine/internal/topic"
	"github.com/parley-a2a/parley/store"
)

// spied counts what one process asks its store. Its hints can be kept from it.
type spied struct {
	store.Store
	deaf                bool
	entries, gets, rows atomic.Int32
	asked               atomic.Int32 // keys in rows
}

func (c *spied) Entries(ctx context.Context, k store.Key, after int64, limit int) ([]store.Entry, error) {
	c.entries.Add(1)
	return c.Store.Entries(ctx, k, after, limit)
}

func (c *spied) Get(ctx context.Context, k store.Key, most int64) (*store.Record, error) {
	c.gets.Add(1)
	return c.Store.Get(ctx, k, most)
}

func (c *spied) Rows(ctx context.Context, keys []store.Key) ([]store.Row, error) {
	c.rows.Add(1)
	c.asked.Add(int32(len(keys)))
	return c.Store.Rows(ctx, keys)
}

func (c *spied) Watch(ctx context.Context, f func(store.Hint)) error {
	if !c.deaf {
		return c.Store.Watch(ctx, f)
	}
	<-ctx.Done()
	return context.Cause(ctx)
}

func (c *spied) reset() {
	c.entries.Store(0)
	c.gets.Store(0)
	c.rows.Store(0)
	c.asked.Store(0)
}

// said is an agent that says what it is told, and ends with "end".
func said(words <-chan string) agent.Agent {
	return agent.Func(func(ctx context.Context, t *agent.Turn) error {
		for {
			select {
			case w := <-words:
				if w == "end" {
					return t.Complete(w)
				}
				if err := t.Status(w); err != nil {
					return err
				}
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
	})
}

// subscribers read a task, and note what they saw and when.
type subscribers struct {
	mu   sync.Mutex
	work sync.WaitGroup
	seen map[string]int // whole streams, and how many had them
	last time.Time
	errs map[string]int
}

func subscribe(w *world, id string, n int) *subscribers {
	s := &subscribers{seen: map[string]int{}, errs: map[string]int{}}
	for range n {
		s.work.Go(func() {
			var words []string
			seq := int64(0)
			for ev, err := range w.SubscribeToTask(context.Background(), &a2a.SubscribeToTaskRequest{ID: id}) {
				s.mu.Lock()
				if err != nil {
					s.errs[err.Error()]++
				}
				s.last = time.Now()
				s.mu.Unlock()
				if err != nil {
					break
				}
				if ev.Seq <= seq {
					w.t.Errorf("%d comes after %d", ev.Seq, seq)
				}
				seq = ev.Seq
				if ev.StatusUpdate != nil {
					words = append(words, ev.StatusUpdate.Status.Message.Text())
				}
			}
			s.mu.Lock()
			s.seen[fmt.Sprint(words)]++
			s.mu.Unlock()
		})
	}
	return s
}

// Many readers of a task that is at work in another process see all of it, at once, and cost
// the store one read per event. Without hints they see it with the next poll, of which there is
// one for all.
func TestManyRemoteReaders(t *testing.T) {
	for _, deaf := range []bool{false, true} {
		t.Run(fmt.Sprint("deaf=", deaf), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				mem := store.NewMemory()
				defer mem.Close()
				st := &spied{Store: mem, deaf: deaf}
				words := make(chan string)
				works := newWorldWith(t, mem, said(words), testCard(), shared(t))
				reads := newWorldWith(t, st, parrot, testCard(), shared(t))
				task := works.mustSend(sendNow("go"))
				const readers, events = 1000, 20
				subs := subscribe(reads, task.ID, readers)
				synctest.Wait()
				time.Sleep(10 * time.Second)
				synctest.Wait()
				st.reset()
				time.Sleep(100 * time.Second)
				synctest.Wait()
				if e, g, r := st.entries.Load(), st.gets.Load(), st.rows.Load(); e+g > 0 || r > 101 {
					t.Errorf("while nothing happens: %d reads of entries, %d of records, %d polls", e, g, r)
				}
				long := make(chan *a2a.Task, 1)
				go func() {
					task, err := reads.GetTask(context.Background(), &a2a.GetTaskRequest{ID: task.ID, CurrentGeneration: &task.Generation})
					if err != nil {
						t.Error(err)
					}
					long <- task
				}()
				synctest.Wait()
				st.reset()
				var want []string
				for i := range events {
					w := fmt.Sprint("w", i)
					if i == events-1 {
						w = "end"
					}
					want = append(want, w)
					words <- w
					if deaf {
						time.Sleep(1100 * time.Millisecond)
					}
					synctest.Wait()
					if late := time.Since(subs.last); !deaf && late > 0 || late > 1100*time.Millisecond {
						t.Fatalf("%s was seen %v ago", w, late)
					}
				}
				subs.work.Wait()
				if subs.seen[fmt.Sprint(want)] != readers || len(subs.errs) > 0 {
					t.Errorf("seen: %v %v", subs.seen, subs.errs)
				}
				if n := st.entries.Load(); n > events+5 {
					t.Errorf("%d reads for %d events", n, events)
				}
				if got := <-long; got.Generation <= task.Generation {
					t.Error("the long poll saw nothing")
				}
				if n := reads.topics.LenLocked(); n != 0 {
					t.Errorf("%d topics are left", n)
				}
				works.stop()
				reads.stop()
			})
		})
	}
}

// Streams of many tasks that do nothing cost a query per chunk and second.
func TestIdleRemoteReaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := store.NewMemory()
		defer mem.Close()
		st := &spied{Store: mem}
		works := newWorldWith(t, mem, waiting, testCard(), shared(t))
		reads := newWorldWith(t, st, parrot, testCard(), shared(t))
		const tasks = 2100
		for range tasks {
			task := works.mustSend(sendNow("go"))
			subscribe(reads, task.ID, 1)
		}
		time.Sleep(5 * time.Second)
		synctest.Wait()
		st.reset()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if e, g, r := st.entries.Load(), st.gets.Load(), st.rows.Load(); e+g > 0 || r > 11*(tasks/topic.RowsAtOnce+1) {
			t.Errorf("%d reads of entries, %d of records, %d polls", e, g, r)
		}
		reads.stop()
		works.stop()
	})
}

// A stream goes on with any process that has the task: one that takes it over, this one
// included, or one that takes the answer to its question. It ends with the task.
func TestStreamOutlivesOwners(t *testing.T) {
	for _, here := range []bool{false, true} {
		t.Run(fmt.Sprint("here=", here), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				st := store.NewMemory()
				defer st.Close()
				words := make(chan string)
				dies, kill := newMortal(t, st, said(words), shared(t))
				task := dies.mustSend(sendNow("go"))
				words <- "one"
				synctest.Wait()
				idle := shared(t)
				idle.TakeUp = 1
				if here {
					words <- "two"
					synctest.Wait()
				}
				reads := newWorldWith(t, takesNone(st, !here), said(words), testCard(), idle)
				subs := subscribe(reads, task.ID, 3)
				synctest.Wait()
				if !here {
					words <- "two"
					synctest.Wait()
				}
				kill()
				begun := time.Now()
				var next *world
				if !here {
					next = newWorldWith(t, st, said(words), testCard(), shared(t))
				}
				words <- "three" // taken by the task's owner
				if d := time.Since(begun); d > 13*time.Second {
					t.Errorf("taken over after %v", d)
				}
				words <- "end"
				subs.work.Wait()
				want := "[two three end]"
				if here {
					want = "[three end]"
				}
				if len(subs.errs) > 0 || subs.seen[want] != 3 {
					t.Errorf("seen: %v %v", subs.seen, subs.errs)
				}
				if next != nil {
					next.stop()
				}
				reads.stop()
			})
		})
	}
}

// claimless is a store of a process that takes nothing over.
type claimless struct{ store.Store }

func takesNone(st store.Store, so bool) store.Store {
	if so {
		return claimless{st}
	}
	return st
}

func (claimless) Claim(context.Context, string, time.Time, int) ([]store.Row, error) { return nil, nil }

// A reader of a task that waits for its client sees the outcome of an answer
// that was given at another process; and all see that it is deleted.
func TestReadersOfAParkedTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMemory()
		defer st.Close()
		one := newWorldWith(t, st, interview, testCard(), shared(t))
		two := newWorldWith(t, st, interview, testCard(), shared(t))
		task := one.mustSend(send("x"))
		subs := subscribe(one, task.ID, 2)
		synctest.Wait()
		begun := time.Now()
		two.mustSend(reply(task, "Ada"))
		end := two.mustSend(reply(task, "London"))
		subs.work.Wait()
		if len(subs.errs) > 0 || len(subs.seen) != 1 || time.Since(begun) > 0 {
			t.Errorf("seen: %v %v after %v", subs.seen, subs.errs, time.Since(begun))
		}
		sameTask(t, one.mustGet(task.ID), end)

		other := two.mustSend(send("x"))
		subs = subscribe(one, other.ID, 2)
		synctest.Wait()
		rec, err := st.Get(t.Context(), store.Key{ID: other.ID}, store.RowOnly)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := st.Delete(t.Context(), []store.Row{rec.Row}); err != nil {
			t.Fatal(err)
		}
		begun = time.Now()
		subs.work.Wait()
		if len(subs.errs) != 1 || time.Since(begun) > 2*time.Second {
			t.Errorf("seen: %v %v after %v", subs.seen, subs.errs, time.Since(begun))
		}
		one.stop()
		two.stop()
	})
}

// A hint that comes while the log is read says that there is more than was read.
func TestHintsDuringAReadAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMemory()
		defer st.Close()
		slow := &interrupted{Store: st}
		one := newWorldWith(t, slow, interview, testCard(), shared(t))
		two := newWorldWith(t, st, interview, testCard(), shared(t))
		task := two.mustSend(send("x"))
		subs := subscribe(one, task.ID, 2)
		synctest.Wait()
		slow.then.Store(new(func() {
			two.mustSend(reply(task, "London"))
			synctest.Wait() // the hint is there
		}))
		begun := time.Now()
		two.mustSend(reply(task, "Ada"))
		subs.work.Wait()
		if len(subs.errs) > 0 || len(subs.seen) != 1 || time.Since(begun) > 0 {
			t.Errorf("seen: %v %v after %v", subs.seen, subs.errs, time.Since(begun))
		}
		one.stop()
		two.stop()
	})
}

// interrupted is a store that does something else before it returns what it read.
type interrupted struct {
	store.Store
	then atomic.Pointer[func()]
}

func (i *interrupted) Entries(ctx context.Context, k store.Key, after int64, limit int) ([]store.Entry, error) {
	all, err := i.Store.Entries(ctx, k, after, limit)
	if then := i.then.Swap(nil); then != nil {
		(*then)()
	}
	return all, err
}

// unreachable is a store that can be out of reach, for this process.
type unreachable struct {
	store.Store
	down *atomic.Bool
}

func (u *unreachable) bad() error {
	if u.down.Load() {
		return fmt.Errorf("dial: %w", store.ErrUnreachable)
	}
	return nil
}

func (u *unreachable) Append(a *store.Append, done func(error)) {
	if err := u.bad(); err != nil {
		go done(err)
		return
	}
	u.Store.Append(a, done)
}

func (u *unreachable) Get(ctx context.Context, k store.Key, most int64) (*store.Record, error) {
	if err := u.bad(); err != nil {
		return nil, err
	}
	return u.Store.Get(ctx, k, most)
}

func (u *unreachable) Entries(ctx context.Context, k store.Key, after int64, limit int) ([]store.Entry, error) {
	if err := u.bad(); err != nil {
		return nil, err
	}
	return u.Store.Entries(ctx, k, after, limit)
}

func (u *unreachable) Rows(ctx context.Context, keys []store.Key) ([]store.Row, error) {
	if err := u.bad(); err != nil {
		return nil, err
	}
	return u.Store.Rows(ctx, keys)
}

func (u *unreachable) List(ctx context.Context, q store.Query) (*store.Page, error) {
	if err := u.bad(); err != nil {
		return nil, err
	}
	return u.Store.List(ctx, q)
}

func (u *unreachable) Now(ctx context.Context) (time.Time, error) {
	if err := u.bad(); err != nil {
		return time.Time{}, err
	}
	return u.Store.Now(ctx)
}

func (u *unreachable) Beat(ctx context.Context, node string, now time.Time) error {
	if err := u.bad(); err != nil {
		return err
	}
	return u.Store.Beat(ctx, node, now)
}

func (u *unreachable) Claim(ctx context.Context, node string, dead time.Time, limit int) ([]store.Row, error) {
	if err := u.bad(); err != nil {
		return nil, err
	}
	return u.Store.Claim(ctx, node, dead, limit)
}

func (u *unreachable) Take(ctx context.Context, node string, dead time.Time, k store.Key) (*store.Row, error) {
	if err := u.bad(); err != nil {
		return nil, err
	}
	return u.Store.Take(ctx, node, dead, k)
}

func (u *unreachable) Watch(ctx context.Context, f func(store.Hint)) error {
	if err := u.bad(); err != nil {
		return err
	}
	return u.Store.Watch(ctx, f)
}

// While the database is unreachable for all processes, for longer than DeadAfter, streams stay
// open, readers and writers are told to try again, and no process takes anything over.
// Afterwards all goes on.
func TestDatabaseOutOfReach(t *testing.T) {
	for _, long := range []time.Duration{3 * time.Second, 12 * time.Second, 25 * time.Second, 5 * time.Minute} {
		t.Run(long.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				mem := store.NewMemory()
				defer mem.Close()
				var down atomic.Bool
				words := make(chan string)
				var all []*world
				for range 3 {
					all = append(all, newWorldWith(t, &unreachable{mem, &down}, said(words), testCard(), shared(t)))
				}
				var tasks []*a2a.Task
				for _, w := range all {
					tasks = append(tasks, w.mustSend(sendNow("go")))
				}
				var subs []*subscribers
				for _, w := range all {
					for _, task := range tasks {
						subs = append(subs, subscribe(w, task.ID, 2))
					}
				}
				time.Sleep(30*time.Second + 700*time.Millisecond)
				down.Store(true)
				time.Sleep(long)
				for i, w := range all {
					other := tasks[(i+1)%3].ID
					_, err := w.GetTask(t.Context(), &a2a.GetTaskRequest{ID: other})
					wantUnavailable(t, err)
					_, err = w.SendMessage(t.Context(), reply(tasks[(i+1)%3], "hello"))
					wantUnavailable(t, err)
					_, err = w.ListTasks(t.Context(), &a2a.ListTasksRequest{})
					wantUnavailable(t, err)
					if w.Trouble() == nil || w.Trouble().Error() != "the database cannot be reached" {
						t.Errorf("the trouble is %v", w.Trouble())
					}
				}
				down.Store(false)
				time.Sleep(30 * time.Second)
				for i, task := range tasks {
					if r := row(t, mem, task.ID); r.Node != all[i].node || r.Epoch != 1 || r.Lost != 0 {
						t.Errorf("the row is %+v", r)
					}
				}
				for range tasks {
					words <- "end"
				}
				for _, s := range subs {
					s.work.Wait()
					if s.seen["[end]"] != 2 || len(s.errs) > 0 {
						t.Errorf("seen: %v %v", s.seen, s.errs)
					}
				}
				for _, w := range all {
					w.stop()
				}
			})
		})
	}
}

// An agent's output while the database is out of reach shows when it is back, if
// that is soon; if not, the agent is run again. Streams stay open, here and
// elsewhere.
func TestAgentsOutlastAnOutage(t *testing.T) {
	for _, long := range []time.Duration{5 * time.Second, 2 * time.Minute} {
		t.Run(long.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				mem := store.NewMemory()
				defer mem.Close()
				var down atomic.Bool
				words := make(chan string)
				works := newWorldWith(t, &unreachable{mem, &down}, said(words), testCard(), shared(t))
				reads := newWorldWith(t, &unreachable{mem, &down}, parrot, testCard(), shared(t))
				task := works.mustSend(sendNow("go"))
				here, there := subscribe(works, task.ID, 2), subscribe(reads, task.ID, 2)
				time.Sleep(30 * time.Second)
				down.Store(true)
				words <- "meanwhile"
				time.Sleep(long)
				down.Store(false)
				time.Sleep(20 * time.Second)
				words <- "end"
				here.work.Wait()
				there.work.Wait()
				want, attempt := "[meanwhile end]", int32(1)
				if long > 30*time.Second {
					want, attempt = "[end]", 2
				}
				if here.seen[want] != 2 || there.seen[want] != 2 || len(here.errs)+len(there.errs) > 0 {
					t.Errorf("seen: %v %v, %v %v", here.seen, here.errs, there.seen, there.errs)
				}
				if r := row(t, mem, task.ID); r.Attempt != attempt || r.Lost != 0 || r.Node != works.node {
					t.Errorf("the row is %+v", r)
				}
				works.stop()
				reads.stop()
			})
		})
	}
}

func wantUnavailable(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, a2a.ErrUnavailable) {
		t.Errorf("got %v, want Unavailable", err)
	}
}

// One that is cut off alone loses its tasks, within the time that they have, and
// shows nothing that it holds; when it is back its agents are told.
func TestCutOffAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := store.NewMemory()
		defer mem.Close()
		var down atomic.Bool
		words := make(chan string)
		cut := newWorldWith(t, &unreachable{mem, &down}, said(words), testCard(), shared(t))
		var took []time.Duration
		for range 5 {
			task := cut.mustSend(sendNow("go"))
			words <- "one"
			synctest.Wait()
			other := newWorldWith(t, mem, parrot, testCard(), shared(t))
			subs := subscribe(cut, task.ID, 2)
			time.Sleep(33*time.Second + 333*time.Millisecond)
			down.Store(true)
			begun := time.Now()
			end := other.eventually(task.ID, a2a.TaskStateCompleted)
			took = append(took, time.Since(begun))
			_, err := cut.GetTask(t.Context(), &a2a.GetTaskRequest{ID: task.ID})
			wantUnavailable(t, err)
			time.Sleep(10 * time.Second)
			down.Store(false)
			subs.work.Wait()
			if subs.seen["[]"]+subs.seen["[ ]"] != 2 || len(subs.errs) > 0 {
				t.Errorf("seen: %v %v", subs.seen, subs.errs)
			}
			sameTask(t, cut.mustGet(task.ID), end)
			other.stop()
			synctest.Wait()
		}
		slices.Sort(took)
		if most := took[len(took)-1]; most > 13*time.Second {
			t.Errorf("taken over after %v", took)
		}
		cut.stop()
	})
}

// A reader that is further back than the memory of the process that took a task over gets every
// entry, even while nothing new comes.
func TestTakenOverIsReadFromItsBeginning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMemory()
		defer st.Close()
		words := make(chan string)
		dies, kill := newMortal(t, st, said(words), shared(t))
		task := dies.mustSend(sendNow("go"))
		words <- "one"
		words <- "two"
		synctest.Wait()
		kill()
		next := newWorldWith(t, st, said(words), testCard(), shared(t))
		words <- "three" // taken by the task's owner
		synctest.Wait()
		ctx, leave := context.WithTimeout(t.Context(), 30*time.Second)
		defer leave()
		var seen []string
		for ev, err := range next.SubscribeToTask(ctx, &a2a.SubscribeToTaskRequest{ID: task.ID, After: 1}) {
			if err != nil {
				t.Fatalf("after %v: %v", seen, err)
			}
			if ev.StatusUpdate != nil {
				if seen = append(seen, ev.StatusUpdate.Status.Message.Text()); len(seen) == 3 {
					break
				}
			}
		}
		if got := fmt.Sprint(seen); got != "[one two three]" {
			t.Errorf("seen: %s", got)
		}
		words <- "end"
		next.stop()
	})
}

// unhinted is a store without hints that is asked for a task a few times at most.
type unhinted struct {
	store.Store
	asked atomic.Int32
}

func (u *unhinted) Watch(ctx context.Context, _ func(store.Hint)) error {
	<-ctx.Done()
	return context.Cause(ctx)
}

func (u *unhinted) Get(ctx context.Context, k store.Key, most int64) (*store.Record, error) {
	if u.asked.Add(1) > 1000 {
		return nil, errors.New("asked too often")
	}
	return u.Store.Get(ctx, k, most)
}

// Two clients wait for a change of a task of another process, the second one since it grew
// in a way that changes no generation and of which no hint came: the store is not asked for
// it without a pause.
func TestLongPollsAroundALostHint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := store.NewMemory()
		defer mem.Close()
		step := make(chan bool)
		ag := agent.Func(func(ctx context.Context, t *agent.Turn) error {
			if err := t.Status("at work"); err != nil {
				return err
			}
			<-step
			if _, err := agent.Step(ctx, t, "a", func(context.Context) (int, error) { return 1, nil }); err != nil {
				return err
			}
			<-ctx.Done()
			return context.Cause(ctx)
		})
		st, o := &unhinted{Store: mem}, shared(t)
		o.Poll = time.Hour
		here := newWorldWith(t, mem, ag, testCard(), shared(t))
		there := newWorldWith(t, st, ag, testCard(), o)
		task := here.mustSend(sendNow("x"))
		synctest.Wait()
		current := here.mustGet(task.ID).Generation
		done := make(chan error, 2)
		poll := func() {
			_, err := there.GetTask(t.Context(), &a2a.GetTaskRequest{ID: task.ID, CurrentGeneration: &current})
			done <- err
		}
		go poll()
		synctest.Wait()
		step <- true
		synctest.Wait()
		st.asked.Store(0)
		go poll()
		for range 2 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		here.stop()
		there.stop()
	})
}
