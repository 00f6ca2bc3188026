//go:build unix

package agent

import (
	"os"
	"os/exec"
	"syscall"
)

// ownGroup makes the command the leader of a process group of its own, which ends
// with us where the system can see to it.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	dieWithUs(cmd.SysProcAttr)
}

// openWithoutWait opens what may be a pipe that nobody writes to.
const openWithoutWait = syscall.O_NONBLOCK

// readNow reads what is in a pipe, without waiting.
func readNow(f *os.File, buf []byte) (n int) {
	conn, err := f.SyscallConn()
	if err != nil {
		return 0
	}
	conn.Read(func(fd uintptr) bool {
		for n, err = syscall.Read(int(fd), buf); err == syscall.EINTR; {
			n, err = syscall.Read(int(fd), buf)
		}
		return true
	})
	return n
}

// terminate asks the command's process group to end.
func (p *process) terminate() { p.signal(syscall.SIGTERM) }

// kill ends the command's process group.
func (p *process) kill() { p.signal(syscall.SIGKILL) }

// signal reaches what is left of the group, also when its leader has ended.
// The group's number is the leader's and is free once both are gone, but only
// comes round again after all other numbers: not in the moment between the
// leader's end and the signals that follow it.
func (p *process) signal(s syscall.Signal) {
	syscall.Kill(-p.cmd.Process.Pid, s) // an error means that nobody is left
}

func signalName(st *os.ProcessState) string {
	if ws, ok := st.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return ws.Signal().String()
	}
	return "unknown"
}
