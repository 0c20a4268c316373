package check

import "github.com/offtake-go/offtake/capacity"

// Linux's defaults: ip_local_port_range and the length of TIME_WAIT.
const (
	localPorts = 28232
	timeWait   = 60
)

// c11 is whether closed connections use up the local ports.
type c11 struct {
	Dials float64 // per second

	// Rate and Load of one replica say how many idle connections would do; 0 is
	// unknown.
	Rate, Load float64
}

func (n c11) verdict() Verdict {
	return holds(n.Dials*timeWait <= 0.8*localPorts,
		say("%.4g sockets in TIME_WAIT of %d ports (limit %.4g dials/s)", n.Dials*timeWait, localPorts, capacity.MaxDials(localPorts, timeWait)),
		n.remedy())
}

func (n c11) remedy() string {
	most := 0.8 * capacity.MaxDials(localPorts, timeWait)
	fewer := say("fewer than %s dials per second", atMost(most))
	if n.Load == 0 {
		return fewer + ": keep connections, or widen ip_local_port_range"
	}
	idle := ceilTo(capacity.SquareRootStaffing(n.Load, 2))
	for n.Rate*capacity.DialChance(n.Load, idle) > most {
		idle += 1 + idle/10
	}
	return say("keep %d idle connections (MaxIdleConnsPerHost), or widen ip_local_port_range: %s", idle, fewer)
}

func ruleC11() Rule {
	return rule(Rule{
		ID: "C11", Title: "ephemeral ports run out", Severity: Error,
		Breaks: "dials per second x 60 s > 0.8 x 28232 ports, for one address and port",
		Source: "Linux ip_local_port_range 32768-60999, TCP_TIMEWAIT_LEN 60 s", Needs: "a client of HTTP/1.1, a rate and a latency",
	}, func(w *World, emit func(Place, c11)) {
		for _, c := range w.pools() {
			p := c.Pool
			if !p.Foreign || shares(*c.Upstream) || c.Mean == 0 || p.Cap > 0 && p.Idle >= p.Cap {
				continue
			}
			rate := c.Rate / float64(w.Service.Min)
			emit(c.place(), c11{rate * capacity.DialChance(rate*c.Mean, p.Idle), rate, rate * c.Mean})
		}
	})
}
