package factory

import (
	"context"
	"fmt"
	"time"

	"github.com/offtake-go/offtake"
	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/capacity/contract"
)

// Protocol makes the clients of upstreams that speak something else than HTTP. It
// comes from a package of its own, as grpcfactory.Protocol does, so that a service
// links only the protocols that it speaks. It goes into Options.Protocols.
//
// It is tempting to have that package register itself when it is imported. But a
// blank import says nothing to its reader, and two versions of it would fight over
// one variable.
type Protocol struct {
	// Name is the protocol in the file. Required.
	Name contract.Protocol

	// Configured are the upstreams that the protocol has options for. One that the
	// file does not have is a mistake of [Open].
	Configured []string

	// New makes the client of one upstream. It does no I/O and starts no goroutine.
	// Of the options it takes the registerer and the providers. Required.
	New func(name string, u contract.Upstream, plan capacity.Plan, o Options) (Client, error)
}

// Client is what the factory asks of a client, whatever it speaks. Goroutines
// share it.
type Client interface {
	Warm(ctx context.Context) error
	Resize(plan capacity.Plan) error
	Observe(on bool)
	Shutdown(ctx context.Context) error
	Close() error
	Failures() []offtake.Failure
	State() ClientState
}

// ClientState is a client at one instant, as far as the debug page and the fleet
// want to know it.
type ClientState struct {
	Plan                capacity.Plan
	InFlight, Queued    int
	Observing, Draining bool
	Oldest              time.Duration // age of the oldest connection
}

// importFor says what to write for a protocol that nobody has given.
func importFor(p contract.Protocol) string {
	if p == contract.GRPC {
		return `import "github.com/offtake-go/offtake/factory/grpcfactory" and add grpcfactory.Protocol(nil) to Options.Protocols`
	}
	return "add its Protocol to Options.Protocols"
}

// protocol finds who makes clients of a protocol.
func (o *Options) protocol(name contract.Protocol) (Protocol, error) {
	for _, p := range o.Protocols {
		if p.Name == name {
			return p, nil
		}
	}
	return Protocol{}, fmt.Errorf("it speaks %s, which this program does not link; %s", name, importFor(name))
}
