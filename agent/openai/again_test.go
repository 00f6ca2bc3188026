package openai_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/agent/openai"
	"github.com/parley-a2a/parley/agent/openai/openaitest"
	"github.com/parley-a2a/parley/store"
)

// begin sends a text and returns the id of its task, which is at work.
func (w *world) begin(text string) string {
	w.t.Helper()
	req := request(a2a.TextPart(text))
	req.Configuration.ReturnImmediately = true
	id := w.send(req).ID
	synctest.Wait()
	return id
}

func (w *world) get(id string) *a2a.Task {
	w.t.Helper()
	task, err := w.GetTask(w.t.Context(), &a2a.GetTaskRequest{ID: id})
	if err != nil {
		w.t.Fatal(err)
	}
	return task
}

// hung is a stream that says something and then nothing more.
func hung(text string) openaitest.Answer {
	a := openaitest.Text(text)
	a.Pieces = append(a.Pieces[:2:2], "")
	a.Until = make(chan struct{})
	return a
}

func TestARunAfterARestartTakesTheHalfAnswersPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		box := &weather{}
		o := &openai.Options{Tools: []openai.Toolbox{box}}
		call := openaitest.Call("id1", "get_weather", `{"city":"Paris"}`)
		call.Pieces = append([]string{openaitest.Text("Let me see.").Pieces[1]}, call.Pieces...)
		w := newWorld(t, openaitest.New(call, hung("It may be th")), o)
		id := w.begin("weather?")
		time.Sleep(time.Second)
		if got := answer(w.get(id)); got != "Let me see.\n\nIt may be th" {
			t.Fatalf("before: %q", got)
		}
		w.stop()

		fake := openaitest.New(openaitest.Text("Sun."))
		w = worldOver(t, w.st, fake, o)
		synctest.Wait()
		time.Sleep(time.Second)
		task := w.get(id)
		want(t, task, a2a.TaskStateCompleted, "Let me see.\n\nSun.", "14 tokens in, 11 out")
		if len(task.Artifacts) != 1 || box.made() != `{"city":"Paris"}` {
			t.Errorf("%d artifacts, calls %s", len(task.Artifacts), box.made())
		}
		if d := cmp.Diff([]string{"user: weather?", "assistant: Let me see.", "tool: sun"}, messages(fake.Requests()[0])); d != "" {
			t.Error(d)
		}
	})
}

// A call that was cut off is made again, unless its tool must not be.
func TestACallThatWasCutOff(t *testing.T) {
	for once, told := range map[bool]string{
		false: "tool: rain",
		true:  "tool: Error: the call was interrupted, and nobody knows whether it took effect; it was not made again",
	} {
		synctest.Test(t, func(t *testing.T) {
			box := &weather{once: once, fn: func(ctx context.Context, _ string) (agent.ToolResult, error) {
				<-ctx.Done()
				return agent.ToolResult{}, errors.New("cut")
			}}
			o := &openai.Options{Tools: []openai.Toolbox{box}}
			w := newWorld(t, openaitest.New(openaitest.Call("id1", "get_weather", "{}")), o)
			id := w.begin("weather?")
			w.stop()

			box.fn = func(context.Context, string) (agent.ToolResult, error) { return agent.ToolResult{Text: "rain"}, nil }
			fake := openaitest.New(openaitest.Text("So."))
			w = worldOver(t, w.st, fake, o)
			time.Sleep(time.Second)
			want(t, w.get(id), a2a.TaskStateCompleted, "So.", "")
			if got := messages(fake.Requests()[0]); got[2] != told {
				t.Errorf("once %v: told %q", once, got[2])
			}
			if n := len(strings.Fields(box.made())); (n == 1) != once {
				t.Errorf("once %v: %d calls", once, n)
			}
		})
	}
}

// neverSent is what a toolbox returns that stopped before the tool heard of a call.
type neverSent struct{ error }

func (neverSent) Unsent() bool { return true }

