package measure

import (
	"context"
	"net"

	"golang.org/x/net/dns/dnsmessage"
)

// named makes the process resolve every name to these addresses, in this order,
// until restore is called. A stack has its own way to dial; all of them ask
// net.DefaultResolver.
func named(addresses ...[4]byte) (restore func(), err error) {
	server, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		packet := make([]byte, 1500)
		for {
			n, from, err := server.ReadFrom(packet)
			if err != nil {
				return // it was closed
			}
			if answer, err := answers(packet[:n], addresses); err == nil {
				server.WriteTo(answer, from)
			}
		}
	}()
	before := net.DefaultResolver
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", server.LocalAddr().String())
	}}
	return func() {
		net.DefaultResolver = before
		server.Close()
		<-done
	}, nil
}

// answers makes the answer to a question: addresses of IPv4, and none of IPv6.
func answers(question []byte, addresses [][4]byte) ([]byte, error) {
	var m dnsmessage.Message
	if err := m.Unpack(question); err != nil {
		return nil, err
	}
	m.Response, m.RecursionAvailable, m.Additionals = true, true, nil
	for _, q := range m.Questions {
		if q.Type != dnsmessage.TypeA {
			continue
		}
		for _, a := range addresses {
			m.Answers = append(m.Answers, dnsmessage.Resource{
				Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class, TTL: 60},
				Body:   &dnsmessage.AResource{A: a},
			})
		}
	}
	return m.Pack()
}
