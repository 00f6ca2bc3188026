package engine

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/store"
	"github.com/parley-a2a/parley/store/storetest"
)

// everything is an agent with a behaviour for each path to the log.
var everything = agent.Func(func(ctx context.Context, t *agent.Turn) error {
	switch word, _, _ := strings.Cut(t.Text(), " "); word {
	case "ask":
		return interview(ctx, t)
	case "wait":
		if err := t.Status("waiting"); err != nil {
			return err
		}
		<-ctx.Done()
		return context.Cause(ctx)
	default:
		return chunks(ctx, t)
	}
})

// startAgain runs an engine as an operator would: if a fault of the store
// keeps it from starting, it is started again.
func startAgain(t *testing.T, st store.Store) (e *Engine, stop func()) {
	return startWith(t, st, everything, Options{})
}

func startWith(t *testing.T, st store.Store, ag agent.Agent, o Options, set ...func(*Engine)) (e *Engine, stop func()) {
	o.Logger = slog.New(slog.NewTextHandler(testLog{t}, nil))
	for {
		e := New(st, ag, testCard(), &o)
		for _, set := range set {
			set(e)
		}
		ctx, cancel := context.WithCancel(context.Background())
		ran := make(chan error, 1)
		go func() { ran <- e.Run(ctx) }()
		synctest.Wait()
		select {
		case err := <-ran:
			cancel()
			t.Log("start again after", err)
			continue
		default:
		}
		return e, func() {
			cancel()
			if err := <-ran; err != nil {
				t.Error(err)
			}
		}
	}
}

// scenario goes through creation, streaming, questions, a restart and a
// cancellation, and returns the tasks by what should have become of them.
func scenario(t *testing.T, st store.Store) map[string]a2a.TaskState {
	ctx := context.Background()
	ends := map[string]a2a.TaskState{}
	e, stop := startAgain(t, st)
	evs, err := collect(e.SendStreamingMessage(ctx, send("a b c")))
	if err != nil {
		t.Fatalf("stream: %v", err)
	}
	if got, want := brief(evs), "task:submitted artifact:a chunk:b chunk:c. completed"; got != want {
		t.Fatalf("stream is %q, want %q", got, want)
	}
	ends[evs[0].Task.ID] = a2a.TaskStateCompleted

	resp, err := e.SendMessage(ctx, send("ask"))
	if err != nil {
		t.Fatalf("ask: %v", err)
	}
	asked := resp.Task
	wait, err := e.SendMessage(ctx, sendNow("wait"))
	if err != nil {
		t.Fatalf("wait: %v", err)
	}
	stop()

	e, stop = startAgain(t, st)
	defer stop()
	for _, answer := range []string{"Ada", "London"} {
		if resp, err = e.SendMessage(ctx, reply(asked, answer)); err != nil {
			t.Fatalf("answer %s: %v", answer, err)
		}
	}
	wantTexts(t, resp.Task.History, "ask", "Name?", "Ada", "City?", "London")
	ends[asked.ID] = a2a.TaskStateCompleted

	if _, err := e.CancelTask(ctx, &a2a.CancelTaskRequest{ID: wait.Task.ID}); err != nil {
		t.Fatalf("cancel: %v", err)
	}
	ends[wait.Task.ID] = a2a.TaskStateCanceled

	list, err := e.ListTasks(ctx, &a2a.ListTasksRequest{})
	if err != nil { // the key of page tokens is a write, too
		list, err = e.ListTasks(ctx, &a2a.ListTasksRequest{})
	}
	if err != nil || len(list.Tasks) != len(ends) {
		t.Fatalf("list: %+v, %v", list, err)
	}
	return ends
}

