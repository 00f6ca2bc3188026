//go:build unix

package child

import (
	"os/exec"
	"syscall"
)

// ownGroup makes the command the leader of a process group of its own, which ends
// with us where the system can see to it.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	dieWithUs(cmd.SysProcAttr)
}

// Terminate asks the command's process group to end.
func (p *Process) Terminate() { p.signal(syscall.SIGTERM) }

// Kill ends the command's process group.
func (p *Process) Kill() { p.signal(syscall.SIGKILL) }

// signal reaches what is left of the group, also when its leader has ended.
// The group's number is the leader's and is free once both are gone, but only
// comes round again after all other numbers: not in the moment between the
// leader's end and the signals that follow it.
func (p *Process) signal(s syscall.Signal) {
	syscall.Kill(-p.cmd.Process.Pid, s) // an error means that nobody is left
}
