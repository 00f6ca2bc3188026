package mcp

import (
	"context"

	"golang.org/x/time/rate"
)

// How many messages of a server are read a second over a long time, and how many at
// once. Each waits in memory until it is handled, and each question of a server is
// answered in its own goroutine, so a server that floods is read slowly.
const (
	messageRate  = 500
	messageBurst = 2000
	linesOfEvent = 4 // roughly, of a message that comes as an event
)

// pace limits the rate of messages. A nil *pace does not.
type pace struct {
	ctx context.Context // ends all waiting
	lim *rate.Limiter
}

func newPace(ctx context.Context, times int) *pace {
	return &pace{ctx, rate.NewLimiter(rate.Limit(messageRate*times), messageBurst*times)}
}

// wait returns when n more messages are within the rate.
func (p *pace) wait(n int) {
	for p != nil && n > 0 && p.ctx.Err() == nil {
		some := min(n, p.lim.Burst())
		_ = p.lim.WaitN(p.ctx, some) // if ctx ends, reading ends, too
		n -= some
	}
}
