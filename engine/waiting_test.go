package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/store"
)

// worker is an agent that tells when it begins which task, and counts how many of
// it are at work in one process. A message says what it does: "work" takes a
// second, "gate" waits until the test lets it go on, "ask" is interview.
type worker struct {
	most int // of a process

	mu    sync.Mutex
	now   map[*agent.Turn]context.Context // who is at work; one whose context has ended was told to stop, and nobody waits for it
	order []string
	runs  map[string][]int // a task → the attempts of its runs
	leave chan bool
	bad   []string
}

func newWorker(most int) *worker {
	return &worker{most: most, now: map[*agent.Turn]context.Context{}, runs: map[string][]int{}, leave: make(chan bool)}
}

func (a *worker) begin(ctx context.Context, t *agent.Turn) {
	a.in(ctx, t)
	a.mu.Lock()
	defer a.mu.Unlock()
	id := t.Task().ID
	a.order = append(a.order, t.Text())
	a.runs[id] = append(a.runs[id], t.Attempt())
}

func (a *worker) in(ctx context.Context, t *agent.Turn) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.now[t] = ctx
	n := 0
	for _, at := range a.now {
		if at.Err() == nil {
			n++
		}
	}
	if n > a.most {
		a.bad = append(a.bad, fmt.Sprintf("%d at work", n))
	}
}

func (a *worker) out(t *agent.Turn) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.now, t)
}

func (a *worker) Run(ctx context.Context, t *agent.Turn) error {
	a.begin(ctx, t)
	defer a.out(t)
	word, _, _ := strings.Cut(t.Text(), " ")
	switch word {
	case "reply":
		return t.Reply("hello")
	case "gate":
		select {
		case <-a.leave:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	case "ask":
		a.out(t) // what waits for its client does not count
		m, err := t.Ask(ctx, "?")
		if err != nil { // its run is over: the task goes on elsewhere, or not
			return err
		}
		a.in(ctx, t)
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		return t.Artifact("answer").Last(a2a.TextPart(m.Text()))
	default:
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return t.Artifact("work").Last(a2a.TextPart(t.Text()))
}

// ran returns the attempts of the runs of a task, and begun all that began.
func (a *worker) ran(id string) []int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.runs[id])
}

func (a *worker) begun() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.order)
}

func (a *worker) check(t *testing.T) {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.bad) > 0 {
		t.Errorf("more than %d: %s", a.most, a.bad)
	}
}

// roomFor is for a process with room for n tasks.
func roomFor(n int) *Options { return &Options{Capacity: n} }

func sharedRoom(t testing.TB, n int) *Options {
	o := shared(t)
	o.Capacity = n
	return o
}

func of(tenant string, req *a2a.SendMessageRequest) *a2a.SendMessageRequest {
	req.Tenant = tenant
	return req
}

// Work beyond a process's capacity is a task at once, and begins when there is
// capacity, in the order in which it first came.
func TestWorkBeyondCapacityWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMemory()
		defer st.Close()
		ag := newWorker(2)
		w := newWorldWith(t, st, ag, testCard(), roomFor(2))
		var tasks []*a2a.Task
		for i := range 6 {
			tasks = append(tasks, w.mustSend(sendNow(fmt.Sprint("gate ", i))))
			wantState(t, tasks[i], a2a.TaskStateSubmitted)
		}
		synctest.Wait()
		for i, task := range tasks {
			r := row(t, st, task.ID)
			if waits := i >= 2; !r.Active || (r.Node == "") != waits || (r.Epoch == 0) != waits {
				t.Errorf("the row of task %d is %+v", i, r)
			}
		}
		for range tasks {
			ag.leave <- true
			time.Sleep(time.Millisecond)
		}
		for _, task := range tasks {
			w.eventually(task.ID, a2a.TaskStateCompleted)
			if runs := ag.ran(task.ID); !slices.Equal(runs, []int{1}) {
				t.Errorf("task %s ran as attempts %v", task.ID, runs)
			}
			if r := row(t, st, task.ID); r.Epoch != 1 || r.Attempt != 1 || r.Lost != 0 {
				t.Errorf("the row is %+v", r)
			}
		}
		if order := ag.begun(); !slices.IsSorted(order) {
			t.Errorf("they began in the order %q", order)
		}
		ag.check(t)
		w.stop()
	})
}

