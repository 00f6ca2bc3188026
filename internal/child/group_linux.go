package child

import "syscall"

// dieWithUs makes the system kill the command when the thread that starts it ends, as happens
// when this process is killed.
func dieWithUs(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }
