package agent

import "context"

// Agent is the interface that you implement. Run handles one message: it is called in a
// goroutine of its own with a Turn, your side of the conversation, and may be called
// for many turns at once.
//
// The result of Run ends the task: nil completes it, an error fails it (see Public for
// what the caller is told). A turn that emitted nothing and returned Reply's result
// leaves no task behind.
//
// ctx is cancelled when the task is cancelled, the server drains, or the task exceeds a
// limit of the server; context.Cause is then ErrCanceled, ErrDraining, ErrTimeout or
// ErrTooLarge. After a drain or a crash, Run is called again from the top with the same
// message and Turn.Attempt one higher; after a crash OnLost can prevent it. ctx carries
// Turn.Caller (a2a.CallerFrom), so that calls of other agents carry the chain of
// callers; it holds no credentials.
type Agent interface {
	Run(ctx context.Context, t *Turn) error
}

// Func is an Agent made of a function.
type Func func(ctx context.Context, t *Turn) error

// Run calls f.
func (f Func) Run(ctx context.Context, t *Turn) error { return f(ctx, t) }