// A sender whose message has to wait for capacity waits for its end, or reads
// its stream, as ever; a direct answer is a task then.
func TestSendersWaitForWorkThatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ag := newWorker(1)
		w := newWorldWith(t, nil, ag, testCard(), roomFor(1))
		w.mustSend(sendNow("gate"))
		stream, sent, replied := make(chan string, 1), make(chan *a2a.Task, 1), make(chan *a2a.Task, 1)
		go func() {
			evs, err := collect(w.SendStreamingMessage(t.Context(), send("work")))
			stream <- fmt.Sprint(brief(evs), " ", err)
		}()
		go func() { sent <- w.mustSend(send("work")) }()
		go func() { replied <- w.mustSend(send("reply")) }()
		time.Sleep(time.Minute)
		ag.leave <- true
		if got, want := <-stream, "task:submitted artifact:work. completed <nil>"; got != want {
			t.Errorf("the stream is %q, want %q", got, want)
		}
		wantState(t, <-sent, a2a.TaskStateCompleted)
		task := <-replied
		wantState(t, task, a2a.TaskStateCompleted)
		if got := task.Status.Message.Text(); got != "hello" {
			t.Errorf("the answer is %q", got)
		}
		synctest.Wait() // until it is known that nothing waits
		if resp, err := w.SendMessage(t.Context(), send("reply")); err != nil || resp.Message == nil {
			t.Errorf("with room for it an answer is %+v, %v", resp, err)
		}
		ag.check(t)
		w.stop()
	})
}

// A tenant with a thousand tasks that wait does not keep those of another from
// their turns.
func TestTenantsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ag := newWorker(1)
		w := newWorldWith(t, nil, ag, testCard(), roomFor(1))
		w.mustSend(of("X", sendNow("gate")))
		for i := range 1000 {
			w.mustSend(of("X", sendNow(fmt.Sprintf("x %04d", i))))
		}
		for i := range 10 {
			w.mustSend(of("Y", sendNow(fmt.Sprint("y ", i))))
		}
		ag.leave <- true
		time.Sleep(30 * time.Second)
		order := ag.begun()
		for i, word := range order[1:21] {
			want := fmt.Sprint("y ", i/2)
			if i%2 == 0 {
				want = fmt.Sprintf("x %04d", i/2)
			}
			if word != want {
				t.Fatalf("they began in the order %q", order[:21])
			}
		}
	})
}

// A message does not overtake what waits already, though there is room for a
// moment.
func TestNothingOvertakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ag := newWorker(1)
		w := newWorldWith(t, nil, ag, testCard(), roomFor(1))
		w.mustSend(sendNow("gate"))
		var tasks []*a2a.Task
		for i := range 50 {
			tasks = append(tasks, w.mustSend(sendNow(fmt.Sprintf("work %02d", i))))
		}
		go func() {
			for i := 50; i < 100; i++ {
				w.mustSend(sendNow(fmt.Sprintf("work %02d", i)))
				time.Sleep(10 * time.Millisecond)
			}
		}()
		ag.leave <- true
		w.eventually(w.mustSend(sendNow("last")).ID, a2a.TaskStateSubmitted)
		time.Sleep(3 * time.Minute)
		wantState(t, w.mustGet(tasks[49].ID), a2a.TaskStateCompleted)
		order := slices.DeleteFunc(ag.begun(), func(s string) bool { return s == "last" || s == "gate" })
		if len(order) != 100 || !slices.IsSorted(order) {
			t.Errorf("they began in the order %q", order)
		}
		ag.check(t)
		w.stop()
	})
}

