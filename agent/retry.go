package agent

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/parley-a2a/parley/internal/wake"
)

const (
	firstRetry = 500 * time.Millisecond
	mostRetry  = 30 * time.Second
)

// Retry returns a function for Step that calls fn until it succeeds, at most tries
// times:
//
//	receipt, err := agent.Step(ctx, t, "charge", agent.Retry(5, charge))
//
// It pauses for half a second after the first failure and twice as long after each
// further one, up to 30 s, less up to half of it at random. It ends early on an error
// made by Permanent, and with the cause of ctx. Otherwise the error is that of the last
// last call. tries below 1 mean 1.
func Retry[T any](tries int, fn func(context.Context) (T, error)) func(context.Context) (T, error) {
	return func(ctx context.Context) (T, error) {
		pause := firstRetry
		for n := 1; ; n++ {
			v, err := fn(ctx)
			switch {
			case err == nil:
				return v, nil
			case ctx.Err() != nil:
				return v, context.Cause(ctx)
			case errors.As(err, new(*permanentError)), n >= tries:
				return v, err
			}
			if err := wake.Pause(ctx, pause/2+rand.N(pause/2)); err != nil {
				return v, err
			}
			pause = min(2*pause, mostRetry)
		}
	}
}

// Permanent marks an error as one that a retry cannot fix: Retry returns err at once.
// Permanent(nil) is nil.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return &permanentError{err}
}

type permanentError struct{ error }

func (e *permanentError) Unwrap() error { return e.error }
