package a2a

import "time"

// SendMessageRequest starts or continues an interaction (specification §3.2.1).
type SendMessageRequest struct {
	Tenant        string
	Message       *Message
	Configuration *SendMessageConfiguration
	Metadata      JSON

	// IdempotencyKey, like the message's id, names what is asked for: when the
	// same comes again from the same caller it is answered with what came of it,
	// and nothing is done twice. Up to 255 printable ASCII characters; "" is none.
	// It is not part of the JSON form; it travels as Idempotency-Key, and
	// docs/extensions/retry-v1.md says when it counts.
	IdempotencyKey string

	// After, in a stream that repeats an earlier one, is where that one was left:
	// see SubscribeToTaskRequest. Where the message is new it must be 0. Not part
	// of the JSON form.
	After int64

	// Legacy is set for calls of versions before 1.0; not part of the JSON form.
	Legacy *Legacy
}

// SendMessageConfiguration adjusts a send (§3.2.2).
type SendMessageConfiguration struct {
	AcceptedOutputModes        []string
	TaskPushNotificationConfig *TaskPushNotificationConfig
	HistoryLength              *int32 // nil: no limit from the client; 0: no history
	ReturnImmediately          bool   // false: wait for a terminal or interrupted state

	// IfGenerationMatch refuses the message with TaskGenerationMismatch unless
	// the task's Generation is this; ignored where a task begins (1.1 draft).
	IfGenerationMatch *int64
}

// SendMessageResponse is a task or a direct message: exactly one is set.
type SendMessageResponse struct {
	Task    *Task
	Message *Message
}

// GetTaskRequest asks for a task (§3.1.3).
type GetTaskRequest struct {
	Tenant        string
	ID            string
	HistoryLength *int32

	// CurrentGeneration waits until the task's Generation is higher, or for as
	// long as the server is willing to (1.1 draft).
	CurrentGeneration *int64

	// Encoded says that the result may be: see Task.Encoded. It is for who writes
	// the result's JSON and looks at nothing else in it, and set by the codecs of
	// 1.0 and later. A Service that wraps another and looks into its results
	// clears it, or calls Task.Decode. Not part of the JSON form.
	Encoded bool
}

// ListTasksRequest asks for a page of the caller's tasks (§3.1.4).
type ListTasksRequest struct {
	Tenant               string
	ContextID            string
	Status               TaskState // TaskStateUnspecified: any
	PageSize             *int32    // 1 to 100; nil means 50
	PageToken            string
	HistoryLength        *int32
	StatusTimestampAfter time.Time // inclusive; zero: any
	IncludeArtifacts     bool

	// Encoded says that the tasks may be: see GetTaskRequest.Encoded. Not part of
	// the JSON form.
	Encoded bool
}

// ListTasksResponse is a page. All four members are always on the wire.
type ListTasksResponse struct {
	Tasks         []*Task
	NextPageToken string // "" on the last page
	PageSize      int32
	TotalSize     int32 // matches before paging
}

// CancelTaskRequest asks to cancel a task (§3.1.5).
type CancelTaskRequest struct {
	Tenant   string
	ID       string
	Metadata JSON
}

// SubscribeToTaskRequest attaches to a running task (§3.1.6).
type SubscribeToTaskRequest struct {
	Tenant string
	ID     string

	// After resumes a stream behind the element with this Seq: the first
	// element is the Task as it stood there, then follows every later one,
	// also on a task that is finished by now. 0 subscribes afresh. It is not
	// part of the JSON form; it travels as Last-Event-ID, or by the extension of
	// docs/extensions/resume-v1.md.
	After int64

	// Legacy is set for calls of versions before 1.0; not part of the JSON form.
	Legacy *Legacy
}

// GetExtendedAgentCardRequest asks for the caller's card (§3.1.11).
type GetExtendedAgentCardRequest struct {
	Tenant string
}

// TaskPushNotificationConfig is a webhook of a task (§4.3.1).
type TaskPushNotificationConfig struct {
	Tenant         string
	ID             string
	TaskID         string
	URL            string
	Token          Secret
	Authentication *AuthenticationInfo

	// Legacy is set for calls of versions before 1.0, whose receivers are sent
	// what their version has; not part of the JSON form.
	Legacy *Legacy
}

// AuthenticationInfo is what a webhook's receiver wants to see (§4.3.2).
type AuthenticationInfo struct {
	Scheme      string // compared without regard to case
	Credentials Secret
}

// GetTaskPushNotificationConfigRequest names one webhook (§3.1.8).
type GetTaskPushNotificationConfigRequest struct {
	Tenant string
	TaskID string
	ID     string // before 1.0 it may be empty: the first one

	// Legacy is set for calls of versions before 1.0; not part of the JSON form.
	Legacy *Legacy
}

// DeleteTaskPushNotificationConfigRequest names one webhook (§3.1.10).
type DeleteTaskPushNotificationConfigRequest struct {
	Tenant string
	TaskID string
	ID     string
}

// ListTaskPushNotificationConfigsRequest asks for a task's webhooks (§3.1.9).
type ListTaskPushNotificationConfigsRequest struct {
	Tenant    string
	TaskID    string
	PageSize  int32
	PageToken string
}

// ListTaskPushNotificationConfigsResponse is a page of webhooks.
type ListTaskPushNotificationConfigsResponse struct {
	Configs       []*TaskPushNotificationConfig
	NextPageToken string
}
