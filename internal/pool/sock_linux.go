package pool

import (
	"context"
	"syscall"
)

// tcpUserTimeout is TCP_USER_TIMEOUT of linux/tcp.h; package syscall lacks it.
const tcpUserTimeout = 18

// userTimeout bounds how long sent data may stay without an answer from the
// peer's kernel; by default Linux sends again for a quarter of an hour. A socket
// that knows no such option is used as it is.
func userTimeout(_ context.Context, _, _ string, raw syscall.RawConn) error {
	return raw.Control(func(fd uintptr) {
		_ = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout, int(unacknowledged.Milliseconds()))
	})
}
