//go:build unix

package main

import (
	"net/http"
	"strings"
	"syscall"
	"testing"
)

// stubborn is a command that ignores SIGTERM on its first run; it ends when its output is no
// longer read.
const stubborn = `[ "$PARLEY_ATTEMPT" = 1 ] || exec echo done; trap "" TERM; while echo working; do sleep 0.05; done`

// TestSecondSignalEndsAtOnce: an operator who does not want to wait for the drain can end it
// without losing anything.
func TestSecondSignalEndsAtOnce(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			k := newTools(t)
			s := k.serve(t, "", "--drain-timeout", "1h", "--", "sh", "-c", stubborn)
			id := begin(t, s)
			s.tell(syscall.SIGTERM)
			s.awaitReadiness(http.StatusServiceUnavailable, "^shutting down$") // which it says first
			s.tell(sig)
			// With the code that a shell has for it if these tests were started with it ignored.
			if code := s.exit(); code != -1 && code != 128+int(sig) {
				t.Errorf("it exited with %d, not by the signal", code)
			}
			wantDone(t, k, id)
		})
	}
}

// TestDrainTimeout: an agent that does not end holds the server for so long and
// no longer.
func TestDrainTimeout(t *testing.T) {
	for _, wait := range []string{"0s", "300ms"} {
		t.Run(wait, func(t *testing.T) {
			t.Parallel()
			k := newTools(t)
			s := k.serve(t, "", "--drain-timeout", wait, "--", "sh", "-c", stubborn)
			id := begin(t, s)
			s.tell(syscall.SIGTERM)
			// If it had waited for the command, which gets 5 s, it would have stopped in good order.
			if code := s.exit(); code != 1 || !strings.Contains(s.err.String(), "agents did not stop in time") || !strings.Contains(s.err.String(), "msg=stopped unfinished=0 lost=1\n") {
				t.Errorf("it exited with %d", code)
			}
			wantDone(t, k, id)
		})
	}
}

// begin starts a task and returns its id when its agent is at work.
func begin(t *testing.T, s *process) string {
	t.Helper()
	call := s.start(t, "", "send", "-a", s.addr, "--stream", "go")
	id := call.await(&call.out, `^Task ID: (\S+)$`)
	call.await(&call.out, `^working$`)
	_ = call.Process.Kill()
	return id
}

// wantDone starts a server again and checks that the task comes to its end.
func wantDone(t *testing.T, k tools, id string) {
	t.Helper()
	s := k.serve(t, "", "--", "sh", "-c", stubborn)
	out, errs, code := k.run(t, "task", "get", "--wait", "-a", s.addr, id)
	if code != 0 || !strings.Contains(out, "State: TASK_STATE_COMPLETED\n") || !strings.HasSuffix(strings.TrimSpace(out), "\ndone") {
		t.Errorf("after the restart, %d:\n%s%s", code, out, errs)
	}
	s.tell(syscall.SIGTERM)
	if code := s.exit(); code != 0 {
		t.Errorf("it exited with %d", code)
	}
}