// A task that waits takes messages, which its agent gets when it begins, and can
// be canceled, without an agent: at any process, with room or without.
func TestMessagesAndCancellationsOfWhatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMemory()
		defer st.Close()
		ag, other := newWorker(1), newWorker(1)
		one := newWorldWith(t, st, ag, testCard(), sharedRoom(t, 1))
		two := newWorldWith(t, st, other, testCard(), sharedRoom(t, 1))
		one.mustSend(sendNow("gate"))
		two.mustSend(sendNow("gate"))
		synctest.Wait()
		for _, w := range []*world{one, two} {
			task := one.mustSend(sendNow("work"))
			end, err := w.CancelTask(t.Context(), &a2a.CancelTaskRequest{ID: task.ID})
			if err != nil {
				t.Fatal(err)
			}
			wantState(t, end, a2a.TaskStateCanceled)
			if r := row(t, st, task.ID); r.Active || len(ag.ran(task.ID))+len(other.ran(task.ID)) > 0 {
				t.Errorf("the canceled task is %+v", r)
			}
			_, err = w.CancelTask(t.Context(), &a2a.CancelTaskRequest{ID: task.ID})
			if err != nil {
				t.Errorf("canceled again: %v", err)
			}

			asks := one.mustSend(sendNow("ask"))
			answered := make(chan *a2a.Task, 1)
			go func() { answered <- w.mustSend(reply(asks, "early")) }()
			synctest.Wait()
			wantState(t, w.mustGet(asks.ID), a2a.TaskStateSubmitted)
			if r := row(t, st, asks.ID); !r.Active || r.Node != "" || r.Epoch != 0 || r.Last != 3 {
				t.Errorf("behind a message the row is %+v", r)
			}
			ag.leave <- true // "gate" of one is over, and it draws what waits
			end = <-answered
			wantState(t, end, a2a.TaskStateCompleted)
			if got := users(end); !slices.Equal(got, []string{"ask", "early"}) {
				t.Errorf("its messages are %q", got)
			}
			synctest.Wait()
			one.mustSend(sendNow("gate"))
			synctest.Wait()
		}
		ag.check(t)
		other.check(t)
		one.stop()
		two.stop()
	})
}

// Waiting tasks are drawn by whichever process has capacity, and callers that
// wait at another one learn of it there.
func TestAFreeProcessDraws(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMemory()
		defer st.Close()
		full, free, wide := newWorker(1), newWorker(2), newWorker(100)
		one := newWorldWith(t, st, full, testCard(), sharedRoom(t, 1))
		one.mustSend(sendNow("gate"))
		synctest.Wait()
		stream, sent := make(chan string, 1), make(chan *a2a.Task, 1)
		go func() {
			evs, err := collect(one.SendStreamingMessage(t.Context(), send("work")))
			stream <- fmt.Sprint(brief(evs), " ", err)
		}()
		go func() { sent <- one.mustSend(send("work")) }()
		synctest.Wait()
		begun := time.Now()
		two := newWorldWith(t, st, free, testCard(), sharedRoom(t, 2))
		if got, want := <-stream, "task:submitted artifact:work. completed <nil>"; got != want {
			t.Errorf("the stream is %q, want %q", got, want)
		}
		wantState(t, <-sent, a2a.TaskStateCompleted)
		if d := time.Since(begun); d > 2*time.Second {
			t.Errorf("it took %v", d)
		}
		begun = time.Now()
		var tasks []*a2a.Task
		for range 20 {
			tasks = append(tasks, one.mustSend(sendNow("work")))
		}
		three := newWorldWith(t, st, wide, testCard(), shared(t)) // which has room for all
		for _, task := range tasks {
			two.eventually(task.ID, a2a.TaskStateCompleted)
		}
		if d := time.Since(begun); d > 3*time.Second {
			t.Errorf("they took %v", d)
		}
		full.check(t)
		free.check(t)
		if n := len(full.begun()) + len(free.begun()) + len(wide.begun()); n != 23 {
			t.Errorf("%d runs of 23 tasks", n)
		}
		for _, w := range []*world{one, two, three} {
			w.stop()
		}
	})
}

