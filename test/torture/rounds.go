package torture

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"time"
)

// rounds ends lives of the server at random moments.
func (w *world) rounds(ctx context.Context) error {
	rng := rand.New(rand.NewPCG(w.o.Seed, 0))
	life := 800 // in milliseconds
	if w.o.Life > 0 {
		life = int(w.o.Life.Milliseconds())
	}
	brief := false // the last life was
	for range w.o.Rounds {
		// Most lives get to work, some do not even get to listen. Not several
		// of those in a row: a task whose process is lost three times fails.
		// Where there is time some are long enough for what rests after it was
		// lost twice.
		span := ms(30 + rng.IntN(life))
		if rng.IntN(4) == 0 && w.o.Life == 0 {
			span += ms(2 * life)
		}
		early := rng.IntN(6) == 0
		if brief {
			span, early = span+ms(life/2), false
		}
		if early {
			span = ms(rng.IntN(80))
		} else if err := w.up(ctx); err != nil {
			return err
		}
		stopped, err := w.hesitates(ctx, rng, span, !early)
		if err != nil {
			return err
		}
		if !stopped {
			if err := w.scrape(ctx, false); err != nil {
				return err
			}
		}
		gently := rng.IntN(6) == 0 && !early && !stopped && runtime.GOOS != "windows" // where nobody can be asked to end
		if gently {
			hurry := time.Duration(0)
			if rng.IntN(3) == 0 {
				hurry = ms(1 + rng.IntN(40))
			}
			w.note("stop after %v, again after %v", span, hurry)
			w.count.stops.Add(1)
			if err := w.server.stop(hurry); err != nil && !w.o.Dies {
				w.violate(Service, "SIGTERM: %v", err)
			} else if err != nil {
				w.note("SIGTERM: %v", err) // it may have been about to die anyway
			}
		} else {
			w.note("kill after %v", span)
			w.count.kills.Add(1)
			w.server.kill()
		}
		if err := w.server.begin(); err != nil {
			return err
		}
		brief = span < ms(life/2)
		if rng.IntN(6) == 0 && !brief { // twice in a row
			brief = true
			span := ms(rng.IntN(150))
			if err := w.live(ctx, span); err != nil {
				return err
			}
			w.note("kill again after %v", span)
			w.count.kills.Add(1)
			w.server.kill()
			if err := w.server.begin(); err != nil {
				return err
			}
		}
	}
	return w.up(ctx)
}

func ms(n int) time.Duration { return time.Duration(n) * time.Millisecond }

// hesitates lets the server live for a while in which it may be stopped in its
// tracks for a moment, now and then for one that is longer than clients are
// patient. It reports whether the server is left so, to be killed.
func (w *world) hesitates(ctx context.Context, rng *rand.Rand, d time.Duration, may bool) (stopped bool, err error) {
	before := time.Duration(rng.Int64N(int64(d) + 1))
	pause, left := ms(20+rng.IntN(300)), rng.IntN(4) == 0
	if rng.IntN(10) == 0 {
		pause += ms(2500)
	}
	if rng.IntN(5) > 0 || !may {
		return false, w.live(ctx, d)
	}
	if err := w.live(ctx, before); err != nil || w.server.pause() != nil {
		return false, err // it has just ended, or there are no pauses here
	}
	w.note("stopped for %v", pause)
	w.count.pauses.Add(1)
	if err := w.live(ctx, pause); err != nil || left {
		return true, err
	}
	if err := w.server.resume(); err != nil {
		return false, nil // it has just ended
	}
	return false, w.live(ctx, d-before)
}

// live lets the server live for a while.
func (w *world) live(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			return nil
		case <-w.server.exited():
			if err := w.died(ctx); err != nil {
				return err
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// up waits until the server is ready.
func (w *world) up(ctx context.Context) error {
	limit := time.NewTimer(readyWithin)
	defer limit.Stop()
	for {
		if !w.server.alive() {
			if err := w.died(ctx); err != nil {
				return err
			}
		}
		if w.server.ready(ctx) {
			return nil
		}
		pause := time.NewTimer(5 * time.Millisecond)
		select {
		case <-pause.C:
		case <-limit.C:
			return fmt.Errorf("the server is not ready after %v; %s", readyWithin, w.server.tail())
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// died starts a server again that ended by itself, if that is expected.
func (w *world) died(context.Context) error {
	w.count.deaths.Add(1)
	if !w.o.Dies {
		return fmt.Errorf("the server ended by itself: %w; %s", w.server.ended(), w.server.tail())
	}
	w.note("the server ended by itself: %v", w.server.ended())
	return w.server.begin()
}
