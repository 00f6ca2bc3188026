package scarce

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

func TestIs(t *testing.T) {
	for _, no := range errnos {
		for _, err := range []error{
			no,
			os.NewSyscallError("pipe2", no),
			&fs.PathError{Op: "fork/exec", Path: "/bin/true", Err: no},
			&net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("socket", no)},
			fmt.Errorf("start: %w", no),
			&net.DNSError{Err: "dial udp 192.0.2.1:53: socket: " + no.Error(), Name: "a.example"},
		} {
			if !Is(err) {
				t.Errorf("%v is not taken for scarcity", err)
			}
		}
	}
	if err := (&fs.PathError{Op: "fork/exec", Path: "/bin/true", Err: syscall.EBADF}); !Is(err) {
		t.Errorf("%v is not taken for scarcity", err)
	}
	for _, err := range []error{nil, fs.ErrNotExist, &fs.PathError{Op: "read", Err: syscall.EBADF}, syscall.ECONNREFUSED, context.DeadlineExceeded, os.ErrDeadlineExceeded, &net.DNSError{Err: "no such host"}} {
		if Is(err) {
			t.Errorf("%v is taken for scarcity", err)
		}
	}
}

func TestAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		left, began := 8, time.Now()
		scarceOnce := func() error {
			if left--; left > 0 {
				return syscall.EMFILE
			}
			return nil
		}
		if err := Again(t.Context(), scarceOnce); err != nil || left != 0 {
			t.Errorf("%v, with %d tries left", err, left)
		}
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("seven pauses took %v", took)
		}

		tries := 0
		if err := Again(t.Context(), func() error { tries++; return fs.ErrNotExist }); err != fs.ErrNotExist || tries != 1 {
			t.Errorf("%v after %d tries", err, tries)
		}

		why := errors.New("the task was canceled")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Minute, func() { cancel(why) })
		tries = 0
		err := Again(ctx, func() error { tries++; return syscall.ENFILE })
		if !errors.Is(err, why) || !Is(err) {
			t.Errorf("after the end of the context: %v", err)
		}
		if tries < 60 || tries > 150 {
			t.Errorf("%d tries in a minute", tries)
		}

		began = time.Now()
		if err := Again(t.Context(), func() error { return syscall.ENOMEM }); err != syscall.ENOMEM {
			t.Errorf("in the end: %v", err)
		}
		if took := time.Since(began); took < patience || took > patience+2*maxPause {
			t.Errorf("gave up after %v", took)
		}
	})
}
