package mcp

import "syscall"

// dieWithUs has the system kill the command when the thread that started it ends,
// as it does when this process is killed.
func dieWithUs(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }
