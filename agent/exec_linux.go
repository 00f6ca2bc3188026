package agent

import (
	"syscall"
	"unsafe"
)

// dieWithUs has the system kill the command when the thread that starts it ends, as
// it does when this process is killed.
func dieWithUs(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }

const limitsMemory = true

// limitMemory caps the address space of a process, and of what it starts from then
// on. prlimit(2) does it from outside, with no shell in between.
func limitMemory(pid int, most int64) error {
	limit := syscall.Rlimit{Cur: uint64(most), Max: uint64(most)}
	_, _, errno := syscall.RawSyscall6(syscall.SYS_PRLIMIT64, uintptr(pid), syscall.RLIMIT_AS, uintptr(unsafe.Pointer(&limit)), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}
