package admin

import (
	"context"
	"fmt"
	"iter"
	"net/http"

	"github.com/parley-a2a/parley/a2a"
)

// API is the administration of a server. Where a parameter is a task, it is the
// task's Name or, where no other task has it, its id.
type API interface {
	Readiness(ctx context.Context) (*Readiness, error)
	Agents(ctx context.Context) ([]Agent, error)
	Nodes(ctx context.Context) ([]Node, error)
	Store(ctx context.Context) (*Store, error)
	// Settings are in the order of docs/config.md.
	Settings(ctx context.Context) ([]Setting, error)
	// CheckSettings says what is wrong with a draft of parley.yaml; nothing is
	// changed.
	CheckSettings(ctx context.Context, yaml []byte) ([]Finding, error)

	Tasks(ctx context.Context, q TaskQuery) (*Tasks, error)
	Task(ctx context.Context, task string) (*Task, error)
	// TaskAt is the task as of a position of its log; zero is its end.
	TaskAt(ctx context.Context, task string, seq int64) (*a2a.Task, error)
	Runs(ctx context.Context, task string) ([]Run, error)
	// Log returns up to limit entries behind a position; zero means as many as fit
	// a page, which ends with about a megabyte.
	Log(ctx context.Context, task string, after int64, limit int) (*Log, error)
	// FollowLog yields the entries behind a position as they are committed, until
	// the task has ended or ctx does. The first error ends it.
	FollowLog(ctx context.Context, task string, after int64) iter.Seq2[LogEntry, error]
	// CancelTask asks the task's agent to stop, for its owner.
	CancelTask(ctx context.Context, task string) (*Task, error)
	// DeleteTask deletes a task that no process works at.
	DeleteTask(ctx context.Context, task string) error

	Deliveries(ctx context.Context, q DeliveryQuery) (*Deliveries, error)
	DeadLetters(ctx context.Context, q DeliveryQuery) (*DeadLetters, error)
	Redeliver(ctx context.Context, r Redelivery) (*Redelivered, error)

	Collect(ctx context.Context, c Collection) (*Collected, error)

	Keys(ctx context.Context) ([]Key, error)
	CreateKey(ctx context.Context, k NewKey) (*Key, error)
	RevokeKey(ctx context.Context, id string) (*Key, error)
	Audit(ctx context.Context, q AuditQuery) (*AuditRecords, error)

	// Events yields what happens, behind the event of an id, or from now on if that
	// is "". It begins with the readiness as it stands, or with a reset. The first
	// error ends it.
	Events(ctx context.Context, after string) iter.Seq2[Event, error]
}

// Error is what API methods return, in words that are safe for a remote caller.
type Error struct {
	Status  int    // of HTTP, which has the words for all there is
	Field   string // the parameter or member that is wrong; "": none
	Message string
	Cause   error // stays here
}

func (e *Error) Error() string {
	if e.Field != "" {
		return e.Field + ": " + e.Message
	}
	return e.Message
}

func (e *Error) Unwrap() error { return e.Cause }

// Is compares what is wrong, and ignores the words.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Status == e.Status
}

// ErrNotFound is what errors.Is finds in errors about what is not there.
var ErrNotFound = &Error{Status: http.StatusNotFound, Message: "it is not there"}

// Invalid is the error of a parameter.
func Invalid(field, format string, args ...any) *Error {
	return &Error{Status: http.StatusBadRequest, Field: field, Message: fmt.Sprintf(format, args...)}
}

// Errorf is an error with a status of HTTP.
func Errorf(status int, format string, args ...any) *Error {
	return &Error{Status: status, Message: fmt.Sprintf(format, args...)}
}
