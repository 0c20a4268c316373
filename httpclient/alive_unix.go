//go:build unix

package httpclient

import (
	"crypto/tls"
	"errors"
	"net"
	"syscall"
	"time"
)

// alive looks whether the peer of an unused connection has closed it.
//
// After a handshake of TLS 1.3 the server's session tickets lie unread, and an
// end behind them can't be seen: they are read first, by a read that has next to
// no time. It is no failure for crypto/tls to run out of it.
func alive(c net.Conn) bool {
	ours := ourConn(c)
	if ours == nil {
		return true
	}
	for range 4 {
		switch pending, open := peek(ours.Conn); {
		case !open:
			return false
		case !pending:
			return true
		}
		t, ok := c.(*tls.Conn)
		if !ok {
			return false // nobody has asked for anything yet
		}
		_ = t.SetReadDeadline(time.Now().Add(time.Millisecond)) // if it fails, so does the read
		n, err := t.Read(make([]byte, 1))
		_ = t.SetReadDeadline(time.Time{})
		if timeout, ok := errors.AsType[net.Error](err); n > 0 || !ok || !timeout.Timeout() {
			return false
		}
	}
	return false
}

// peek says whether bytes wait to be read, and whether the peer is still there.
// What is no socket is taken as alive.
func peek(c net.Conn) (pending, open bool) {
	s, ok := c.(syscall.Conn)
	if !ok {
		return false, true
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return false, false
	}
	open = true
	err = raw.Read(func(fd uintptr) bool {
		var one [1]byte
		n, _, err := syscall.Recvfrom(int(fd), one[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		pending = n > 0
		open = n > 0 || err == syscall.EAGAIN || err == syscall.EINTR
		return true
	})
	return pending, open && err == nil
}
