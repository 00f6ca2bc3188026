//go:build unix

package agent

import (
	"os"
	"syscall"
)

// openWithoutWait keeps open from blocking on a pipe without a writer.
const openWithoutWait = syscall.O_NONBLOCK

func signalName(st *os.ProcessState) string {
	if ws, ok := st.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return ws.Signal().String()
	}
	return "unknown"
}
