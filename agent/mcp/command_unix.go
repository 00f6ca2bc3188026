//go:build unix

package mcp

import (
	"os/exec"
	"syscall"
)

// ownGroup makes the command the leader of a process group of its own.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	dieWithUs(cmd.SysProcAttr)
}

// terminate asks the command's group to end, kill ends it. An error means that
// nobody is left.
func (p *process) terminate() { syscall.Kill(-p.cmd.Process.Pid, syscall.SIGTERM) }
func (p *process) kill()      { syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) }
