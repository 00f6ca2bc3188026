package auth

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync/atomic"

	"golang.org/x/sync/singleflight"
)

// flight shares one call of a function among all callers who need its result at the
// same time. The zero value is ready for use.
type flight[T any] struct{ calls singleflight.Group }

// do returns the result of fn, or of another caller's fn with the same key that is
// under way. own reports that it was this caller's fn.
//
// ctx bounds how long a caller waits for another one's fn. The caller whose fn runs
// stays until it ends, because others may wait for it: fn must have a time limit of its
// own. A panic of fn continues in its caller; the others get an error.
func (f *flight[T]) do(ctx context.Context, key string, fn func() (T, error)) (v T, own bool, err error) {
	var called atomic.Bool
	done := f.calls.DoChan(key, func() (v any, err error) {
		called.Store(true)
		defer func() {
			if p := recover(); p != nil {
				err = &panicked{p, debug.Stack()}
			}
		}()
		return fn()
	})
	var r singleflight.Result
	select {
	case r = <-done:
	case <-ctx.Done():
		if !called.Load() {
			return v, false, context.Cause(ctx)
		}
		r = <-done
	}
	if p, ok := r.Err.(*panicked); ok && called.Load() {
		panic(fmt.Sprintf("%v\n\n%s", p.value, p.stack))
	}
	v, _ = r.Val.(T) // nil after a panic
	return v, called.Load(), r.Err
}

// panicked is the panic of a call.
type panicked struct {
	value any
	stack []byte
}

func (p *panicked) Error() string { return fmt.Sprintf("auth: panic: %v", p.value) }
