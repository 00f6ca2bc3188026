package a2aserver

import (
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/parley-a2a/parley/internal/wire"
)

// A stream notes the time when it writes, and its timer looks at that clock from time to
// time: a client to which nothing was written for long gets a comment, and one to which a
// write takes too long is given up. So a write sets no timer and no deadline, and a stream
// that waits has no goroutine of its own.
//
// The clock is the time when the last write ended or, with the bit writing set, when
// the present one began. Times are multiplied by two to make room for that bit.
const writing = 1

func (s *sse) begins() (now time.Duration) {
	now = time.Since(s.s.started)
	s.clock.Store(int64(now)<<1 | writing)
	return now
}

func (s *sse) ended() (now time.Duration) {
	now = time.Since(s.s.started)
	s.clock.Store(int64(now) << 1)
	return now
}

// keepsUp ends the write of n bytes that began at began. It returns false if the reader
// is too slow for what it is sent.
func (s *sse) keepsUp(n int, began time.Duration) bool {
	limit := s.s.opts.writeTimeout()
	s.pace.Allows(n, limit, began)
	s.pace.Wrote(n, began, s.ended())
	return s.pace.Behind() <= limit
}

// attend begins to watch a stream's clock.
func (s *sse) attend() {
	s.pace.Hold = s.hold
	s.ended()
	s.watch.Lock() // the timer may go off at once
	defer s.watch.Unlock()
	s.timer = time.AfterFunc(min(s.s.opts.keepAlive(), s.s.opts.writeTimeout()), s.look)
}

// release returns when only the caller uses the answer.
func (s *sse) release() {
	s.mu.Lock() // waits for a comment that is being written, while its write still has a time limit
	closed := s.closed
	s.closed = true
	s.drop()
	s.mu.Unlock()
	s.watch.Lock()
	s.timer.Stop()
	s.timer = nil
	s.watch.Unlock()
	s.helpers.Wait()
	if s.begun && !closed {
		_ = s.rc.SetWriteDeadline(time.Now().Add(s.s.opts.writeTimeout())) // net/http writes the end
	}
}

// look looks at the clock when the timer goes off, and sets the timer again.
func (s *sse) look() {
	s.watch.Lock()
	defer s.watch.Unlock()
	if s.timer == nil {
		return // released meanwhile
	}
	clock := s.clock.Load()
	limit, silence := s.s.opts.writeTimeout(), s.s.opts.keepAlive()
	since := time.Since(s.s.started) - time.Duration(clock>>1)
	again := min(silence, limit)
	switch {
	case clock&writing != 0 && since < limit:
		again = limit - since
	case clock&writing != 0:
		s.stalled.Store(true)
		s.helpers.Go(func() { _ = s.rc.SetWriteDeadline(time.Unix(1, 0)) }) // not every writer has deadlines
		return
	case since < silence:
		again = min(silence-since, limit)
	default:
		s.helpers.Go(func() { s.keepAlive(clock) }) // it may have to wait for the client
	}
	s.timer.Reset(max(again, time.Millisecond)) // even if the options ask for less
}

// keepAlive writes a comment to a stream that has been silent since clock, even before
// its first element, because proxies would hang up. Errors after that go into the
// stream.
func (s *sse) keepAlive(clock int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() {
		if v := recover(); v != nil { // which would end the process here
			s.s.log.LogAttrs(s.ctx, slog.LevelError, "a stream cannot be kept alive", slog.Any("error", panicError(v)))
			s.closed = true
			s.hangUp()
		}
	}()
	if s.closed || s.clock.Load() != clock {
		return
	}
	s.add(func(b []byte) []byte {
		b = append(b, wire.KeepAlive...)
		if s.plain {
			b = append(b, '\n') // or it would be a part of the next event
		}
		return b
	})
	if !s.flush(false) {
		s.hangUp()
	}
}

// flushed takes the error of a flush, and drops the one that says that the writer
// does not buffer.
func flushed(err error) error {
	if errors.Is(err, http.ErrNotSupported) {
		return nil
	}
	return err
}
