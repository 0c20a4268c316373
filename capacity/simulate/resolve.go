package simulate

import (
	"cmp"
	"slices"
	"time"
)

// Defaults from elsewhere.
const (
	envoyConsecutive5xx     = 5                // Envoy, outlier_detection.consecutive_5xx
	envoyConsecutiveLocal   = 5                // consecutive_local_origin_failure
	envoyInterval           = 10 * time.Second // interval
	envoyBaseEjection       = 30 * time.Second // base_ejection_time
	envoyMaxEjection        = 300 * time.Second
	envoyMaxEjectionPercent = 10 // max_ejection_percent
	envoyStdevFactor        = 1.9
	envoyMinHosts           = 5
	envoyRateVolume         = 100
	envoyFailureVolume      = 50
	envoyFailureThreshold   = 85
	envoyMinRetries         = 3 // retry_budget.min_retry_concurrency

	kubeProbeTimeout  = time.Second
	kubeProbeFailures = 3
	kubeGrace         = 30 * time.Second
)

// Resolve returns the scenario with every default filled in, or all of its
// mistakes at once, each a [*Mistake]. It changes nothing that s points to.
func (s Scenario) Resolve() (Scenario, error) {
	s.Service.resolve()
	s.Callers.resolve()
	s.Proxy.resolve()
	m := &mistakes{}
	s.check(m)
	if err := m.err(); err != nil {
		return Scenario{}, err
	}
	s.Events = slices.Clone(s.Events)
	slices.SortStableFunc(s.Events, func(a, b Event) int { return cmp.Compare(a.At, b.At) })
	return s, nil
}

// orElse sets *v to def if it is zero.
func orElse[T comparable](v *T, def T) {
	var zero T
	if *v == zero {
		*v = def
	}
}

func (c *Callers) resolve() {
	orElse(&c.Count, 1)
	orElse(&c.Attempts, 1)
}

func (s *Service) resolve() {
	orElse(&s.Zones, 1)
	orElse(&s.Grace, max(kubeGrace, s.PreStop))
	orElse(&s.Client.Attempts, 1)
	orElse(&s.Liveness.Timeout, kubeProbeTimeout)
	orElse(&s.Liveness.Failures, kubeProbeFailures)
	orElse(&s.Liveness.Restart, s.Start)
}

func (p *Proxy) resolve() {
	if p.RetryOn == nil {
		p.RetryOn = []int{502, 503, 504}
	}
	orElse(&p.MinRetries, envoyMinRetries)
	p.HealthCheck.resolve()
	if p.LeaveOut != nil {
		o := *p.LeaveOut
		o.resolve()
		p.LeaveOut = &o
	}
	if p.Outlier != nil {
		o := *p.Outlier
		o.resolve()
		p.Outlier = &o
	}
}

func (o *Outlier) resolve() {
	orElse(&o.Consecutive5xx, envoyConsecutive5xx)
	orElse(&o.ConsecutiveLocal, envoyConsecutiveLocal)
	orElse(&o.Interval, envoyInterval)
	orElse(&o.BaseEjection, envoyBaseEjection)
	orElse(&o.MaxEjection, max(envoyMaxEjection, o.BaseEjection))
	orElse(&o.MaxEjectionPercent, envoyMaxEjectionPercent)
	if o.SuccessRate != nil {
		r := *o.SuccessRate
		orElse(&r.MinHosts, envoyMinHosts)
		orElse(&r.Volume, envoyRateVolume)
		orElse(&r.StdevFactor, envoyStdevFactor)
		o.SuccessRate = &r
	}
	if o.FailurePercentage != nil {
		f := *o.FailurePercentage
		orElse(&f.Threshold, envoyFailureThreshold)
		orElse(&f.MinHosts, envoyMinHosts)
		orElse(&f.Volume, envoyFailureVolume)
		o.FailurePercentage = &f
	}
}
