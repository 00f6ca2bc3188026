//go:build unix

package child

import (
	"os/exec"
	"syscall"
)

// ownGroup makes the command the leader of a process group of its own, which ends with this
// process if the system supports it.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	dieWithUs(cmd.SysProcAttr)
}

// Terminate asks the command's process group to end.
func (p *Process) Terminate() { p.signal(syscall.SIGTERM) }

// Kill ends the command's process group.
func (p *Process) Kill() { p.signal(syscall.SIGKILL) }

// signal reaches the rest of the group even if its leader has ended. The group's number is that
// of the leader, and is free once both have ended, but the system only reuses it after all
// other numbers, so not in the moment between the leader's end and the signals that follow it.
func (p *Process) signal(s syscall.Signal) {
	syscall.Kill(-p.cmd.Process.Pid, s) // an error means that the group is empty
}
