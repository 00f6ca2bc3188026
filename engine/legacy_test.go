package engine

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/store"
)

// first01 is a message of version 0.1, whose clients choose the task's id.
func first01(id, text string) *a2a.SendMessageRequest {
	req := send(text)
	req.Message.TaskID = id
	req.Legacy = &a2a.Legacy{Version: "0.1", CreateByID: true, Reopen: true, TaskOnly: true}
	return req
}

func TestTaskKeepsItsVersion(t *testing.T) {
	for _, version := range []a2a.Version{"", "0.1", "0.3"} {
		t.Run(string(version), func(t *testing.T) {
			st := store.NewMemory()
			t.Cleanup(func() { st.Close() })
			w := newWorld(t, st, interview)
			req := send("go")
			if version != "" {
				req.Legacy = &a2a.Legacy{Version: version}
			}
			task := w.mustSend(req)
			check := func(task *a2a.Task) {
				t.Helper()
				if task.Version != version {
					t.Errorf("the version of a task that is %s is %q, want %q", task.Status.State, task.Version, version)
				}
				if strings.Contains(string(task.AppendJSON(nil)), "ersion") {
					t.Errorf("it is in the JSON: %s", task.AppendJSON(nil))
				}
			}
			everywhere := func() {
				t.Helper()
				check(w.mustGet(task.ID))
				for _, artifacts := range []bool{false, true} {
					list, err := w.ListTasks(t.Context(), &a2a.ListTasksRequest{IncludeArtifacts: artifacts})
					if err != nil || len(list.Tasks) != 1 {
						t.Fatalf("list: %+v, %v", list, err)
					}
					check(list.Tasks[0])
				}
			}
			check(task)
			everywhere()
			w.stop()
			w = newWorld(t, st, interview)
			everywhere() // from the log
			w.mustSend(reply(task, "Ada"))
			check(w.mustSend(reply(task, "London"))) // a later version may go on with it
			everywhere()                             // sealed
			w.stop()
			w = newWorld(t, st, interview)
			everywhere()
		})
	}
}

func TestClientChoosesTheID(t *testing.T) {
	w := newWorld(t, nil, interview)
	req := first01("mine", "go")
	req.Message.ContextID = "session"
	task := w.mustSend(req)
	if task.ID != "mine" || task.ContextID != "session" || task.Version != "0.1" {
		t.Errorf("got task %q in context %q, version %q", task.ID, task.ContextID, task.Version)
	}
	req = first01("mine", "Ada")
	req.Message.ContextID = "another"
	_, err := w.SendMessage(t.Context(), req)
	wantError(t, err, a2a.ErrInvalidParams)
	task = w.mustSend(first01("mine", "Ada"))
	wantTexts(t, task.History, "go", "Name?", "Ada")
	if task := w.mustSend(first01("no session", "go")); task.ContextID == "" {
		t.Error("a task without a context")
	}

	_, err = w.SendMessage(t.Context(), first01(strings.Repeat("x", a2a.MaxID+1), "go"))
	wantError(t, err, a2a.ErrInvalidParams)
	_, err = w.SendMessage(t.Context(), reply(&a2a.Task{ID: "not there"}, "go"))
	wantError(t, err, a2a.ErrTaskNotFound)

	// Another caller's task of the same id is another task.
	bob := a2a.WithCaller(t.Context(), a2a.Caller{Subject: "bob"})
	resp, err := w.SendMessage(bob, first01("mine", "hello"))
	if err != nil {
		t.Fatal(err)
	}
	wantTexts(t, resp.Task.History, "hello")
	wantTexts(t, w.mustGet("mine").History, "go", "Name?", "Ada")
}

func TestFirstMessagesAtOnce(t *testing.T) {
	for round := range 30 {
		w := newWorld(t, nil, agent.Func(func(ctx context.Context, t *agent.Turn) error {
			for range 7 {
				if _, err := t.Ask(ctx, "?"); err != nil {
					return err
				}
			}
			return nil
		}))
		id := fmt.Sprint("task-", round)
		var callers sync.WaitGroup
		for i := range 8 {
			callers.Go(func() {
				if _, err := w.SendMessage(t.Context(), first01(id, fmt.Sprint(i))); err != nil {
					t.Errorf("message %d: %v", i, err)
				}
			})
		}
		callers.Wait()
		task := w.mustGet(id)
		wantState(t, task, a2a.TaskStateCompleted)
		n := 0
		for _, m := range task.History {
			if m.Role == a2a.RoleUser {
				n++
			}
		}
		if n != 8 {
			t.Errorf("%d messages of 8 are in the history: %q", n, texts(task.History))
		}
		w.stop()
		checkState(t, w.st, map[string]a2a.TaskState{id: a2a.TaskStateCompleted})
	}
}

