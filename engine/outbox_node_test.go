package engine

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/store"
)

func (f *frozen) Push(ctx context.Context, id store.PushID) (*store.PushConfig, error) {
	f.pass()
	return f.Store.Push(ctx, id)
}

func (f *frozen) LivePushes(ctx context.Context, node string, after int64, limit int) ([]store.PushState, error) {
	f.pass()
	return f.Store.LivePushes(ctx, node, after, limit)
}

func (f *frozen) ClaimPushes(ctx context.Context, node string, dead time.Time, limit int) (int, error) {
	f.pass()
	return f.Store.ClaimPushes(ctx, node, dead, limit)
}

func (f *frozen) Advance(ctx context.Context, all []store.Advance) error {
	f.pass()
	return f.Store.Advance(ctx, all)
}

// sharedPush is a process that shares its store.
func sharedPush(t testing.TB, st store.Store, ag agent.Agent, r *receivers) *world {
	o := shared(t)
	o.Push = r
	return newWorldWith(t, st, ag, pushCard(), o)
}

// A process delivers what others write to the logs.
func TestPushOfATaskOfAnotherProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMemory()
		defer st.Close()
		var a, b receivers
		begin := make(chan struct{})
		works := sharedPush(t, st, countedTo(3, begin), &a)
		tells := sharedPush(t, st, countedTo(3, begin), &b)
		task := works.mustSend(sendNow("go"))
		if _, err := tells.CreateTaskPushNotificationConfig(t.Context(), &a2a.TaskPushNotificationConfig{TaskID: task.ID, ID: "a", URL: "h"}); err != nil {
			t.Fatal(err)
		}
		close(begin)
		passes(5 * time.Second)
		if len(a.all()) != 0 || len(b.all()) < 4 || b.all()[len(b.all())-1].Event.State() != a2a.TaskStateCompleted {
			t.Errorf("%d from one, %d from the other", len(a.all()), len(b.all()))
		}
		works.stop()
		tells.stop()
	})
}

// What a process leaves, in good order or not, another goes on with, where it
// was.
func TestPushIsTakenOver(t *testing.T) {
	for _, lost := range []bool{false, true} {
		t.Run(fmt.Sprint(lost), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				st := store.NewMemory()
				defer st.Close()
				var a, b receivers
				id := fill(t, st, "x", "h", "1.0", 20)
				slow := func(ctx context.Context, n *a2a.Notification) a2a.Outcome {
					pause(ctx, time.Second)
					return a2a.Outcome{}
				}
				a.serve, b.serve = slow, slow
				f := &frozen{Store: st}
				one := sharedPush(t, f, parrot, &a)
				passes(3*time.Second + 500*time.Millisecond)
				two := sharedPush(t, st, parrot, &b)
				if lost {
					f.freeze() // between two attempts, or in one
				} else {
					one.stop()
				}
				passes(time.Minute)
				if lost {
					f.thaw()
				}
				passes(time.Minute)
				all := append(a.seqs("c"), b.seqs("c")...)
				if got := slices.Compact(all); len(got) != 20 || !slices.IsSorted(got) || len(a.all()) == 0 || len(b.all()) == 0 {
					t.Errorf("got %v and %v", a.seqs("c"), b.seqs("c"))
				}
				if p := two.push(id); p.Live || p.Cursor != 22 {
					t.Errorf("%+v", p)
				}
				one.stop()
				two.stop()
			})
		})
	}
}
