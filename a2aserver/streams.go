package a2aserver

import (
	"sync"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/telemetry/metrics"
)

// openStreams counts the streams of callers, over all bindings, even while there is no
// limit: there may be one later.
type openStreams struct {
	mu   sync.Mutex        // protects the field below
	open map[callerKey]int // callers without a stream are not in it
}

// begin counts a stream until end is called. The error is RateLimited. most is how many
// a caller may have; 0 means no limit.
func (o *openStreams) begin(k callerKey, most int) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if most > 0 && o.open[k] >= most {
		e := a2a.Errorf(a2a.CodeRateLimited, "you have %d streams open, the most that one caller may have: close one first", most)
		e.RetryAfter, e.Cause = streamsRetry, metrics.LimitStreams
		return e
	}
	if o.open == nil {
		o.open = map[callerKey]int{}
	}
	o.open[k]++
	return nil
}

// streamsRetry is the time after which a refused client may ask for a stream again. It
// is arbitrary; it only keeps clients that repeat by themselves from doing so at once.
const streamsRetry = 5 * time.Second

func (o *openStreams) end(k callerKey) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.open[k]--; o.open[k] <= 0 {
		delete(o.open, k)
	}
}
