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
	"github.com/parley-a2a/parley/engine/internal/outbox/outboxtest"
	"github.com/parley-a2a/parley/internal/wake"
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
		if len(a.All()) != 0 || len(b.All()) < 4 || b.All()[len(b.All())-1].Event.State() != a2a.TaskStateCompleted {
			t.Errorf("%d from one, %d from the other", len(a.All()), len(b.All()))
		}
		works.stop()
		tells.stop()
	})
}

// No process takes over the webhooks of a process that has not sent its first heartbeat yet.
func TestPushBeforeTheFirstBeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMemory()
		defer st.Close()
		works := newWorldWith(t, st, waiting, testCard(), shared(t))
		task := works.mustSend(sendNow("go"))
		o := shared(t)
		o.Push = new(receivers)
		tells := New(st, waiting, pushCard(), o)
		if _, err := tells.CreateTaskPushNotificationConfig(t.Context(), &a2a.TaskPushNotificationConfig{TaskID: task.ID, URL: "h"}); err != nil {
			t.Fatal(err)
		}
		if n, err := st.ClaimPushes(t.Context(), "another", time.Now().Add(-o.DeadAfter), 10); n != 0 || err != nil {
			t.Errorf("another process takes %d, %v", n, err)
		}
		works.stop()
	})
}

// A webhook that comes with a message for a task of another process belongs to the
// caller, with the tenant of the credentials.
func TestPushOfAForwardedMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMemory()
		defer st.Close()
		var a, b receivers
		works, tells := sharedPush(t, st, waiting, &a), sharedPush(t, st, waiting, &b)
		ctx := a2a.WithCaller(t.Context(), a2a.Caller{Subject: "ann", Tenant: "t"})
		resp, err := works.SendMessage(ctx, sendNow("go"))
		if err != nil {
			t.Fatal(err)
		}
		req := replyNow(resp.Task, "more")
		req.Configuration.TaskPushNotificationConfig = &a2a.TaskPushNotificationConfig{URL: "h", Token: "secret"}
		if _, err := tells.SendMessage(ctx, req); err != nil {
			t.Fatal(err)
		}
		key := store.Key{Tenant: "t", Owner: "ann", ID: resp.Task.ID}
		all, err := st.Pushes(t.Context(), key, "", 2)
		if err != nil || len(all) != 1 {
			t.Fatal(all, err)
		}
		if want := `{"version":"1.0","url":"h","token":"secret","tenant":"t"}`; string(all[0].Body) != want {
			t.Errorf("stored %s, want %s", all[0].Body, want)
		}
		works.stop()
		tells.stop()
	})
}

// A process without webhooks, as while a new configuration is rolled out, refuses one
// that comes with a message for its task.
func TestPushOfAMessageForAProcessWithout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMemory()
		defer st.Close()
		works, tells := newWorldWith(t, st, waiting, testCard(), shared(t)), sharedPush(t, st, waiting, new(receivers))
		req := replyNow(works.mustSend(sendNow("go")), "more")
		req.Configuration.TaskPushNotificationConfig = &a2a.TaskPushNotificationConfig{URL: "h"}
		_, err := tells.SendMessage(t.Context(), req)
		wantError(t, err, a2a.ErrPushNotificationNotSupported)
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
				id := outboxtest.Fill(t, st, store.Key{ID: "x"}, "h", "1.0", 20)
				slow := func(ctx context.Context, n *a2a.Notification) a2a.Outcome {
					wake.Pause(ctx, time.Second)
					return a2a.Outcome{}
				}
				a.Serve, b.Serve = slow, slow
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
				all := append(a.Seqs("c"), b.Seqs("c")...)
				if got := slices.Compact(all); len(got) != 20 || !slices.IsSorted(got) || len(a.All()) == 0 || len(b.All()) == 0 {
					t.Errorf("got %v and %v", a.Seqs("c"), b.Seqs("c"))
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

// Of the processes that share a store one sends dead letters again; when it dies, another one
// does.
func TestDeadLettersOfManyProcesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMemory()
		defer st.Close()
		r := &receivers{}
		outboxtest.Fill(t, st, store.Key{ID: "x"}, "h", "1.0", 5)
		r.Answer = func(*a2a.Notification) a2a.Outcome { return outboxtest.Refused404 }
		w := pushWorld(t, st, parrot, r)
		passes(time.Minute)
		w.stop()
		r.Forget()
		r.Serve = func(context.Context, *a2a.Notification) a2a.Outcome {
			time.Sleep(time.Second)
			return a2a.Outcome{}
		}
		var all []*world
		for range 3 {
			o := shared(t)
			o.Push = r
			all = append(all, newWorldWith(t, st, parrot, pushCard(), o))
			passes(time.Second)
		}
		outboxtest.Again(t, st)
		passes(2 * time.Minute)
		if got := r.Seqs("c"); !slices.Equal(got, []int64{3, 4, 5, 6, 7}) {
			t.Errorf("got %v", got)
		}
		all[0].stop()
		r.Mu.Lock() // before there is something to send: the others are at work
		r.Serve = nil
		r.Mu.Unlock()
		r.Forget()
		outboxtest.Fill(t, st, store.Key{ID: "y"}, "h", "1.0", 2)
		passes(time.Minute)
		if len(r.All()) != 2 {
			t.Errorf("%d attempts", len(r.All()))
		}
		outboxtest.Again(t, st)
		passes(10 * time.Minute)
		if len(r.All()) != 4 {
			t.Errorf("%d attempts", len(r.All()))
		}
		for _, w := range all {
			w.stop()
		}
	})
}

// A caller that has seen an event at one process is not sent it by a configuration that
// it makes at another: not by the task's owner, which does not know yet that the event
// is committed, nor by one that was paused and has lost the task.
func TestPushBeginsBehindWhatWasSeenElsewhere(t *testing.T) {
	for _, paused := range []bool{false, true} {
		t.Run(fmt.Sprint(paused), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				st := store.NewMemory()
				defer st.Close()
				begin := make(chan struct{})
				agent := agent.Func(func(ctx context.Context, t *agent.Turn) error {
					if err := t.Status("begun"); err != nil {
						return err
					}
					select {
					case <-begin:
						return t.Complete("done")
					case <-ctx.Done():
						return context.Cause(ctx)
					}
				})
				beats := &frozenBeat{Store: st}
				works := sharedPush(t, late{beats}, agent, new(receivers))
				other := sharedPush(t, st, agent, new(receivers))
				id := works.mustSend(sendNow("go")).ID
				passes(5 * time.Second)
				if beats.held.Store(paused); paused {
					passes(30 * time.Second) // the other begins a second attempt
				} else {
					close(begin)
					passes(500 * time.Millisecond) // and a second later it is known
				}
				seen := other.mustGet(id).Generation
				if _, err := works.CreateTaskPushNotificationConfig(t.Context(), &a2a.TaskPushNotificationConfig{TaskID: id, ID: "a", URL: "h"}); err != nil {
					t.Fatal(err)
				}
				p, err := st.Push(t.Context(), store.PushID{Key: store.Key{ID: id}, ID: "a"})
				if err != nil || seen != 3 || p.Cursor != 4 {
					t.Errorf("generation %d was seen, and the configuration is %+v, %v", seen, p, err)
				}
				beats.held.Store(false)
				works.stop()
				other.stop()
			})
		})
	}
}
