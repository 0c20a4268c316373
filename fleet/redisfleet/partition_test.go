package redisfleet

import (
	"io"
	"net"
	"sync"
	"testing"
)

// link is the way of one worker to the store, which can be cut.
type link struct {
	net.Listener
	store string

	mu    sync.Mutex
	clear chan struct{} // closed while bytes may pass
	conns map[net.Conn]bool
}

func newLink(t *testing.T, socket, store string) *link {
	t.Helper()
	l := &link{Listener: listen(t, socket), store: store, clear: make(chan struct{}), conns: map[net.Conn]bool{}}
	close(l.clear)
	var passing sync.WaitGroup
	passing.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			passing.Go(func() { l.pass(&passing, conn) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		l.mend()
		l.drop()
		passing.Wait()
	})
	return l
}

// cut lets nothing pass from now on. What is under way arrives when the link is
// mended.
func (l *link) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.clear = make(chan struct{})
}

func (l *link) mend() {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.clear:
	default:
		close(l.clear)
	}
}

// drop closes all connections.
func (l *link) drop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for conn := range l.conns {
		conn.Close()
	}
}

func (l *link) pass(passing *sync.WaitGroup, near net.Conn) {
	defer near.Close()
	<-l.way()
	var d net.Dialer
	far, err := d.Dial("unix", l.store)
	if err != nil {
		return
	}
	defer far.Close()
	l.keep(near, far, true)
	defer l.keep(near, far, false)
	passing.Go(func() {
		l.copy(far, near)
		far.Close()
	})
	l.copy(near, far)
}

func (l *link) keep(near, far net.Conn, keep bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, conn := range []net.Conn{near, far} {
		if keep {
			l.conns[conn] = true
		} else {
			delete(l.conns, conn)
		}
	}
}

func (l *link) way() chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.clear
}

func (l *link) copy(to io.Writer, from io.Reader) {
	buf := make([]byte, 4096)
	for {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		<-l.way()
		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
	}
}
