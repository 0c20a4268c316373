package measure

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/semaphore"

	"github.com/offtake-go/offtake/admission"
	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/internal/budget"
	"github.com/offtake-go/offtake/internal/gate"
	"github.com/offtake-go/offtake/internal/telemetry"
)

// Scaling is what one pass through something costs that all goroutines share, all
// of them passing as often as they can. A call of a service passes once in some
// milliseconds: this is the worst that could be.
type Scaling struct {
	Name    string  `json:"name"`
	Cores   int     `json:"cores"`          // GOMAXPROCS
	PerCore int     `json:"perCore"`        // goroutines
	Min     float64 `json:"minNanoseconds"` // CPU of the process for one pass, of all rounds
	P25     float64 `json:"p25Nanoseconds"`
	Median  float64 `json:"medianNanoseconds"`
	Allocs  float64 `json:"allocs"`
}

// Crowds are how many goroutines there are for each core.
var Crowds = []int{1, 16, 64}

// Scalings measures everything on one core and on two, if there are two.
func Scalings(rounds, passes int) ([]Scaling, error) {
	shared, stop, err := sharedThings()
	if err != nil {
		return nil, err
	}
	defer stop()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	var all []Scaling
	for cores := 1; cores <= min(2, runtime.NumCPU()); cores++ {
		runtime.GOMAXPROCS(cores)
		for _, perCore := range Crowds {
			var ops []Op
			for _, s := range shared {
				ops = append(ops, Op{s.name, func(n int) error { return crowd(cores*perCore, n, s.pass) }})
			}
			costs, err := Costs(ops, rounds, passes)
			if err != nil {
				return nil, err
			}
			for _, c := range costs {
				all = append(all, Scaling{Name: c.Name, Cores: cores, PerCore: perCore, Min: c.Min, P25: c.P25, Median: c.Median, Allocs: c.Allocs})
			}
		}
	}
	return all, nil
}

// crowd has goroutines pass n times together.
func crowd(goroutines, n int, pass func(context.Context) error) error {
	var left atomic.Int64 // in strides, so that it is not what is measured
	const stride = 100
	left.Store(int64(n))
	errs := make([]error, goroutines)
	var running sync.WaitGroup
	for i := range errs {
		running.Go(func() {
			for left.Add(-stride) >= 0 {
				for range stride {
					if err := pass(context.Background()); err != nil {
						errs[i] = err
						return
					}
				}
			}
		})
	}
	running.Wait()
	return errors.Join(errs...)
}

// shared is a thing that goroutines share, and one pass through it.
type shared struct {
	name string
	pass func(context.Context) error
}

// places are enough for everybody: to wait is not what is measured.
const places = 1024

func sharedThings() (all []shared, stop func(), err error) {
	var mu sync.Mutex
	var count int
	channel := make(chan struct{}, places)
	weighted := semaphore.NewWeighted(places)
	g := gate.New(gate.Limits{Places: places, Queue: 1, Wait: time.Second})
	retries := budget.New(0.1)
	histogram := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "seconds"})
	door, err := admission.New(capacity.Plan{InFlight: places}, &admission.Options{Registerer: prometheus.NewRegistry()})
	if err != nil {
		return nil, nil, err
	}
	metrics, err := telemetry.NewClient(telemetry.ClientConfig{
		Upstream: "upstream", Registerer: prometheus.NewRegistry(), State: func() telemetry.State { return telemetry.State{} },
	})
	if err != nil {
		return nil, nil, err
	}
	return []shared{
		{"sync.Mutex, twice", func(context.Context) error { // in and out: what any of them needs
			mu.Lock()
			count++
			mu.Unlock()
			mu.Lock()
			count--
			mu.Unlock()
			return nil
		}},
		{"channel as a semaphore", func(ctx context.Context) error {
			select {
			case channel <- struct{}{}:
			case <-ctx.Done():
				return ctx.Err()
			}
			<-channel
			return nil
		}},
		{"x/sync/semaphore", func(ctx context.Context) error {
			if err := weighted.Acquire(ctx, 1); err != nil {
				return err
			}
			weighted.Release(1)
			return nil
		}},
		{"offtake's gate", func(ctx context.Context) error {
			if _, err := g.Enter(ctx); err != nil {
				return err
			}
			g.Leave()
			return nil
		}},
		{"offtake's retry budget", func(context.Context) error {
			retries.Success(time.Now())
			return nil
		}},
		{"one Prometheus histogram", func(context.Context) error {
			histogram.Observe(0.001)
			return nil
		}},
		{"offtake's metrics of a call", func(ctx context.Context) error { // what a call records that meets no trouble
			metrics.QueueWait(ctx, 0)
			metrics.ConnectWait(0)
			metrics.Headers(time.Millisecond)
			metrics.Body(time.Millisecond)
			metrics.Attempt(telemetry.OfStatus(http.StatusOK))
			metrics.Call(ctx, telemetry.OfMethod(http.MethodGet), http.StatusOK, telemetry.OfStatus(http.StatusOK), time.Millisecond)
			return nil
		}},
		{"offtake's door", through(door.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })))},
	}, metrics.Close, nil
}

// through sends a request through a handler.
func through(handler http.Handler) func(context.Context) error {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	writers := sync.Pool{New: func() any { return &nowhere{header: make(http.Header)} }}
	return func(context.Context) error {
		w := writers.Get().(*nowhere)
		defer writers.Put(w)
		if handler.ServeHTTP(w, r); w.status != http.StatusNoContent {
			return fmt.Errorf("door: status %d", w.status)
		}
		return nil
	}
}

// Names of what was measured, in order.
func Names(scalings []Scaling) []string {
	var names []string
	for _, s := range scalings {
		if !slices.Contains(names, s.Name) {
			names = append(names, s.Name)
		}
	}
	return names
}
