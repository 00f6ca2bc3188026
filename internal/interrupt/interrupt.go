// Package interrupt turns the signals that ask a program to stop into the end
// of a context.
package interrupt

import (
	"context"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
)

// Context returns a context that ends with the first SIGINT or SIGTERM. The second one ends the
// process at once, as without a signal handler, even if it comes immediately, and even if the
// process was started with SIGINT ignored, as a shell script starts background commands. stop
// ends the handling of signals and the context.
func Context() (_ context.Context, stop func()) {
	h := new(holder)
	ctx, cancel := context.WithCancel(context.WithValue(context.Background(), holderKey{}, h))
	// Capacity for both: signal.NotifyContext loses a signal that comes while it ends.
	signals := make(chan os.Signal, 2)
	ignored := signal.Ignored(os.Interrupt) // Notify changes it, and Reset restores it
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	stopped := make(chan struct{})
	go func() {
		for ended := false; ; {
			select {
			case <-stopped:
				return
			case sig := <-signals:
				switch take := h.take.Load(); {
				case ended && sig == os.Interrupt && ignored:
					os.Exit(128 + int(syscall.SIGINT)) // as a shell reports it
				case ended:
					end(sig)
				case sig == os.Interrupt && take != nil:
					(*take)()
				default:
					ended = true
					cancel()
				}
			}
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(stopped)
		cancel()
	}
}

// holder holds the function that handles the SIGINTs of a context instead of ending it.
type holder struct {
	take atomic.Pointer[func()] // nil: none
}

type holderKey struct{}

// Catch makes each SIGINT call press instead of ending ctx, until release. It works for
// contexts of Context, and does nothing for others.
func Catch(ctx context.Context, press func()) (release func()) {
	h, ok := ctx.Value(holderKey{}).(*holder)
	if !ok {
		return func() {}
	}
	h.take.Store(&press)
	return func() { h.take.Store(nil) }
}

// end sends a signal to this process with its default action.
func end(sig os.Signal) {
	signal.Reset(sig)
	if p, err := os.FindProcess(os.Getpid()); err != nil || p.Signal(sig) != nil {
		os.Exit(1) // the system cannot send it
	}
}
