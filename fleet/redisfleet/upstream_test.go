package redisfleet

import (
	"bufio"
	"fmt"
	"net"
	"sync"
	"testing"
)

// upstream counts the places in use, knowing nothing of shares: one for each
// connection that has said whose it is and is not done.
type upstream struct {
	net.Listener

	mu    sync.Mutex
	inUse map[string]int
	sum   int
	most  int
	calls int
}

func newUpstream(t *testing.T, socket string) *upstream {
	t.Helper()
	u := &upstream{Listener: listen(t, socket), inUse: map[string]int{}}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := u.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { u.serve(conn) })
		}
	})
	t.Cleanup(func() {
		u.Close()
		serving.Wait()
	})
	return u
}

// serve counts one call. A process that dies closes its connections with that.
func (u *upstream) serve(conn net.Conn) {
	defer conn.Close()
	lines := bufio.NewScanner(conn)
	if !lines.Scan() {
		return
	}
	name := lines.Text()
	u.add(name, 1)
	fmt.Fprintln(conn, "in")
	lines.Scan()
	u.add(name, -1)
	fmt.Fprintln(conn, "done")
}

func (u *upstream) add(name string, n int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.inUse[name] += n
	u.sum += n
	u.calls += max(n, 0)
	u.most = max(u.most, u.sum)
}

// of is the places in use by some.
func (u *upstream) of(workers ...*process) int {
	u.mu.Lock()
	defer u.mu.Unlock()
	sum := 0
	for _, w := range workers {
		sum += u.inUse[w.name]
	}
	return sum
}

func listen(t *testing.T, socket string) net.Listener {
	t.Helper()
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	return l
}
