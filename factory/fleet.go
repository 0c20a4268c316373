package factory

import (
	"context"
	"log/slog"
	"sync"

	"github.com/offtake-go/offtake/fleet"
)

// follow has each shared limit resize its client until ctx ends. A source that
// fails has gone back to its floor, which is always safe.
func (s *Service) follow(ctx context.Context, running *sync.WaitGroup) {
	for name, source := range s.options.Fleet {
		running.Go(func() {
			err := source.Follow(ctx, s.clients[name].Resize, s.use(name))
			if ctx.Err() == nil {
				s.options.Logger.LogAttrs(ctx, slog.LevelError, "a share of a limit is no longer followed; its floor is in use",
					slog.String("upstream", name), slog.Any("error", err))
			}
		})
	}
}

// use tells a source what its client uses at the moment.
func (s *Service) use(name string) func() fleet.Use {
	c := s.clients[name]
	return func() fleet.Use {
		state := c.State()
		return fleet.Use{InFlight: state.InFlight, Waiting: state.Queued}
	}
}
