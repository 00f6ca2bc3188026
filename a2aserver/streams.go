package a2aserver

import (
	"sync"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/telemetry/metrics"
)

// openStreams count the streams of callers, over all bindings. Nil counts
// nothing.
type openStreams struct {
	most int // of one caller
	*streamCounts
}

// streamCounts are how many streams callers have open. They stay when the limit changes.
type streamCounts struct {
	mu   sync.Mutex
	open map[callerKey]int // those who have none are not in it
}

func newOpenStreams(l *Limits) *openStreams {
	if l.Streams <= 0 {
		return nil
	}
	return &openStreams{l.Streams, &streamCounts{open: map[callerKey]int{}}}
}

// begin counts a stream until end is called. The error is RateLimited.
func (o *openStreams) begin(k callerKey) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.open[k] >= o.most {
		e := a2a.Errorf(a2a.CodeRateLimited, "you have %d streams open, which is as many as there may be: close one first", o.most)
		e.RetryAfter, e.Cause = streamsRetry, metrics.LimitStreams
		return e
	}
	o.open[k]++
	return nil
}

// streamsRetry is when to ask again for a stream. Nobody can know; it only keeps
// clients that repeat by themselves from doing it at once.
const streamsRetry = 5 * time.Second

func (o *openStreams) end(k callerKey) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.open[k]--; o.open[k] <= 0 {
		delete(o.open, k)
	}
}
