package simulate

import "math"

// A monitor is what a proxy's detector knows of one host.
type monitor struct {
	ejected                bool
	ejectedAt, releasedAt  int64
	released               bool // ever
	jitter                 int64
	times                  int // multiplies BaseEjection
	errors, gateway, local int // in a row
	good, total            int // in this interval
}

// observe counts an answer against the host it came from.
func (e *engine) observe(p *proxy, h *host, a answer) {
	o := e.s.Proxy.Outlier
	if o == nil || h.removed {
		return
	}
	m := &h.monitor
	if o.SplitLocal {
		if a.cause == Unconnected || a.cause == ProxyTimeout {
			m.local++
			if m.local == o.ConsecutiveLocal && !m.ejected {
				m.local = 0
				e.detect(p, h, o.Enforcing.ConsecutiveLocal)
			}
			return
		}
		m.local = 0
	}
	m.total++
	if a.status < 500 {
		m.good++
		m.errors, m.gateway = 0, 0
		return
	}
	if a.status >= 502 && a.status <= 504 {
		m.gateway++
		if m.gateway == o.ConsecutiveGateway && !m.ejected {
			m.gateway = 0
			e.detect(p, h, o.Enforcing.ConsecutiveGateway)
		}
	} else {
		m.gateway = 0
	}
	m.errors++
	// A host that is ejected and used in panic counts on; it is out already, and
	// its release clears the counters.
	if m.errors == int(o.Consecutive5xx) && !m.ejected {
		m.errors = 0
		e.detect(p, h, o.Enforcing.Consecutive5xx)
	}
}

// detect ejects h unless observing or over the cap, or by the chance with which its
// detector is not enforced.
func (e *engine) detect(p *proxy, h *host, enforced *Share) {
	o := e.s.Proxy.Outlier
	e.m.detected++
	if o.Observe || h.monitor.ejected {
		return
	}
	if enforced != nil && e.jitter.Float64() >= float64(*enforced) {
		return
	}
	if !o.admits(p.ejected, len(p.hosts)) {
		e.m.capRefused.add(e.now, 1)
		return
	}
	m := &h.monitor
	m.ejected, m.ejectedAt = true, e.now
	if int64(m.times)*int64(o.BaseEjection) < int64(o.MaxEjection+o.BaseEjection) {
		m.times++
	}
	if o.Jitter > 0 {
		m.jitter = e.jitter.Int64N(int64(o.Jitter) + 1)
	}
	e.m.ejections.add(e.now, 1)
	e.countEjected(p, 1)
	e.refresh(p)
}

// admits says whether one more of n hosts may be ejected.
func (o *Outlier) admits(ejected, n int) bool {
	before, after := 100*float64(ejected)/float64(n), 100*float64(ejected+1)/float64(n)
	switch o.CapRule {
	case CapOvershoot:
		return ejected == 0 || before < o.MaxEjectionPercent
	case CapAtLeastOne:
		return ejected == 0 || after <= o.MaxEjectionPercent
	}
	return after <= o.MaxEjectionPercent
}

// sweepProxy releases hosts whose time is up and compares the rates of the others.
func (e *engine) sweepProxy(p *proxy) {
	o := e.s.Proxy.Outlier
	e.timers.add(e.now+int64(o.Interval), sweep, p.id, 0)
	changed := false
	for _, h := range p.hosts {
		changed = e.release(p, h) || changed
	}
	if changed {
		e.refresh(p)
	}
	if o.SuccessRate != nil {
		e.compareRates(p, o.SuccessRate)
	}
	if o.FailurePercentage != nil {
		e.compareFailures(p, o.FailurePercentage)
	}
	for _, h := range p.hosts {
		h.monitor.good, h.monitor.total = 0, 0
	}
}

// release ends the ejection of h if its time is up, and forgets past ones one by
// one while it stays good.
func (e *engine) release(p *proxy, h *host) bool {
	o := e.s.Proxy.Outlier
	m := &h.monitor
	if !m.ejected {
		if m.times > 0 && m.released && e.now-m.releasedAt >= int64(o.Interval) {
			m.times--
		}
		return false
	}
	if min(int64(o.BaseEjection)*int64(m.times), int64(o.MaxEjection))+m.jitter > e.now-m.ejectedAt {
		return false
	}
	m.ejected, m.released, m.releasedAt = false, true, e.now
	m.errors, m.gateway, m.local = 0, 0, 0
	e.countEjected(p, -1)
	return true
}

func (e *engine) compareRates(p *proxy, s *SuccessRate) {
	n, sum, squares := 0, 0.0, 0.0
	for _, h := range p.hosts {
		if h.monitor.total >= s.Volume {
			rate := h.monitor.rate()
			n++
			sum += rate
			squares += rate * rate
		}
	}
	if n < s.MinHosts {
		return
	}
	mean := sum / float64(n)
	floor := mean - s.StdevFactor*math.Sqrt(max(0, squares/float64(n)-mean*mean))
	for _, h := range p.hosts {
		if h.monitor.total >= s.Volume && h.monitor.rate() < floor {
			e.detect(p, h, e.s.Proxy.Outlier.Enforcing.SuccessRate)
		}
	}
}

func (e *engine) compareFailures(p *proxy, f *FailurePercentage) {
	n := 0
	for _, h := range p.hosts {
		if h.monitor.total >= f.Volume {
			n++
		}
	}
	if n < f.MinHosts {
		return
	}
	for _, h := range p.hosts {
		if h.monitor.total >= f.Volume && 100-h.monitor.rate() >= f.Threshold {
			e.detect(p, h, e.s.Proxy.Outlier.Enforcing.FailurePercentage)
		}
	}
}

// rate is the success rate of this interval in percent.
func (m *monitor) rate() float64 { return 100 * float64(m.good) / float64(m.total) }

func (e *engine) countEjected(p *proxy, change int) {
	p.ejected += change
	e.m.ejected.add(e.now, float64(change))
}

func (e *engine) countPanic(panicking bool) {
	if panicking {
		e.m.panicEntries++
		e.m.panicking.add(e.now, 1)
		return
	}
	e.m.panicking.add(e.now, -1)
}
