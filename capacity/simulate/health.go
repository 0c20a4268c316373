package simulate

import "time"

// A HealthCheck asks every replica itself, as Envoy's active health checking does,
// each proxy on its own. A replica passes if its process runs and is neither wedged,
// broken nor still warming up behind a refusal; being busy or slow is no failure, as
// the check waits in no queue. Its zero value never asks.
type HealthCheck struct {
	// Interval between two checks of a replica; 0 is no check.
	Interval time.Duration `yaml:"interval"`

	// Timeout of one check, within Interval; the default is the smaller of 1 s and
	// Interval. What is wedged fails by it, the others fail at once.
	Timeout time.Duration `yaml:"timeout"`

	// Unhealthy failures in a row take a replica out, the default is 3; Healthy passes
	// in a row bring it back, the default is 2. A replica that is new comes in with its
	// first pass.
	Unhealthy int `yaml:"unhealthy"`
	Healthy   int `yaml:"healthy"`
}

func (c *HealthCheck) resolve() {
	if c.Interval == 0 {
		return
	}
	orElse(&c.Timeout, min(time.Second, c.Interval))
	orElse(&c.Unhealthy, 3)
	orElse(&c.Healthy, 2)
}

func (c *HealthCheck) check(m *mistakes) {
	m.optional("Proxy.HealthCheck.Interval", c.Interval)
	if c.Interval <= 0 {
		return
	}
	m.duration("Proxy.HealthCheck.Timeout", c.Timeout, time.Microsecond, c.Interval, "the next check begins after it")
	m.count("Proxy.HealthCheck.Unhealthy", c.Unhealthy, 1, maxCount, "it counts failures in a row")
	m.count("Proxy.HealthCheck.Healthy", c.Healthy, 1, maxCount, "it counts passes in a row")
}

// checkup is what a proxy's health checks know of one replica.
type checkup struct {
	failing bool // out for it
	asked   bool // a wedged replica was, and the timeout will tell
	row     int  // results in a row that speak against failing
}

// checkHosts asks all replicas of a proxy.
func (e *engine) checkHosts(p *proxy) {
	c := &e.s.Proxy.HealthCheck
	e.timers.add(e.now+int64(c.Interval), healthCheck, p.id, 0)
	changed, wedged := false, false
	for _, h := range p.hosts {
		if h.replica.wedged && h.replica.listening {
			h.asked, wedged = true, true
			continue
		}
		changed = e.checked(h, e.passes(h.replica)) || changed
	}
	if wedged {
		e.timers.add(e.now+int64(c.Timeout), healthTimeout, p.id, 0)
	}
	if changed {
		e.refresh(p)
	}
}

// checksTimedOut ends the checks that a wedged replica did not answer.
func (e *engine) checksTimedOut(p *proxy) {
	changed := false
	for _, h := range p.hosts {
		if h.asked {
			h.asked = false
			changed = e.checked(h, !h.replica.wedged && e.passes(h.replica)) || changed
		}
	}
	if changed {
		e.refresh(p)
	}
}

// passes says what a replica answers to a check.
func (e *engine) passes(rep *replica) bool {
	return rep.listening && !rep.broken && !rep.wedged && (rep.warm || e.s.Service.Warming == Wait)
}

// checked counts a result, and says whether it changed what the replica is taken for.
func (e *engine) checked(h *host, passed bool) bool {
	if passed != h.failing {
		h.row = 0
		return false
	}
	h.row++
	most := e.s.Proxy.HealthCheck.Unhealthy
	if h.failing {
		most = e.s.Proxy.HealthCheck.Healthy
	}
	if h.row < most {
		return false
	}
	h.failing, h.row = !h.failing, 0
	if h.failing {
		e.m.checkedOut++
	}
	return true
}
