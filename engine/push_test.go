package engine

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/engine/internal/outbox/outboxtest"
	"github.com/parley-a2a/parley/engine/internal/task"
	"github.com/parley-a2a/parley/store"
)

// Secrets meant for the receiver reach it, and no answer repeats them.
func TestPushSecretsAreNotShown(t *testing.T) {
	for _, token := range []string{"whsec_c2VjcmV0", "plain"} {
		synctest.Test(t, func(t *testing.T) {
			r := &receivers{}
			begin := make(chan struct{})
			w := pushWorld(t, nil, countedTo(1, begin), r)
			task := w.mustSend(sendNow("go"))
			given := &a2a.TaskPushNotificationConfig{
				TaskID: task.ID, ID: "a", URL: "h", Token: a2a.Secret(token),
				Authentication: &a2a.AuthenticationInfo{Scheme: "Bearer", Credentials: "secret"},
			}
			created, err := w.CreateTaskPushNotificationConfig(t.Context(), given)
			if err != nil {
				t.Fatal(err)
			}
			got, err := w.GetTaskPushNotificationConfig(t.Context(), &a2a.GetTaskPushNotificationConfigRequest{TaskID: task.ID, ID: "a"})
			if err != nil {
				t.Fatal(err)
			}
			list, err := w.ListTaskPushNotificationConfigs(t.Context(), &a2a.ListTaskPushNotificationConfigsRequest{TaskID: task.ID})
			if err != nil || len(list.Configs) != 1 {
				t.Fatalf("%+v, %v", list, err)
			}
			want := token
			if want != "plain" {
				want = ""
			}
			for _, c := range []*a2a.TaskPushNotificationConfig{created, got, list.Configs[0]} {
				if string(c.Token) != want || c.Authentication == nil || c.Authentication.Scheme != "Bearer" || c.Authentication.Credentials != "" || c.URL != "h" {
					t.Errorf("%+v with %+v", c, c.Authentication)
				}
			}
			close(begin)
			time.Sleep(time.Minute)
			posted := r.All()
			if len(posted) == 0 || posted[0].Config.Token != a2a.Secret(token) || posted[0].Config.Authentication.Credentials != "secret" {
				t.Errorf("%d deliveries", len(posted))
			}
		})
	}
}

// The webhooks of two callers that have a task with the same id name two sources, which are the
// ones that the callers were told.
func TestNotificationsHaveTheSourceOfTheirOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMemory()
		defer st.Close()
		r := &receivers{}
		w := pushWorld(t, st, parrot, r)
		told := map[string]string{}
		for _, who := range []string{"ann", "ben", ""} {
			ctx := a2a.WithCaller(t.Context(), a2a.Caller{Subject: who, Tenant: "t"})
			req := first01("chosen", "go")
			req.Configuration = &a2a.SendMessageConfiguration{TaskPushNotificationConfig: &a2a.TaskPushNotificationConfig{URL: who + "'s"}}
			if _, err := w.SendMessage(ctx, req); err != nil {
				t.Fatal(err)
			}
			c, err := w.GetTaskPushNotificationConfig(ctx, &a2a.GetTaskPushNotificationConfigRequest{TaskID: "chosen", ID: "chosen"})
			if err != nil {
				t.Fatal(err)
			}
			told[c.URL] = c.Source
		}
		passes(time.Minute)
		got := map[string]bool{}
		for _, n := range r.All() {
			got[n.Config.URL] = true
			if n.Source == "" || n.Source != told[n.Config.URL] {
				t.Errorf("to %s with the source %q", n.Config.URL, n.Source)
			}
		}
		if len(got) != 3 {
			t.Errorf("it came to %v", got)
		}
		w.stop()
	})
}

