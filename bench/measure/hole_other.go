//go:build !linux

package measure

import (
	"errors"
	"fmt"
	"net"
)

// hole is an address that swallows connections. Making one needs to know what the
// kernel does when the queue of a listener is full, and all of 127.0.0.0/8.
type hole struct{ port int }

func dig(byte, int) (*hole, error) {
	return nil, fmt.Errorf("hole: not on this system: %w", errors.ErrUnsupported)
}

func (*hole) fill() (net.Listener, error) { return nil, errors.ErrUnsupported }
func (*hole) close()                      {}
func (*hole) hanging() (int, error)       { return 0, errors.ErrUnsupported }
