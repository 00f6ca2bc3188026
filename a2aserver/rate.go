package a2aserver

import (
	"math"
	"sync"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/telemetry/metrics"
)

// maxRates is how many callers are told apart, at some 150 bytes each.
const maxRates = 1 << 16

// rates counts the requests of callers. Each caller has a bucket that fills up again. A
// bucket is stored as the time when it will be full (the generic cell rate algorithm):
// a full one is the same as a missing one, so nothing is lost when it is deleted. Nil
// counts nothing.
type rates struct {
	step  time.Duration // in which one request comes back
	whole time.Duration // in which an empty bucket becomes full
	most  int           // buckets
	start time.Time

	mu    sync.Mutex // protects the fields below
	full  map[callerKey]time.Duration
	swept time.Duration // when the full ones were last deleted
}

func newRates(l *Limits) *rates {
	if !(l.Rate > 0) {
		return nil
	}
	burst := l.Burst
	if burst <= 0 {
		burst = int(math.Ceil(min(2*l.Rate, 1e9)))
	}
	// No bucket takes longer than a century to fill, so that times cannot overflow.
	const century = float64(100 * 365 * 24 * time.Hour)
	step := time.Duration(max(1, min(float64(time.Second)/l.Rate, century)))
	whole := time.Duration(min(float64(step)*float64(max(burst, 1)), century))
	return &rates{step: step, whole: whole, most: maxRates, start: time.Now(), full: map[callerKey]time.Duration{}}
}

// count takes one request out of a caller's bucket. If it is empty, the error is
// RateLimited and says when the next one will be there.
func (r *rates) count(k callerKey) error {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Since(r.start)
	at, known := r.full[k]
	at = max(at, now) + r.step
	if wait := at - now - r.whole; wait > 0 {
		return &a2a.Error{Code: a2a.CodeRateLimited, Message: "too many requests: slow down, and try again in a moment", RetryAfter: wait, Cause: metrics.LimitRate}
	}
	if !known && len(r.full) >= r.most {
		r.makeRoomLocked(now)
	}
	r.full[k] = at
	return nil
}

// makeRoomLocked deletes all full buckets or, if that was done a moment ago or found
// none, the fullest of a few. So a client with many addresses pushes out its own
// buckets, each of which was used once, and not those of busy callers.
func (r *rates) makeRoomLocked(now time.Duration) {
	if now-r.swept >= min(r.whole, time.Minute) {
		r.swept = now
		for k, at := range r.full {
			if at <= now {
				delete(r.full, k)
			}
		}
	}
	if len(r.full) < r.most {
		return
	}
	const few = 16
	var fullest callerKey
	best, n := time.Duration(math.MaxInt64), 0
	for k, at := range r.full { // in random order
		if at < best {
			fullest, best = k, at
		}
		if n++; n == few {
			break
		}
	}
	delete(r.full, fullest)
}
