package grpcclient

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"reflect"
	"strconv"
	"time"

	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/dns"

	"github.com/offtake-go/offtake/internal/backoff"
)

// nameBuilder resolves names by DNS, in the place of grpc-go's resolver, which looks a
// name up every 30 s at the most (a variable of the whole program): for so long nobody
// would know of the servers that have replaced those that are gone.
type nameBuilder struct {
	lookup func(ctx context.Context, host string) ([]string, error) // nil is by the target's authority
}

// isStandard says whether a builder is grpc-go's own: a program may have registered
// another one for the scheme.
func isStandard(b resolver.Builder) bool {
	return reflect.TypeOf(b) == reflect.TypeOf(dns.NewBuilder()) //nolint:staticcheck // resolver.Get would find the one that is registered
}

// Scheme implements resolver.Builder.
func (*nameBuilder) Scheme() string { return defaultScheme }

// Build implements resolver.Builder.
func (b *nameBuilder) Build(target resolver.Target, cc resolver.ClientConn, _ resolver.BuildOptions) (resolver.Resolver, error) {
	host, port, err := splitEndpoint(target.Endpoint())
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	n := &lookups{cc: cc, host: host, port: strconv.Itoa(port), lookup: b.lookup, cancel: cancel, again: make(chan struct{}, 1), done: make(chan struct{})}
	if n.lookup == nil {
		n.lookup = lookupBy(target.URL.Host)
	}
	if isIP(host) {
		n.lookup = nil
		close(n.done)
		return n, cc.UpdateState(n.state([]string{host}))
	}
	go n.run(ctx)
	return n, nil
}

// lookupBy asks the system, or the server that a target like "dns://10.0.0.53/orders"
// names.
func lookupBy(authority string) func(context.Context, string) ([]string, error) {
	if authority == "" {
		return net.DefaultResolver.LookupHost
	}
	if _, _, err := net.SplitHostPort(authority); err != nil {
		authority = net.JoinHostPort(authority, "53")
	}
	r := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, network, authority)
	}}
	return r.LookupHost
}

const (
	lookupSpread  = time.Second      // between two lookups at least, and a quarter more at random
	lookupTimeout = 10 * time.Second // of one: twice the 5 s that a resolver gives a server
)

// lookupPause is between lookups that fail.
var lookupPause = backoff.Exponential{Base: time.Second, Cap: 30 * time.Second}

// lookups are those of one name. Their goroutine ends with Close.
type lookups struct {
	cc         resolver.ClientConn
	host, port string
	lookup     func(ctx context.Context, host string) ([]string, error)
	cancel     context.CancelFunc
	again      chan struct{}
	done       chan struct{}
}

// ResolveNow implements resolver.Resolver: it is called when a connection is lost or
// can't be made, and once in MaxAge.
func (n *lookups) ResolveNow(resolver.ResolveNowOptions) {
	select {
	case n.again <- struct{}{}:
	default:
	}
}

// Close implements resolver.Resolver.
func (n *lookups) Close() {
	n.cancel()
	<-n.done
}

// run looks the name up when it is asked to, and after a failure also by itself.
func (n *lookups) run(ctx context.Context) {
	defer close(n.done)
	for failures := 0; ; {
		if err := n.resolve(ctx); err != nil {
			failures++
		} else {
			failures = 0
		}
		if backoff.Sleep(ctx, lookupSpread+rand.N(lookupSpread/4)) != nil {
			return
		}
		var retry <-chan time.Time
		if failures > 0 {
			retry = time.After(lookupPause.Pause(failures))
		}
		select {
		case <-n.again:
		case <-retry:
		case <-ctx.Done():
			return
		}
	}
}

// resolve looks the name up once. An error, and an empty answer, change nothing for
// addresses that are known.
func (n *lookups) resolve(ctx context.Context) error {
	within, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	addresses, err := n.lookup(within, n.host)
	if err == nil && len(addresses) == 0 {
		err = errNoAddresses
	}
	if ctx.Err() != nil {
		return errors.Join(err, ctx.Err())
	}
	if err != nil {
		n.cc.ReportError(fmt.Errorf("dns: %w", err))
		return err
	}
	return n.cc.UpdateState(n.state(addresses))
}

// state has each address as a server of its own, in the resolver's order.
func (n *lookups) state(addresses []string) resolver.State {
	var s resolver.State
	for _, a := range addresses {
		at := []resolver.Address{{Addr: net.JoinHostPort(a, n.port)}}
		s.Addresses = append(s.Addresses, at...)
		s.Endpoints = append(s.Endpoints, resolver.Endpoint{Addresses: at})
	}
	return s
}
