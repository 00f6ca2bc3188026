package torture

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aclient"
)

// spy is a client that tells secrets wherever it can, in one version, by one
// binding.
type spy struct {
	*planter
	n     int
	url   string
	hooks string // where webhooks go
	deaf  string // and where nobody listens
	how   speech
	count int
}

// spies are of every version by every binding.
var spies = []speech{
	{version: "1.0", binding: a2a.BindingJSONRPC}, {version: "1.0", binding: a2a.BindingHTTPJSON}, {version: "1.0", binding: a2a.BindingGRPC},
	{version: "0.3", binding: a2a.BindingJSONRPC}, {version: "0.3", binding: a2a.BindingHTTPJSON}, {version: "0.3", binding: a2a.BindingGRPC},
	{version: "1.1", binding: a2a.BindingJSONRPC}, {version: "0.1", binding: a2a.BindingJSONRPC},
}

func (s *spy) run(ctx context.Context, stop <-chan struct{}) {
	var c *a2aclient.Client
	for {
		select {
		case <-stop:
			return
		case <-ctx.Done():
			return
		default:
		}
		if c == nil {
			c, _ = s.dial(ctx)
		}
		if c != nil {
			s.round(ctx, c)
			s.count++
		}
		pause(ctx, 10*time.Millisecond)
	}
}

func (s *spy) dial(ctx context.Context) (*a2aclient.Client, error) {
	return a2aclient.Dial(ctx, s.url, &a2aclient.Options{
		Version: s.how.version, Bindings: []string{s.how.binding}, Retries: -1, UnaryTimeout: 2 * time.Second,
		HTTPClient: &http.Client{Transport: s.planter},
	})
}

// round calls every operation once or more. Errors do not matter: many calls are
// wrong, and the server is killed all the time.
func (s *spy) round(ctx context.Context, c *a2aclient.Client) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	secret := a2a.JSON(fmt.Sprintf(`{"note":%q}`, s.plants(inContent)))
	say := func(taskID, text string) *a2a.SendMessageRequest {
		return &a2a.SendMessageRequest{
			Metadata: secret,
			Message: &a2a.Message{
				MessageID: fmt.Sprintf("m-%d-%d-%s", s.n, s.count, taskID+text[:4]), Role: a2a.RoleUser, TaskID: taskID, Metadata: secret,
				Parts: []*a2a.Part{a2a.TextPart(text)},
			},
		}
	}
	send := func(req *a2a.SendMessageRequest) string {
		res, err := c.SendMessage(ctx, req)
		if err != nil || res.Task == nil {
			return "gone"
		}
		return res.Task.ID
	}
	hooked := say("", "stream 3 5 ")
	hooked.Configuration = &a2a.SendMessageConfiguration{TaskPushNotificationConfig: s.hook("")}
	id := send(hooked)
	for _, h := range []*a2a.TaskPushNotificationConfig{s.hook(id), s.secretHook(id), s.brokenHook(id)} {
		made, err := c.CreateTaskPushNotificationConfig(ctx, h)
		if err != nil {
			continue
		}
		_, _ = c.GetTaskPushNotificationConfig(ctx, &a2a.GetTaskPushNotificationConfigRequest{TaskID: id, ID: made.ID})
		_, _ = c.ListTaskPushNotificationConfigs(ctx, &a2a.ListTaskPushNotificationConfigsRequest{TaskID: id})
		if s.dice(3) == 0 {
			_ = c.DeleteTaskPushNotificationConfig(ctx, &a2a.DeleteTaskPushNotificationConfigRequest{TaskID: id, ID: made.ID})
		}
	}
	_, _ = c.GetTask(ctx, &a2a.GetTaskRequest{ID: id})
	_, _ = c.GetTask(ctx, &a2a.GetTaskRequest{ID: "no-such"})
	_, _ = c.CancelTask(ctx, &a2a.CancelTaskRequest{ID: id, Metadata: secret})
	_, _ = c.ListTasks(ctx, &a2a.ListTasksRequest{PageToken: s.plants(inPage)})
	_, _ = c.ListTaskPushNotificationConfigs(ctx, &a2a.ListTaskPushNotificationConfigsRequest{TaskID: id, PageToken: s.plants(inPage)})
	_, _ = c.GetExtendedAgentCard(ctx, &a2a.GetExtendedAgentCardRequest{})
	for range c.SubscribeToTask(ctx, &a2a.SubscribeToTaskRequest{ID: id}) {
	}
	for range c.SendStreamingMessage(ctx, say("", "fail "+s.plants(inContent))) {
	}
	// The answer is credentials, for the agent and nobody else.
	wants := ""
	for el, err := range c.SendStreamingMessage(ctx, say("", "auth")) {
		if err != nil {
			break
		}
		wants = el.TaskID()
		if el.State() == a2a.TaskStateAuthRequired {
			break
		}
	}
	if wants != "" {
		reply := say(wants, s.plants(inAnswer))
		reply.Message.Metadata, reply.Metadata = a2a.JSON(fmt.Sprintf(`{"k":%q}`, s.plants(inAnswer))), a2a.JSON(fmt.Sprintf(`{"k":%q}`, s.plants(inAnswer)))
		reply.Message.Parts = append(reply.Message.Parts,
			a2a.DataPart(a2a.JSON(fmt.Sprintf(`{"password":%q}`, s.plants(inAnswer)))), a2a.RawPart([]byte(s.plants(inAnswer)), "text/plain", "key.txt"))
		_ = send(reply)
		_, _ = c.GetTask(ctx, &a2a.GetTaskRequest{ID: wants})
	}
}

