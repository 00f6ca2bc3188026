package agent

import "context"

// Agent is what an author writes. Run handles one message: it is called in a
// goroutine of its own with a Turn, the author's side of the conversation, and
// may be called for many turns at once.
//
// What Run returns ends the task: nil completes it, an error fails it (see
// Public for what the caller is told). A turn that emitted nothing and
// returned Reply's result leaves no task behind.
//
// ctx is cancelled when somebody cancels the task or the server drains;
// context.Cause is then ErrCanceled or ErrDraining. After a drain or a crash,
// Run is called again from the top with the same message and Turn.Attempt one
// higher; OnLost says otherwise for crashes.
type Agent interface {
	Run(ctx context.Context, t *Turn) error
}

// Func is an Agent made of a function.
type Func func(ctx context.Context, t *Turn) error

// Run calls f.
func (f Func) Run(ctx context.Context, t *Turn) error { return f(ctx, t) }
