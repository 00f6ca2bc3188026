// Package wake has what others wait for, and how long. It knows nothing of tasks.
package wake

import (
	"context"
	"math/rand/v2"
	"time"
)

// Nudge gives a hint: that there is something to do, in a channel of capacity
// one.
func Nudge(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Closed reports whether a channel that nobody sends on is closed.
func Closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// Pause waits, and returns the cause of a context that has ended.
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

// Backoff is 1 s, 2 s, 4 s and so on for n = 0, 1, 2, with jitter, and at most
// limit: what failed together should not come back together.
func Backoff(n int, limit time.Duration) time.Duration {
	d := min(time.Second<<min(max(n, 0), 20), limit)
	return d*3/4 + rand.N(d/4+1)
}
