package grpcclient

import (
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/resolver"
)

// channel is a client of grpc-go. There is one, with a pool of connections in it;
// or, for a load-balancing policy that is not ours, as many as the plan has
// connections, each with what connections that policy makes.
type channel struct {
	*grpc.ClientConn
	calls atomic.Int64
}

// openChannels makes them. It connects nothing: grpc.NewClient is lazy.
func (c *core) openChannels() error {
	n := 1
	if !c.balancing.own {
		n = c.sizes.Load().plan.Connections
	}
	options := c.dialOptions()
	for range n {
		cc, err := grpc.NewClient(c.target.raw, options...)
		if err != nil {
			c.closeChannels()
			return fmt.Errorf("grpcclient: %w", err)
		}
		c.channels = append(c.channels, &channel{ClientConn: cc})
	}
	return nil
}

func (c *core) closeChannels() {
	for _, ch := range c.channels {
		ch.Close()
	}
}

// The pauses between dials to an address that fails. grpc-go's defaults grow to two
// minutes, which is long for a service that is back.
const (
	dialPause     = 500 * time.Millisecond
	dialPauseMost = 5 * time.Second
)

// dialOptions are ours around the user's: before theirs what they may change, and
// after theirs what makes this client what it is.
func (c *core) dialOptions() []grpc.DialOption {
	options := []grpc.DialOption{
		grpc.WithResolvers(c.resolvers()...), // the first of a scheme is taken
		grpc.WithKeepaliveParams(c.options.Keepalive),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: dialPause, Multiplier: 1.6, Jitter: 1, MaxDelay: dialPauseMost},
			MinConnectTimeout: longestConnect + reconnectSpread,
		}),
	}
	options = append(options, slices.Clone(c.options.DialOptions)...)
	creds := c.options.Credentials
	if !c.target.brings() {
		creds = &watchedCredentials{TransportCredentials: creds, pool: c.pool}
		options = append(options, grpc.WithContextDialer(newDialer(c).connect), grpc.WithNoProxy(), grpc.WithDisableServiceConfig())
	}
	options = append(options,
		grpc.WithTransportCredentials(creds),
		grpc.WithDefaultServiceConfig(c.balancing.config),
		grpc.WithDisableRetry(),
		grpc.WithIdleTimeout(0),
	)
	if c.options.Diagnostics {
		options = append(options, grpc.WithStatsHandler(&diagnostics{rpc: &c.rpc}))
	}
	return options
}

// resolvers are the user's, each of them watched, and for a scheme that the program
// has registered that one.
func (c *core) resolvers() []resolver.Builder {
	if c.target.brings() {
		return c.options.Resolvers
	}
	var all []resolver.Builder
	for _, b := range c.options.Resolvers {
		all = append(all, watchBuilder(b, c.pool))
	}
	if b := resolver.Get(c.target.scheme); b != nil {
		if isStandard(b) {
			b = &nameBuilder{}
		}
		all = append(all, watchBuilder(b, c.pool))
	}
	return all
}

// channel chooses the one for a call: the one with the fewest.
func (c *core) channel() *channel {
	best := c.channels[0]
	if len(c.channels) == 1 {
		return best
	}
	for _, ch := range c.channels[1:] {
		if ch.calls.Load() < best.calls.Load() {
			best = ch
		}
	}
	return best
}

// cold says whether a call has to wait for a connection first.
func (c *core) cold(ch *channel) bool {
	if c.balancing.own {
		return c.pool.ready.Load() == 0
	}
	return !ch.ready()
}

// connectionsFor is how many there are to each of some servers.
func (c *core) connectionsFor(servers int) int {
	return (c.sizes.Load().plan.Connections-1)/servers + 1
}

// resize has the connections follow the plan.
func (p *pool) resize() {
	p.mu.Lock()
	fillers := slices.Clone(p.fillers)
	p.mu.Unlock()
	for _, f := range fillers {
		f.resize()
	}
}
