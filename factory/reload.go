package factory

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/capacity/contract"
)

// Reload reads the file again and gives every client and the door its new plan.
// It is all or nothing: with a mistake in the file, a plan that can't be met, or a
// change that needs another process (an upstream that came, went or moved), it
// changes nothing and says why. What only a start looks at, such as warm, applies
// from the next one.
func (s *Service) Reload() error {
	s.reloading.Lock()
	defer s.reloading.Unlock()
	next, file, err := load(s.path, s.options.Environment)
	if err != nil {
		return fmt.Errorf("factory: reload: %w", err)
	}
	before := s.current() // nobody but a Reload replaces it
	if err := s.replaces(before, next); err != nil {
		return fmt.Errorf("factory: reload: nothing was changed: %w", err)
	}
	if err := s.resize(before, next); err != nil {
		return fmt.Errorf("factory: reload: nothing was changed: %w", err)
	}
	s.mu.Lock()
	s.contract, s.file = next, file
	s.mu.Unlock()
	if next.Observe != before.Observe {
		s.observe(next.Observe)
	}
	s.checkGrace(context.Background())
	return nil
}

// replaces returns all reasons for which this process can't go from one contract
// to the other.
func (s *Service) replaces(before, next *contract.Contract) error {
	var errs []error
	if next.Service != before.Service {
		errs = append(errs, fmt.Errorf("%v: the service has another name; restart as it", next.Position("service")))
	}
	for _, name := range slices.Sorted(maps.Keys(next.Upstreams)) {
		u, position := next.Upstreams[name], next.Position("upstreams."+name)
		was, known := before.Upstreams[name]
		switch {
		case !known:
			errs = append(errs, fmt.Errorf("%v: upstream %s is new; restart to have a client for it", position, name))
		case u.Target != was.Target || u.Protocol != was.Protocol || !slices.Equal(u.Hosts, was.Hosts):
			errs = append(errs, fmt.Errorf("%v: upstream %s has another target, protocol or hosts; restart to have it called", position, name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(before.Upstreams)) {
		if _, kept := next.Upstreams[name]; !kept {
			errs = append(errs, fmt.Errorf("upstream %s is gone from the file; restart without it", name))
		}
	}
	if (next.Door == nil) != (before.Door == nil) {
		errs = append(errs, errors.New("a door came or went; restart for it"))
	}
	return errors.Join(errs...)
}

// resize gives everyone the plan of next, or of before if anyone will not have it:
// a plan may be sound and still not be for this client.
func (s *Service) resize(before, next *contract.Contract) error {
	plans, nextErr := s.plans(next)
	old, oldErr := s.plans(before)
	if err := errors.Join(nextErr, oldErr); err != nil {
		return err
	}
	var done []int
	var errs []error
	for i, p := range plans {
		if err := p.to.Resize(p.plan); err != nil {
			errs = append(errs, err)
			continue
		}
		done = append(done, i)
	}
	if len(errs) == 0 {
		return nil
	}
	for _, i := range done {
		errs = append(errs, old[i].to.Resize(old[i].plan))
	}
	return errors.Join(errs...)
}

// sized is a client or the door, with its plan in one contract.
type sized struct {
	to interface {
		Resize(plan capacity.Plan) error
	}
	plan capacity.Plan
}

// plans are those of a contract, in one order for all contracts that have the same
// upstreams. What a fleet sizes is not among them.
func (s *Service) plans(c *contract.Contract) ([]sized, error) {
	var all []sized
	var errs []error
	clients := s.clients
	for _, name := range slices.Sorted(maps.Keys(c.Upstreams)) {
		plan, err := c.Plan(name)
		errs = append(errs, err)
		if s.options.Fleet[name] == nil {
			all = append(all, sized{clients[name], plan})
		}
	}
	if s.door != nil {
		plan, err := c.Door.Plan()
		errs = append(errs, err)
		all = append(all, sized{s.door, plan})
	}
	return all, errors.Join(errs...)
}

// watch reloads the file when its bytes change. It is tempting to be told by the
// file system; but a ConfigMap is a link to a link that is swapped, and a look
// at a small file costs nothing.
func (s *Service) watch(ctx context.Context) {
	if s.options.Watch == 0 {
		return
	}
	s.mu.Lock()
	last := s.file
	s.mu.Unlock()
	tick := time.NewTicker(s.options.Watch)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now, err := os.ReadFile(s.path)
		if err != nil || bytes.Equal(now, last) {
			continue // a file that is gone for a moment is being swapped
		}
		last = now
		if err := s.Reload(); err != nil {
			s.options.Logger.LogAttrs(ctx, slog.LevelError, "the file changed, and was not taken over", slog.Any("error", err))
		} else {
			s.options.Logger.LogAttrs(ctx, slog.LevelInfo, "the file changed, and was taken over", slog.String("path", s.path))
		}
	}
}
