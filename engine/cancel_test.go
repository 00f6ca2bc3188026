package engine

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/store"
)

func TestCancelRequestOutlivesTheProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMemory()
		defer st.Close()
		deaf := agent.Func(func(ctx context.Context, t *agent.Turn) error {
			t.Ask(ctx, "?")
			time.Sleep(time.Hour)
			return nil
		})
		lost := New(st, deaf, testCard(), &Options{Logger: slog.New(slog.NewTextHandler(testLog{t}, nil)), CancelWait: 2 * time.Hour})
		ctx, cancel := context.WithCancel(t.Context())
		ran := make(chan error, 1)
		go func() { ran <- lost.Run(ctx) }()
		resp, err := lost.SendMessage(ctx, send("x"))
		if err != nil {
			t.Fatal(err)
		}
		asked := resp.Task
		wantState(t, asked, a2a.TaskStateInputRequired)
		go lost.CancelTask(ctx, &a2a.CancelTaskRequest{ID: asked.ID})
		synctest.Wait()
		cancel()
		if <-ran == nil {
			t.Error("Run did not say that an agent goes on")
		}

		w := newWorld(t, st, deaf)
		synctest.Wait()
		wantState(t, w.mustGet(asked.ID), a2a.TaskStateCanceled)
		within, done := context.WithTimeout(t.Context(), time.Minute)
		defer done()
		if _, err := w.CancelTask(within, &a2a.CancelTaskRequest{ID: asked.ID}); err != nil {
			t.Errorf("canceling again: %v", err)
		}
		w.stop()
		time.Sleep(time.Hour) // the deaf one of the lost process
	})
}

// slowClaim lets a test act between the start of an engine and its claim of
// what earlier processes left.
