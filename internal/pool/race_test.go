package pool

import (
	"fmt"
	"net/http"
	"net/netip"
	"reflect"
	"testing"
	"time"
)

func bare(t *testing.T) *Pool {
	t.Helper()
	p := New(Options{
		Scheme: "http", Hosts: []string{"a"}, Address: func(string) string { return "a:80" }, Connect: time.Second, Idle: time.Minute, MaxAge: time.Hour,
		Maker: func(*http.Protocols) *http.Transport { return new(http.Transport) }, Events: new(told),
	}, Sizes{Connections: 10})
	t.Cleanup(p.Close)
	return p
}

func ports(at ...string) (all []netip.AddrPort) {
	for _, a := range at {
		all = append(all, netip.AddrPortFrom(netip.MustParseAddr(a), 80))
	}
	return all
}

func TestAddressesAreTriedInTheResolversOrderWithTheFamiliesInTurn(t *testing.T) {
	for _, tt := range []struct{ resolved, failed, want []netip.AddrPort }{
		{ports("10.0.0.1", "10.0.0.2"), nil, ports("10.0.0.1", "10.0.0.2")},
		{ports("2001:db8::1", "2001:db8::2", "10.0.0.1", "10.0.0.2"), nil, ports("2001:db8::1", "10.0.0.1", "2001:db8::2", "10.0.0.2")},
		{ports("10.0.0.1", "2001:db8::1", "2001:db8::2"), nil, ports("10.0.0.1", "2001:db8::1", "2001:db8::2")},
		{ports("2001:db8::1", "10.0.0.1"), ports("2001:db8::1"), ports("10.0.0.1", "2001:db8::1")},
		{ports("10.0.0.1", "10.0.0.2", "10.0.0.3"), ports("10.0.0.1"), ports("10.0.0.2", "10.0.0.3", "10.0.0.1")},
		{ports("10.0.0.1", "10.0.0.2"), ports("10.0.0.1", "10.0.0.2"), ports("10.0.0.1", "10.0.0.2")},
	} {
		p := bare(t)
		for _, at := range tt.failed {
			p.remember(at, false)
		}
		got, over := p.order(p.hosts["a"], tt.resolved)
		over()
		if !reflect.DeepEqual(got, tt.want) {
			t.Errorf("order(%v) after failures of %v = %v, want %v", tt.resolved, tt.failed, got, tt.want)
		}
		for _, at := range tt.failed {
			p.remember(at, true)
		}
		if len(p.failed) != 0 {
			t.Errorf("failures remembered after successes = %d, want 0", len(p.failed))
		}
	}
}

func TestDialsAtTheSameTimeBeginWithDifferentAddresses(t *testing.T) {
	p := bare(t)
	all := ports("10.0.0.1", "10.0.0.2", "10.0.0.3")
	first := make(map[netip.AddrPort]int)
	for range 9 {
		order, over := p.order(p.hosts["a"], all)
		defer over()
		first[order[0]]++
	}
	for _, at := range all {
		if first[at] != 3 {
			t.Errorf("dials that begin with %v = %d of 9, want 3", at, first[at])
		}
	}
}

func TestTheMemoryOfFailuresIsBounded(t *testing.T) {
	p := bare(t)
	for i := range 5 * mostAddresses {
		p.remember(netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}), 80), false)
	}
	if got := len(p.failed); got > mostAddresses {
		t.Errorf("failures remembered = %d, want %d at the most", got, mostAddresses)
	}
}

func TestAnErrorOfManyAddressesIsShort(t *testing.T) {
	var failed []tried
	for i := range 10 {
		failed = append(failed, tried{err: fmt.Errorf("dial tcp 10.0.0.%d:80: connection refused", i)})
	}
	want := "dial tcp 10.0.0.0:80: connection refused; dial tcp 10.0.0.1:80: connection refused (10 of 1000 addresses were tried)"
	if got := noneOf(1000, failed).Error(); got != want {
		t.Errorf("noneOf(1000, 10 failures) = %q, want %q", got, want)
	}
}
