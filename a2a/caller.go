package a2a

import "context"

// Caller is who makes a call and what the call declares about itself. It is
// the one value that Parley carries in contexts.
type Caller struct {
	Subject    string   // "" for anonymous
	Tenant     string   // from the caller's credentials; "" if they name none
	Scopes     []string // what the caller may do
	Extensions []string // extension URIs the caller supports (A2A-Extensions, §3.2.6)
}

type callerKey struct{}

// WithCaller returns a context that carries c.
func WithCaller(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// CallerFrom returns the context's caller, or the anonymous one.
func CallerFrom(ctx context.Context) Caller {
	c, _ := ctx.Value(callerKey{}).(Caller)
	return c
}
