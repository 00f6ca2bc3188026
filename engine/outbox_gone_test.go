package engine

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/store"
)

// A receiver that is gone when the last event of a task comes is asked once,
// as at any other.
func TestPushIsGoneAtTheLastEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &receivers{}
		r.answer = func(n *a2a.Notification) a2a.Outcome {
			if n.Event.State().Terminal() && len(r.seqs("a")) < 20 { // no loop is to go on for ever
				return a2a.Outcome{Verdict: a2a.DisableConfig, Reason: "410"}
			}
			return a2a.Outcome{}
		}
		begin := make(chan struct{})
		w := pushWorld(t, nil, countedTo(2, begin), r)
		task := w.mustSend(sendNow("go"))
		_, err := w.CreateTaskPushNotificationConfig(t.Context(), &a2a.TaskPushNotificationConfig{TaskID: task.ID, ID: "a", URL: "h"})
		if err != nil {
			t.Fatal(err)
		}
		close(begin)
		time.Sleep(time.Hour)
		seqs := r.seqs("a")
		if len(slices.Compact(slices.Clone(seqs))) != len(seqs) || len(seqs) < 2 {
			t.Errorf("posted %v", seqs)
		}
		p, err := w.st.Push(t.Context(), store.PushID{Key: store.Key{ID: task.ID}, ID: "a"})
		if err != nil || p.Live || p.Reason != "410" || p.Cursor != seqs[len(seqs)-1]-1 {
			t.Errorf("%+v, %v", p, err)
		}
	})
}
