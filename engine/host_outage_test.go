package engine

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/store"
)

// An agent's look-ups while the database restarts come late and do not fail its
// task; callers are told to try again.
func TestAgentOutlastsTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMemory()
		defer st.Close()
		var down atomic.Bool
		w := newWorldWith(t, &unreachable{st, &down}, agent.Func(func(ctx context.Context, t *agent.Turn) error {
			if t.Text() != "look" {
				return t.Artifact("said").Last(a2a.TextPart("first"))
			}
			if err := t.Status("looking"); err != nil {
				return err
			}
			down.Store(true)
			time.AfterFunc(3*time.Second, func() { down.Store(false) })
			found, err := t.References(ctx)
			if err != nil {
				return err
			}
			n := 0
			for _, err := range t.Siblings(ctx) {
				if err != nil {
					return err
				}
				n++
			}
			if len(found) != 1 || n != 1 {
				return t.Reject("not found")
			}
			return nil
		}), testCard(), shared(t))
		first := w.mustSend(send("x"))
		req := send("look")
		req.Message.ReferenceTaskIDs, req.Message.ContextID = []string{first.ID}, first.ContextID
		outage := make(chan error, 1)
		time.AfterFunc(time.Second, func() {
			_, err := w.GetTask(t.Context(), &a2a.GetTaskRequest{ID: first.ID})
			outage <- err
		})
		wantState(t, w.mustSend(req), a2a.TaskStateCompleted)
		wantUnavailable(t, <-outage)
		w.stop()
	})
}
