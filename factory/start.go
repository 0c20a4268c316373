package factory

import (
	"context"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/offtake-go/offtake/readiness"
)

// warm is the readiness check of one upstream. An optional one is given one
// attempt before the gate opens.
func (s *Service) warm(name string, c Client, optional bool) func(context.Context) error {
	return func(ctx context.Context) error {
		after := s.times().OpenDegraded // StayClosed is before any time
		attempt := ctx
		if left := after - s.sinceStart(); left > 0 { // an attempt that hangs does not put the opening off
			var cancel context.CancelFunc
			attempt, cancel = context.WithTimeout(ctx, left)
			defer cancel()
		}
		err := c.Warm(attempt)
		if err == nil {
			s.settle(ctx, name, nil)
			return nil
		}
		if s.isNews(name, err) {
			s.options.Logger.LogAttrs(ctx, slog.LevelWarn, "upstream is not warm yet", slog.String("upstream", name), slog.Any("error", err))
		}
		if optional || after > 0 && s.sinceStart() >= after {
			s.settle(ctx, name, err)
			return nil
		}
		return err
	}
}

// isNews is false for what the attempt before failed with, since attempts follow
// each other by the second, and for what a stop cuts off.
func (s *Service) isNews(name string, err error) bool {
	stats := s.ready.Stats()
	return stats.State != readiness.Draining && !slices.ContainsFunc(stats.Checks, func(c readiness.Check) bool {
		return c.Name == name && c.Err != nil && c.Err.Error() == err.Error()
	})
}

// settle tells the gate whether the service is open without an upstream. The gate
// alone keeps it; nobody else settles the same name meanwhile.
func (s *Service) settle(ctx context.Context, name string, err error) {
	_, was := s.whyDegraded()[name]
	s.ready.Degrade(name, err)
	if was && err == nil {
		s.options.Logger.LogAttrs(ctx, slog.LevelInfo, "upstream is warm now", slog.String("upstream", name))
	}
}

func (s *Service) sinceStart() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Since(s.started)
}

// Degraded names the upstreams that are not warm although the service is ready:
// optional ones, and with Options.OpenDegraded those that took too long. They
// are still being warmed.
func (s *Service) Degraded() []string {
	return slices.Sorted(maps.Keys(s.whyDegraded()))
}

func (s *Service) whyDegraded() map[string]error {
	why := make(map[string]error)
	for _, c := range s.ready.Stats().Checks {
		if c.Degraded {
			why[c.Name] = c.Err
		}
	}
	return why
}

// start warms the upstreams and opens the gate, then the door; then it goes on
// with those that are degraded. It returns when all is done, or ctx is.
func (s *Service) start(ctx context.Context) {
	if !sleep(ctx, rand.N(s.times().Spread+1)) {
		return
	}
	s.mu.Lock()
	s.started = time.Now()
	s.mu.Unlock()
	if err := s.ready.Run(ctx); err != nil {
		if ctx.Err() == nil && s.ready.State() != readiness.Draining {
			s.options.Logger.LogAttrs(ctx, slog.LevelError, "readiness stays closed", slog.Any("error", err))
		}
		return
	}
	if s.door != nil {
		s.door.Open()
	}
	level, degraded := slog.LevelInfo, strings.Join(s.Degraded(), ", ")
	if degraded != "" {
		level = slog.LevelWarn
	}
	s.options.Logger.LogAttrs(ctx, level, "ready", slog.Duration("after", s.sinceStart()), slog.String("degraded", degraded))
	for names := s.Degraded(); len(names) > 0; names = s.Degraded() {
		if !sleep(ctx, degradedPause/2+rand.N(degradedPause)) {
			return
		}
		s.warmDegraded(ctx, names)
	}
}

const (
	// degradedPause is between two attempts to warm what the service is open without.
	degradedPause = 10 * time.Second

	// degradedAttempt bounds each, as the gate bounds those before it opens.
	degradedAttempt = 30 * time.Second
)

// warmDegraded tries them all at once: one that hangs does not keep the others
// from being warm.
func (s *Service) warmDegraded(ctx context.Context, names []string) {
	ctx, cancel := context.WithTimeout(ctx, degradedAttempt)
	defer cancel()
	var running sync.WaitGroup
	for _, name := range names {
		running.Go(func() { _ = s.warm(name, s.clients[name], true)(ctx) }) // it has logged it
	}
	running.Wait()
}

// sleep is false if ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// announce logs what somebody should look at before it matters.
func (s *Service) announce(ctx context.Context) {
	warn := func(message string, attrs ...slog.Attr) {
		s.options.Logger.LogAttrs(ctx, slog.LevelWarn, message, attrs...)
	}
	for _, name := range s.unused() {
		warn("an upstream of the file is never asked for; the code does not use it, or calls it past the factory", slog.String("upstream", name))
	}
	for _, name := range s.strangers() {
		warn("a client was built that is not in the file, so that no check knows of it", slog.String("upstream", name))
	}
	if s.door == nil {
		warn("the file has no door: this service takes in whatever comes")
	}
	s.checkGrace(ctx)
}

// checkGrace warns if the stop takes longer than it may.
func (s *Service) checkGrace(ctx context.Context) {
	if o := s.times(); o.Propagation+o.Drain > o.Grace {
		o.Logger.LogAttrs(ctx, slog.LevelWarn, "the stop does not fit the grace period: what is left after it is killed",
			slog.Duration("propagation", o.Propagation), slog.Duration("drain", o.Drain), slog.Duration("grace", o.Grace),
			slog.Duration("grace that would do", o.Propagation+o.Drain))
	}
}

func (s *Service) unused() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var names []string
	for _, name := range slices.Sorted(maps.Keys(s.contract.Upstreams)) {
		if !s.used[name] {
			names = append(names, name)
		}
	}
	return names
}

// strangers are clients of this module on the same registry that the file does
// not have.
func (s *Service) strangers() []string {
	gatherer, ok := s.options.Registerer.(prometheus.Gatherer)
	if !ok {
		return nil
	}
	families, err := gatherer.Gather()
	if err != nil {
		return nil // whoever scrapes will see it
	}
	upstreams := s.current().Upstreams
	var names []string
	for _, family := range families {
		if family.GetName() != "offtake_client_places" {
			continue
		}
		for _, m := range family.GetMetric() {
			for _, label := range m.GetLabel() {
				if _, known := upstreams[label.GetValue()]; label.GetName() == "upstream" && !known {
					names = append(names, label.GetValue())
				}
			}
		}
	}
	return names
}
