package engine

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/engine/internal/outbox/outboxtest"
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

// Two callers who have a task of one id have their deliveries made for two
// sources, which are those that they were told.
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