// olderScenario is one of versions before 1.0: a task whose id the client
// chose, begun anew after each kind of end, with a restart in the midst of a
// turn, and one of the 1.1 draft: messages with an expectation.
func olderScenario(t *testing.T, st store.Store) map[string]a2a.TaskState {
	ctx := context.Background()
	e, stop := startAgain(t, st)
	mustSend := func(req *a2a.SendMessageRequest) *a2a.Task {
		t.Helper()
		resp, err := e.SendMessage(ctx, req)
		if err != nil {
			t.Fatalf("send %s: %v", req.Message.Text(), err)
		}
		return resp.Task
	}
	mustSend(first01("mine", "a b"))
	mustSend(first01("mine", "c d"))
	wait := first01("mine", "wait")
	wait.Configuration = &a2a.SendMessageConfiguration{ReturnImmediately: true}
	mustSend(wait)
	asked := mustSend(first01("form", "ask"))
	stop()

	e, stop = startAgain(t, st)
	defer stop()
	if _, err := e.CancelTask(ctx, &a2a.CancelTaskRequest{ID: "mine"}); err != nil {
		t.Fatalf("cancel: %v", err)
	}
	task := mustSend(first01("mine", "e f"))
	var users []string
	for _, m := range task.History {
		if m.Role == a2a.RoleUser {
			users = append(users, m.Text())
		}
	}
	if got := strings.Join(users, ", "); got != "a b, c d, wait, e f" {
		t.Fatalf("the messages are %s", got)
	}
	if len(task.Artifacts) != 3 || task.Version != "0.1" {
		t.Fatalf("the task is %s", task.AppendJSON(nil))
	}
	for _, answer := range []string{"Ada", "London"} {
		asked = mustSend(expecting(first01("form", answer), asked.Generation))
	}
	wantTexts(t, asked.History, "ask", "Name?", "Ada", "City?", "London")
	return map[string]a2a.TaskState{"mine": a2a.TaskStateCompleted, "form": a2a.TaskStateCompleted}
}

// Each write of the scenario fails once without effect and once after taking effect. Only the
// log notices, and the whole state is right.
func TestFaultsOfTheStore(t *testing.T) {
	for name, scenario := range map[string]func(*testing.T, store.Store) map[string]a2a.TaskState{
		"1.0":   scenario,
		"older": olderScenario,
	} {
		t.Run(name, func(t *testing.T) { faultsOf(t, scenario) })
	}
}

func faultsOf(t *testing.T, scenario func(*testing.T, store.Store) map[string]a2a.TaskState) {
	steps := 0
	synctest.Test(t, func(t *testing.T) {
		steps = storetest.Steps(func(st store.Store) { scenario(t, st) })
	})
	if steps < 8 {
		t.Fatalf("the scenario makes only %d writes", steps)
	}
	for _, fault := range []storetest.Fault{storetest.FailBefore, storetest.FailAfter} {
		for step := range steps {
			t.Run(fmt.Sprintf("%s/%d", fault, step), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					st := store.NewMemory()
					defer st.Close()
					checkState(t, st, scenario(t, storetest.Faulty(st, step, fault)))
				})
			})
		}
	}
}

// checkState looks at the whole store: what the suite of all stores checks,
// and that every log folds to its sealed task with one end.
func checkState(t *testing.T, st store.Store, ends map[string]a2a.TaskState) {
	t.Helper()
	e := New(st, parrot, testCard(), nil)
	var keys []store.Key
	for id, state := range ends {
		key := store.Key{ID: id}
		keys = append(keys, key)
		rec, err := st.Get(t.Context(), key, store.Whole)
		if err != nil {
			t.Errorf("task that should be %s: %v", state, err)
			continue
		}
		folded, err := e.read.FoldTo(t.Context(), key, rec.Last)
		if err != nil {
			t.Fatal(err)
		}
		wantState(t, folded, state)
		if rec.Seal == nil || rec.Active {
			t.Errorf("a finished task is not sealed or still active: %+v", rec.Row)
			continue
		}
		sealed, err := e.read.Task(t.Context(), rec, true)
		if err != nil {
			t.Fatal(err)
		}
		sameTask(t, sealed, folded)
	}
	storetest.Check(t, st, keys...)
}

// A store that stays broken costs the tasks at hand, with a clear error and
// nothing left running; what it holds is taken up later.
func TestStoreThatStaysBroken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := store.NewMemory()
		e, stop := startAgain(t, &broken{Store: mem})
		_, err := e.SendMessage(t.Context(), send("a b"))
		wantError(t, err, a2a.ErrUnavailable)
		if strings.Contains(err.(*a2a.Error).Message, "disk") {
			t.Errorf("the store's words went out: %v", err)
		}
		if e.AtWork() != 0 || e.topics.LenLocked() != 0 {
			t.Errorf("%d owners and %d topics are left", e.AtWork(), e.topics.LenLocked())
		}
		stop()
		mem.Close()
	})
}

type broken struct{ store.Store }

func (b *broken) Append(a *store.Append, done func(error)) {
	b.Store.Append(&store.Append{Row: a.Row}, func(error) { done(context.DeadlineExceeded) })
}
