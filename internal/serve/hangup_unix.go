//go:build unix

package serve

import (
	"os"
	"os/signal"
	"syscall"
)

// onHangup calls f with each SIGHUP until stop is called, which waits for it.
func onHangup(f func()) (stop func()) {
	signals := make(chan os.Signal, 1) // one is enough: f begins after it
	signal.Notify(signals, syscall.SIGHUP)
	stopped, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-signals:
				f()
			case <-stopped:
				return
			}
		}
	}()
	return func() {
		signal.Stop(signals)
		close(stopped)
		<-ended
	}
}
