package child

import "syscall"

// dieWithUs has the system kill the command when the thread that starts it ends, as
// it does when this process is killed.
func dieWithUs(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }
