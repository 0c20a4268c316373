package factory

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/capacity/contract"
)

// Reload reads the file again and gives every client and the door its new plan.
// It is all or nothing: with a mistake in the file, a plan that can't be met, or a
// change that needs another process (an upstream that came, went or moved), it
// changes nothing and says why.
func (s *Service) Reload() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	next, file, err := load(s.path, s.options.Environment)
	if err != nil {
		return fmt.Errorf("factory: reload: %w", err)
	}
	plans, door, err := s.plansLocked(next)
	if err != nil {
		return fmt.Errorf("factory: reload: nothing was changed: %w", err)
	}
	var errs []error
	for name, plan := range plans {
		errs = append(errs, s.clients()[name].Resize(plan))
	}
	if s.door != nil {
		errs = append(errs, s.door.Resize(door))
	}
	s.contract, s.file = next, file
	return errors.Join(errs...)
}

// plansLocked are all plans of a changed file, resolved, so that giving them to
// the clients can't fail.
func (s *Service) plansLocked(next *contract.Contract) (plans map[string]capacity.Plan, door capacity.Plan, err error) {
	var errs []error
	plans = map[string]capacity.Plan{}
	for name, u := range next.Upstreams {
		before, known := s.contract.Upstreams[name]
		switch {
		case !known:
			errs = append(errs, fmt.Errorf("%v: upstream %s is new; restart to have a client for it", next.Position("upstreams."+name), name))
			continue
		case u.Target != before.Target || u.Protocol != before.Protocol || !slices.Equal(u.Hosts, before.Hosts):
			errs = append(errs, fmt.Errorf("%v: upstream %s has another target, protocol or hosts; restart to have it called", next.Position("upstreams."+name), name))
			continue
		}
		plan, err := next.Plan(name)
		errs = append(errs, err)
		if s.options.Fleet[name] == nil { // else its size is the fleet's to change
			plans[name] = plan
		}
	}
	for name := range s.contract.Upstreams {
		if _, kept := next.Upstreams[name]; !kept {
			errs = append(errs, fmt.Errorf("upstream %s is gone from the file; restart without it", name))
		}
	}
	if (next.Door == nil) != (s.door == nil) {
		errs = append(errs, errors.New("a door came or went; restart for it"))
	} else if next.Door != nil {
		door, err = next.Door.Plan()
		errs = append(errs, err)
	}
	return plans, door, errors.Join(errs...)
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
