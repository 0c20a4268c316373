package ot501

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"time"
)

func dial(addr string) {
	net.Dial("tcp", addr)             // want `OT501: net.Dial has no timeout: a lost SYN blocks for minutes`
	tls.Dial("tcp4", addr, nil)       // want `OT501: tls.Dial has no timeout`
	new(net.Dialer).Dial("tcp", addr) // want `OT501: net.Dialer.Dial without Timeout`
	(&net.Dialer{}).Dial("tcp", addr) // want `OT501: net.Dialer.Dial without Timeout has no timeout`
}

func resolved(addr *net.TCPAddr) {
	net.DialTCP("tcp", nil, addr) // want `OT501: net.DialTCP has no timeout`
}

func unix() { net.Dial("unix", "/run/peer.sock") }

func udp(addr string) { net.Dial("udp", addr) }

func loopback(port int) {
	net.Dial("tcp", "localhost:80")
	net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	net.Dial("tcp", net.JoinHostPort("localhost", "80"))
}

func ownListener(l net.Listener) { net.Dial("tcp", l.Addr().String()) }

func timeout(addr string) { net.DialTimeout("tcp", addr, time.Second) }

func dialer(addr string) { (&net.Dialer{Timeout: time.Second}).Dial("tcp", addr) }

func dialerLater(addr string) {
	var d net.Dialer
	d.Timeout = time.Second
	d.Dial("tcp", addr)
}

func dialerGiven(d *net.Dialer, addr string) { d.Dial("tcp", addr) }

func withContext(ctx context.Context, addr string) {
	var d net.Dialer
	d.DialContext(ctx, "tcp", addr)
}

func networkUnknown(network, addr string) { net.Dial(network, addr) }

type proxy struct{}

func (proxy) Dial(network, addr string) (net.Conn, error) { return nil, nil }

func notNet(p proxy, addr string) { p.Dial("tcp", addr) }

func listen(addr string) { net.Listen("tcp", addr) }

func value() func(string, string) (net.Conn, error) { return net.Dial }

func loopbackTCP(port int) {
	net.DialTCP("tcp", nil, &net.TCPAddr{IP: net.IP{127, 0, 0, 1}, Port: port})
	net.DialTCP("tcp", nil, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port})
	net.DialTCP("tcp", nil, &net.TCPAddr{IP: net.ParseIP("127.0.0.1"), Port: port})
	net.DialTCP("tcp", nil, &net.TCPAddr{Port: port})
}
