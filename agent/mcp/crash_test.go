package mcp

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/store"
)

func memory(t *testing.T) store.Store {
	st := store.NewMemory()
	t.Cleanup(func() { st.Close() })
	return st
}

func TestToolIsCalledAgainAfterACrash(t *testing.T) {
	st := memory(t)
	s, srv := overHTTP(t, "new")
	first := newWorld(t, s, nil, st)
	id := first.begin(tool("hold", `{}`))
	<-srv.held
	first.kill()
	second := newWorld(t, s, nil, st)
	<-srv.held
	close(srv.let)
	want(t, second.rest(id), a2a.TaskStateCompleted, "held")
	if n := srv.calls.Load(); n != 2 {
		t.Errorf("%d calls, want 2", n)
	}
}

// A tool whose annotations do not say that it may be called twice is not.
func TestToolThatMustNotBeCalledTwiceFailsAfterACrash(t *testing.T) {
	st := memory(t)
	s, srv := overHTTP(t, "new")
	first := newWorld(t, s, nil, st)
	id := first.begin(tool("pay", `{}`))
	<-srv.held
	first.kill()
	second := newWorld(t, s, nil, st)
	want(t, second.rest(id), a2a.TaskStateFailed, "must not be made twice", "not known")
	if n := srv.calls.Load(); n != 1 {
		t.Errorf("%d calls, want 1", n)
	}
}

// A restart in good order gives such a call time to end, well or not.
func TestDrainWaitsForWhatMustNotBeCalledTwice(t *testing.T) {
	t.Run("a result", func(t *testing.T) { drainsInACall(t, false, a2a.TaskStateCompleted, "held") })
	t.Run("a refusal", func(t *testing.T) {
		drainsInACall(t, true, a2a.TaskStateFailed, "did not carry out the call (error 7)")
	})
}

func drainsInACall(t *testing.T, refuses bool, state a2a.TaskState, words string) {
	st := memory(t)
	s, srv := overHTTP(t, "new")
	srv.refuses.Store(refuses)
	first := newWorld(t, s, nil, st)
	first.agent.tools.patience = drainPatience
	id := first.begin(tool("pay", `{}`))
	<-srv.held
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		first.stop()
	}()
	eventually(t, "the drain", func() bool {
		_, err := first.SendMessage(t.Context(), message(a2a.TextPart("x")))
		return errors.Is(err, &a2a.Error{Code: a2a.CodeUnavailable})
	})
	close(srv.let)
	<-stopped
	second := newWorld(t, s, nil, st)
	want(t, second.rest(id), state, words)
}

