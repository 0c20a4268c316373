package measure

import (
	"errors"
	"sync"

	"github.com/offtake-go/offtake/bench/peers"
)

// each measures all stacks at the same time. It is for what waits, and uses no
// CPU to speak of: what the others do then makes no difference.
func each[T any](stacks []peers.HTTP, measure func(peers.HTTP) (T, error)) ([]T, error) {
	all, errs := make([]T, len(stacks)), make([]error, len(stacks))
	var running sync.WaitGroup
	for i, stack := range stacks {
		running.Go(func() { all[i], errs[i] = measure(stack) })
	}
	running.Wait()
	return all, errors.Join(errs...)
}
