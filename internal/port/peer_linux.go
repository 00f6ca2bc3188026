package port

import (
	"net"
	"syscall"
)

// mostUnsent is how many unsent bytes of a connection the system accepts. Otherwise it
// accepts up to 4 MB from a writer whose peer does not read.
const mostUnsent = 128 << 10

const tcpNotSentLowat = 25 // linux/tcp.h; package syscall does not have it

// keepLittleUnsent makes writes wait while mostUnsent bytes are unsent. Bytes on their
// way to the peer do not count, so that a fast connection stays fast.
func keepLittleUnsent(c net.Conn) {
	t, ok := c.(*net.TCPConn)
	if !ok {
		return
	}
	if raw, err := t.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { // without it, more memory is taken
			_ = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpNotSentLowat, mostUnsent)
		})
	}
}
