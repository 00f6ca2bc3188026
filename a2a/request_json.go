package a2a

import (
	"cmp"

	"github.com/parley-a2a/parley/internal/json"
)

// Names that the drafts of 1.0 and version 0.3 had for some members. They are read
// beside those of 1.0, which count if both are there.

// draftConfiguration reads a SendMessageConfiguration.
type draftConfiguration struct {
	SendMessageConfiguration
	ReturnImmediately *bool                       `json:"returnImmediately"`
	Blocking          *bool                       `json:"blocking"`
	Push              *TaskPushNotificationConfig `json:"pushNotificationConfig"`
}

// draftWebhook reads a TaskPushNotificationConfig. In the drafts, all of it but the
// task's id was in an object of its own.
type draftWebhook struct {
	TaskPushNotificationConfig
	ConfigID string                      `json:"configId"`
	Config   *TaskPushNotificationConfig `json:"config|pushNotificationConfig"`
}

// draftAuthentication reads an AuthenticationInfo, which had a list of schemes.
type draftAuthentication struct {
	AuthenticationInfo
	Schemes []string `json:"schemes"`
}

var (
	draftConfigurationJSON  = json.For[draftConfiguration]()
	draftWebhookJSON        = json.For[draftWebhook]()
	draftAuthenticationJSON = json.For[draftAuthentication]()
)

func readConfiguration(r *json.Reader, c *SendMessageConfiguration) *json.Fault {
	var in draftConfiguration
	f := draftConfigurationJSON.Read(r, &in)
	*c = in.SendMessageConfiguration
	switch {
	case in.ReturnImmediately != nil:
		c.ReturnImmediately = *in.ReturnImmediately
	case in.Blocking != nil:
		c.ReturnImmediately = !*in.Blocking
	}
	if c.TaskPushNotificationConfig == nil {
		c.TaskPushNotificationConfig = in.Push
	}
	return f
}

func readWebhook(r *json.Reader, c *TaskPushNotificationConfig) *json.Fault {
	var in draftWebhook
	f := draftWebhookJSON.Read(r, &in)
	*c = in.TaskPushNotificationConfig
	if inner := in.Config; c.URL == "" && inner != nil {
		c.URL, c.Token, c.Authentication = inner.URL, inner.Token, inner.Authentication
		c.ID = cmp.Or(c.ID, inner.ID, in.ConfigID)
	}
	return f
}

func readAuthentication(r *json.Reader, a *AuthenticationInfo) *json.Fault {
	var in draftAuthentication
	f := draftAuthenticationJSON.Read(r, &in)
	*a = in.AuthenticationInfo
	if a.Scheme == "" && len(in.Schemes) > 0 {
		a.Scheme = in.Schemes[0]
	}
	return f
}
