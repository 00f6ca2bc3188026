//go:build unix

package torture

import "syscall"

// pause stops the process in its tracks, as SIGSTOP does, and resume lets it
// go on.
func (s *server) pause() error  { return s.cmd.Process.Signal(syscall.SIGSTOP) }
func (s *server) resume() error { return s.cmd.Process.Signal(syscall.SIGCONT) }
