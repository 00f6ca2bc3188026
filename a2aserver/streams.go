package a2aserver

import (
	"sync"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/telemetry/metrics"
)

// openStreams count the streams of callers, over all bindings, also while there is no
// limit: there may be one later.
type openStreams struct {
	mu   sync.Mutex        // protects the field below
	open map[callerKey]int // those who have none are not in it
}

// begin counts a stream until end is called. The error is RateLimited; most is how many
// a caller may have, or 0.
func (o *openStreams) begin(k callerKey, most int) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if most > 0 && o.open[k] >= most {
		e := a2a.Errorf(a2a.CodeRateLimited, "you have %d streams open, which is as many as there may be: close one first", most)
		e.RetryAfter, e.Cause = streamsRetry, metrics.LimitStreams
		return e
	}
	if o.open == nil {
		o.open = map[callerKey]int{}
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
