package factory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/offtake-go/offtake/admission"
	"github.com/offtake-go/offtake/capacity/contract"
	"github.com/offtake-go/offtake/debug"
	"github.com/offtake-go/offtake/internal/telemetry"
	"github.com/offtake-go/offtake/readiness"
)

// Service is what one file builds. Make one with [Open]; all methods may be
// called from any goroutine. Whoever opens a Service runs it, which closes it, or
// closes it.
type Service struct {
	path    string
	options Options
	door    *admission.Door // nil if the file has none
	ready   readiness.Gate
	clients map[string]Client
	page    *debug.Page

	metrics *telemetry.Ready
	close   func() error

	stopping context.Context // ends when Shutdown is called
	shutdown context.CancelFunc
	ended    chan struct{} // closed when ServeOn has returned
	hurry    context.Context
	cutOff   context.CancelCauseFunc // ends hurry

	reloading sync.Mutex // one Reload at a time; taken before mu

	mu       sync.Mutex // never held while a file is read: a probe takes it
	contract *contract.Contract
	file     []byte          // that it was read from
	used     map[string]bool // upstreams that the code has asked for
	started  time.Time       // of warming
	served   bool
}

// Open reads the file at path and builds its clients, gate and door. It does no
// other I/O and starts no goroutine. It returns all mistakes of the file and the
// options at once, and a plan that can't be met is one of them.
func Open(path string, options *Options) (*Service, error) {
	o, optionsErr := options.resolve()
	c, file, err := load(path, o.Environment)
	if err := errors.Join(optionsErr, err); err != nil {
		return nil, fmt.Errorf("factory: %w", err)
	}
	o.Admin, o.Observe = cmp.Or(o.Admin, c.Admin), o.Observe || c.Observe
	s := &Service{
		path:     path,
		options:  o,
		contract: c,
		file:     file,
		clients:  map[string]Client{},
		used:     map[string]bool{},
	}
	s.close, s.ended = sync.OnceValue(s.closeAll), make(chan struct{})
	s.stopping, s.shutdown = context.WithCancel(context.Background())
	s.hurry, s.cutOff = context.WithCancelCause(context.Background())
	s.page = s.newPage()
	if err := s.build(); err != nil {
		s.Close()
		return nil, fmt.Errorf("factory: %w", err)
	}
	return s, nil
}

// load is contract.Load that keeps the bytes, for watch to compare with.
func load(path, environment string) (*contract.Contract, []byte, error) {
	file, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, err
	}
	c, err := contract.Parse(path, file, environment)
	return c, file, err
}

// times are the options with the defaults that the file decides. They follow the
// file: after a Reload that allows longer calls, a stop waits longer for them.
func (s *Service) times() Options { return s.options.forContract(s.current()) }

// current is the contract that is in force.
func (s *Service) current() *contract.Contract {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.contract
}

func (o Options) forContract(c *contract.Contract) Options {
	if o.Propagation == 0 {
		o.Propagation = defaultPropagation
		if c.Mesh.Propagation > 0 {
			o.Propagation = c.Mesh.Propagation
		}
	}
	o.Early = cmp.Or(o.Early, c.Start.Early, defaultEarly)
	o.OpenDegraded = cmp.Or(o.OpenDegraded, c.Start.OpenDegraded, max(defaultDegraded, 2*c.Start.Warm))
	o.Spread, o.Drain = cmp.Or(o.Spread, c.Start.Spread), cmp.Or(o.Drain, c.Stop.Drain)
	if o.Spread == 0 {
		o.Spread = min(longestSpread, spreadForEach*time.Duration(max(c.Replicas.Min, c.Replicas.Max)))
	}
	if o.Drain == 0 {
		for name := range c.Upstreams {
			if plan, err := c.Plan(name); err == nil { // the error is Open's
				o.Drain = max(o.Drain, plan.Deadline)
			}
		}
		if c.Door != nil {
			if plan, err := c.Door.Plan(); err == nil {
				o.Drain = max(o.Drain, plan.Deadline)
			}
		}
		if o.Drain == 0 { // a file with neither
			o.Drain = defaultDrain
		}
	}
	return o
}

// build makes everything that the file has, and returns all that went wrong.
func (s *Service) build() error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(s.contract.Upstreams)) {
		errs = append(errs, s.buildClient(name))
	}
	for name := range s.options.HTTP {
		errs = append(errs, s.known("Options.HTTP", name, contract.HTTP1, contract.HTTP2, ""))
	}
	for _, p := range s.options.Protocols {
		for _, name := range p.Configured {
			errs = append(errs, s.known(fmt.Sprintf("Options.Protocols: %s", p.Name), name, p.Name))
		}
	}
	for name := range s.options.Fleet {
		errs = append(errs, s.known("Options.Fleet", name))
	}
	for name := range s.options.Targets {
		errs = append(errs, s.known("Options.Targets", name))
	}
	errs = append(errs, s.buildDoor(), s.buildReadyMetrics())
	return errors.Join(errs...)
}

// known returns a mistake for options of an upstream that the file does not have,
// or that speaks none of the protocols; without any, it may speak what it likes.
func (s *Service) known(field, name string, protocols ...contract.Protocol) error {
	u, ok := s.contract.Upstreams[name]
	switch {
	case !ok:
		return fmt.Errorf("%s: %w", field, s.unknown(name))
	case len(protocols) > 0 && !slices.Contains(protocols, u.Protocol):
		return fmt.Errorf("%s: upstream %q speaks %s", field, name, cmp.Or(u.Protocol, contract.HTTP1))
	}
	return nil
}

// buildClient makes the client of one upstream, and has readiness wait for it.
func (s *Service) buildClient(name string) error {
	u := s.contract.Upstreams[name]
	plan, planErr := s.contract.Plan(name)
	target, stated := s.options.Targets[name]
	var targetErr error
	if !stated {
		target, targetErr = s.contract.Target(name, os.LookupEnv)
	}
	if err := errors.Join(planErr, targetErr); err != nil {
		return err
	}
	u.Target = target
	if source, shared := s.options.Fleet[name]; shared {
		plan = source.Floor()
	}
	c, err := s.newClient(name, u, plan)
	if err != nil {
		return fmt.Errorf("%v: upstream %s: %w", s.contract.Position("upstreams."+name), name, err)
	}
	if s.options.Observe {
		c.Observe(true)
	}
	s.clients[name] = c
	s.ready.Add(name, s.warm(name, c, u.Warm.Optional))
	return nil
}

func (s *Service) buildDoor() error {
	if s.contract.Door == nil {
		return nil
	}
	plan, err := s.contract.Door.Plan()
	if err == nil {
		s.door, err = admission.New(plan, &admission.Options{
			Name: s.contract.Service, Early: s.times().Early, Observe: s.options.Observe, Registerer: s.options.Registerer,
		})
	}
	if err != nil {
		return fmt.Errorf("%v: door: %w", s.contract.Position("door"), err)
	}
	return nil
}