// An attempt that is under way is broken off before the call that ends its
// configuration returns.
func TestPushEndsBeforeTheCallReturns(t *testing.T) {
	ways := map[string]func(w *world, id store.PushID) error{
		"deleted": func(w *world, id store.PushID) error {
			return w.DeleteTaskPushNotificationConfig(context.Background(), &a2a.DeleteTaskPushNotificationConfigRequest{TaskID: id.Key.ID, ID: id.ID})
		},
		"replaced": func(w *world, id store.PushID) error {
			_, err := w.CreateTaskPushNotificationConfig(context.Background(), &a2a.TaskPushNotificationConfig{TaskID: id.Key.ID, ID: id.ID, URL: "other"})
			return err
		},
	}
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				st := store.NewMemory()
				defer st.Close()
				id := outboxtest.Fill(t, st, store.Key{ID: "x"}, "h", "1.0", 3)
				under := 0
				r := &receivers{Serve: func(ctx context.Context, n *a2a.Notification) a2a.Outcome {
					under++
					defer func() { under-- }()
					<-ctx.Done()
					time.Sleep(100 * time.Millisecond) // until it notices
					return outboxtest.Failing5xx
				}}
				w := pushWorld(t, st, parrot, r)
				passes(time.Second)
				if under != 1 {
					t.Fatalf("%d attempts are under way", under)
				}
				if err := way(w, id); err != nil {
					t.Fatal(err)
				}
				if under != 0 {
					t.Errorf("%d attempts are under way after the call", under)
				}
				passes(time.Hour)
				if n := r.Count("h"); n != 1 {
					t.Errorf("%d attempts", n)
				}
				w.stop()
			})
		})
	}
}

// Calls at the same moment, by either way to make a configuration, do not give a task
// more than it may have, and neither do callers that leave meanwhile.
func TestParallelCallsDoNotExceedTheWebhooksOfATask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMemory()
		defer st.Close()
		asks := agent.Func(func(ctx context.Context, t *agent.Turn) error {
			for {
				if _, err := t.Ask(ctx, "and?"); err != nil {
					return err
				}
			}
		})
		w := pushWorld(t, &slowPushes{st}, asks, &receivers{})
		id := w.mustSend(&a2a.SendMessageRequest{Message: message("hello")}).ID
		config := func(i int) *a2a.TaskPushNotificationConfig {
			return &a2a.TaskPushNotificationConfig{TaskID: id, ID: fmt.Sprint("c", i), URL: "h"}
		}
		create := func(i int) error {
			_, err := w.CreateTaskPushNotificationConfig(t.Context(), config(i))
			return err
		}
		for i := range task.MaxPushes - 10 {
			if err := create(i); err != nil {
				t.Fatal(err)
			}
		}
		var all sync.WaitGroup
		for i := 500; i < 530; i++ {
			all.Go(func() {
				if i%2 == 0 {
					_ = create(i)
					return
				}
				ctx, cancel := context.WithTimeout(t.Context(), 11*time.Millisecond) // it leaves once the message is posted
				defer cancel()
				c := config(i)
				c.TaskID = ""
				m := message("more")
				m.TaskID = id
				_, _ = w.SendMessage(ctx, &a2a.SendMessageRequest{Message: m, Configuration: &a2a.SendMessageConfiguration{TaskPushNotificationConfig: c}})
			})
		}
		all.Wait()
		passes(time.Minute)
		if stored, err := st.Pushes(t.Context(), store.Key{ID: id}, "", 1000); err != nil || len(stored) != task.MaxPushes {
			t.Errorf("the task has %d configurations (%v)", len(stored), err)
		}
		if len(w.adding.m) != 0 {
			t.Errorf("still under way: %v", w.adding.m)
		}
		if err := create(3); err != nil {
			t.Error("one that replaces another:", err)
		}
		w.stop()
	})
}

// slowPushes takes a while to read configurations, and to append.
type slowPushes struct{ store.Store }

func (s *slowPushes) Pushes(ctx context.Context, k store.Key, after string, limit int) ([]store.PushConfig, error) {
	all, err := s.Store.Pushes(ctx, k, after, limit)
	time.Sleep(10 * time.Millisecond)
	return all, err
}

func (s *slowPushes) Append(a *store.Append, done func(error)) {
	time.AfterFunc(10*time.Millisecond, func() { s.Store.Append(a, done) })
}