// An answer for which there is no room waits, too, whether the agent is here or
// was at another process, and the task goes on from the top of its turn.
func TestAnswersWaitForRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMemory()
		defer st.Close()
		ag, other := newWorker(1), newWorker(1)
		one := newWorldWith(t, st, ag, testCard(), sharedRoom(t, 1))
		two := newWorldWith(t, st, other, testCard(), sharedRoom(t, 1))
		for _, w := range []*world{one, two} {
			task := one.mustSend(send("ask"))
			wantState(t, task, a2a.TaskStateInputRequired)
			one.mustSend(sendNow("gate"))
			synctest.Wait()
			two.mustSend(sendNow("gate"))
			synctest.Wait()
			answered, stream := make(chan *a2a.Task, 1), make(chan string, 1)
			go func() { answered <- w.mustSend(reply(task, "late")) }()
			synctest.Wait()
			go func() {
				evs, err := collect(w.SubscribeToTask(t.Context(), &a2a.SubscribeToTaskRequest{ID: task.ID}))
				stream <- fmt.Sprint(brief(evs), " ", err)
			}()
			synctest.Wait()
			if r := row(t, st, task.ID); !r.Active || r.Node != "" || r.State != int32(a2a.TaskStateWorking) {
				t.Errorf("the row is %+v", r)
			}
			time.Sleep(time.Minute)
			other.leave <- true
			end := <-answered
			wantState(t, end, a2a.TaskStateCompleted)
			if len(end.Artifacts) != 1 || end.Artifacts[0].Parts[0].Text != "late" {
				t.Errorf("the task is %s", end.AppendJSON(nil))
			}
			if got, want := <-stream, "task:working artifact:late. completed <nil>"; got != want {
				t.Errorf("the stream is %q, want %q", got, want)
			}
			if runs := other.ran(task.ID); len(runs) != 1 || runs[0] != 2 {
				t.Errorf("it went on as attempts %v", runs)
			}
			ag.leave <- true
			synctest.Wait()
		}
		ag.check(t)
		other.check(t)
		one.stop()
		two.stop()
	})
}

// Tasks of a process that died are taken over as there is room, before new ones begin. A
// message for one of them waits while there is no room.
func TestTakeOverNeedsRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMemory()
		defer st.Close()
		dying, kill := newMortal(t, st, waiting, shared(t))
		var tasks []*a2a.Task
		for range 10 {
			tasks = append(tasks, dying.mustSend(sendNow("work")))
		}
		ag := newWorker(3)
		w := newWorldWith(t, st, ag, testCard(), sharedRoom(t, 3))
		kill()
		for range 3 {
			w.mustSend(sendNow("gate"))
		}
		time.Sleep(time.Minute)
		if n := len(ag.begun()); n != 3 {
			t.Fatalf("%d runs begun in a process with room for 3", n)
		}
		got := make(chan *a2a.Task, 1)
		go func() { got <- w.mustSend(reply(tasks[9], "more")) }()
		synctest.Wait()
		if r := row(t, st, tasks[9].ID); !r.Active || r.Node != "" || r.Lost != 1 {
			t.Errorf("the row is %+v", r)
		}
		if _, err := w.CancelTask(t.Context(), &a2a.CancelTaskRequest{ID: tasks[8].ID}); err != nil {
			t.Errorf("cancel: %v", err)
		}
		for range 3 {
			ag.leave <- true
		}
		<-got
		for i, task := range tasks {
			if i == 8 {
				wantState(t, w.mustGet(task.ID), a2a.TaskStateCanceled)
				continue
			}
			w.eventually(task.ID, a2a.TaskStateCompleted)
			if runs := ag.ran(task.ID); len(runs) != 1 || runs[0] < 2 {
				t.Errorf("task %d ran as attempts %v", i, runs)
			}
		}
		ag.check(t)
		w.stop()
	})
}

// An authorization is in the memory of one process, where its agent goes on with
// it at once.
func TestAuthorizationsDoNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newWorker(2)
		ag := agent.Func(func(ctx context.Context, t *agent.Turn) error {
			if t.Text() != "auth" {
				return g.Run(ctx, t)
			}
			m, err := t.Authenticate(ctx, "who are you?")
			if err != nil {
				return err
			}
			return t.Complete("hello " + m.Text())
		})
		w := newWorldWith(t, nil, ag, testCard(), roomFor(1))
		task := w.mustSend(send("auth"))
		wantState(t, task, a2a.TaskStateAuthRequired)
		w.mustSend(sendNow("gate"))
		end := w.mustSend(reply(task, "Ada"))
		if got := end.Status.Message.Text(); got != "hello Ada" {
			t.Errorf("it ended with %q", got)
		}
		g.leave <- true
		w.stop()
	})
}

