package a2a

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"
)

const (
	// MaxParts is how many parts the message of a request may have; for a server it is
	// also the upper limit of a2aserver.Limits.Parts.
	MaxParts = 1000
	// MaxReferences bounds three lists of a request with a message: the tasks that it
	// refers to, the extensions that it names and the media types that its sender
	// accepts.
	MaxReferences = 100
	// MaxURI is how long the URI of an extension may be, in bytes.
	MaxURI = 2048
	// MaxID is how long an id may be, in bytes.
	MaxID = 512
	// OwnerMark separates a task's id from the subject of its owner. A caller who may see
	// the tasks of other callers names one of these as ID@@SUBJECT in GetTask,
	// SubscribeToTask and CancelTask. No new task gets an id that contains it.
	OwnerMark = "@@"
	// MaxPageSize is the largest page size that ListTasks accepts, in tasks.
	MaxPageSize = 100
)

const (
	tooManyParts = "at most 1000 parts are allowed in one message; send several messages, or refer to files by url"
	noContent    = "a part needs one of text, raw, url or data"
	missing      = "is required"
)

// A validation collects everything that is wrong with a request, so that a
// caller can mend it at once.
type validation struct {
	fields []FieldViolation
	prefix string // of the fields being checked, with a dot at its end, or ""
}

func (v *validation) add(field, format string, args ...any) {
	v.fields = append(v.fields, FieldViolation{v.prefix + field, fmt.Sprintf(format, args...)})
}

// err returns one InvalidParams error for all violations, or nil.
func (v *validation) err() error {
	if len(v.fields) == 0 {
		return nil
	}
	var b strings.Builder
	for i, f := range v.fields {
		if i == 5 && len(v.fields) > 6 { // the message is for people; Fields has them all
			fmt.Fprintf(&b, "; and %d more", len(v.fields)-i)
			break
		}
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(f.Field + ": " + f.Description)
	}
	return &Error{Code: CodeInvalidParams, Message: b.String(), Fields: v.fields}
}

// required checks a REQUIRED string.
func (v *validation) required(field, s string) {
	if s == "" {
		v.add(field, missing)
	}
}

// id checks an id that may be absent. Ids are keys of the store, parts of URLs and
// lines of logs, so characters that would do harm there are refused.
func (v *validation) id(field, s string) {
	switch {
	case len(s) > MaxID:
		v.add(field, "must be at most %d bytes long, got %d", MaxID, len(s))
	case !utf8.ValidString(s):
		v.add(field, "must be UTF-8")
	case strings.ContainsFunc(s, control):
		v.add(field, "must not contain control characters")
	}
}

func (v *validation) requiredID(field, s string) {
	v.required(field, s)
	v.id(field, s)
}

// requiredTask checks the id of a task, which may also name its owner.
func (v *validation) requiredTask(field, s string) {
	if id, owner, ok := strings.Cut(s, OwnerMark); ok && len(s) > MaxID && id != "" && len(id) <= MaxID && len(owner) <= MaxID {
		v.id(field, id)
		v.id(field, owner)
		return
	}
	v.requiredID(field, s)
}

func control(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 }

// free checks a field that holds an object or nothing.
func (v *validation) free(field string, j JSON) {
	if len(j) != 0 && !(bytes.HasPrefix(bytes.TrimLeft(j, " \t\r\n"), []byte{'{'}) && valid(j)) {
		v.add(field, "must be a JSON object")
	}
}

func (v *validation) historyLength(field string, n *int32) {
	if n != nil && *n < 0 {
		v.add(field, "must be 0 or more, got %d; leave it out for the whole history", *n)
	}
}

// Validate reports every field that is missing or wrong, as an InvalidParams
// error whose Fields have their paths.
func (r *SendMessageRequest) Validate() error {
	var v validation
	v.id("tenant", r.Tenant)
	if r.Message == nil {
		v.add("message", missing)
	} else {
		v.prefix = "message."
		v.message(r.Message)
		if r.Message.Role == RoleAgent { // an unspecified one is reported as missing
			v.add("role", "must be ROLE_USER; only agents send as ROLE_AGENT")
		}
		v.prefix = ""
	}
	if c := r.Configuration; c != nil {
		v.list("configuration.acceptedOutputModes", c.AcceptedOutputModes, MaxID)
		v.historyLength("configuration.historyLength", c.HistoryLength)
		v.historyLength("configuration.timelineLength", c.TimelineLength)
		if c.TaskPushNotificationConfig != nil {
			v.prefix = "configuration.taskPushNotificationConfig."
			v.webhook(c.TaskPushNotificationConfig)
			v.prefix = ""
		}
	}
	v.free("metadata", r.Metadata)
	return v.err()
}

