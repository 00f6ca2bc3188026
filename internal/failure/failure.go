// Package failure is the error that a failed command reports: the error envelope of a2a-cli
// Appendix B, and the matching exit code.
package failure

import "fmt"

// Error is one failure.
type Error struct {
	Code    string // the protocol's name, or one of the codes below
	Message string
	Hint    string // what to do about it; "" if unknown
	A2ACode string // the peer's code on its binding: a number, or a name of gRPC; "" if there is none

	Lines    []string  // further lines of the message, such as the mistakes in a file
	Problems []Problem // the same for programs; may be nil

	Cause error // only logged; may be nil
}

// Problem is one mistake in a file.
type Problem struct {
	File    string `json:"file"`
	Line    int    `json:"line"`   // from 1; 0: the file as a whole
	Column  int    `json:"column"` // from 1, in characters
	Path    string `json:"path"`   // of the setting, such as agents.answers.http.url; "" is the file
	Message string `json:"message"`
}

// Codes of the program's own failures (a2a-cli Appendix D). Those without a name there have a
// prefix of their own.
const (
	CodeUsage              = "A2ACLI_ERR_USAGE"
	CodeCardNotFound       = "A2ACLI_ERR_CARD_NOT_FOUND"
	CodeCardInvalid        = "A2ACLI_ERR_CARD_INVALID"
	CodeUnreachable        = "A2ACLI_ERR_UNREACHABLE"
	CodeCredentialsMissing = "A2ACLI_ERR_CREDENTIALS_MISSING"
	CodeAuthFailed         = "A2ACLI_ERR_AUTH_FAILED"
	CodeTimeout            = "A2ACLI_ERR_TIMEOUT"
	CodeInternal           = "A2ACLI_ERR_INTERNAL"

	CodeInterrupted = "PARLEY_ERR_INTERRUPTED" // by a signal
	CodeServe       = "PARLEY_ERR_SERVE"       // the server cannot start or go on
	CodeAdmin       = "PARLEY_ERR_ADMIN"       // the tasks on disk cannot be used
)

// Codes of a server's errors that have no name in the protocol. They have one in HTTP and in
// package a2a, but §11.4 requires a prefix of the program's own.
const (
	CodeRateLimited      = "PARLEY_ERR_RATE_LIMITED"
	CodeUnavailable      = "PARLEY_ERR_UNAVAILABLE"
	CodeRequestTooLarge  = "PARLEY_ERR_REQUEST_TOO_LARGE"
	CodeMediaType        = "PARLEY_ERR_UNSUPPORTED_MEDIA_TYPE"
	CodeMethodNotAllowed = "PARLEY_ERR_METHOD_NOT_ALLOWED"
	CodeConflict         = "PARLEY_ERR_CONFLICT"
	CodeLoop             = "PARLEY_ERR_DELEGATION_LOOP"
)

// Exit codes (a2a-cli §11.6).
const (
	ExitFailure     = 1
	ExitUsage       = 2
	ExitUnreachable = 3
	ExitAuth        = 4
	ExitTimeout     = 5
	ExitInterrupted = 130 // as in shells, for SIGINT
)

// ExitCodes explains the exit codes to people.
const ExitCodes = `A command exits with one of these codes:

  0    it did its job, whatever the agent decided
  1    it failed
  2    wrong usage
  3    the agent or its card cannot be reached
  4    credentials are missing or were refused
  5    --timeout expired; a task that was started continues
  130  interrupted; a task that was started continues

With --exit-status, a command that did its job exits as its task ended:

  0    completed, or answered without a task
  10   failed
  11   rejected
  12   canceled
  13   input required
  14   auth required
  15   still working (--async)

With -o json a failure is also on standard output, with its code and a hint.`

// exits is the Exit column of Appendix D. Codes that it lacks exit 1, like all errors of the
// protocol.
var exits = map[string]int{
	CodeUsage:              ExitUsage,
	CodeCardNotFound:       ExitUnreachable,
	CodeUnreachable:        ExitUnreachable,
	CodeCredentialsMissing: ExitAuth,
	CodeAuthFailed:         ExitAuth,
	CodeTimeout:            ExitTimeout,
	CodeInterrupted:        ExitInterrupted,
}

// New returns a failure. cause may be nil.
func New(code, message string, cause error) *Error {
	return &Error{Code: code, Message: message, Cause: cause}
}

// Usagef returns a failure that the command line or the configuration caused.
func Usagef(format string, args ...any) *Error {
	return New(CodeUsage, fmt.Sprintf(format, args...), nil)
}

// WithHint sets the hint and returns the failure.
func (e *Error) WithHint(format string, args ...any) *Error {
	e.Hint = fmt.Sprintf(format, args...)
	return e
}

// Exit returns the exit code of a command with this failure.
func (e *Error) Exit() int {
	if exit, ok := exits[e.Code]; ok {
		return exit
	}
	return ExitFailure
}

func (e *Error) Error() string { return e.Code + ": " + e.Message }
func (e *Error) Unwrap() error { return e.Cause }
