//go:build unix

package agent

import (
	"os"
	"syscall"
)

// openWithoutWait keeps open from blocking on a pipe without a writer.
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

func signalName(st *os.ProcessState) string {
	if ws, ok := st.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return ws.Signal().String()
	}
	return "unknown"
}
