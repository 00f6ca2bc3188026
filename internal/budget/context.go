package budget

import "context"

type holdKey struct{}

// With returns a context that carries the hold of a call, for code that knows how much data the
// call needs before it reads it.
func With(ctx context.Context, h *Hold) context.Context {
	if h == nil || h.b == nil {
		return ctx
	}
	return context.WithValue(ctx, holdKey{}, h)
}

// From returns the hold of the call that ctx belongs to, or nil, which counts nothing: callers
// within the process are responsible for their own memory.
func From(ctx context.Context) *Hold {
	h, _ := ctx.Value(holdKey{}).(*Hold)
	return h
}