// Validate reports every field that is missing or wrong, whether a client or an agent
// sends the message: the engine also checks what agents say.
func (m *Message) Validate() error {
	var v validation
	v.message(m)
	return v.err()
}

func (v *validation) message(m *Message) {
	v.requiredID("messageId", m.MessageID)
	v.id("contextId", m.ContextID)
	v.id("taskId", m.TaskID)
	if m.Role != RoleUser && m.Role != RoleAgent {
		v.add("role", "is required: ROLE_USER or ROLE_AGENT")
	}
	if len(m.Parts) > MaxParts {
		v.add("parts", tooManyParts)
	} else {
		v.parts(m.Parts)
	}
	v.free("metadata", m.Metadata)
	v.list("extensions", m.Extensions, MaxURI)
	if len(m.ReferenceTaskIDs) > MaxReferences {
		v.add("referenceTaskIds", "has %d elements, more than %d: name those that matter", len(m.ReferenceTaskIDs), MaxReferences)
		return
	}
	for i, id := range m.ReferenceTaskIDs {
		v.requiredID(fmt.Sprintf("referenceTaskIds[%d]", i), id)
	}
}

// list checks that a list of words is short and that its words are. It reports only the
// first mistake.
func (v *validation) list(field string, words []string, most int) {
	if len(words) > MaxReferences {
		v.add(field, "has %d elements, more than %d", len(words), MaxReferences)
		return
	}
	for i, s := range words {
		if len(s) > most {
			v.add(fmt.Sprintf("%s[%d]", field, i), "must be at most %d bytes long, got %d", most, len(s))
			return
		}
	}
}

func (v *validation) parts(parts []*Part) {
	if len(parts) == 0 {
		v.add("parts", "at least one part is required")
	}
	for i, p := range parts {
		switch {
		case p == nil || p.Kind < PartText || p.Kind > PartData:
			v.add(fmt.Sprintf("parts[%d]", i), noContent)
			continue
		case p.Kind == PartData && len(p.Data) > 0 && !valid(p.Data):
			v.add(fmt.Sprintf("parts[%d].data", i), "must be JSON")
		case p.Kind == PartURL && p.URL == "":
			v.add(fmt.Sprintf("parts[%d].url", i), "must not be empty")
		}
		if len(p.Metadata) > 0 {
			v.free(fmt.Sprintf("parts[%d].metadata", i), p.Metadata)
		}
	}
}

// Validate reports every field that is missing or wrong.
func (a *Artifact) Validate() error {
	var v validation
	v.requiredID("artifactId", a.ArtifactID)
	v.parts(a.Parts)
	v.free("metadata", a.Metadata)
	return v.err()
}

// Validate reports every field that is missing or wrong.
func (r *GetTaskRequest) Validate() error {
	var v validation
	v.id("tenant", r.Tenant)
	v.requiredTask("id", r.ID)
	v.historyLength("historyLength", r.HistoryLength)
	v.historyLength("timelineLength", r.TimelineLength)
	return v.err()
}

// Validate reports every field that is wrong. The engine checks the page token.
func (r *ListTasksRequest) Validate() error {
	var v validation
	v.id("tenant", r.Tenant)
	v.id("contextId", r.ContextID)
	if r.Status != TaskStateUnspecified && !r.Status.Valid() {
		v.add("status", "is not a task state; use %s", taskStates.valid)
	}
	if n := r.PageSize; n != nil && (*n < 1 || *n > MaxPageSize) {
		v.add("pageSize", "must be from 1 to %d, got %d", MaxPageSize, *n)
	}
	v.historyLength("historyLength", r.HistoryLength)
	v.historyLength("timelineLength", r.TimelineLength)
	return v.err()
}

// Validate reports every field that is missing or wrong.
func (r *CancelTaskRequest) Validate() error {
	var v validation
	v.id("tenant", r.Tenant)
	v.requiredTask("id", r.ID)
	v.free("metadata", r.Metadata)
	return v.err()
}

// Validate reports every field that is missing or wrong.
func (r *SubscribeToTaskRequest) Validate() error {
	var v validation
	v.id("tenant", r.Tenant)
	v.requiredTask("id", r.ID)
	if r.After < 0 {
		v.add("after", "must be 0 or more, got %d", r.After)
	}
	return v.err()
}

// Validate reports every field that is wrong.
func (r *GetExtendedAgentCardRequest) Validate() error {
	var v validation
	v.id("tenant", r.Tenant)
	return v.err()
}
