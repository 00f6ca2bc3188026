package a2a

import "time"

// SendMessageRequest starts or continues an interaction (specification §3.2.1).
type SendMessageRequest struct {
	Tenant        string                    `json:"tenant,omitempty"`
	Message       *Message                  `json:"message,omitempty"`
	Configuration *SendMessageConfiguration `json:"configuration,omitempty"`
	Metadata      JSON                      `json:"metadata,omitempty"`

	// IdempotencyKey, like the message's id, identifies the request: when the same
	// request comes again from the same caller, it gets the answer of the first one,
	// and nothing is done twice. Up to 255 printable ASCII characters; "" means no key.
	// It is not part of the JSON form; it travels as Idempotency-Key, and
	// docs/extensions/retry-v1.md says when it counts.
	IdempotencyKey string `json:"-"`

	// After, in a stream that repeats an earlier one, is the position at which that one
	// ended: see SubscribeToTaskRequest. If the message is new it must be 0. Not part
	// of the JSON form.
	After int64 `json:"-"`

	// Legacy is set for calls of versions before 1.0; not part of the JSON form.
	Legacy *Legacy `json:"-"`
}

// SendMessageConfiguration adjusts a send (§3.2.2).
type SendMessageConfiguration struct {
	AcceptedOutputModes        []string                    `json:"acceptedOutputModes,omitempty"`
	TaskPushNotificationConfig *TaskPushNotificationConfig `json:"taskPushNotificationConfig,omitempty"`
	HistoryLength              *int32                      `json:"historyLength,omitempty"`     // nil: no limit from the client; 0: no history
	ReturnImmediately          bool                        `json:"returnImmediately,omitempty"` // false: wait for a terminal or interrupted state

	// IfGenerationMatch refuses the message with TaskGenerationMismatch unless the task
	// has this Generation; ignored if the message begins a task (1.1 draft).
	IfGenerationMatch *int64 `json:"ifGenerationMatch,omitempty,string"`

	// TimelineLength is as in GetTaskRequest. With it, a stream has the messages of
	// clients, too (1.1 draft).
	TimelineLength *int32 `json:"timelineLength,omitempty"`
}

// SendMessageResponse is a task or a direct message: exactly one is set.
type SendMessageResponse struct {
	Task    *Task    `json:"task" form:"oneof"`
	Message *Message `json:"message" form:"oneof"`

	Unknown *JSON `json:"-" form:"unknown"` // see Task.Unknown
}

// GetTaskRequest asks for a task (§3.1.3).
type GetTaskRequest struct {
	Tenant        string `json:"tenant,omitempty"`
	ID            string `json:"id"`
	HistoryLength *int32 `json:"historyLength,omitempty"`

	// CurrentGeneration waits until the task's Generation is higher, or for as
	// long as the server is willing to (1.1 draft).
	CurrentGeneration *int64 `json:"currentGeneration,omitempty,string"`

	// TimelineLength asks for Task.Timeline with at most so many of the newest entries,
	// and for the generations of the artifacts. Nil asks for neither. In the 1.1 draft
	// nil means the server's default, which is MaxTimeline.
	TimelineLength *int32 `json:"timelineLength,omitempty"`

	// Encoded allows the result to be encoded: see Task.Encoded. Set it if you write the
	// result's JSON without looking into it, as the codecs of 1.0 and later do. A Service
	// that wraps another and looks into its results clears it, or calls Task.Decode. It
	// is not part of the JSON form.
	Encoded bool `json:"-"`
}

// ListTasksRequest asks for a page of the caller's tasks (§3.1.4).
type ListTasksRequest struct {
	Tenant               string    `json:"tenant,omitempty"`
	ContextID            string    `json:"contextId,omitempty"`
	Status               TaskState `json:"status,omitempty"`   // TaskStateUnspecified: any
	PageSize             *int32    `json:"pageSize,omitempty"` // 1 to 100; nil means 50
	PageToken            string    `json:"pageToken,omitempty"`
	HistoryLength        *int32    `json:"historyLength,omitempty"`
	StatusTimestampAfter time.Time `json:"statusTimestampAfter,omitzero"` // inclusive; zero: any
	IncludeArtifacts     bool      `json:"includeArtifacts,omitempty"`
	TimelineLength       *int32    `json:"timelineLength,omitempty"` // of each task, see GetTaskRequest; nil: none (1.1 draft)

	// Encoded allows the tasks to be encoded: see GetTaskRequest.Encoded. It is not part
	// of the JSON form.
	Encoded bool `json:"-"`
}

// ListTasksResponse is a page. All four members are always on the wire.
type ListTasksResponse struct {
	Tasks         []*Task `json:"tasks"`
	NextPageToken string  `json:"nextPageToken"` // "" on the last page
	PageSize      int32   `json:"pageSize"`
	TotalSize     int32   `json:"totalSize"` // matches before paging

	Unknown *JSON `json:"-" form:"unknown"` // see Task.Unknown
}

// CancelTaskRequest asks to cancel a task (§3.1.5).
type CancelTaskRequest struct {
	Tenant   string `json:"tenant,omitempty"`
	ID       string `json:"id"`
	Metadata JSON   `json:"metadata,omitempty"`

	Legacy *Legacy `json:"-"` // set by the codecs of versions before 1.0
}

// SubscribeToTaskRequest attaches to a running task (§3.1.6).
type SubscribeToTaskRequest struct {
	Tenant string `json:"tenant,omitempty"`
	ID     string `json:"id"`

	// After resumes a stream after the element with this Seq: the first element is the
	// Task as of that position, then follows every later one, even if the task is
	// finished by now. 0 starts a new subscription. It is not part of the JSON form; it
	// is sent as Last-Event-ID, or by the extension of docs/extensions/resume-v1.md.
	After int64 `json:"-"`

	// Timeline asks for Task.Timeline in the first element, and for the messages of
	// clients after it: see StreamResponse.MessageUpdate. The codec of the 1.1 draft
	// sets it; not part of the JSON form.
	Timeline bool `json:"-"`

	// Legacy is set for calls of versions before 1.0; not part of the JSON form.
	Legacy *Legacy `json:"-"`
}

// MaxTimeline is the most entries of a Task.Timeline.
const MaxTimeline = 1000

// GetExtendedAgentCardRequest asks for the caller's card (§3.1.11).
type GetExtendedAgentCardRequest struct {
	Tenant string `json:"tenant,omitempty"`
}
