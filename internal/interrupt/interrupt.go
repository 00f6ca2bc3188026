// Package interrupt turns the signals that ask a program to stop into the end
// of a context.
package interrupt

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// Context returns a context that ends with the first SIGINT or SIGTERM. The
// second one ends the process at once, as if nobody had asked for signals,
// however soon it comes, even if the process was started with SIGINT ignored, as
// a shell's script starts what it puts in the background. stop ends all that; the
// context ends, too.
func Context() (_ context.Context, stop func()) {
	h := new(holder)
	ctx, cancel := context.WithCancel(context.WithValue(context.Background(), holderKey{}, h))
	// With room for both: what signal.NotifyContext gets while it ends is lost.
	signals := make(chan os.Signal, 2)
	ignored := signal.Ignored(os.Interrupt) // which Notify ends, and Reset brings back
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	stopped := make(chan struct{})
	go func() {
		for ctx.Err() == nil {
			select {
			case sig := <-signals:
				if sig != os.Interrupt || !h.press() {
					cancel()
				}
			case <-stopped:
				return
			}
		}
		select {
		case sig := <-signals:
			if sig == os.Interrupt && ignored {
				os.Exit(128 + int(syscall.SIGINT)) // as a shell reports it
			}
			end(sig)
		case <-stopped:
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(stopped)
		cancel()
	}
}

// holder is who takes the SIGINTs of a context in place of its end.
type holder struct {
	mu   sync.Mutex // protects the field below
	take func()     // nil: nobody
}

type holderKey struct{}

func (h *holder) press() bool {
	h.mu.Lock()
	take := h.take
	h.mu.Unlock()
	if take == nil {
		return false
	}
	take()
	return true
}

// Catch has press called for each SIGINT in place of ending ctx, which Context has
// made, until release. For any other context it does nothing.
func Catch(ctx context.Context, press func()) (release func()) {
	h, ok := ctx.Value(holderKey{}).(*holder)
	if !ok {
		return func() {}
	}
	set := func(take func()) {
		h.mu.Lock()
		h.take = take
		h.mu.Unlock()
	}
	set(press)
	return func() { set(nil) }
}

// end lets a signal do what it does to a program that does not know it.
func end(sig os.Signal) {
	signal.Reset(sig)
	if p, err := os.FindProcess(os.Getpid()); err != nil || p.Signal(sig) != nil {
		os.Exit(1) // a system that cannot send it
	}
}
