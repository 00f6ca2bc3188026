// Package wake has hints, signals and pauses for code that waits. It knows nothing of tasks.
package wake

import (
	"context"
	"math/rand/v2"
	"time"
)

// Nudge puts a hint that there is something to do into a channel of capacity one.
func Nudge(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Closed reports whether a channel without senders is closed.
func Closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// Pause waits for d. If ctx ends first, it returns the cause.
func Pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return context.Cause(ctx)
	}
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Stopped returns a timer that does not run before it is Reset.
func Stopped() *time.Timer {
	t := time.NewTimer(time.Hour)
	t.Stop()
	return t
}

// Backoff returns 1 s, 2 s, 4 s and so on for n = 0, 1, 2, at most limit, with jitter, so that
// what failed together does not come back together.
func Backoff(n int, limit time.Duration) time.Duration {
	d := min(time.Second<<min(max(n, 0), 20), limit)
	return d*3/4 + rand.N(d/4+1)
}
