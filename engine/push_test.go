package engine

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/a2a"
)

// What only the receiver needs to know comes back to nobody, and reaches the
// receiver all the same.
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
			r.mu.Lock()
			defer r.mu.Unlock()
			if len(r.got) == 0 || r.got[0].Config.Token != a2a.Secret(token) || r.got[0].Config.Authentication.Credentials != "secret" {
				t.Errorf("%d deliveries", len(r.got))
			}
		})
	}
}
