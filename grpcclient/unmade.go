package grpcclient

import (
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// errUnmade is what a Conn answers that New has not made.
var errUnmade = status.Error(codes.FailedPrecondition, "grpcclient: nil or zero Conn; make one with New")

// alive returns what is behind the connection, unless New has not made it: a
// connection is often a field that somebody forgot to set, and a panic in the middle
// of a call says less about it.
func (c *Conn) alive() (*core, error) {
	if c == nil || c.core == nil {
		return nil, errUnmade
	}
	return c.core, nil
}
