package agent

import (
	"errors"
	"os/exec"
	"syscall"
	"unsafe"
)

// startLimited starts a command and caps the address space of each of its processes, in
// bytes. The goroutine must be locked to its thread. The command is traced up to its
// first instruction, where it stops until its limit is set: this needs no shell, and
// the command runs nothing without the limit.
func startLimited(cmd *exec.Cmd, most int64) error {
	cmd.SysProcAttr.Ptrace = true
	if err := cmd.Start(); err != nil {
		return err
	}
	pid := cmd.Process.Pid
	var ws syscall.WaitStatus
	_, err := syscall.Wait4(pid, &ws, 0, nil)
	for err == syscall.EINTR {
		_, err = syscall.Wait4(pid, &ws, 0, nil)
	}
	if err == nil && !ws.Stopped() {
		err = errors.New("agent: the command ended before it began")
	}
	if err == nil {
		err = limitMemory(pid, most)
	}
	if err == nil {
		err = syscall.PtraceDetach(pid)
	}
	if err != nil {
		cmd.Process.Kill()
		cmd.Wait()
	}
	return err
}

func limitMemory(pid int, most int64) error {
	limit := syscall.Rlimit{Cur: uint64(most), Max: uint64(most)}
	_, _, errno := syscall.RawSyscall6(syscall.SYS_PRLIMIT64, uintptr(pid), syscall.RLIMIT_AS, uintptr(unsafe.Pointer(&limit)), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}