// rival is a store to which another process writes a task in the moment before
// this one does.
type rival struct {
	store.Store
	once    sync.Once
	message func(mine *store.Append) []byte
	wrote   chan struct{}
}

func (r *rival) Append(a *store.Append, done func(error)) {
	if a.After == 0 {
		r.once.Do(func() {
			theirs := *a
			theirs.Row.Node = "another"
			theirs.Entries = append([]store.Entry(nil), a.Entries[:2]...)
			theirs.Entries[1].Body = r.message(a)
			theirs.Row.State, theirs.Seal = int32(a2a.TaskStateSubmitted), nil
			if err := store.Do(context.Background(), r.Store, &theirs); err != nil {
				panic(err)
			}
			close(r.wrote)
		})
	}
	r.Store.Append(a, done)
}

func TestAnotherProcessCreatesTheTask(t *testing.T) {
	for name, message := range map[string]func(*store.Append) []byte{
		"other words": func(*store.Append) []byte {
			m := message("theirs")
			m.TaskID, m.ContextID = "mine", "session"
			return (&a2a.Entry{Kind: a2a.EntryMessage, Message: m}).AppendBody(nil)
		},
		"the same words": func(a *store.Append) []byte { return a.Entries[1].Body },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // nobody claims the task while it is looked at
				mem := store.NewMemory()
				t.Cleanup(func() { mem.Close() })
				st := &rival{Store: mem, message: message, wrote: make(chan struct{})}
				w := newWorld(t, st, agent.Func(func(ctx context.Context, t *agent.Turn) error {
					<-st.wrote // the first append is the task and its message, alone
					return interview.Run(ctx, t)
				}))
				req := first01("mine", "ours")
				req.Message.ContextID = "session"
				task := w.mustSend(req)
				theirs := "theirs"
				if name == "the same words" {
					theirs = "ours"
				}
				var users []string
				for _, m := range task.History {
					if m.Role == a2a.RoleUser {
						users = append(users, m.Text())
					}
				}
				if got, want := fmt.Sprint(users), fmt.Sprint([]string{theirs, "ours"}); got != want {
					t.Errorf("the messages are %s, want %s", got, want)
				}
				wantState(t, task, a2a.TaskStateInputRequired)
			})
		})
	}
}

func TestReplyMakesATask(t *testing.T) {
	w := newWorld(t, nil, agent.Func(func(ctx context.Context, t *agent.Turn) error { return t.Reply("direct") }))
	task := w.mustSend(first01("mine", "x"))
	wantState(t, task, a2a.TaskStateCompleted)
	if got := task.Status.Message; got.Text() != "direct" || got.Role != a2a.RoleAgent {
		t.Errorf("the status message is %+v", got)
	}
	req := send("x")
	req.Legacy = &a2a.Legacy{Version: "0.3"}
	if resp, err := w.SendMessage(t.Context(), req); err != nil || resp.Message == nil {
		t.Errorf("version 0.3 has direct messages; got %+v, %v", resp, err)
	}
}

func TestQuickTaskOfVersion01IsOneCommit(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // as in TestQuickTaskIsOneCommit
	synctest.Test(t, func(t *testing.T) {
		c := &counting{Store: store.NewMemory()}
		w := newWorld(t, c, parrot)
		w.mustSend(first01("mine", "x"))
		w.mustSend(first01("mine", "again"))
		w.stop()
		c.Close()
		if len(c.appends) != 2 || len(c.appends[1]) != 4 {
			t.Errorf("%d appends, want one for each turn", len(c.appends))
		}
	})
}

func TestSubscribeToFinishedTask(t *testing.T) {
	w := newWorld(t, nil, parrot)
	task := w.mustSend(send("x"))
	evs, err := collect(w.SubscribeToTask(t.Context(), &a2a.SubscribeToTaskRequest{ID: task.ID, Legacy: &a2a.Legacy{FinishedToo: true}}))
	if err != nil || brief(evs) != "task:completed" {
		t.Errorf("got %s, %v", brief(evs), err)
	}
	_, err = collect(w.SubscribeToTask(t.Context(), &a2a.SubscribeToTaskRequest{ID: task.ID, Legacy: &a2a.Legacy{}}))
	wantError(t, err, a2a.ErrUnsupportedOperation)
	_, err = collect(w.SubscribeToTask(t.Context(), &a2a.SubscribeToTaskRequest{ID: "none", Legacy: &a2a.Legacy{FinishedToo: true}}))
	wantError(t, err, a2a.ErrTaskNotFound)
}
