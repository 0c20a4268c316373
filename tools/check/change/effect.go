package change

import (
	"errors"
	"fmt"
	"time"

	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/capacity/contract"
)

// Sizes are what one upstream gets, and what its traffic needs. They compare with
// ==.
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

	// WaitChance is the share of calls that wait at the peak.
	WaitChance float64

	// Infeasible says that the demand can not be met, and the sizes are the best
	// there are.
	Infeasible bool
}

// sizesOf derives the sizes of an upstream; false if the contract does not have it.
func sizesOf(c *contract.Contract, name string) (Sizes, bool) {
	u, ok := c.Upstreams[name]
	if !ok {
		return Sizes{}, false
	}
	s := Sizes{Rate: float64(u.Rate)}
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
	}
	s.Places = s.Each * c.Replicas.Min
	mean := u.Latency.Seconds()
	if u.P50 > 0 {
		mean = capacity.FitLognormal(u.P50.Seconds(), u.P99.Seconds()).Mean()
	}
	s.Peak = capacity.Little(s.Rate, mean)
	s.Degraded = capacity.Little(s.Rate, u.Degraded.Seconds())
	if s.Each > 0 && s.Peak > 0 {
		s.WaitChance = capacity.ErlangC(s.Each, s.Peak/float64(c.Replicas.Min))
	}
	return s, true
}

// worseThan compares what can not be carried first, and then what waits.
func (s Sizes) worseThan(old Sizes) bool {
	loss, was := s.loss(s.Peak)+s.loss(s.Degraded), old.loss(old.Peak)+old.loss(old.Degraded)
	if loss != was {
		return loss > was
	}
	return s.WaitChance > old.WaitChance+0.01
}

func (s Sizes) loss(load float64) float64 {
	if s.Places == 0 {
		return 0
	}
	return capacity.Loss(s.Places, load)
}

// AtPeak says in a sentence what the sizes do at the peak.
func (s Sizes) AtPeak() string {
	if s.Peak == 0 {
		return "the peak is not known"
	}
	return s.at(s.Peak, true)
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
