package telemetry

import "context"

// Doing is what a step of a run does, for a client that asked for the traceability
// extension. The step's function fills it in; it belongs to that function's goroutine
// until the function returns.
type Doing struct {
	ID     string // of the step, within its trace
	Tool   string // what it calls; empty: the step's own name says it
	Tokens int64  // that a model took and gave
}

type doingKey struct{}

// WithDoing returns the context of a step.
func WithDoing(ctx context.Context, d *Doing) context.Context {
	return context.WithValue(ctx, doingKey{}, d)
}

// DoingIn returns the step that the context is in. It is nil outside of steps, and where
// no client asked.
func DoingIn(ctx context.Context) *Doing {
	d, _ := ctx.Value(doingKey{}).(*Doing)
	return d
}

// Calls notes which tool the context's step calls.
func Calls(ctx context.Context, tool string) {
	if d := DoingIn(ctx); d != nil {
		d.Tool = tool
	}
}

// Spends notes how many tokens the context's step took of a model.
func Spends(ctx context.Context, tokens int64) {
	if d := DoingIn(ctx); d != nil {
		d.Tokens += tokens
	}
}