// An answer for which there is no room does not wait where the agent must not run again:
// it would do a second time what it did before its question.
func TestAnswersOfAgentsThatRunOnceDoNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, paid := newWorker(2), 0
		ag := agent.OnLost(agent.Func(func(ctx context.Context, t *agent.Turn) error {
			if t.Text() != "pay" {
				return g.Run(ctx, t)
			}
			paid++
			_, err := t.Ask(ctx, "And a tip?")
			return err
		}), agent.Lost{Fail: "it may have been paid"})
		w := newWorldWith(t, nil, ag, testCard(), roomFor(1))
		task := w.mustSend(send("pay"))
		wantState(t, task, a2a.TaskStateInputRequired)
		w.mustSend(sendNow("gate"))
		wantState(t, w.mustSend(reply(task, "no")), a2a.TaskStateCompleted)
		if paid != 1 {
			t.Errorf("it was paid %d times", paid)
		}
		g.leave <- true
		w.stop()
	})
}

// A process that holds a task which waits in the store, as for a message that waits for
// memory, shows what a process that drew the task does to it meanwhile.
func TestHeldWhileAnotherDraws(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMemory()
		defer st.Close()
		ag, other := newWorker(1), newWorker(1)
		here := newWorldWith(t, st, ag, testCard(), sharedRoom(t, 1))
		there := newWorldWith(t, st, other, testCard(), sharedRoom(t, 1))
		here.mustSend(sendNow("gate"))
		there.mustSend(sendNow("gate"))
		task := here.mustSend(sendNow("work"))
		o, err := there.owners.Acquire(t.Context(), store.Key{ID: task.ID})
		if err != nil {
			t.Fatal(err)
		}
		stream := make(chan string, 1)
		go func() {
			evs, err := collect(there.SubscribeToTask(t.Context(), &a2a.SubscribeToTaskRequest{ID: task.ID}))
			stream <- fmt.Sprint(brief(evs), " ", err)
		}()
		synctest.Wait()
		ag.leave <- true
		time.Sleep(time.Minute)
		end := here.mustGet(task.ID)
		wantState(t, end, a2a.TaskStateCompleted)
		select {
		case got := <-stream:
			if want := "task:submitted artifact:work. completed <nil>"; got != want {
				t.Errorf("the stream is %q, want %q", got, want)
			}
		default:
			t.Error("the stream does not go on")
		}
		sameTask(t, there.mustGet(task.ID), end)
		o.Release()
		other.leave <- true
		here.stop()
		there.stop()
	})
}

// A process that drains gives back what it has drawn and not begun; what waits is
// there for the next one.
func TestDrainGivesBackWhatWasDrawn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := store.NewMemory()
		defer mem.Close()
		ag := newWorker(1)
		w := newWorldWith(t, mem, ag, testCard(), roomFor(1))
		w.mustSend(sendNow("gate"))
		var tasks []*a2a.Task
		for range 5 {
			tasks = append(tasks, w.mustSend(sendNow("work")))
		}
		w.stop()

		st := &slowDraw{mem, make(chan struct{}), make(chan struct{})}
		w = newWorldWith(t, st, ag, testCard(), roomFor(100))
		<-st.drawn
		stopped := make(chan struct{})
		go func() { defer close(stopped); w.stop() }()
		synctest.Wait()
		close(st.proceed)
		<-stopped
		for _, task := range tasks {
			if r := row(t, mem, task.ID); !r.Active || r.Node != "" || r.Lost != 0 || r.Attempt != 0 {
				t.Errorf("the row is %+v", r)
			}
		}

		ag = newWorker(2)
		w = newWorldWith(t, mem, ag, testCard(), roomFor(2))
		for _, task := range tasks {
			w.eventually(task.ID, a2a.TaskStateCompleted)
			if runs := ag.ran(task.ID); !slices.Equal(runs, []int{1}) {
				t.Errorf("it ran as attempts %v", runs)
			}
		}
		ag.check(t)
		w.stop()
	})
}

// slowDraw is a store whose draws are answered when the test lets them.
type slowDraw struct {
	store.Store
	drawn, proceed chan struct{}
}

