package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/engine/internal/stored"
	"github.com/parley-a2a/parley/internal/budget"
	"github.com/parley-a2a/parley/store"
)

// wary is a store that looks whether there is room for what is read of it.
type wary struct {
	store.Store
	t    *testing.T
	seen atomic.Int64
}

func (s *wary) check(ctx context.Context, what string, size int64) {
	h := budget.From(ctx)
	if h == nil || size <= budget.Small {
		return // the engine's own reads, and small ones
	}
	s.seen.Add(1)
	if h.Held() < size {
		s.t.Errorf("%s reads %d bytes and holds %d", what, size, h.Held())
	}
}

func (s *wary) Get(ctx context.Context, k store.Key, most int64) (*store.Record, error) {
	rec, err := s.Store.Get(ctx, k, most)
	if err == nil && rec.Seal != nil {
		s.check(ctx, "Get", rec.Size)
	}
	return rec, err
}

func (s *wary) List(ctx context.Context, q store.Query) (*store.Page, error) {
	p, err := s.Store.List(ctx, q)
	if err == nil {
		size := int64(0)
		for _, r := range p.Records {
			if r.Seal != nil {
				size += r.Size
			}
		}
		s.check(ctx, "List", size)
	}
	return p, err
}

func (s *wary) Entries(ctx context.Context, k store.Key, after int64, limit int) ([]store.Entry, error) {
	list, err := s.Store.Entries(ctx, k, after, limit)
	size := int64(0)
	for _, en := range list {
		size += int64(len(en.Body))
	}
	s.check(ctx, "Entries", size)
	return list, err
}

func (s *wary) Blob(ctx context.Context, hash string) ([]byte, error) {
	b, err := s.Store.Blob(ctx, hash)
	s.check(ctx, "Blob", int64(len(b)))
	return b, err
}

// largeEcho completes with what it is sent, or asks first if that begins with ask.
var largeEcho = agent.Func(func(ctx context.Context, t *agent.Turn) error {
	if strings.HasPrefix(t.Text(), "ask") {
		if _, err := t.Ask(ctx, "go on?"); err != nil {
			return err
		}
	}
	w := t.Artifact("echo")
	if err := w.Add(t.Message().Parts...); err != nil {
		return err
	}
	return w.Close()
})

func largeMessage(kind string, n int) *a2a.SendMessageRequest {
	req := send(kind + strings.Repeat("x", n))
	if kind == "file" {
		req.Message.Parts = []*a2a.Part{a2a.TextPart("file"), a2a.RawPart([]byte(strings.Repeat("r", n)), "application/octet-stream", "r")}
	}
	return req
}

// Every read of large tasks reserves memory first: in texts and in files, finished, at rest, in
// lists, as streams that are resumed.
func TestReadsMakeRoomFirst(t *testing.T) {
	const size = 1 << 20
	for _, kind := range []string{"text", "file", "ask"} {
		t.Run(kind, func(t *testing.T) {
			mem := store.NewMemory()
			defer mem.Close()
			before := newWorld(t, mem, largeEcho)
			var ids []string
			for range 5 {
				ids = append(ids, before.mustSend(largeMessage(kind, size)).ID)
			}
			before.stop()
			w := wary{Store: mem, t: t}
			all := budget.New(100 << 20)
			e := newWorldWith(t, &w, largeEcho, testCard(), &Options{Cache: -1})
			call := func(f func(ctx context.Context) error) {
				t.Helper()
				h := all.Open("caller")
				defer h.Close()
				if err := f(budget.With(t.Context(), h)); err != nil {
					t.Error(err)
				}
			}
			for _, encoded := range []bool{false, true} {
				call(func(ctx context.Context) error {
					_, err := e.GetTask(ctx, &a2a.GetTaskRequest{ID: ids[0], Encoded: encoded})
					return err
				})
				call(func(ctx context.Context) error {
					_, err := e.ListTasks(ctx, &a2a.ListTasksRequest{IncludeArtifacts: true, Encoded: encoded})
					return err
				})
				call(func(ctx context.Context) error {
					_, err := e.ListTasks(ctx, &a2a.ListTasksRequest{Encoded: encoded})
					return err
				})
			}
			for _, after := range []int64{0, 1, 2} {
				call(func(ctx context.Context) error {
					for res, err := range e.SubscribeToTask(ctx, &a2a.SubscribeToTaskRequest{ID: ids[1], After: after}) {
						if after == 0 && errors.Is(err, a2a.ErrUnsupportedOperation) {
							return nil
						}
						if err != nil || kind == "ask" && res.State() == a2a.TaskStateInputRequired {
							return err
						}
					}
					return nil
				})
			}
			if w.seen.Load() < 6 {
				t.Errorf("%d large reads were seen", w.seen.Load())
			}
			if all.Used() != 0 {
				t.Errorf("%d bytes are held in the end", all.Used())
			}
		})
	}
}