// A call that ends while the server stops has the same outcome after the restart.
func TestACallThatEndsWhileTheServerStops(t *testing.T) {
	for name, c := range map[string]struct {
		res   agent.ToolResult
		err   error
		told  string
		calls int
	}{
		"a result":    {agent.ToolResult{Text: "paid"}, nil, "tool: paid", 1},
		"a refusal":   {agent.ToolResult{}, agent.Public("no such account", nil), "tool: Error: no such account", 1},
		"not sent":    {agent.ToolResult{}, neverSent{errors.New("cut")}, "tool: again", 2},
		"interrupted": {agent.ToolResult{}, errors.New("cut"), "tool: Error: the call was interrupted, and nobody knows whether it took effect; it was not made again", 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				box := &weather{once: true, fn: func(ctx context.Context, _ string) (agent.ToolResult, error) {
					<-ctx.Done()
					return c.res, c.err
				}}
				o := &openai.Options{Tools: []openai.Toolbox{box}}
				w := newWorld(t, openaitest.New(openaitest.Call("id1", "get_weather", "{}")), o)
				id := w.begin("pay")
				w.stop()

				box.fn = func(context.Context, string) (agent.ToolResult, error) { return agent.ToolResult{Text: "again"}, nil }
				fake := openaitest.New(openaitest.Text("So."))
				w = worldOver(t, w.st, fake, o)
				time.Sleep(time.Second)
				want(t, w.get(id), a2a.TaskStateCompleted, "So.", "")
				if got := messages(fake.Requests()[0]); got[2] != c.told {
					t.Errorf("told %q", got[2])
				}
				if n := len(strings.Fields(box.made())); n != c.calls {
					t.Errorf("%d calls", n)
				}
			})
		})
	}
}

// slow is a store whose disk takes a second.
type slow struct {
	store.Store
	durable atomic.Int64 // steps
}

func (s *slow) Append(a *store.Append, done func(error)) {
	s.Store.Append(a, func(err error) {
		time.AfterFunc(time.Second, func() {
			for _, en := range a.Entries {
				if bytes.Contains(en.Body, []byte(`"begin"`)) {
					s.durable.Add(1)
				}
			}
			done(err)
		})
	})
}

// That a call has begun is on disk before a tool that must not be called twice
// hears of it.
func TestACallThatMustNotBeMadeTwiceIsOnDiskFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &slow{Store: store.NewMemory()}
		defer st.Close()
		box := &weather{once: true, fn: func(context.Context, string) (agent.ToolResult, error) {
			return agent.ToolResult{Text: fmt.Sprint(st.durable.Load())}, nil
		}}
		fake := openaitest.New(openaitest.Call("id1", "get_weather", "{}"))
		w := worldOver(t, st, fake, &openai.Options{Tools: []openai.Toolbox{box}})
		defer w.stop()
		want(t, w.say("weather?"), a2a.TaskStateCompleted, "1", "") // the fake echoes the result
	})
}

func TestCancelEndsTheRequest(t *testing.T) {
	for name, o := range map[string]*openai.Options{
		"in the answer": {},
		"in a call": {Tools: []openai.Toolbox{&weather{fn: func(ctx context.Context, _ string) (agent.ToolResult, error) {
			<-ctx.Done()
			return agent.ToolResult{}, nil
		}}}},
		"in a pause": {},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				first := map[string]openaitest.Answer{
					"in the answer": hung("Hel"),
					"in a call":     openaitest.Call("a", "get_weather", "{}"),
					"in a pause":    openaitest.Error(429, "", ""),
				}[name]
				fake := openaitest.New(first)
				w := newWorld(t, fake, o)
				id := w.begin("hello")
				begun := time.Now()
				task, err := w.CancelTask(t.Context(), &a2a.CancelTaskRequest{ID: id})
				if err != nil || task.Status.State != a2a.TaskStateCanceled || time.Since(begun) > time.Second {
					t.Errorf("%v, %v after %v", task, err, time.Since(begun))
				}
				time.Sleep(time.Minute)
				if n := len(fake.Requests()); n != 1 {
					t.Errorf("%d requests", n)
				}
			}) // and nothing is left: synctest fails if a goroutine hangs
		})
	}
}

func TestTurnsWaitInTheirOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var answers []openaitest.Answer
		for range 20 {
			a := openaitest.Text("fine")
			a.Every = time.Second
			answers = append(answers, a)
		}
		fake := openaitest.New(answers...)
		w := newWorld(t, fake, &openai.Options{Concurrency: 2})
		var ids []string
		for i := range 10 {
			ids = append(ids, w.begin(string(rune('a'+i))))
		}
		if n := len(fake.Requests()); n != 2 {
			t.Errorf("%d at a time", n)
		}
		if _, err := w.CancelTask(t.Context(), &a2a.CancelTaskRequest{ID: ids[4]}); err != nil { // while it waits
			t.Error(err)
		}
		time.Sleep(time.Minute)
		var got string
		for _, r := range fake.Requests() {
			got += strings.TrimPrefix(messages(r)[0], "user: ")
		}
		if got != "abcdfghij" {
			t.Errorf("served %s", got)
		}
	})
}