func (s *slowDraw) Draw(ctx context.Context, node, after string, limit int) ([]store.Row, error) {
	rows, err := s.Store.Draw(ctx, node, after, limit)
	if len(rows) > 0 {
		close(s.drawn)
		<-s.proceed
	}
	return rows, err
}

// An agent whose client answers while there is no capacity is told that it runs again, as
// at a drain, and not that its task has ended: what it began elsewhere goes on.
func TestAgentIsToldThatItRunsAgainWithCapacity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ag := &surveyor{}
		w := newWorldWith(t, nil, ag, testCard(), roomFor(1))
		task := w.mustSend(send("go"))
		other := w.mustSend(sendNow("work"))
		req := reply(task, "Ada")
		req.Configuration = &a2a.SendMessageConfiguration{ReturnImmediately: true}
		w.mustSend(req)
		synctest.Wait()
		if n := ag.drained.Load(); n != 1 {
			t.Errorf("%d runs were told that there will be another, want 1", n)
		}
		if _, err := w.CancelTask(t.Context(), &a2a.CancelTaskRequest{ID: other.ID}); err != nil {
			t.Fatal(err)
		}
		w.eventually(task.ID, a2a.TaskStateInputRequired)
		wantState(t, w.mustSend(reply(task, "London")), a2a.TaskStateCompleted)
	})
}

// Limits come first: what is refused does not wait.
func TestLimitsComeBeforeCapacity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ag := newWorker(2)
		o := roomFor(2)
		o.Limits.Running = 2
		w := newWorldWith(t, nil, ag, testCard(), o)
		w.mustSend(sendNow("gate"))
		w.mustSend(sendNow("gate"))
		if _, err := w.SendMessage(t.Context(), sendNow("work")); !errors.Is(err, a2a.ErrRateLimited) {
			t.Errorf("one more than the limit: %v", err)
		}
		ag.leave <- true
		synctest.Wait()
		wantState(t, w.mustSend(send("work")), a2a.TaskStateCompleted)
		ag.leave <- true
		ag.check(t)
		w.stop()
	})
}

// The time for which a task waited is not time at work.
func TestWaitingIsNotWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMemory()
		defer st.Close()
		ag := newWorker(1)
		o := roomFor(1)
		o.Limits.Wall = time.Hour
		w, kill := newMortal(t, st, ag, o)
		w.mustSend(sendNow("gate"))
		task := w.mustSend(sendNow("ask"))
		time.Sleep(50 * time.Minute)
		w.mustSend(reply(task, "early"))
		kill()
		w = newWorldWith(t, st, newWorker(1), testCard(), o)
		time.Sleep(2 * time.Minute)
		wantState(t, w.mustGet(task.ID), a2a.TaskStateCompleted)
		w.stop()
	})
}

// A finished task of version 0.1 that begins anew waits like any other turn.
func TestReopenedTasksWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMemory()
		defer st.Close()
		ag := newWorker(1)
		w := newWorldWith(t, st, ag, testCard(), roomFor(1))
		w.mustSend(first01("mine", "work 1"))
		w.mustSend(sendNow("gate"))
		again, born := make(chan *a2a.Task, 1), make(chan *a2a.Task, 1)
		go func() { again <- w.mustSend(first01("mine", "work 2")) }()
		go func() { born <- w.mustSend(first01("other", "work 3")) }()
		time.Sleep(time.Second)
		for _, id := range []string{"mine", "other"} {
			if r := row(t, st, id); !r.Active || r.Node != "" || r.State != int32(a2a.TaskStateSubmitted) || r.Attempt != 0 {
				t.Errorf("the row is %+v", r)
			}
		}
		ag.leave <- true
		task := <-again
		wantState(t, task, a2a.TaskStateCompleted)
		if len(task.Artifacts) != 2 || !slices.Equal(users(task), []string{"work 1", "work 2"}) {
			t.Errorf("the task is %s", task.AppendJSON(nil))
		}
		wantState(t, <-born, a2a.TaskStateCompleted)
		if runs := ag.ran("mine"); !slices.Equal(runs, []int{1, 1}) {
			t.Errorf("it ran as attempts %v", runs)
		}
		ag.check(t)
		w.stop()
	})
}
