package grpcfactory

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/grpc/credentials/insecure"

	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/capacity/contract"
	"github.com/offtake-go/offtake/factory"
	"github.com/offtake-go/offtake/grpcclient"
)

// Protocol makes the clients of gRPC upstreams, for factory.Options.Protocols.
// Clients are further options for single upstreams, by name; nil is none. Name,
// Registerer and the providers are set here for all. A target of grpc:// is called in
// plaintext, and one of grpcs:// or without a scheme over TLS, unless an option has
// other Credentials.
func Protocol(clients map[string]grpcclient.Options) factory.Protocol {
	return factory.Protocol{
		Name:       contract.GRPC,
		Configured: slices.Sorted(maps.Keys(clients)),
		New: func(name string, u contract.Upstream, plan capacity.Plan, o factory.Options) (factory.Client, error) {
			options := clients[name]
			options.Name = name
			options.Registerer = o.Registerer
			options.TracerProvider, options.MeterProvider, options.Propagator = o.TracerProvider, o.MeterProvider, o.Propagator
			target, plain := strings.CutPrefix(u.Target, "grpc://")
			if plain && options.Credentials == nil {
				options.Credentials = insecure.NewCredentials()
			}
			conn, err := grpcclient.New(strings.TrimPrefix(target, "grpcs://"), plan, &options)
			if err != nil {
				return nil, err
			}
			return client{conn}, nil
		},
	}
}

// Conn returns the connection to an upstream over gRPC, the same one each time. An
// error names the upstreams that the file has.
func Conn(s *factory.Service, name string) (*grpcclient.Conn, error) {
	c, err := s.Client(name)
	if err != nil {
		return nil, err
	}
	own, ok := c.(client)
	if !ok {
		return nil, fmt.Errorf("grpcfactory: upstream %q does not speak grpc; Service.HTTP has it", name)
	}
	return own.Conn, nil
}

// client is a connection as the factory sees it.
type client struct{ *grpcclient.Conn }

// State implements factory.Client.
func (c client) State() factory.ClientState {
	s := c.Stats()
	return factory.ClientState{
		Plan: s.Plan, InFlight: s.InFlight, Queued: s.Queued,
		Observing: s.Observing, Draining: s.Draining, Oldest: s.Oldest,
	}
}