// forget has a webhook made and deleted again.
func (s *spy) forget(ctx context.Context, c *a2aclient.Client) error {
	res, err := c.SendMessage(ctx, &a2a.SendMessageRequest{
		Message: &a2a.Message{MessageID: "forget", Role: a2a.RoleUser, Parts: []*a2a.Part{a2a.TextPart("echo")}},
	})
	if err != nil {
		return err
	}
	h := s.hook(res.Task.ID)
	h.Token, h.Authentication.Credentials = a2a.Secret(s.plants(inGone)), a2a.Secret(s.plants(inGone))
	made, err := c.CreateTaskPushNotificationConfig(ctx, h)
	if err != nil {
		return err
	}
	return c.DeleteTaskPushNotificationConfig(ctx, &a2a.DeleteTaskPushNotificationConfigRequest{TaskID: res.Task.ID, ID: made.ID})
}

// hook is a webhook with credentials of each kind; it is answered, or not.
func (s *spy) hook(task string) *a2a.TaskPushNotificationConfig {
	url := s.hooks
	if s.dice(2) == 0 {
		url = s.deaf
	}
	return &a2a.TaskPushNotificationConfig{
		TaskID: task, URL: url + "/hook?token=" + s.plants(inHookQuery), Token: a2a.Secret(s.plants(inPushToken)),
		Authentication: &a2a.AuthenticationInfo{Scheme: "Bearer", Credentials: a2a.Secret(s.plants(inPushAuth))},
	}
}

// secretHook has a token that signs what is sent.
func (s *spy) secretHook(task string) *a2a.TaskPushNotificationConfig {
	h := s.hook(task)
	h.Token = a2a.Secret("whsec_" + base64.StdEncoding.EncodeToString([]byte(s.plants(inPushSecret)+"0123456789abcdef")))
	return h
}

// brokenHook has credentials in its address.
func (s *spy) brokenHook(task string) *a2a.TaskPushNotificationConfig {
	h := s.hook(task)
	h.URL = "http://ada:" + s.plants(inUserinfo) + "@" + strings.TrimPrefix(s.deaf, "http://") + "/hook"
	return h
}

// spyOn lets a spy of every kind loose.
func spyOn(ctx context.Context, m *marks, seed uint64, url, hooks, deaf, key string, note func(string, ...any), stop <-chan struct{}) (all []*spy, wait func()) {
	var group sync.WaitGroup
	for n, how := range spies {
		s := &spy{planter: newPlanter(m, seed+uint64(n), note), n: n, url: url, hooks: hooks, deaf: deaf, how: how}
		s.key = key
		all = append(all, s)
		group.Go(func() { s.run(ctx, stop) })
	}
	return all, group.Wait
}
