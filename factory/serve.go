package factory

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os/signal"
	"sync"
	"syscall"

	"github.com/offtake-go/offtake"
	"github.com/offtake-go/offtake/readiness"
)

// Run listens on Options.Address and serves app until a signal comes or ctx ends;
// then it stops, as the package's documentation has it, and closes the service.
// It returns nil after a stop that lost nothing. A second signal ends the process
// at once, as it would any other.
func (s *Service) Run(ctx context.Context, app http.Handler) error {
	signaled, restore := signal.NotifyContext(ctx, syscall.SIGTERM, syscall.SIGINT)
	defer restore()
	ctx, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	context.AfterFunc(signaled, func() {
		restore() // before anybody can see that it stops, a signal has its usual effect again
		stop(context.Cause(signaled))
	})
	var listen net.ListenConfig
	l, err := listen.Listen(ctx, "tcp", s.options.Address)
	if err != nil {
		return errors.Join(fmt.Errorf("factory: Options.Address: %w", err), s.Close())
	}
	return s.Serve(ctx, l, app)
}

// Serve is Run on a listener and without signals: it stops when ctx ends. A
// Service serves once; it closes l in any case.
func (s *Service) Serve(ctx context.Context, l net.Listener, app http.Handler) error {
	if err := s.begin(); err != nil {
		l.Close()
		return err
	}
	defer s.Close()
	servers := []*server{newServer(l, s.Handler(app))}
	if s.options.Admin != "" {
		var listen net.ListenConfig
		admin, err := listen.Listen(ctx, "tcp", s.options.Admin)
		if err != nil {
			l.Close()
			return fmt.Errorf("factory: Options.Admin: %w", err)
		}
		servers = append(servers, newServer(admin, s.AdminHandler()))
	}
	s.announce(ctx)
	failed := make(chan error, len(servers))
	var running sync.WaitGroup
	for _, server := range servers {
		server.RegisterOnShutdown(s.page.Close)
		running.Go(func() { failed <- server.serve() })
	}
	background, cancel := context.WithCancel(context.WithoutCancel(ctx))
	running.Go(func() { s.start(background) })
	running.Go(func() { s.watch(background) })
	running.Go(func() { _ = s.page.Run(background) }) // it ends with its context
	s.follow(background, &running)

	var err error
	select {
	case <-ctx.Done():
		err = s.stop(background, servers)
	case err = <-failed: // a listener broke
		s.ready.Drain()
		for _, server := range servers {
			server.Close()
		}
	}
	cancel()
	running.Wait()
	return errors.Join(err, s.Close())
}

// begin fails for a service that has served or is closed: it has no clients to
// serve with.
func (s *Service) begin() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.served:
		return errors.New("factory: Serve was called before; open another Service")
	case s.ready.State() == readiness.Draining:
		return fmt.Errorf("factory: Serve: %w", offtake.ErrClosed)
	}
	s.served = true
	return nil
}

// stop ends serving in the order that loses nothing.
func (s *Service) stop(ctx context.Context, servers []*server) error {
	o := s.times()
	o.Logger.LogAttrs(ctx, slog.LevelInfo, "draining", slog.Duration("propagation", o.Propagation), slog.Duration("drain", o.Drain))
	s.ready.Drain()
	sleep(ctx, o.Propagation)
	ctx, cancel := context.WithTimeout(ctx, o.Drain)
	defer cancel()
	var errs []error
	if s.door != nil {
		if err := s.door.Shutdown(ctx); err != nil {
			errs = append(errs, err)
		}
	}
	for _, server := range servers {
		errs = append(errs, server.shutdown(ctx))
	}
	for name, c := range s.clients() {
		if err := c.Shutdown(ctx); err != nil {
			errs = append(errs, fmt.Errorf("upstream %s: %w", name, err))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("factory: not all was done within Options.Drain of %v: %w", o.Drain, err)
	}
	return nil
}

// Close closes the door and all clients at once. Run does it at its end; it may be
// called again.
func (s *Service) Close() error { return s.close() }

func (s *Service) closeAll() error {
	s.ready.Drain()
	var errs []error
	if s.door != nil {
		errs = append(errs, s.door.Close())
	}
	for _, c := range s.clients() {
		errs = append(errs, c.Close())
	}
	if s.metrics != nil {
		s.metrics.Close()
	}
	return errors.Join(errs...)
}
