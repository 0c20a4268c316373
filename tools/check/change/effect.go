package change

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/capacity/contract"
)

// Door stands for the service's own door among the upstreams. No upstream has that
// name.
const Door = "the door"

// Sizes are what one upstream gets, or the door, and what its traffic needs. They
// compare with ==; the zero value is of one that is not there.
type Sizes struct {
	// Places are those of all replicas together; 0 is no limit.
	Places int

	// Each is those of one replica, Deadline and Attempts bound one call.
	Each     int
	Deadline time.Duration
	Attempts int

	// Rate is the peak; Peak and Degraded are the calls in flight at it, with the
	// mean and with the degraded latency; 0 if unknown.
	Rate, Peak, Degraded float64

	// WaitChance is the share of calls that wait at the peak, DialChance that of those
	// for which no connection was kept.
	WaitChance, DialChance float64

	// Infeasible says that the demand can not be met, and the sizes are the best
	// there are.
	Infeasible bool
}

// names are the upstreams of a contract, and its door.
func names(c *contract.Contract) []string {
	all := slices.Sorted(maps.Keys(c.Upstreams))
	if c.Door != nil {
		all = append(all, Door)
	}
	return all
}

// sizesOf derives the sizes of an upstream or of the door; false if the contract does
// not have it.
func sizesOf(c *contract.Contract, name string) (Sizes, bool) {
	if name == Door {
		return sizesOfDoor(c)
	}
	u, ok := c.Upstreams[name]
	if !ok {
		return Sizes{}, false
	}
	s := Sizes{Rate: float64(u.Rate)}
	shared := u.Protocol == contract.HTTP2 || u.Protocol == contract.GRPC
	plan, err := c.Plan(name)
	if e, isInfeasible := errors.AsType[*capacity.Infeasible](err); isInfeasible {
		s.Infeasible = true
		if best, _, err := e.Best(); err == nil {
			plan = best
		}
	}
	s.Each, s.Deadline, s.Attempts = plan.InFlight, plan.Deadline, plan.Attempts
	if k := u.Client; k != nil {
		s.Each, s.Deadline, s.Attempts = k.MaxConns, k.Timeout, max(u.Attempts, 1)
		if shared { // for HTTP/2 it bounds the dials at once, and no connections
			s.Each = 0
		}
	}
	mean := u.Latency.Seconds()
	if u.P50 > 0 {
		mean = capacity.FitLognormal(u.P50.Seconds(), u.P99.Seconds()).Mean()
	}
	s = s.under(mean, u.Degraded.Seconds(), c.Replicas.Min)
	if k := u.Client; k != nil && !shared && s.Peak > 0 && (k.MaxConns == 0 || idle(k) < k.MaxConns) {
		s.DialChance = capacity.DialChance(s.Peak/float64(c.Replicas.Min), idle(k))
	}
	return s, true
}

// idle is how many connections a client keeps.
func idle(k *contract.Client) int {
	if k.MaxIdle == 0 {
		return 2 // http.DefaultMaxIdleConnsPerHost
	}
	return k.MaxIdle
}

func sizesOfDoor(c *contract.Contract) (Sizes, bool) {
	if c.Door == nil {
		return Sizes{}, false
	}
	plan, err := c.Door.Plan()
	if err != nil {
		return Sizes{}, false // one key of a door that comes or goes
	}
	s := Sizes{Each: plan.InFlight, Deadline: plan.Deadline, Attempts: 1}
	for _, name := range slices.Sorted(maps.Keys(c.Callers)) { // a sum of floats depends on its order
		s.Rate += float64(c.Callers[name].Rate)
	}
	return s.under(c.Door.Latency.Seconds(), 0, c.Replicas.Min), true
}

// under adds what latencies in seconds make of the rate.
func (s Sizes) under(mean, degraded float64, replicas int) Sizes {
	s.Places = s.Each * replicas
	s.Peak, s.Degraded = capacity.Little(s.Rate, mean), capacity.Little(s.Rate, degraded)
	if s.Each > 0 && s.Peak > 0 {
		s.WaitChance = capacity.ErlangC(s.Each, s.Peak/float64(replicas))
	}
	return s
}

// worseThan compares what can not be carried first, and then what waits.
func (s Sizes) worseThan(old Sizes) bool {
	loss, was := s.loss(s.Peak)+s.loss(s.Degraded), old.loss(old.Peak)+old.loss(old.Degraded)
	if loss != was {
		return loss > was
	}
	if late, was := s.late(s.Peak) || s.late(s.Degraded), old.late(old.Peak) || old.late(old.Degraded); late != was {
		return late
	}
	return s.WaitChance > old.WaitChance+0.01
}

// late reports whether a call takes longer than it may, on average.
func (s Sizes) late(load float64) bool {
	return s.Deadline > 0 && load > s.Rate*s.Deadline.Seconds()
}

func (s Sizes) loss(load float64) float64 {
	if s.Places == 0 {
		return 0
	}
	return capacity.Loss(s.Places, load)
}

// AtPeak says in a sentence what the sizes do at the peak.
func (s Sizes) AtPeak() string {
	switch {
	case s == Sizes{}:
		return "not there"
	case s.Peak == 0:
		return "the peak is not known"
	case s.DialChance >= 0.01:
		return s.at(s.Peak, true) + fmt.Sprintf("; %.3g%% dial a new connection", 100*s.DialChance)
	}
	return s.at(s.Peak, true)
}

// Bounds says what bounds one call.
func (s Sizes) Bounds() string {
	attempts := "1 attempt"
	if s.Attempts > 1 {
		attempts = fmt.Sprintf("%d attempts", s.Attempts)
	}
	if s.Deadline == 0 {
		return attempts + " without a deadline"
	}
	return fmt.Sprintf("%s within %v", attempts, s.Deadline)
}

// AtDegraded says what they do when the upstream is as slow as it may become; "" if
// the contract does not say.
func (s Sizes) AtDegraded() string {
	if s.Degraded == 0 {
		return ""
	}
	return s.at(s.Degraded, false)
}

// waits writes a chance with the digits that mean something.
func waits(chance float64) string {
	if chance < 1e-4 {
		return "fewer than 0.01% of calls wait"
	}
	return fmt.Sprintf("%.3g%% of calls wait", 100*chance)
}

func (s Sizes) at(load float64, peak bool) string {
	text := s.carried(load, peak)
	if s.late(load) {
		text += fmt.Sprintf("; a mean of %.4g s is longer than the %v that a call may take", load/s.Rate, s.Deadline)
	}
	return text
}

func (s Sizes) carried(load float64, peak bool) string {
	if s.Places == 0 {
		return fmt.Sprintf("%.4g in flight, and no limit", load)
	}
	text := fmt.Sprintf("%.4g in flight on %d places: ", load, s.Places)
	switch loss := s.loss(load); {
	case loss > 0:
		return text + fmt.Sprintf("%.2f%% cannot be carried", 100*loss)
	case peak:
		return text + waits(s.WaitChance)
	}
	return text + fmt.Sprintf("%.0f%% taken", 100*load/float64(s.Places))
}