// Pages of lists end by their bytes, and together they have every task once.
func TestPagesEndByBytes(t *testing.T) {
	for _, kind := range []string{"text", "file", "ask"} {
		t.Run(kind, func(t *testing.T) {
			e := newWorld(t, nil, largeEcho)
			sizes := []int{100, 3 << 20, 100, 100, 1 << 20, 1 << 20, 1 << 20, 5 << 20, 100}
			for _, n := range sizes {
				e.mustSend(largeMessage(kind, n))
			}
			for _, artifacts := range []bool{true, false} {
				seen, pages := map[string]bool{}, 0
				for token := ""; ; {
					resp, err := e.ListTasks(t.Context(), &a2a.ListTasksRequest{IncludeArtifacts: artifacts, PageToken: token})
					if err != nil {
						t.Fatal(err)
					}
					pages++
					if n := resp.Size(); n > 2*stored.PageBytes+6<<20 && len(resp.Tasks) > 1 {
						t.Errorf("a page of %d tasks has %d bytes", len(resp.Tasks), n)
					}
					if int(resp.TotalSize) != len(sizes) {
						t.Errorf("%d tasks in all, want %d", resp.TotalSize, len(sizes))
					}
					for _, task := range resp.Tasks {
						if seen[task.ID] {
							t.Errorf("task %s is in two pages", task.ID)
						}
						seen[task.ID] = true
						if err := task.Decode(); err != nil {
							t.Fatal(err)
						}
						if got := len(task.Artifacts) > 0; got != (artifacts && kind != "ask") {
							t.Errorf("artifacts: %v", got)
						}
					}
					if token = resp.NextPageToken; token == "" {
						break
					}
				}
				if len(seen) != len(sizes) || pages < 3 {
					t.Errorf("%d tasks in %d pages", len(seen), pages)
				}
			}
		})
	}
}

// An operation for which there is no room waits, and says so in the end. Small ones
// do not.
func TestReadsWaitForRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := store.NewMemory()
		defer mem.Close()
		before := newWorld(t, mem, largeEcho)
		id, small := before.mustSend(largeMessage("text", 1<<20)).ID, before.mustSend(send("small")).ID
		before.stop()
		e := newWorldWith(t, mem, largeEcho, testCard(), &Options{Cache: -1})
		all := budget.New(16 << 20)
		other, h := all.Open("other"), all.Open("caller")
		other.Set(16 << 20)
		ctx := budget.With(t.Context(), h)
		if _, err := e.GetTask(ctx, &a2a.GetTaskRequest{ID: small}); err != nil {
			t.Error(err)
		}
		for what, call := range map[string]func() error{
			"get":  func() error { _, err := e.GetTask(ctx, &a2a.GetTaskRequest{ID: id}); return err },
			"list": func() error { _, err := e.ListTasks(ctx, &a2a.ListTasksRequest{}); return err },
			"subscribe": func() error {
				for _, err := range e.SubscribeToTask(ctx, &a2a.SubscribeToTaskRequest{ID: id, After: 2}) {
					return err
				}
				return fmt.Errorf("nothing")
			},
		} {
			if err := call(); !errors.Is(err, budget.ErrFull) {
				t.Errorf("%s: %v", what, err)
			}
		}
		other.Close()
		if _, err := e.GetTask(ctx, &a2a.GetTaskRequest{ID: id}); err != nil {
			t.Error(err)
		}
		e.stop()
	})
}

// meter is a receiver that looks whether there is room for what is delivered.
type meter struct {
	t   *testing.T
	got chan int64 // what was held for a large delivery
}

func (m *meter) Check(context.Context, *a2a.TaskPushNotificationConfig) (string, error) {
	return "host", nil
}

func (m *meter) Notify(ctx context.Context, n *a2a.Notification) a2a.Outcome {
	if size := n.Event.Size() + n.Task.Size(); size > budget.Small {
		if held := budget.From(ctx).Held(); held < int64(size) {
			m.t.Errorf("%d bytes are delivered, and %d held", size, held)
		}
		m.got <- int64(size)
	}
	return a2a.Outcome{Verdict: a2a.Delivered}
}

// Deliveries of webhooks make room for what they read, of a budget of their own.
func TestWebhooksMakeRoomFirst(t *testing.T) {
	for version, legacy := range map[string]*a2a.Legacy{"1.0": nil, "0.3": {Version: "0.3"}} {
		t.Run(version, func(t *testing.T) {
			mem := store.NewMemory()
			defer mem.Close()
			all := budget.New(64 << 20)
			m := &meter{t, make(chan int64, 10)}
			e := newWorldWith(t, &wary{Store: mem, t: t}, largeEcho, pushCard(), &Options{Cache: -1, Memory: all, Push: m})
			task := e.mustSend(largeMessage("ask", 1<<20))
			_, err := e.CreateTaskPushNotificationConfig(t.Context(), &a2a.TaskPushNotificationConfig{TaskID: task.ID, URL: "https://example.com/", Legacy: legacy})
			if err != nil {
				t.Fatal(err)
			}
			e.mustSend(reply(task, strings.Repeat("y", 1<<20)))
			if n := <-m.got; n < 1<<20 {
				t.Errorf("%d bytes were delivered", n)
			}
			e.stop()
			if all.Used() != 0 {
				t.Errorf("%d bytes of the others' are held", all.Used())
			}
		})
	}
}

// A call that waits for news of a large task takes no memory meanwhile.
func TestLongPollHoldsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := store.NewMemory()
		defer mem.Close()
		before := newWorld(t, mem, largeEcho)
		task := before.mustSend(largeMessage("ask", 1<<20))
		before.stop()
		e := newWorldWith(t, mem, largeEcho, testCard(), nil)
		all := budget.New(100 << 20)
		hold := all.Open("caller")
		defer hold.Close()
		ctx, cancel := context.WithCancel(budget.With(t.Context(), hold))
		polled := make(chan error, 1)
		go func() {
			_, err := e.GetTask(ctx, &a2a.GetTaskRequest{ID: task.ID, CurrentGeneration: &task.Generation})
			polled <- err
		}()
		synctest.Wait()
		if n := all.Used(); n != 0 {
			t.Errorf("%d bytes are held", n)
		}
		cancel()
		<-polled
		e.stop()
	})
}
