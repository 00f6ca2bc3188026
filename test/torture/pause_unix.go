//go:build unix

package torture

import (
	"os"
	"syscall"
)

// pause stops the process in its tracks, as SIGSTOP does, and resume lets it
// go on.
func (s *server) pause() error  { return freeze(s.cmd.Process) }
func (s *server) resume() error { return s.cmd.Process.Signal(syscall.SIGCONT) }

func freeze(p *os.Process) error { return p.Signal(syscall.SIGSTOP) }
