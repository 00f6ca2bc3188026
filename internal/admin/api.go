package admin

import (
	"context"
	"fmt"
	"iter"
	"net/http"

	"github.com/parley-a2a/parley/a2a"
)

// API is the administration of a server. A parameter called task is the task's Name or, if no
// other task has the same id, its id.
type API interface {
	Readiness(ctx context.Context) (*Readiness, error)
	Agents(ctx context.Context) ([]Agent, error)
	Nodes(ctx context.Context) ([]Node, error)
	Store(ctx context.Context) (*Store, error)
	// Settings returns the settings in the order of docs/config.md.
	Settings(ctx context.Context) ([]Setting, error)
	// CheckSettings returns the mistakes in a draft of parley.yaml; it changes nothing.
	CheckSettings(ctx context.Context, yaml []byte) ([]Finding, error)

	Tasks(ctx context.Context, q TaskQuery) (*Tasks, error)
	Task(ctx context.Context, task string) (*Task, error)
	// TaskAt returns the task as of a position in its log; zero means the end.
	TaskAt(ctx context.Context, task string, seq int64) (*a2a.Task, error)
	Runs(ctx context.Context, task string) ([]Run, error)
	// Log returns up to limit entries after a position; zero means as many as fit on a page,
	// which ends after about a megabyte.
	Log(ctx context.Context, task string, after int64, limit int) (*Log, error)
	// FollowLog yields the entries after a position as they are committed, until the task or
	// ctx has ended. It ends after the first error.
	FollowLog(ctx context.Context, task string, after int64) iter.Seq2[LogEntry, error]
	// CancelTask asks the task's agent to stop, on behalf of the task's owner.
	CancelTask(ctx context.Context, task string) (*Task, error)
	// DeleteTask deletes a task that is not active.
	DeleteTask(ctx context.Context, task string) error

	Deliveries(ctx context.Context, q DeliveryQuery) (*Deliveries, error)
	DeadLetters(ctx context.Context, q DeliveryQuery) (*DeadLetters, error)
	Redeliver(ctx context.Context, r Redelivery) (*Redelivered, error)

	Collect(ctx context.Context, c Collection) (*Collected, error)

	Keys(ctx context.Context) ([]Key, error)
	CreateKey(ctx context.Context, k NewKey) (*Key, error)
	RevokeKey(ctx context.Context, id string) (*Key, error)
	Audit(ctx context.Context, q AuditQuery) (*AuditRecords, error)

	// Events yields the events after the one with an id, or, if that is "", from now on. It
	// begins with the current readiness, or with a reset. It ends after the first error.
	Events(ctx context.Context, after string) iter.Seq2[Event, error]
}

// Error is the error of API methods. Its text is safe for a remote caller.
type Error struct {
	Status  int    // HTTP status
	Field   string // parameter or member that is wrong; "": none
	Message string
	Cause   error // never sent
}

func (e *Error) Error() string {
	if e.Field != "" {
		return e.Field + ": " + e.Message
	}
	return e.Message
}

func (e *Error) Unwrap() error { return e.Cause }

// Is compares the status and ignores the text.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Status == e.Status
}

// ErrNotFound matches, with errors.Is, all errors about something that does not exist.
var ErrNotFound = &Error{Status: http.StatusNotFound, Message: "it is not there"}

// Invalid returns the error of a parameter.
func Invalid(field, format string, args ...any) *Error {
	return &Error{Status: http.StatusBadRequest, Field: field, Message: fmt.Sprintf(format, args...)}
}

// Errorf returns an error with an HTTP status.
func Errorf(status int, format string, args ...any) *Error {
	return &Error{Status: status, Message: fmt.Sprintf(format, args...)}
}
