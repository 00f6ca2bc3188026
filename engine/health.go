package engine

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/engine/internal/stored"
	"github.com/parley-a2a/parley/internal/telemetry/metrics"
	"github.com/parley-a2a/parley/internal/wake"
	"github.com/parley-a2a/parley/store"
)

// storeHealth says whether the store takes writes, as far as the last ones show.
type storeHealth struct {
	log *slog.Logger
	err atomic.Pointer[troubleError] // nil: there is no trouble; set with the lock

	mu     sync.Mutex // protects the fields below
	begun  time.Time
	failed time.Time     // time of the newest failure
	over   chan struct{} // closed while there is none
	began  chan struct{} // capacity one: a hint for the prober
}

// troubleError is a failure of the store, in words that anyone may see.
type troubleError struct {
	words string
	cause error
}

func (t *troubleError) Error() string { return t.words }

// Unwrap lets callers test for [store.ErrFull] and the like.
func (t *troubleError) Unwrap() error { return t.cause }

// probeEvery is how often a failing store is tried, and how long no write may have failed
// before it counts as working: if some writes fail and others do not, the trouble goes on. So
// one message that does not fit makes the server unready for that long, because the next one
// may be as large.
const probeEvery = time.Second

func newStoreHealth(log *slog.Logger) *storeHealth {
	t := &storeHealth{log: log, over: make(chan struct{}), began: make(chan struct{}, 1)}
	close(t.over)
	return t
}

// Trouble returns nil while the store takes writes. Otherwise it returns the reason, in words
// for a readiness probe: nothing new can be stored then, but what is stored can be read. If the
// cause is known, the error wraps [store.ErrFull], [store.ErrReadOnly], [store.ErrBusy] or, if
// the store cannot be read either, [store.ErrUnreachable]. The engine tries the store every
// second until it works again.
func (e *Engine) Trouble() error {
	if err := e.health.err.Load(); err != nil {
		return err
	}
	return nil
}

// wrote notes the outcome of a write. A successful write may be small and does not prove that a
// full disk has room: see tryRoom.
func (e *Engine) wrote(err error) {
	switch {
	case err == nil:
		if !errors.Is(e.Trouble(), store.ErrFull) {
			e.health.end()
		}
	case !stored.Certain(err):
		e.meters.storeFailed(err)
		e.health.begin(err)
	}
}

func (t *storeHealth) begin(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.failed = time.Now()
	_, words := trouble(err)
	before := t.err.Swap(&troubleError{words, err})
	if before == nil {
		t.begun = t.failed
		t.over = make(chan struct{})
		// Last, because a reader of the log may call Trouble at once.
		t.log.Error("the store does not take writes", "reason", words, "error", err)
	}
	wake.Nudge(t.began)
}

func (t *storeHealth) end() {
	if t.err.Load() == nil {
		return // as nearly always
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err.Load() == nil || time.Since(t.failed) < probeEvery {
		return
	}
	t.err.Store(nil)
	close(t.over)
	t.log.Info("the store takes writes again", "after", time.Since(t.begun).Round(time.Millisecond))
}

// trouble returns why a store does not take a write: as a label for metrics, and in words.
func trouble(err error) (reason, words string) {
	switch {
	case errors.Is(err, store.ErrFull):
		return "full", "the disk is full: tasks cannot be stored"
	case errors.Is(err, store.ErrReadOnly):
		return "read_only", "the database cannot be written (read-only)"
	case errors.Is(err, store.ErrBusy):
		return "busy", "the database is locked by another program"
	case errors.Is(err, store.ErrUnreachable):
		return "unreachable", "the database cannot be reached"
	}
	return metrics.Other, "tasks cannot be stored at the moment"
}

// takesNothing returns the error for callers that bring something new while it is known that it
// could not be stored.
func (e *Engine) takesNothing() error {
	if err := e.Trouble(); err != nil && stored.Lasting(err) {
		return a2a.Errorf(a2a.CodeUnavailable, "%s; try again later", err.Error())
	}
	return nil
}

// ends returns a channel that is closed while there is no trouble.
func (t *storeHealth) ends() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.over
}

// wait returns true when there is no trouble, or false when ctx ends.
func (t *storeHealth) wait(ctx context.Context) bool {
	select {
	case <-t.ends():
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// probe tries the store while it is in trouble, until ctx ends.
func (e *Engine) probe(ctx context.Context) {
	for {
		select {
		case <-e.health.began:
		case <-ctx.Done():
			return
		}
		for e.Trouble() != nil && wake.Pause(ctx, probeEvery) == nil {
			e.nodes.Try(ctx)
			if errors.Is(e.Trouble(), store.ErrFull) {
				e.tryRoom(ctx)
			}
		}
	}
}

// room is how many bytes a store that was full must take before it counts as working.
const room = 1 << 20

// tryRoom ends the trouble of a full disk if there is room. A heartbeat proves nothing, because
// it fits where a task does not: readiness would come and go.
func (e *Engine) tryRoom(ctx context.Context) {
	spare := make([]byte, room)
	rand.Read(spare) // random, so that no store can compress it
	is, err := e.store.Keep(ctx, "room", nil, spare)
	if err == nil {
		_, err = e.store.Keep(ctx, "room", is, nil) // also deletes what a crash left
	}
	if err == nil {
		e.health.end()
	} else if ctx.Err() == nil {
		e.wrote(err)
	}
}
