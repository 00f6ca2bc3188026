package engine

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/store"
)

// ops is the agent of BenchmarkOps.
var ops = agent.Func(func(ctx context.Context, t *agent.Turn) error {
	text := t.Text()
	switch text {
	case "stream":
		if err := t.Status(""); err != nil {
			return err
		}
		return tenChunks(t)
	case "hold":
		if err := t.Status(""); err != nil {
			return err
		}
		<-ctx.Done()
		return context.Cause(ctx)
	}
	return t.Artifact("echo").Last(a2a.TextPart(text))
})

var chunk100 = strings.Repeat("x", 100)

func tenChunks(t *agent.Turn) error {
	w := t.Artifact("stream")
	for range 9 {
		if _, err := w.WriteString(chunk100); err != nil {
			return err
		}
	}
	return w.Last(a2a.TextPart(chunk100))
}

// BenchmarkOps has one caller of each operation, so that the allocations of a call are the same
// each time and do not depend on other callers.
func BenchmarkOps(b *testing.B) {
	for _, in := range []string{"memory", "sqlite"} {
		b.Run(in, func(b *testing.B) {
			open := func(b *testing.B) *Engine {
				var st store.Store
				if in == "sqlite" {
					st = openBench(b)
				} else {
					m := store.NewMemory()
					b.Cleanup(func() { m.Close() })
					st = m
				}
				return quietWorld(b, st, ops)
			}
			b.Run("send", func(b *testing.B) { benchSend(b, open(b)) })
			b.Run("stream", func(b *testing.B) { benchStream(b, open(b)) })
			b.Run("get", func(b *testing.B) { benchGet(b, open(b)) })
			b.Run("list", func(b *testing.B) { benchList(b, open(b)) })
			b.Run("replay", func(b *testing.B) { benchReplay(b, open(b)) })
			b.Run("subscribe", func(b *testing.B) { benchSubscribe(b, open(b)) })
		})
	}
}

func mustEcho(b *testing.B, e *Engine, req *a2a.SendMessageRequest) *a2a.Task {
	res, err := e.SendMessage(b.Context(), req)
	if err != nil || res.Task == nil || res.Task.Status.State != a2a.TaskStateCompleted {
		b.Fatalf("%+v, %v", res, err)
	}
	return res.Task
}

// benchSend is one message to the end of its task.
func benchSend(b *testing.B, e *Engine) {
	b.ReportAllocs()
	for b.Loop() {
		mustEcho(b, e, send("hello"))
	}
}

// benchStream is one message and its stream: the task, working, ten chunks,
// completed.
func benchStream(b *testing.B, e *Engine) {
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		for _, err := range e.SendStreamingMessage(b.Context(), send("stream")) {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
		if n != 13 {
			b.Fatalf("%d events", n)
		}
	}
}

// fifty tasks that have ended.
func fifty(b *testing.B, e *Engine) (ids []string) {
	for i := range 50 {
		ids = append(ids, mustEcho(b, e, send(fmt.Sprint("task ", i))).ID)
	}
	return ids
}

func benchGet(b *testing.B, e *Engine) {
	ids := fifty(b, e)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		id := ids[i%len(ids)]
		t, err := e.GetTask(b.Context(), &a2a.GetTaskRequest{ID: id})
		if err != nil || t.ID != id {
			b.Fatalf("%+v, %v", t, err)
		}
	}
}

// benchList is a page of 50 tasks.
func benchList(b *testing.B, e *Engine) {
	fifty(b, e)
	b.ReportAllocs()
	for b.Loop() {
		p, err := e.ListTasks(b.Context(), &a2a.ListTasksRequest{})
		if err != nil || len(p.Tasks) != 50 {
			b.Fatalf("%+v, %v", p, err)
		}
	}
}

// benchReplay resumes the stream of a task that has ended.
func benchReplay(b *testing.B, e *Engine) {
	id := ""
	for ev, err := range e.SendStreamingMessage(b.Context(), send("stream")) {
		if err != nil {
			b.Fatal(err)
		}
		if ev.Task != nil {
			id = ev.Task.ID
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		for _, err := range e.SubscribeToTask(b.Context(), &a2a.SubscribeToTaskRequest{ID: id, After: 1}) {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
		if n < 11 {
			b.Fatalf("%d elements", n)
		}
	}
}

// benchSubscribe comes to a task at which nothing happens, and leaves.
func benchSubscribe(b *testing.B, e *Engine) {
	res, err := e.SendMessage(b.Context(), sendNow("hold"))
	if err != nil {
		b.Fatal(err)
	}
	id := res.Task.ID
	b.ReportAllocs()
	for b.Loop() {
		for ev, err := range e.SubscribeToTask(b.Context(), &a2a.SubscribeToTaskRequest{ID: id}) {
			if err != nil || ev.Task == nil {
				b.Fatalf("%+v, %v", ev, err)
			}
			break
		}
	}
}

// BenchmarkFanOut is an event to each of many readers: what is reported is per
// event and reader.
func BenchmarkFanOut(b *testing.B) {
	for _, readers := range []int{1, 100} {
		b.Run(fmt.Sprint("readers=", readers), func(b *testing.B) {
			next := make(chan struct{})
			e := quietWorld(b, openBench(b), agent.Func(func(ctx context.Context, t *agent.Turn) error {
				w := t.Artifact("stream")
				for range next {
					if _, err := w.WriteString(chunk100); err != nil {
						return err
					}
				}
				return w.Last(a2a.TextPart(chunk100))
			}))
			res, err := e.SendMessage(b.Context(), sendNow("go"))
			if err != nil {
				b.Fatal(err)
			}
			var all, came, got sync.WaitGroup
			came.Add(readers)
			for range readers {
				all.Go(func() {
					for ev, err := range e.SubscribeToTask(b.Context(), &a2a.SubscribeToTaskRequest{ID: res.Task.ID}) {
						switch {
						case err != nil:
							b.Error(err)
						case ev.Task != nil:
							came.Done()
						case ev.ArtifactUpdate != nil && !ev.ArtifactUpdate.LastChunk:
							got.Done()
						}
					}
				})
			}
			came.Wait()
			b.ReportAllocs()
			b.ResetTimer()
			// b.N events and readers, rounded up to whole events.
			for range (b.N + readers - 1) / readers {
				got.Add(readers)
				next <- struct{}{}
				got.Wait()
			}
			b.StopTimer()
			close(next)
			all.Wait()
		})
	}
}
