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
	return s.RunOn(ctx, Listener{Handler: app})
}

// RunOn is Run on any number of listeners.
func (s *Service) RunOn(ctx context.Context, on ...Listener) error {
	signaled, restore := signal.NotifyContext(ctx, syscall.SIGTERM, syscall.SIGINT)
	defer restore()
	ctx, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(nil)
	context.AfterFunc(signaled, func() {
		restore() // before anybody can see that it stops, a signal has its usual effect again
		stop(context.Cause(signaled))
	})
	return s.ServeOn(ctx, on...)
}

// Serve is Run on a listener and without signals: it stops when ctx ends. A
// Service serves once; it closes l in any case.
func (s *Service) Serve(ctx context.Context, l net.Listener, app http.Handler) error {
	return s.ServeOn(ctx, Listener{Net: l, Handler: app})
}

// ServeOn is Serve on any number of listeners.
func (s *Service) ServeOn(ctx context.Context, on ...Listener) error {
	err := checkListeners(on)
	if err == nil {
		err = s.begin()
	}
	if err != nil {
		for _, l := range on {
			if l.Net != nil {
				l.Net.Close()
			}
		}
		return err
	}
	defer close(s.ended)
	defer s.Close()
	all, err := s.listen(ctx, on)
	if err != nil {
		return err
	}
	s.announce(ctx)
	failed := make(chan error, len(all))
	var running sync.WaitGroup
	for _, one := range all {
		running.Go(func() {
			if err := one.serve(); err != nil {
				failed <- err
			}
		})
	}
	background, cancel := context.WithCancel(context.WithoutCancel(ctx))
	running.Go(func() { s.start(background) })
	running.Go(func() { s.watch(background) })
	running.Go(func() { _ = s.page.Run(background) }) // it ends with its context
	s.follow(background, &running)

	select {
	case <-ctx.Done():
		err = s.stop(background, all)
		cancel()
	case <-s.stopping.Done():
		err = s.stop(background, all)
		cancel()
	case err = <-failed: // a listener broke
		s.ready.Drain()
		cancel()
		for _, one := range all {
			_ = one.shutdown(background) // err is why
		}
	}
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
func (s *Service) stop(ctx context.Context, all []serving) error {
	o := s.times()
	o.Logger.LogAttrs(ctx, slog.LevelInfo, "draining", slog.Duration("propagation", o.Propagation), slog.Duration("drain", o.Drain))
	s.ready.Drain()
	ctx, cut := context.WithCancelCause(ctx)
	defer context.AfterFunc(s.hurry, func() { cut(context.Cause(s.hurry)) })()
	defer cut(nil)
	sleep(ctx, o.Propagation)
	ctx, cancel := context.WithTimeout(ctx, o.Drain)
	defer cancel()
	var errs []error
	if s.door != nil {
		if err := s.door.Shutdown(ctx); err != nil {
			errs = append(errs, err)
		}
	}
	errs = append(errs, shutdownAll(ctx, all)...)
	for name, c := range s.clients {
		if err := c.Shutdown(ctx); err != nil {
			errs = append(errs, fmt.Errorf("upstream %s: %w", name, err))
		}
	}
	if err := errors.Join(errs...); err != nil {
		if cause := context.Cause(s.hurry); cause != nil {
			return fmt.Errorf("factory: the stop was cut short: %w: %w", cause, err)
		}
		return fmt.Errorf("factory: not all was done within Options.Drain of %v: %w", o.Drain, err)
	}
	return nil
}

// Shutdown has Run or Serve stop as a signal does, and waits until it has. When ctx ends
// first, what is left of the stop is cut short: what runs is ended, Run returns an
// error, and so does Shutdown, with context.Cause(ctx). A Service that does not serve is
// closed. It may be called more than once.
func (s *Service) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	serving := s.served
	s.served = true // from now on nobody else begins to
	s.mu.Unlock()
	if !serving {
		s.shutdown()
		close(s.ended)
		return s.Close()
	}
	s.shutdown()
	select {
	case <-s.ended:
		return nil
	case <-ctx.Done():
	}
	s.cutOff(context.Cause(ctx))
	<-s.ended
	return fmt.Errorf("factory: the stop was cut short: %w", context.Cause(ctx))
}

// shutdownAll shuts all down at once: each may need all the time that there is.
func shutdownAll(ctx context.Context, all []serving) []error {
	errs := make([]error, len(all))
	var running sync.WaitGroup
	for i, one := range all {
		running.Go(func() { errs[i] = one.shutdown(ctx) })
	}
	running.Wait()
	return errs
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
	for _, c := range s.clients {
		errs = append(errs, c.Close())
	}
	if s.metrics != nil {
		s.metrics.Close()
	}
	return errors.Join(errs...)
}