// A call that waited when the server stopped was not made, and its caller knows that.
func TestCallsThatWaitAreNotMade(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	tools, err := NewTools(Server{URL: "http://tools.test"}, &Options{Concurrency: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer tools.Close()
	tools.list = &list{tools: []*mcp.Tool{{Name: "pay", Annotations: &mcp.ToolAnnotations{}}}}
	if err := tools.queue.Enter(ctx); err != nil {
		t.Fatal(err)
	}
	cancel(agent.ErrDraining)
	_, err = tools.Call(ctx, "pay", nil)
	if said, ok := errors.AsType[*connectError](err); !ok || !said.Unsent() || !errors.Is(err, agent.ErrDraining) {
		t.Error(err)
	}
}

// Answers that were given are not asked for again, and a round that had its answer
// is not called again where the protocol has rounds.
func TestQuestionsAreAnsweredFromTheRecordAfterACrash(t *testing.T) {
	for _, c := range []struct{ kind, tool, calls string }{
		{"old", "ask", "ask \nask \n"},
		{"new", "ask", "ask \nask 1\n" + `ask {"action":"accept","content":{"city":"Oslo"}}` + "\n"},
		{"new", "askpay", "ask \nask 1\n" + `ask {"action":"accept","content":{"city":"Oslo"}}` + "\n"},
	} {
		t.Run(c.kind+" "+c.tool, func(t *testing.T) {
			st := memory(t)
			s, file := command(t, c.kind)
			first := newWorld(t, s, nil, st)
			task := first.send(tool(c.tool, `{}`))
			task = first.sendTo(task.ID, a2a.TextPart("city: Oslo"))
			want(t, task, a2a.TaskStateInputRequired, "Sure?")
			first.kill()
			second := newWorld(t, s, nil, st)
			task = second.sendTo(task.ID, a2a.TextPart("accept"))
			want(t, task, a2a.TaskStateCompleted, "Oslo for", "accept")
			calls, err := os.ReadFile(file)
			if err != nil || string(calls) != c.calls {
				t.Errorf("calls %q, want %q", calls, c.calls)
			}
		})
	}
}

// In versions without rounds such a call dies with the connection.
func TestQuestionOfAToolThatMustNotBeCalledTwice(t *testing.T) {
	st := memory(t)
	s, _ := command(t, "old")
	first := newWorld(t, s, nil, st)
	task := first.send(tool("askpay", `{}`))
	first.kill()
	second := newWorld(t, s, nil, st)
	req := message(a2a.TextPart("city: Oslo"))
	req.Message.TaskID = task.ID
	second.SendMessage(t.Context(), req) // an error if the task has failed already
	want(t, second.rest(task.ID), a2a.TaskStateFailed, "must not be made twice")
}

func TestCancelReachesTheTool(t *testing.T) {
	for _, kind := range []string{"new", "old"} {
		t.Run("command, "+kind, func(t *testing.T) {
			s, file := command(t, kind)
			w := newWorld(t, s, nil, nil)
			id := w.begin(tool("hold", `{}`))
			eventually(t, "the call", noted(file, "hold"))
			task, err := w.CancelTask(t.Context(), &a2a.CancelTaskRequest{ID: id})
			if err != nil {
				t.Fatal(err)
			}
			want(t, task, a2a.TaskStateCanceled)
			eventually(t, "the tool was cancelled", noted(file, "cancelled"))
			want(t, w.send(tool("greet", `{"name":"Eve"}`)), a2a.TaskStateCompleted, "hello Eve")
		})
		t.Run("HTTP, "+kind, func(t *testing.T) {
			s, srv := overHTTP(t, kind)
			w := newWorld(t, s, nil, nil)
			id := w.begin(tool("hold", `{}`))
			<-srv.held
			if _, err := w.CancelTask(t.Context(), &a2a.CancelTaskRequest{ID: id}); err != nil {
				t.Fatal(err)
			}
			<-srv.ended
		})
	}
}

func TestServerThatDiesInACallIsStartedAgain(t *testing.T) {
	s, _ := command(t, "new")
	w := newWorld(t, s, nil, nil)
	want(t, w.send(tool("die", `{}`)), a2a.TaskStateCompleted, "alive")
}

// A connection that breaks in the middle of a call: the tool is called again, or the
// task fails where it must not be.
func TestConnectionThatBreaksInACall(t *testing.T) {
	for _, kind := range []string{"new", "old"} {
		t.Run(kind, func(t *testing.T) {
			s, srv := overHTTP(t, kind)
			w := newWorld(t, s, nil, nil)
			id := w.begin(tool("pay", `{}`))
			<-srv.held
			srv.cut()
			want(t, w.rest(id), a2a.TaskStateFailed, "must not be made twice")
			id = w.begin(tool("hold", `{}`))
			<-srv.held
			srv.cut()
			<-srv.held
			close(srv.let)
			want(t, w.rest(id), a2a.TaskStateCompleted, "held")
		})
	}
}

func TestToolThatIsSilentForTooLong(t *testing.T) {
	s, file := command(t, "old")
	w := newWorld(t, s, &Options{Timeout: 50 * time.Millisecond}, nil)
	want(t, w.send(tool("hold", `{}`)), a2a.TaskStateFailed, "no sign of life for 50ms")
	eventually(t, "the tool was cancelled", noted(file, "cancelled"))
	w.agent.tools.opts.Timeout = time.Minute
	want(t, w.send(tool("greet", `{"name":"Fay"}`)), a2a.TaskStateCompleted, "hello Fay")
}

func TestServersThatAreNone(t *testing.T) {
	for kind, logged := range map[string]string{
		"exit":    "the command ended: exit status 3",
		"silent":  context.DeadlineExceeded.Error(),
		"deaf":    context.DeadlineExceeded.Error(),
		"garbage": "",
		"flood":   "",
		"long":    "",
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s, _ := command(t, kind)
			limit := 300 * time.Millisecond
			if kind == "exit" {
				limit = 0 // it ends by itself, after however long it takes to start
			}
			w := newWorld(t, s, &Options{ConnectTimeout: limit, MaxMessage: 1 << 20}, nil)
			want(t, w.send(tool("greet", `{}`)), a2a.TaskStateFailed, "the MCP server cannot be started")
			if !strings.Contains(w.log.String(), logged) {
				t.Errorf("the log does not say %q:\n%s", logged, w.log)
			}
		})
	}
	t.Run("missing", func(t *testing.T) {
		w := newWorld(t, Server{Command: []string{"no-such-program-of-parley"}}, nil, nil)
		want(t, w.send(tool("greet", `{}`)), a2a.TaskStateFailed, "the MCP server cannot be started")
	})
	t.Run("nobody listens", func(t *testing.T) {
		w := newWorld(t, Server{URL: "http://127.0.0.1:1/secret-path"}, nil, nil)
		task := w.send(tool("greet", `{}`))
		want(t, task, a2a.TaskStateFailed, "the MCP server cannot be reached")
		if strings.Contains(task.Status.Message.Text(), "secret") {
			t.Error("the reason tells the address")
		}
	})
}

