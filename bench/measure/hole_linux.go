package measure

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"time"
)

// hole is an address of this machine that takes connections in and answers
// nothing, not even their SYN: the queue of its listener is full. The kernel sends
// a SYN again after 1 s, and again, as to any dead address.
type hole struct {
	fd     int
	port   int
	stuffs []net.Conn // that fill the queue
}

// dig makes a hole at 127.0.0.last, at a port of its own if that is 0.
func dig(last byte, port int) (*hole, error) {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC|syscall.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("hole: socket: %w", err)
	}
	h := &hole{fd: fd}
	address := &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, last}, Port: port}
	if err := syscall.Bind(fd, address); err != nil {
		h.close()
		return nil, fmt.Errorf("hole: bind: %w", err)
	}
	if err := syscall.Listen(fd, 0); err != nil {
		h.close()
		return nil, fmt.Errorf("hole: listen: %w", err)
	}
	bound, err := syscall.Getsockname(fd)
	if err != nil {
		h.close()
		return nil, fmt.Errorf("hole: name: %w", err)
	}
	h.port = bound.(*syscall.SockaddrInet4).Port
	for range 64 {
		if c, err := net.DialTimeout("tcp", fmt.Sprintf("127.0.0.%d:%d", last, h.port), 200*time.Millisecond); err == nil {
			h.stuffs = append(h.stuffs, c)
			continue
		}
		return h, nil // it is full
	}
	defer h.close()
	return nil, fmt.Errorf("hole: its queue took %d connections and is not full", len(h.stuffs))
}

// fill makes a listener of it that works.
func (h *hole) fill() (net.Listener, error) {
	h.unstuff()
	if err := syscall.Listen(h.fd, syscall.SOMAXCONN); err != nil {
		return nil, fmt.Errorf("hole: listen: %w", err)
	}
	f := os.NewFile(uintptr(h.fd), "hole")
	h.fd = -1
	defer f.Close() // the listener has a copy
	return net.FileListener(f)
}

func (h *hole) unstuff() {
	for _, c := range h.stuffs {
		c.Close()
	}
	h.stuffs = nil
}

func (h *hole) close() {
	h.unstuff()
	if h.fd >= 0 {
		syscall.Close(h.fd)
		h.fd = -1
	}
}

// hanging counts the dials to the hole that have no answer, by the kernel's word.
func (h *hole) hanging() (int, error) {
	f, err := os.Open("/proc/net/tcp")
	if err != nil {
		return 0, err
	}
	defer f.Close()
	const synSent = "02"
	n, to := 0, fmt.Sprintf(":%04X", h.port)
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		fields := strings.Fields(lines.Text()) // number, local, remote, state
		if len(fields) > 3 && strings.HasSuffix(fields[2], to) && fields[3] == synSent {
			n++
		}
	}
	return n, lines.Err()
}
