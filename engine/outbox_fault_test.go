package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/engine/internal/outbox/outboxtest"
	"github.com/parley-a2a/parley/store"
	"github.com/parley-a2a/parley/store/storetest"
)

// startPush is newWorldWith for stores of which any write may fail: if that
// keeps the engine from starting, it is started again.
func startPush(t *testing.T, st store.Store, r *receivers) (e *Engine, stop func()) {
	for {
		e := New(st, chunks, pushCard(), &Options{Push: r, Logger: slog.New(slog.DiscardHandler)})
		ctx, cancel := context.WithCancel(context.Background())
		ran := make(chan error, 1)
		go func() { ran <- e.Run(ctx) }()
		synctest.Wait()
		select {
		case <-ran:
			cancel()
			continue
		default:
		}
		return e, func() {
			cancel()
			<-ran
		}
	}
}

// pushScenario has a task with webhooks that came with its message and by a
// call, one event that is given up and sent again, one webhook that is replaced
// and one that is deleted, and a restart.
func pushScenario(t *testing.T, st store.Store) {
	r := &receivers{}
	refused := false
	r.Answer = func(n *a2a.Notification) a2a.Outcome {
		if n.Config.ID == "called" && n.Seq == 3 && !refused {
			refused = true
			return outboxtest.Refused404
		}
		if n.Seq == 4 && len(r.Seqs(n.Config.ID)) < 3 {
			return outboxtest.Failing5xx
		}
		return a2a.Outcome{}
	}
	try := func(what string, do func(e *Engine) error, e *Engine) {
		t.Helper()
		for range 5 {
			err := do(e)
			if err == nil {
				return
			}
			if !errors.Is(err, storetest.ErrFault) {
				time.Sleep(time.Second)
			}
		}
		t.Errorf("%s fails", what)
	}
	ctx := context.Background()
	e, stop := startPush(t, st, r)
	var id string
	try("send", func(e *Engine) error {
		req := send("a b c")
		req.Configuration = &a2a.SendMessageConfiguration{TaskPushNotificationConfig: &a2a.TaskPushNotificationConfig{ID: "sent", URL: "h"}}
		resp, err := e.SendMessage(ctx, req)
		if err == nil {
			id = resp.Task.ID
		}
		return err
	}, e)
	// As if it had been made before the task went on.
	body := mustConfig(t, st, id, "sent").Body
	for _, name := range []string{"called", "deleted"} {
		try("set", func(*Engine) error {
			return st.SetPush(ctx, &store.PushConfig{Key: store.Key{ID: id}, ID: name, Host: "h", Body: body, Created: now(), Live: true, Progress: store.Progress{Cursor: 2}})
		}, e)
	}
	try("delete", func(e *Engine) error {
		return e.DeleteTaskPushNotificationConfig(ctx, &a2a.DeleteTaskPushNotificationConfigRequest{TaskID: id, ID: "deleted"})
	}, e)
	gone := len(r.Seqs("deleted"))
	e.outbox.LookSoon()
	time.Sleep(10 * time.Minute)
	try("mark", func(*Engine) error {
		all, err := st.DeadLetters(ctx, store.LetterQuery{Limit: 10})
		for i := range all {
			all[i].Again = true
		}
		if err != nil || len(all) == 0 {
			return err
		}
		return st.SetLetters(ctx, all, false)
	}, e)
	stop()
	_, stop = startPush(t, st, r)
	time.Sleep(time.Hour)
	stop()

	for _, name := range []string{"sent", "called"} {
		got := slices.Sorted(slices.Values(r.Seqs(name)))
		if got = slices.Compact(got); !slices.Equal(got, []int64{3, 4, 5, 6}) {
			t.Errorf("%s got %v", name, r.Seqs(name))
		}
		if p := mustConfig(t, st, id, name); p.Live || p.Cursor != 6 {
			t.Errorf("%s: %+v", name, p)
		}
	}
	if n := len(r.Seqs("deleted")); n != gone {
		t.Errorf("%d came after the deletion", n-gone)
	}
	if left, err := st.DeadLetters(ctx, store.LetterQuery{Limit: 10}); err != nil || len(left) != 0 {
		t.Errorf("%+v, %v", left, err)
	}
	byID := map[string]string{}
	for _, n := range r.All() {
		is := fmt.Sprint(n.Config.ID, n.Seq)
		if was, ok := byID[is]; ok && was != n.ID && n.Config.ID != "called" { // stored twice, it is another
			t.Errorf("%s has two ids", is)
		}
		byID[is] = n.ID
	}
}

func mustConfig(t *testing.T, st store.Store, task, name string) *store.PushConfig {
	t.Helper()
	p, err := st.Push(context.Background(), store.PushID{Key: store.Key{ID: task}, ID: name})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Whichever write fails, before or after it took effect, nothing is missing.
func TestPushAtEveryFault(t *testing.T) {
	steps := 0
	synctest.Test(t, func(t *testing.T) {
		steps = storetest.Steps(func(st store.Store) { pushScenario(t, st) })
	})
	if steps < 20 {
		t.Fatalf("%d writes", steps)
	}
	for step := range steps {
		for _, f := range []storetest.Fault{storetest.FailBefore, storetest.FailAfter} {
			t.Run(fmt.Sprint(step, " ", f), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					m := store.NewMemory()
					defer m.Close()
					pushScenario(t, storetest.Faulty(m, step, f))
				})
			})
		}
	}
}
