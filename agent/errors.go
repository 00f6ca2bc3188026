package agent

import "errors"

var (
	// ErrCanceled is the cause of a turn's context when its task was cancelled.
	ErrCanceled = errors.New("agent: task canceled")
	// ErrDraining is the cause when the server stops; the turn runs again later.
	ErrDraining = errors.New("agent: server draining")
	// ErrTimeout is the cause when the task was at work for longer than the server
	// allows. The task fails.
	ErrTimeout = errors.New("agent: the task was at work for too long")
	// ErrTooLarge is the error of an emission that made the task exceed a limit of the
	// server, and then the cause. The task has failed.
	ErrTooLarge = errors.New("agent: the task grew too large")
	// ErrEnded is the error of a Turn's methods once its task has ended.
	ErrEnded = errors.New("agent: task has ended")
)

// PublicError is an error whose text the caller may see.
type PublicError struct {
	Reason string // sent as the status message
	Cause  error  // never sent, only logged
}

// Public returns an error that fails a task with a reason for the caller. The text of
// any other error is never sent; the caller learns only that the agent failed. cause
// may be nil.
func Public(reason string, cause error) error { return &PublicError{reason, cause} }

func (e *PublicError) Error() string {
	if e.Cause != nil {
		return e.Reason + ": " + e.Cause.Error()
	}
	return e.Reason
}

func (e *PublicError) Unwrap() error { return e.Cause }
