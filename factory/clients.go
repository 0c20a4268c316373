package factory

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/capacity/contract"
	"github.com/offtake-go/offtake/grpcclient"
	"github.com/offtake-go/offtake/httpclient"
)

// client is what both kinds of client have.
type client interface {
	Warm(ctx context.Context) error
	Resize(plan capacity.Plan) error
	Observe(on bool)
	Shutdown(ctx context.Context) error
	Close() error
}

// HTTP returns the client of an upstream over HTTP, the same one each time. An
// error names those that the file has.
func (s *Service) HTTP(name string) (*httpclient.Client, error) {
	if c, ok := s.http[name]; ok {
		s.ask(name)
		return c, nil
	}
	if s.grpc[name] != nil {
		return nil, fmt.Errorf("factory: upstream %q speaks grpc; Service.GRPC has it", name)
	}
	return nil, fmt.Errorf("factory: %w", s.unknown(name))
}

// GRPC returns the connection to an upstream over gRPC, the same one each time. An
// error names those that the file has.
func (s *Service) GRPC(name string) (*grpcclient.Conn, error) {
	if c, ok := s.grpc[name]; ok {
		s.ask(name)
		return c, nil
	}
	if s.http[name] != nil {
		return nil, fmt.Errorf("factory: upstream %q speaks HTTP; Service.HTTP has it", name)
	}
	return nil, fmt.Errorf("factory: %w", s.unknown(name))
}

func (s *Service) ask(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used[name] = true
}

func (s *Service) unknown(name string) error {
	return fmt.Errorf("no upstream %q in %s; it has %q", name, s.path, slices.Sorted(maps.Keys(s.clients())))
}

// clients are all clients by the names of their upstreams.
func (s *Service) clients() map[string]client {
	all := make(map[string]client, len(s.http)+len(s.grpc))
	for name, c := range s.http {
		all[name] = c
	}
	for name, c := range s.grpc {
		all[name] = c
	}
	return all
}

func (s *Service) httpOptions(name string, u contract.Upstream) *httpclient.Options {
	o := s.options.HTTP[name]
	o.Name = name
	o.Hosts = append(slices.Clone(o.Hosts), u.Hosts...)
	if o.WarmPath == "" {
		o.WarmPath = u.Warm.Path
	}
	if o.Protocols == nil && u.Protocol == contract.HTTP2 {
		o.Protocols = new(http.Protocols)
		o.Protocols.SetHTTP2(true)
		o.Protocols.SetUnencryptedHTTP2(true)
	}
	if o.Idle == 0 && u.ServerIdle > 0 {
		o.Idle = min(longestIdle, u.ServerIdle*4/5)
	}
	o.Registerer = s.options.Registerer
	o.TracerProvider, o.MeterProvider, o.Propagator = s.options.TracerProvider, s.options.MeterProvider, s.options.Propagator
	return &o
}

// longestIdle is httpclient's default. An upstream that closes earlier gets four
// fifths of its own time, or a request would meet its close on the way.
const longestIdle = 45 * time.Second

func (s *Service) grpcOptions(name string) *grpcclient.Options {
	o := s.options.GRPC[name]
	o.Name = name
	o.Registerer = s.options.Registerer
	o.TracerProvider, o.MeterProvider, o.Propagator = s.options.TracerProvider, s.options.MeterProvider, s.options.Propagator
	return &o
}
