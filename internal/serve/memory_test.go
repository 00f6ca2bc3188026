package serve

import (
	"context"
	"log/slog"
	"math"
	"runtime/debug"
	"testing"
	"testing/synctest"
	"time"
)

// The garbage collector aims at what the limits add up to, unless the environment
// or the absence of limits says otherwise, and not at less than the server needs.
func TestMemoryLimit(t *testing.T) {
	for _, c := range []struct{ bodies, cache, want int64 }{
		{128 << 20, 128 << 20, (80 + 128 + 96 + 128) << 20},
		{128 << 20, -1, (80 + 128 + 96) << 20},
		{-1, 128 << 20, 0},
	} {
		if got := memoryFor(c.bodies, c.cache); got != c.want {
			t.Errorf("with %d and %d it is %d, want %d", c.bodies, c.cache, got, c.want)
		}
	}
	const aim = 400 << 20
	for inUse, want := range map[int64]int64{0: aim, 350 << 20: aim, 450 << 20: 800 << 20} {
		if got := memoryLimit(aim, inUse); got != want {
			t.Errorf("with %d in use it is %d, want %d", inUse, got, want)
		}
	}
	t.Setenv("GOMEMLIMIT", "")
	before := debug.SetMemoryLimit(-1)
	for _, c := range []struct {
		env       string
		aim, want int64
	}{{"", math.MaxInt64 / 8, math.MaxInt64 / 8}, {"1GiB", aim, before}, {"", 0, before}} {
		t.Setenv("GOMEMLIMIT", c.env)
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan struct{})
			go func() {
				keepMemory(ctx, c.aim, slog.New(slog.DiscardHandler))
				close(done)
			}()
			time.Sleep(3 * time.Second)
			if got := debug.SetMemoryLimit(-1); got != c.want {
				t.Errorf("with %q and %d it is %d, want %d", c.env, c.aim, got, c.want)
			}
			cancel()
			<-done
		})
		if got := debug.SetMemoryLimit(-1); got != before {
			t.Errorf("afterwards it is %d, was %d", got, before)
		}
	}
}
