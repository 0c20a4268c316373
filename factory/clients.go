package factory

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/capacity/contract"
	"github.com/offtake-go/offtake/httpclient"
)

// HTTP returns the client of an upstream over HTTP, the same one each time. An
// error names those that the file has.
func (s *Service) HTTP(name string) (*httpclient.Client, error) {
	c, err := s.Client(name)
	if err != nil {
		return nil, err
	}
	own, ok := c.(httpClient)
	if !ok {
		return nil, fmt.Errorf("factory: upstream %q speaks %s; grpcfactory.Conn has it", name, s.current().Upstreams[name].Protocol)
	}
	return own.Client, nil
}

// Client returns the client of an upstream, whatever it speaks. It is for packages
// that make a protocol's clients; others ask [Service.HTTP] or grpcfactory.Conn.
func (s *Service) Client(name string) (Client, error) {
	c, ok := s.clients[name]
	if !ok {
		return nil, fmt.Errorf("factory: %w", s.unknown(name))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used[name] = true
	return c, nil
}

func (s *Service) unknown(name string) error {
	return fmt.Errorf("no upstream %q in %s; it has %q", name, s.path, slices.Sorted(maps.Keys(s.current().Upstreams)))
}

// newClient makes the client of an upstream, by what it speaks.
func (s *Service) newClient(name string, u contract.Upstream, plan capacity.Plan) (Client, error) {
	switch u.Protocol {
	case contract.HTTP1, contract.HTTP2, "":
		c, err := httpclient.New(u.Target, plan, s.httpOptions(name, u))
		if err != nil {
			return nil, err
		}
		return httpClient{c}, nil
	}
	p, err := s.options.protocol(u.Protocol)
	if err != nil {
		return nil, err
	}
	return p.New(name, u, plan, s.options)
}

// httpClient is a client over HTTP as the factory sees it.
type httpClient struct{ *httpclient.Client }

// State implements Client.
func (c httpClient) State() ClientState {
	s := c.Stats()
	return ClientState{
		Plan: s.Plan, InFlight: s.InFlight, Queued: s.Queued,
		Observing: s.Observing, Draining: s.Draining, Oldest: s.Oldest,
	}
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