// Nothing is left when an agent was closed, whatever its calls did.
func TestCloseLeavesNothing(t *testing.T) {
	before := runtime.NumGoroutine()
	fds := descriptors(t)
	func() {
		s, file := command(t, "old")
		a, err := New(s, &Options{Grace: 50 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := a.Card(t.Context()); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			_, err := a.tools.Call(ctx, "hold", nil)
			done <- err
		}()
		eventually(t, "the call", noted(file, "hold"))
		cancel()
		if err := <-done; err != context.Canceled {
			t.Errorf("Call = %v", err)
		}
		a.Close()
		a.Close()
	}()
	eventually(t, "goroutines and descriptors are back", func() bool {
		return runtime.NumGoroutine() <= before && descriptors(t) <= fds
	})
}

// Nor is anything left of servers that misbehave, and of what they start.
func TestHostileServersLeaveNothing(t *testing.T) {
	before, fds := runtime.NumGoroutine(), descriptors(t)
	var all sync.WaitGroup
	for _, kind := range []string{"exit", "silent", "deaf", "garbage", "flood", "long", "forks"} {
		all.Go(func() {
			s, file := command(t, kind)
			o := &Options{Grace: 20 * time.Millisecond, ConnectTimeout: 300 * time.Millisecond, MaxMessage: 1 << 20}
			if kind == "forks" {
				o.ConnectTimeout = 0 // it is a server
			}
			a, err := New(s, o)
			if err != nil {
				t.Error(err)
				return
			}
			_, err = a.Card(t.Context())
			if (err == nil) != (kind == "forks") {
				t.Errorf("%s: %v", kind, err)
			}
			if kind == "forks" {
				eventually(t, "the child is there", func() bool { return len(pids(t, file, "deaf")) > 0 })
			}
			a.Close()
			eventually(t, "its processes are gone", func() bool { return !alive(pids(t, file, "deaf")) })
		})
	}
	all.Wait()
	eventually(t, "goroutines and descriptors are back", func() bool {
		return runtime.NumGoroutine() <= before && descriptors(t) <= fds
	})
}

// A server that does not look at its input ends with us all the same, where the
// system can see to that.
func TestServerEndsWithUs(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("there is no such thing here")
	}
	s, file := command(t, "parent")
	parent := exec.Command(s.Command[0])
	parent.Env = append(os.Environ(), s.Env...)
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the server is there", func() bool { return len(pids(t, file, "deaf")) > 0 })
	parent.Process.Kill()
	parent.Wait()
	eventually(t, "the server is gone", func() bool { return !alive(pids(t, file, "deaf")) })
}

