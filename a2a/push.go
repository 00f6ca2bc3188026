package a2a

import "strings"

// TaskPushNotificationConfig is a webhook of a task (§4.3.1).
type TaskPushNotificationConfig struct {
	Tenant         string              `json:"tenant,omitempty"`
	ID             string              `json:"id,omitempty"`
	TaskID         string              `json:"taskId,omitempty"`
	URL            string              `json:"url"`
	Token          Secret              `json:"token,omitempty"`
	Authentication *AuthenticationInfo `json:"authentication,omitempty"`

	// ProtocolVersion is the version in which the receiver gets notifications, such as
	// "1.0"; empty means that of the request (1.1 draft).
	ProtocolVersion string `json:"protocolVersion,omitempty" form:"draft"`

	// Source stands for the caller that the configuration belongs to. It is the
	// same for all configurations of one caller of one agent, and no other caller has
	// it. Each delivery is signed for its source, so a receiver that knows its own
	// can refuse what others have posted to it. The server sets it in answers; empty
	// if the server has no sources. Not part of the JSON form.
	Source string `json:"-"`

	// Legacy is set for calls of versions before 1.0, whose receivers get notifications
	// in the form of their version; not part of the JSON form.
	Legacy *Legacy `json:"-"`

	Unknown *JSON `json:"-" form:"unknown"` // see Task.Unknown
}

// AuthenticationInfo is how a server authenticates to a webhook's receiver (§4.3.2).
type AuthenticationInfo struct {
	Scheme      string `json:"scheme"` // compared without regard to case
	Credentials Secret `json:"credentials,omitempty"`
}

// GetTaskPushNotificationConfigRequest names one webhook (§3.1.8).
type GetTaskPushNotificationConfigRequest struct {
	Tenant string `json:"tenant,omitempty"`
	TaskID string `json:"taskId"`
	ID     string `json:"id"` // before 1.0 it may be empty: the first one

	// Legacy is set for calls of versions before 1.0; not part of the JSON form.
	Legacy *Legacy `json:"-"`
}

// DeleteTaskPushNotificationConfigRequest names one webhook (§3.1.10).
type DeleteTaskPushNotificationConfigRequest struct {
	Tenant string `json:"tenant,omitempty"`
	TaskID string `json:"taskId"`
	ID     string `json:"id"`
}

// ListTaskPushNotificationConfigsRequest asks for a task's webhooks (§3.1.9).
type ListTaskPushNotificationConfigsRequest struct {
	Tenant    string `json:"tenant,omitempty"`
	TaskID    string `json:"taskId"`
	PageSize  int32  `json:"pageSize,omitempty"`
	PageToken string `json:"pageToken,omitempty"`
}

// ListTaskPushNotificationConfigsResponse is a page of webhooks.
type ListTaskPushNotificationConfigsResponse struct {
	Configs       []*TaskPushNotificationConfig `json:"configs,omitempty"`
	NextPageToken string                        `json:"nextPageToken,omitempty"`

	Unknown *JSON `json:"-" form:"unknown"` // see Task.Unknown
}

// Validate reports every field that is missing or wrong in a request to create
// the webhook.
func (c *TaskPushNotificationConfig) Validate() error {
	var v validation
	v.required("taskId", c.TaskID)
	v.webhook(c)
	return v.err()
}

// webhook checks what a webhook needs with or without a task.
func (v *validation) webhook(c *TaskPushNotificationConfig) {
	v.id("tenant", c.Tenant)
	v.id("id", c.ID)
	v.id("taskId", c.TaskID)
	v.required("url", c.URL)
	if p := c.ProtocolVersion; p != "" && !Version(p).Known() {
		v.add("protocolVersion", "must be one of %s", strings.Join(versions, ", "))
	}
	if a := c.Authentication; a != nil {
		v.required("authentication.scheme", a.Scheme)
	}
}

// Validate reports every field that is missing or wrong.
func (r *GetTaskPushNotificationConfigRequest) Validate() error {
	if r.Legacy != nil && r.ID == "" { // the first one
		var v validation
		v.requiredID("taskId", r.TaskID)
		return v.err()
	}
	return validateWebhookKey(r.Tenant, r.TaskID, r.ID)
}

// Validate reports every field that is missing or wrong.
func (r *DeleteTaskPushNotificationConfigRequest) Validate() error {
	return validateWebhookKey(r.Tenant, r.TaskID, r.ID)
}

func validateWebhookKey(tenant, taskID, id string) error {
	var v validation
	v.id("tenant", tenant)
	v.requiredID("taskId", taskID)
	v.requiredID("id", id)
	return v.err()
}

// Validate reports every field that is missing or wrong. A page size of 0 means
// the default.
func (r *ListTaskPushNotificationConfigsRequest) Validate() error {
	var v validation
	v.id("tenant", r.Tenant)
	v.requiredID("taskId", r.TaskID)
	if r.PageSize < 0 {
		v.add("pageSize", "must be 0 or more, got %d", r.PageSize)
	}
	return v.err()
}
