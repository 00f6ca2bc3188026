package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// failure is what a command reports when it could not do its job: the error
// envelope of a2a-cli Appendix B, and the exit code that agrees with it.
type failure struct {
	Code    string // the protocol's name, or one of the codes below
	Message string
	Hint    string
	A2ACode int // of the binding; 0: none

	Lines []string // more of the message, such as the mistakes of a file

	exit  int
	cause error // for the log
}

// Codes of failures that are the program's own (a2a-cli Appendix D). Those of
// ours that it has no name for have a prefix of their own.
const (
	codeUsage              = "A2ACLI_ERR_USAGE"
	codeCardNotFound       = "A2ACLI_ERR_CARD_NOT_FOUND"
	codeCardInvalid        = "A2ACLI_ERR_CARD_INVALID"
	codeUnreachable        = "A2ACLI_ERR_UNREACHABLE"
	codeCredentialsMissing = "A2ACLI_ERR_CREDENTIALS_MISSING"
	codeAuthFailed         = "A2ACLI_ERR_AUTH_FAILED"
	codeTimeout            = "A2ACLI_ERR_TIMEOUT"
	codeInternal           = "A2ACLI_ERR_INTERNAL"

	codeInterrupted = "PARLEY_ERR_INTERRUPTED" // by a signal
	codeServe       = "PARLEY_ERR_SERVE"       // the server cannot start or go on
	codeAdmin       = "PARLEY_ERR_ADMIN"       // the tasks on disk cannot be worked with
)

// Exit codes (a2a-cli §11.6).
const (
	exitFailure     = 1
	exitUsage       = 2
	exitUnreachable = 3
	exitAuth        = 4
	exitTimeout     = 5
	exitInterrupted = 130 // as shells have it for SIGINT
)

// exits is the Exit column of Appendix D. What is not in it exits 1, as all
// errors of the protocol do.
var exits = map[string]int{
	codeUsage:              exitUsage,
	codeCardNotFound:       exitUnreachable,
	codeUnreachable:        exitUnreachable,
	codeCredentialsMissing: exitAuth,
	codeAuthFailed:         exitAuth,
	codeTimeout:            exitTimeout,
	codeInterrupted:        exitInterrupted,
}

func newFailure(code, message string, cause error) *failure {
	exit, ok := exits[code]
	if !ok {
		exit = exitFailure
	}
	return &failure{Code: code, Message: message, exit: exit, cause: cause}
}

func (f *failure) Error() string { return f.Code + ": " + f.Message }
func (f *failure) Unwrap() error { return f.cause }

func (f *failure) withHint(format string, args ...any) *failure {
	f.Hint = fmt.Sprintf(format, args...)
	return f
}

// usagef returns a failure that the command line or the configuration caused.
func usagef(format string, args ...any) *failure {
	return newFailure(codeUsage, fmt.Sprintf(format, args...), nil)
}

// envelope returns the JSON form. What is not there is null.
func (f *failure) envelope() []byte {
	type body struct {
		Code    string  `json:"code"`
		Message string  `json:"message"`
		Hint    *string `json:"hint"`
		A2ACode *int    `json:"a2aCode"`
	}
	b := body{Code: f.Code, Message: strings.Join(append([]string{f.Message}, f.Lines...), "\n")}
	if f.Hint != "" {
		b.Hint = &f.Hint
	}
	if f.A2ACode != 0 {
		b.A2ACode = &f.A2ACode
	}
	var doc bytes.Buffer
	enc := json.NewEncoder(&doc)
	enc.SetEscapeHTML(false) // hints have <message> in them
	if err := enc.Encode(map[string]body{"error": b}); err != nil {
		panic(err) // strings and numbers cannot fail
	}
	return doc.Bytes()
}
