package fleet

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"github.com/offtake-go/offtake/capacity"
)

// nameServer answers every question over UDP with the addresses it has now, or
// that there is no such name if it has none.
type nameServer struct {
	net.PacketConn
	mu    sync.Mutex
	addrs []netip.Addr
}

func newNameServer(t *testing.T) *nameServer {
	t.Helper()
	var lc net.ListenConfig
	conn, err := lc.ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &nameServer{PacketConn: conn}
	var serving sync.WaitGroup
	serving.Go(s.serve)
	t.Cleanup(func() {
		conn.Close()
		serving.Wait()
	})
	return s
}

func (s *nameServer) set(addrs ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.addrs = nil
	for _, a := range addrs {
		s.addrs = append(s.addrs, netip.MustParseAddr(a))
	}
}

func (s *nameServer) serve() {
	buf := make([]byte, 1500)
	for {
		n, from, err := s.ReadFrom(buf)
		if err != nil {
			return
		}
		if reply := s.answer(buf[:n]); reply != nil {
			s.WriteTo(reply, from)
		}
	}
}

// answer is RFC 1035, section 4, as far as one question needs it.
func (s *nameServer) answer(query []byte) []byte {
	end := 12
	for end < len(query) && query[end] != 0 {
		end += 1 + int(query[end])
	}
	end += 5
	if end > len(query) {
		return nil
	}
	kind := binary.BigEndian.Uint16(query[end-4:])
	s.mu.Lock()
	defer s.mu.Unlock()
	var records []byte
	count := uint16(0)
	for _, a := range s.addrs {
		if (kind == 1) != a.Is4() {
			continue
		}
		count++
		records = append(records, 0xc0, 12) // the name of the question
		records = binary.BigEndian.AppendUint16(records, kind)
		records = append(records, 0, 1, 0, 0, 0, 5) // IN, 5 s
		records = binary.BigEndian.AppendUint16(records, uint16(a.BitLen()/8))
		records = append(records, a.AsSlice()...)
	}
	flags := uint16(0x8580) // a response, authoritative, recursion wanted and had
	if len(s.addrs) == 0 {
		flags |= 3 // no such name
	}
	reply := append([]byte{}, query[:2]...)
	for _, field := range []uint16{flags, 1, count, 0, 0} {
		reply = binary.BigEndian.AppendUint16(reply, field)
	}
	return append(append(reply, query[12:end]...), records...)
}

func (s *nameServer) resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "udp", s.LocalAddr().String())
	}}
}

func TestDNSCountsReplicasOnceInWhateverFamily(t *testing.T) {
	s := newNameServer(t)
	for _, c := range []struct {
		name  string
		addrs []string
		want  Count
	}{
		{"IPv4", []string{"10.0.0.1", "10.0.0.2", "10.0.0.7"}, Count{3, true}},
		{"both families", []string{"10.0.0.1", "10.0.0.7", "fd00::1", "fd00::7"}, Count{2, true}},
		{"IPv6, one not up in IPv4 yet", []string{"10.0.0.1", "fd00::1", "fd00::7"}, Count{2, true}},
		{"this one missing", []string{"10.0.0.1", "10.0.0.2"}, Count{2, false}},
		{"the same twice", []string{"10.0.0.7", "10.0.0.7"}, Count{1, true}},
	} {
		s.set(c.addrs...)
		l := lookup{host: "checkout.test.", resolver: s.resolver(), self: []netip.Addr{netip.MustParseAddr("10.0.0.7"), netip.MustParseAddr("fd00::7")}}
		if got, err := l.count(t.Context()); err != nil || got != c.want {
			t.Errorf("count(%s) = %+v, %v, want %+v", c.name, got, err, c.want)
		}
	}
}

func TestDNSFindsItselfByItsInterfaces(t *testing.T) {
	s := newNameServer(t)
	s.set("192.0.2.1", "127.0.0.1")
	l := lookup{host: "checkout.test.", resolver: s.resolver()}
	if got, err := l.count(t.Context()); err != nil || got != (Count{2, true}) {
		t.Errorf("count() = %+v, %v, want 2 with this one", got, err)
	}
}

func TestANameThatIsGoneIsAnErrorAndNotACount(t *testing.T) {
	s := newNameServer(t)
	l := lookup{host: "checkout.test.", resolver: s.resolver()}
	_, err := l.count(t.Context())
	if notFound, ok := errors.AsType[*net.DNSError](err); !ok || !notFound.IsNotFound || !strings.Contains(err.Error(), "checkout.test.") {
		t.Errorf("count(no such name) = %v, want one that says so", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.count(ctx); err == nil {
		t.Error("count(canceled) = nil, want an error")
	}
}

func TestNewDNSFollowsTheAnswers(t *testing.T) {
	s := newNameServer(t)
	s.set("127.0.0.1", "192.0.2.1")
	source, err := NewDNS("checkout.test.", capacity.Plan{InFlight: 200, Deadline: 10 * leastInterval}, 12,
		&Options{Interval: leastInterval, Lag: leastInterval, Grace: leastInterval, Resolver: s.resolver()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	places := make(chan int, 100)
	done := make(chan error, 1)
	go func() {
		done <- source.Follow(ctx, func(p capacity.Plan) error {
			places <- p.InFlight
			return nil
		}, nil)
	}()
	// On a machine that stalls the count may be lost for a while, so wait for it.
	until := func(want int) {
		for got := range places {
			if got == want {
				return
			}
		}
	}
	until(4 + 152/2)
	s.set("127.0.0.1", "192.0.2.1", "192.0.2.2", "192.0.2.3")
	until(4 + 152/4)
	cancel()
	until(4)
	if err := <-done; err != context.Canceled {
		t.Errorf("Follow(canceled) = %v, want %v", err, context.Canceled)
	}
}
