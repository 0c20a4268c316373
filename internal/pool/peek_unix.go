//go:build unix

package pool

import (
	"net"
	"syscall"
)

// peeker looks whether bytes wait on a socket, or its end, without taking them. The
// connection's own reader may be waiting for them meanwhile. It is used by whoever
// has the connection to itself.
type peeker struct {
	raw           syscall.RawConn // nil for what is no socket
	control       func(fd uintptr)
	pending, open bool
}

func (k *peeker) init(c net.Conn) {
	if s, ok := c.(syscall.Conn); ok {
		if raw, err := s.SyscallConn(); err == nil {
			k.raw, k.control = raw, k.recv
		}
	}
}

func (k *peeker) recv(fd uintptr) {
	var one [1]byte
	n, _, err := syscall.Recvfrom(int(fd), one[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
	k.pending = n > 0
	k.open = n > 0 || err == syscall.EAGAIN || err == syscall.EINTR
}

func (k *peeker) look() (pending, open bool) {
	if k.raw == nil {
		return false, true
	}
	if err := k.raw.Control(k.control); err != nil {
		return false, false
	}
	return k.pending, k.open
}
