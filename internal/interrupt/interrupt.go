// Package interrupt turns the signals that ask a program to stop into the end
// of a context.
package interrupt

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// Context returns a context that ends with the first SIGINT or SIGTERM. The
// second one ends the process at once, as if nobody had asked for signals,
// however soon it comes, even if the process was started with SIGINT ignored, as
// a shell's script starts what it puts in the background. stop ends all that; the
// context ends, too.
func Context() (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	// With room for both: what signal.NotifyContext gets while it ends is lost.
	signals := make(chan os.Signal, 2)
	ignored := signal.Ignored(os.Interrupt) // which Notify ends, and Reset brings back
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	stopped := make(chan struct{})
	go func() {
		select {
		case <-signals:
			cancel()
		case <-stopped:
			return
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

// end lets a signal do what it does to a program that does not know it.
func end(sig os.Signal) {
	signal.Reset(sig)
	if p, err := os.FindProcess(os.Getpid()); err != nil || p.Signal(sig) != nil {
		os.Exit(1) // a system that cannot send it
	}
}
