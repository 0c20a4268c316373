package fleet

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"

	"github.com/offtake-go/offtake/capacity"
)

// NewDNS returns a source that counts the addresses of host, the name of a headless
// Service that selects this fleet. End it with a dot, as in
// "checkout.shop.svc.cluster.local.", to ask once and not for every search domain.
//
// A replica has more than its floor only while its own address is in the answer:
// the others can not leave room for one they do not see. State
// publishNotReadyAddresses in the Service, or a new replica counts only from when
// it is ready on.
//
// Of a name with both families of addresses the larger family counts: a replica
// has one of each.
func NewDNS(host string, whole capacity.Plan, maxReplicas int, options *Options) (*Counted, error) {
	o, _ := options.resolve() // NewCounted says what is wrong
	d := lookup{host: host, resolver: o.Resolver, self: o.Self}
	c, err := NewCounted(d.count, whole, maxReplicas, options)
	if host == "" {
		err = errors.Join(errors.New(`fleet: host: it is empty; a headless Service's name, like "checkout.shop.svc.cluster.local.", would do`), err)
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}

type lookup struct {
	host     string
	resolver *net.Resolver
	self     []netip.Addr
}

// count asks once. A name that does not exist is an error, and not a count of none:
// this replica exists.
func (l lookup) count(ctx context.Context) (Count, error) {
	found, err := l.resolver.LookupNetIP(ctx, "ip", l.host)
	if err != nil {
		return Count{}, fmt.Errorf("fleet: count the addresses of %s: %w", l.host, err)
	}
	self := l.self
	if len(self) == 0 {
		if self, err = interfaceAddrs(); err != nil {
			return Count{}, fmt.Errorf("fleet: read the addresses of this machine: %w", err)
		}
	}
	for i, a := range found {
		found[i] = a.Unmap().WithZone("")
	}
	slices.SortFunc(found, netip.Addr.Compare)
	found = slices.Compact(found)
	four := 0
	for _, a := range found {
		if a.Is4() {
			four++
		}
	}
	return Count{
		Replicas: max(four, len(found)-four),
		Self:     slices.ContainsFunc(self, func(a netip.Addr) bool { return slices.Contains(found, a.Unmap()) }),
	}, nil
}

// interfaceAddrs are asked for anew each time: interfaces come and go too.
func interfaceAddrs() ([]netip.Addr, error) {
	all, err := net.InterfaceAddrs()
	if err != nil {
		return nil, err
	}
	var addrs []netip.Addr
	for _, a := range all {
		if prefix, err := netip.ParsePrefix(a.String()); err == nil {
			addrs = append(addrs, prefix.Addr().Unmap())
		}
	}
	return addrs, nil
}
