package proxy_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/agent/proxy"
	"github.com/parley-a2a/parley/store"
)

// wires are some that differ in how streams come back.
var wires = []struct{ version, binding string }{
	{"1.0", a2a.BindingJSONRPC}, {"1.0", a2a.BindingGRPC}, {"0.3", a2a.BindingJSONRPC}, {"0.3", a2a.BindingHTTPJSON}, {"0.1", a2a.BindingJSONRPC},
}

func chunks(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "chunk %d\n", i+1)
	}
	return b.String()
}

// If either side is stopped or killed in the middle of a stream, everything still comes once.
func TestRestarts(t *testing.T) {
	t.Parallel()
	const n = 40
	for i, wire := range wires {
		for name, disturb := range map[string]func(up, front *place){
			"theirs":        func(up, _ *place) { up.restart() },
			"ours":          func(_, front *place) { front.restart() },
			"ours, by kill": func(_, front *place) { front.crash() },
			"both":          func(up, front *place) { front.kill(); up.crash(); front.start() },
			"both at odds":  func(up, front *place) { up.stop(); front.crash(); up.start() },
		} {
			if i > 0 && name != "theirs" && name != "ours, by kill" {
				continue // which is the same on every wire
			}
			t.Run(wire.version+" "+wire.binding+" "+name, func(t *testing.T) {
				t.Parallel()
				up := serve(t, agent.DemoCard(), agent.Demo(), nil)
				front := behind(t, up.url(), &proxy.Options{Version: wire.version, Bindings: []string{wire.binding}}, nil)
				c := dial(t, front, nil)
				task := begun(t, c, say(fmt.Sprintf("stream %d 4", n)))
				disturb(up, front)
				task = ended(t, c, task.ID)
				want(t, task, a2a.TaskStateCompleted, "")
				if got := texts(task, "stream"); got != chunks(n) {
					t.Errorf("the stream amounts to %q", got)
				}
				if len(task.Artifacts) != 1 {
					t.Errorf("%d artifacts", len(task.Artifacts))
				}
			})
		}
	}
}

// A question outlives both servers, and its answer goes to where it was asked.
func TestQuestionOverRestarts(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"ask who?", "auth"} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			up := serve(t, agent.DemoCard(), agent.Demo(), nil)
			front := behind(t, up.url(), nil, nil)
			c := dial(t, front, nil)
			task := send(t, c, say(command))
			front.crash()
			up.crash()
			front.restart()
			c = dial(t, front, nil) // not on a connection to the server that was there before
			task = await(t, c, task.ID, a2a.TaskState.Interrupted)
			task = send(t, c, to(task, "me"))
			want(t, task, a2a.TaskStateCompleted, "")
		})
	}
}

// Answers that were given are not given again by a run after a crash.
func TestAnswersAreReplayed(t *testing.T) {
	t.Parallel()
	asks := agent.Func(func(ctx context.Context, t *agent.Turn) error {
		w := t.Artifact("answers")
		for _, q := range []string{"one?", "two?", "three?"} {
			m, err := t.Ask(ctx, q)
			if err != nil {
				return err
			}
			if _, err := w.WriteString(m.Text() + "\n"); err != nil {
				return err
			}
		}
		return nil
	})
	up := serve(t, agent.DemoCard(), asks, nil)
	front := behind(t, up.url(), nil, nil)
	c := dial(t, front, nil)
	task := send(t, c, say("begin"))
	for _, q := range []string{"one", "two", "three"} {
		want(t, task, a2a.TaskStateInputRequired, q+"?")
		front.crash()
		task = send(t, dial(t, front, nil), to(task, q)) // not on a connection that broke
	}
	want(t, task, a2a.TaskStateCompleted, "")
	if got := task.Artifacts[0].Parts; len(got) < 3 || texts(task, "answers") != "one\ntwo\nthree\n" {
		t.Errorf("the answers are %s", task.AppendJSON(nil))
	}
}

// An agent that lost its tasks with a restart is not asked to do them again.
func TestForgotten(t *testing.T) {
	t.Parallel()
	up := serve(t, agent.DemoCard(), agent.Demo(), nil)
	front := behind(t, up.url(), nil, nil)
	c := dial(t, front, nil)
	task := begun(t, c, say("stream 1000 10"))
	asked := send(t, c, say("ask who?"))
	up.stop()
	up.opts.Store = store.NewMemory()
	up.start()
	want(t, ended(t, c, task.ID), a2a.TaskStateFailed, "the agent behind this one no longer knows the task")
	want(t, send(t, c, to(asked, "me")), a2a.TaskStateFailed, "the agent behind this one no longer knows the task")
}

// One that stays away is waited for, and no longer than that.
func TestAway(t *testing.T) {
	t.Parallel()
	up := serve(t, agent.DemoCard(), agent.Demo(), nil)
	front := behind(t, up.url(), &proxy.Options{Patience: 300 * time.Millisecond}, nil)
	c := dial(t, front, nil)
	task := begun(t, c, say("stream 1000 10"))
	up.stop()
	failed := send(t, c, say("echo hello"))
	if strings.Contains(failed.Status.Message.Text(), "broke before it said") { // on a connection that was about to end
		failed = send(t, c, say("echo hello once more"))
	}
	want(t, failed, a2a.TaskStateFailed, "the agent behind this one cannot be reached")
	want(t, ended(t, c, task.ID), a2a.TaskStateFailed, "the agent behind this one can no longer be reached")
	up.start()
	want(t, send(t, c, say("echo hello again")), a2a.TaskStateCompleted, "hello again")
}

// Callers are told of an agent that stays away, once, and get its answer when it is back.
func TestAwayForAWhile(t *testing.T) {
	t.Parallel()
	up := serve(t, agent.DemoCard(), agent.Demo(), nil)
	front := behind(t, up.url(), nil, nil)
	c := dial(t, front, nil)
	up.stop()
	told, task := 0, new(a2a.Task)
	for try := 0; try == 0 || strings.Contains(task.Status.Message.Text(), "broke before it said"); try++ { // see TestAway
		task = new(a2a.Task)
		for el, err := range c.SendStreamingMessage(t.Context(), say(fmt.Sprint("echo hello ", try))) {
			if err != nil {
				t.Fatal(err)
			}
			task.ApplyEvent(el)
			if u := el.StatusUpdate; u != nil && u.Status.Message.Text() == "the agent behind this one does not answer; trying again" {
				if told++; told == 1 {
					up.start()
				}
			}
		}
	}
	if told != 1 || task.Status.State != a2a.TaskStateCompleted {
		t.Errorf("told %d times: %s", told, task.AppendJSON(nil))
	}
}
