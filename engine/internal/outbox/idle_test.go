package outbox

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/store"
)

// countedReads is a store that counts the readings of configs, and is slow once they
// are very many: a loop would otherwise stop the clock of the test.
type countedReads struct {
	store.Store
	reads atomic.Int64
}

func (c *countedReads) Push(ctx context.Context, id store.PushID) (*store.PushConfig, error) {
	if c.reads.Add(1) > 100 {
		time.Sleep(time.Second)
	}
	return c.Store.Push(ctx, id)
}

// A courier whose turn ends exactly where the log of a task at work ends for now waits
// for news. It does not look again and again.
func TestPushRestsWhereItsTurnEnded(t *testing.T) {
	for _, slow := range []bool{false, true} {
		t.Run(fmt.Sprint(slow), func(t *testing.T) {
			pushTest(t, func(t *testing.T, st *store.Memory, r *receivers) {
				n := turns
				if slow {
					n = 1
					r.Serve = func(context.Context, *a2a.Notification) a2a.Outcome {
						time.Sleep(slowAttempt)
						return a2a.Outcome{}
					}
				}
				counted := &countedReads{Store: st}
				w := newWorld(t, counted, r)
				key := store.Key{ID: "x"}
				w.begin(t.Context(), key, a2a.TaskStateWorking, n, &a2a.TaskPushNotificationConfig{ID: "c", URL: "h"})
				passes(time.Minute)
				if got := counted.reads.Load(); got > 3 {
					t.Errorf("%d reads of the config", got)
				}
				w.goOn(key, a2a.TaskStateCompleted)
				passes(time.Minute)
				if got := len(r.Seqs("c")); got != n+1 {
					t.Errorf("%d events of %d", got, n+1)
				}
				w.stop()
			})
		})
	}
}
