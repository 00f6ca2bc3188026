//go:build unix && !linux

package child

import "syscall"

// dieWithUs: nobody ends the command here when we are killed. It finds its pipes
// closed.
func dieWithUs(*syscall.SysProcAttr) {}
