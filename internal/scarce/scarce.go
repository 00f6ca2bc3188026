// Package scarce handles resources of this machine that run out for a while: file descriptors,
// processes, memory for either. Such a failure says nothing about the command, file or peer
// that was wanted, so callers wait and try again:
//
//	err := scarce.Again(ctx, func() error { return cmd.Start() })
//
// All functions may be called concurrently.
package scarce

import (
	"context"
	"errors"
	"io/fs"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"syscall"
	"time"
)

// errnos are the errors of a system that has run out of something. Starting a process at the
// limit of processes returns EAGAIN.
var errnos = []syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.EAGAIN, syscall.ENOMEM, syscall.ENOBUFS}

// Is reports whether err says that this machine, or this process's share of it, has run out of
// something that will be freed.
func Is(err error) bool {
	// Go moves descriptors out of the way before it starts a process. If the next number is
	// beyond the limit, the system reports a bad descriptor.
	if path, ok := errors.AsType[*fs.PathError](err); ok && path.Op == "fork/exec" && errors.Is(err, syscall.EBADF) {
		return true
	}
	dns, isDNS := errors.AsType[*net.DNSError](err) // keeps the text of its cause only
	return slices.ContainsFunc(errnos, func(no syscall.Errno) bool {
		return errors.Is(err, no) || isDNS && strings.HasSuffix(dns.Err, no.Error())
	})
}

const (
	firstPause = 5 * time.Millisecond
	maxPause   = time.Second
	// patience is how long Again tries.
	patience = 10 * time.Minute
)

// Again calls f until it returns something other than scarcity, ctx ends, or ten
// minutes have passed. It returns f's last error, joined with ctx's cause if ctx
// ended. f must leave nothing behind when it fails.
func Again(ctx context.Context, f func() error) error {
	var since time.Time
	for pause := firstPause; ; pause = min(2*pause, maxPause) {
		err := f()
		if err == nil || !Is(err) {
			return err
		}
		if since.IsZero() {
			since = time.Now()
		} else if time.Since(since) > patience {
			return err
		}
		select {
		case <-time.After(pause/2 + rand.N(pause/2)):
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), err)
		}
	}
}

// A DialFunc is the dial function of a transport.
type DialFunc func(ctx context.Context, network, address string) (net.Conn, error)

// Dial returns dial wrapped in Again.
func Dial(dial DialFunc) DialFunc {
	return func(ctx context.Context, network, address string) (c net.Conn, err error) {
		err = Again(ctx, func() error {
			c, err = dial(ctx, network, address)
			return err
		})
		return c, err
	}
}
