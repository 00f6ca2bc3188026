//go:build unix && !linux

package child

import "syscall"

// dieWithUs does nothing: this system cannot kill the command when this process is killed. The
// command finds its pipes closed.
func dieWithUs(*syscall.SysProcAttr) {}
