// Package loopback finds addresses for tests in which somebody listens later.
package loopback

import (
	"fmt"
	"math/rand/v2"
	"net"
	"sync/atomic"
	"testing"
)

// A system gives ports from 32768 on (Linux) or from 49152 on (others) to whoever
// asks for any. Nobody gets one of these meanwhile, and a dial to one on which
// nobody listens yet can't be connected to itself.
const first, ports = 20_000, 10_000

// given counts the ports that this process was given or found taken. Processes that
// test at the same time begin at different ones.
var given atomic.Uint32

func init() { given.Store(rand.Uint32N(ports)) }

// Free returns a TCP address on which nobody listens: another one each time.
func Free(t testing.TB) string {
	t.Helper()
	for range ports {
		address := fmt.Sprintf("127.0.0.1:%d", first+given.Add(1)%ports)
		if l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", address); err == nil {
			l.Close()
			return address
		}
	}
	t.Fatalf("loopback: all ports from %d to %d are taken", first, first+ports-1)
	return ""
}
