//go:build !linux

package pool

import (
	"context"
	"syscall"
)

// userTimeout does nothing: only Linux has the option.
func userTimeout(context.Context, string, string, syscall.RawConn) error { return nil }
