package httpclient

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"time"

	"github.com/offtake-go/offtake/internal/telemetry"
)

// connectTCP tries the addresses of a name, each within Options.Connect, from
// another one each time, so that connections spread over all.
//
// It is tempting to leave this to net.Dialer. But that divides its timeout among
// the addresses, with 2 s for each at least: with a timeout below that and one
// dead address it never reaches the next.
func (d *dialer) connectTCP(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	addresses, err := d.addresses(ctx, host)
	if err != nil {
		return nil, &dialError{telemetry.DNS, err}
	}
	first := int(d.next.Add(1))
	var errs []error
	for i := range addresses {
		at := addresses[(first+i)%len(addresses)]
		c, err := d.connectOne(ctx, network, net.JoinHostPort(at.Unmap().String(), port))
		if err == nil {
			return c, nil
		}
		errs = append(errs, err)
		if ctx.Err() != nil {
			break
		}
	}
	return nil, &dialError{telemetry.Connect, errors.Join(errs...)}
}

func (d *dialer) connectOne(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := net.Dialer{
		Timeout:         d.core.options.Connect,
		KeepAliveConfig: keepAlive,
		ControlContext:  userTimeout,
	}
	return dialer.DialContext(ctx, network, address)
}

func (d *dialer) addresses(ctx context.Context, host string) ([]netip.Addr, error) {
	if at, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{at}, nil
	}
	d.looking.Add(1)
	defer d.looking.Add(-1)
	addresses, err := d.lookup(ctx, "ip", host)
	if err == nil && len(addresses) == 0 {
		err = &net.DNSError{Err: "no addresses", Name: host, IsNotFound: true}
	}
	return addresses, err
}

// keepAlive finds a dead idle peer within 30 s; the kernel's own default would
// take over two hours, Go's two and a half minutes.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: 15 * time.Second, Interval: 5 * time.Second, Count: 3}

// unacknowledged is the same bound for a peer that is dead with data on its way
// to it: keep-alives do not run then.
const unacknowledged = 30 * time.Second
