package conformance

import (
	"errors"
	"strings"
	"testing"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aclient"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/test/fixtures"
)

// What a request lists is kept with its task, so a list is short, and so are its
// elements, on every binding of every version.
func TestLongListsAreRefusedOnEveryWire(t *testing.T) {
	s, err := parley.New(agent.DemoCard(), agent.Demo(), nil)
	if err != nil {
		t.Fatal(err)
	}
	addr, _ := fixtures.Serve(t, "", s.Serve)
	for _, version := range []string{"1.0", "1.1", "0.3", "0.1"} {
		d, _ := dialect.ParseVersion(version)
		for _, binding := range d.Bindings() {
			c, err := a2aclient.Dial(t.Context(), "http://"+addr, &a2aclient.Options{Version: version, Bindings: []string{binding}, Retries: -1})
			if err != nil {
				t.Fatal(err)
			}
			for name, r := range map[string]*a2a.SendMessageRequest{
				"configuration.acceptedOutputModes":              {Configuration: &a2a.SendMessageConfiguration{AcceptedOutputModes: make([]string, 10_000)}},
				"configuration.acceptedOutputModes[0]":           {Configuration: &a2a.SendMessageConfiguration{AcceptedOutputModes: []string{strings.Repeat("x", 10_000)}}},
				"message.extensions":                             {Message: &a2a.Message{Extensions: make([]string, 10_000)}},
				"message.extensions[0]":                          {Message: &a2a.Message{Extensions: []string{strings.Repeat("x", 10_000)}}},
				"message.referenceTaskIds":                       {Message: &a2a.Message{ReferenceTaskIDs: make([]string, 10_000)}},
				"message.referenceTaskIds[0]":                    {Message: &a2a.Message{ReferenceTaskIDs: []string{strings.Repeat("x", 10_000)}}},
				"configuration.taskPushNotificationConfig.url":   {Configuration: webhook(func(c *a2a.TaskPushNotificationConfig) { c.URL += strings.Repeat("x", 10_000) })},
				"configuration.taskPushNotificationConfig.token": {Configuration: webhook(func(c *a2a.TaskPushNotificationConfig) { c.Token = a2a.Secret(strings.Repeat("x", 10_000)) })},
				"configuration.taskPushNotificationConfig.authentication": {Configuration: webhook(func(c *a2a.TaskPushNotificationConfig) {
					c.Authentication = &a2a.AuthenticationInfo{Scheme: strings.Repeat("x", 10_000)}
				})},
			} {
				switch config := "configuration.taskPushNotificationConfig"; {
				case version == "0.1" && (strings.HasPrefix(name, "message.") || strings.HasPrefix(name, config)):
					continue // it has no such members, or other names for them
				case version == "0.1":
					name = strings.TrimPrefix(name, "configuration.")
				case version == "0.3" && binding == a2a.BindingJSONRPC:
					name = strings.Replace(name, config, "configuration.pushNotificationConfig", 1)
				case version == "0.3":
					name = strings.Replace(name, config, "configuration.pushNotification", 1)
				}
				if r.Message == nil {
					r.Message = &a2a.Message{}
				}
				r.Message.MessageID, r.Message.Role, r.Message.Parts = "m", a2a.RoleUser, []*a2a.Part{a2a.TextPart("hi")}
				_, err := c.SendMessage(t.Context(), r)
				var e *a2a.Error
				if !errors.As(err, &e) || e.Code != a2a.CodeInvalidParams || !e.Peer || !strings.Contains(e.Message, name) {
					t.Errorf("%s over %s: %s: %v", version, binding, name, err)
				}
			}
		}
	}
}

func webhook(change func(*a2a.TaskPushNotificationConfig)) *a2a.SendMessageConfiguration {
	c := &a2a.TaskPushNotificationConfig{URL: "https://hooks.example.com/"}
	change(c)
	return &a2a.SendMessageConfiguration{TaskPushNotificationConfig: c}
}