func descriptors(t *testing.T) int {
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("no /proc")
	}
	return len(list)
}

// Others can call while a call waits for its client.
func TestQuestionHoldsNoPlace(t *testing.T) {
	for _, kind := range []string{"new", "old"} {
		t.Run(kind, func(t *testing.T) {
			s, srv := overHTTP(t, kind)
			w := newWorld(t, s, &Options{Concurrency: 1}, nil)
			asking := w.send(tool("ask", `{}`))
			want(t, asking, a2a.TaskStateInputRequired, "Where to?")
			want(t, w.send(tool("greet", `{"name":"Hal"}`)), a2a.TaskStateCompleted, "hello Hal")

			// An answer that is a call of its own has to wait for a place. The task can be
			// cancelled meanwhile.
			holding := w.begin(tool("hold", `{}`))
			<-srv.held
			req := message(a2a.TextPart("city: Rome"))
			req.Message.TaskID = asking.ID
			req.Configuration = &a2a.SendMessageConfiguration{ReturnImmediately: true}
			if _, err := w.SendMessage(t.Context(), req); err != nil {
				t.Fatal(err)
			}
			task, err := w.CancelTask(t.Context(), &a2a.CancelTaskRequest{ID: asking.ID})
			if err != nil {
				t.Fatal(err)
			}
			want(t, task, a2a.TaskStateCanceled)
			close(srv.let)
			want(t, w.rest(holding), a2a.TaskStateCompleted, "held")
			want(t, w.send(tool("greet", `{"name":"Ida"}`)), a2a.TaskStateCompleted, "hello Ida")
		})
	}
}

// A call under way whose question was answered goes on without a slot: another call may have
// the slot and wait for this one, if the server handles one call at a time.
func TestAnswerOfACallWaitsForNoPlace(t *testing.T) {
	s, srv := overHTTP(t, "old")
	w := newWorld(t, s, &Options{Concurrency: 1}, nil)
	asking := w.send(tool("ask", `{}`))
	holding := w.begin(tool("hold", `{}`))
	<-srv.held
	let := sync.OnceFunc(func() { close(srv.let) })
	defer let()
	want(t, w.sendTo(asking.ID, a2a.TextPart("city: Rome")), a2a.TaskStateInputRequired, "Sure?")
	want(t, w.sendTo(asking.ID, a2a.TextPart("accept")), a2a.TaskStateCompleted, "Rome")
	waits := w.begin(tool("hold", `{}`)) // the places are as many as before
	let()
	want(t, w.rest(holding), a2a.TaskStateCompleted, "held")
	want(t, w.rest(waits), a2a.TaskStateCompleted, "held")
}

// If a server's question does not say which call it belongs to, it is not put to another call's
// client.
func TestQuestionThatMayBeOfAnotherCallIsRefused(t *testing.T) {
	s, file := command(t, "old")
	w := newWorld(t, s, nil, nil)
	w.begin(tool("hold", `{}`))
	eventually(t, "the call", noted(file, "hold"))
	want(t, w.send(tool("ask", `{}`)), a2a.TaskStateCompleted, "no trip: cancel")

	w = newWorld(t, s, &Options{Sessions: 2}, nil) // each its own process
	w.begin(tool("hold", `{}`))
	eventually(t, "the call", noted(file, "hold\n"))
	want(t, w.send(tool("ask", `{}`)), a2a.TaskStateInputRequired, "Where to?")
}
