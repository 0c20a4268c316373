package simulate

import (
	"fmt"
	"slices"
	"time"

	"github.com/offtake-go/offtake/capacity"
)

// check adds the mistakes of a scenario whose defaults are filled in.
func (s *Scenario) check(m *mistakes) {
	m.duration("Duration", s.Duration, time.Millisecond, maxRun, "it is how long is measured")
	m.duration("Settle", s.Settle, 0, maxRun, "it is how long the system runs before that")
	s.Callers.check(m)
	s.Proxy.check(m)
	s.Service.check(m)
	s.Upstream.check(m)
	if hosts := s.Callers.Count * max(0, s.Service.Replicas); s.Callers.Count <= maxCount && s.Service.Replicas <= maxCount && hosts > maxHosts {
		m.add("Callers.Count", fmt.Sprintf("%d callers know each of %d replicas, which makes %d hosts, over %d", s.Callers.Count, s.Service.Replicas, hosts, maxHosts),
			fmt.Sprintf("%d would do", maxHosts/s.Service.Replicas))
	}
	for i := range s.Events {
		s.checkEvent(m, i)
	}
}

func (c *Callers) check(m *mistakes) {
	switch {
	case len(c.Load) == 0 && !(c.Rate > 0 && c.Rate <= maxRate): // so written that NaN fails it
		m.add("Callers.Rate", fmt.Sprintf("%v is not over 0 and up to %v, and no Load says how it changes", c.Rate, Rate(maxRate)), "100/s would do")
	case len(c.Load) > 0 && c.Rate != 0:
		m.add("Callers.Rate", "Load says how the rate changes, so Rate would not count", "0 would do")
	}
	for i, p := range c.Load {
		m.number(fmt.Sprintf("Callers.Load[%d].Rate", i), float64(p.Rate), 0, maxRate, "it is in calls per second")
		if p.At < 0 || i > 0 && p.At < c.Load[i-1].At {
			m.add(fmt.Sprintf("Callers.Load[%d].At", i), fmt.Sprintf("%v is before the point before it", p.At), "times from 0 upwards would do")
		}
	}
	m.count("Callers.Count", c.Count, 1, maxCount, "somebody must call")
	for i, share := range c.ZoneShares {
		m.share(fmt.Sprintf("Callers.ZoneShares[%d]", i), share, "it is the share of callers in that zone")
	}
	m.duration("Callers.Timeout", c.Timeout, time.Microsecond, maxTime, "a caller without a timeout waits for ever")
	m.optional("Callers.Deadline", c.Deadline)
	m.count("Callers.Attempts", c.Attempts, 1, 100, "it counts the first attempt too")
	m.share("Callers.RetryShare", c.RetryShare, "it is a share of calls; 0 is no budget")
	m.optional("Callers.Backoff", c.Backoff)
}

func (p *Proxy) check(m *mistakes) {
	if p.Pick > LeastRequest {
		m.add("Proxy.Pick", fmt.Sprintf("there is no way %d to pick", p.Pick), "LeastRequest would do")
	}
	m.optional("Proxy.Timeout", p.Timeout)
	m.optional("Proxy.PerTry", p.PerTry)
	m.count("Proxy.Retries", p.Retries, 0, 100, "it does not count the first try")
	for i, code := range p.RetryOn {
		if !slices.Contains([]int{429, 500, 502, 503, 504}, code) {
			m.add(fmt.Sprintf("Proxy.RetryOn[%d]", i), fmt.Sprintf("no replica answers %d", code), "429, 500, 502, 503 or 504 would do")
		}
	}
	m.number("Proxy.RetryPercent", p.RetryPercent, 0, 100, "it is a percentage of requests in flight; 0 is no budget")
	m.count("Proxy.MinRetries", p.MinRetries, 0, maxPlaces, "it is a number of retries in flight")
	m.count("Proxy.MaxRequests", p.MaxRequests, 0, maxPlaces, "it is a number of requests in flight; 0 is no breaker")
	m.number("Proxy.PanicThreshold", p.PanicThreshold, 0, 100, "it is a percentage of healthy replicas; 0 never panics")
	m.optional("Proxy.Backoff", p.Backoff)
	p.HealthCheck.check(m)
	if p.LeaveOut != nil {
		p.LeaveOut.check(m)
	}
	if p.Outlier != nil {
		p.Outlier.check(m)
	}
}

func (o *Outlier) check(m *mistakes) {
	at := func(name string) string { return "Proxy.Outlier." + name }
	m.count(at("Consecutive5xx"), int(o.Consecutive5xx), int(Off), maxCount, "it counts errors in a row; Off disables it")
	m.count(at("ConsecutiveGateway"), o.ConsecutiveGateway, 0, maxCount, "it counts errors in a row; 0 disables it")
	m.count(at("ConsecutiveLocal"), o.ConsecutiveLocal, 1, maxCount, "it counts errors in a row")
	m.duration(at("Interval"), o.Interval, time.Millisecond, maxTime, "replicas are released at its end only")
	m.duration(at("BaseEjection"), o.BaseEjection, time.Millisecond, maxTime, "it is how long the first ejection lasts")
	m.optional(at("Jitter"), o.Jitter)
	m.number(at("MaxEjectionPercent"), o.MaxEjectionPercent, 0, 100, "it is a percentage of replicas, and 0 is the default of 10")
	if o.MaxEjection < o.BaseEjection {
		m.add(at("MaxEjection"), fmt.Sprintf("%v is less than the BaseEjection of %v", o.MaxEjection, o.BaseEjection), fmt.Sprintf("%v would do", o.BaseEjection))
	}
	if o.CapRule > CapOvershoot {
		m.add(at("CapRule"), fmt.Sprintf("there is no rule %d", o.CapRule), "CapFloor would do")
	}
	for name, share := range map[string]*Share{
		"Consecutive5xx": o.Enforcing.Consecutive5xx, "ConsecutiveGateway": o.Enforcing.ConsecutiveGateway, "ConsecutiveLocal": o.Enforcing.ConsecutiveLocal,
		"SuccessRate": o.Enforcing.SuccessRate, "FailurePercentage": o.Enforcing.FailurePercentage,
	} {
		if share != nil {
			m.share(at("Enforcing."+name), *share, "it is the share of detections that eject")
		}
	}
	if r := o.SuccessRate; r != nil {
		m.count(at("SuccessRate.MinHosts"), r.MinHosts, 1, maxCount, "it is a number of replicas")
		m.count(at("SuccessRate.Volume"), r.Volume, 1, maxPlaces, "it is a number of requests")
		m.number(at("SuccessRate.StdevFactor"), r.StdevFactor, 0, 100, "it multiplies the standard deviation")
	}
	if f := o.FailurePercentage; f != nil {
		m.number(at("FailurePercentage.Threshold"), f.Threshold, 0, 100, "it is a percentage of requests")
		m.count(at("FailurePercentage.MinHosts"), f.MinHosts, 1, maxCount, "it is a number of replicas")
		m.count(at("FailurePercentage.Volume"), f.Volume, 1, maxPlaces, "it is a number of requests")
	}
}

func (s *Service) check(m *mistakes) {
	m.count("Service.Replicas", s.Replicas, 1, maxCount, "somebody must answer")
	m.count("Service.Zones", s.Zones, 1, max(1, s.Replicas), "a zone without a replica is none")
	s.Door.check(m, "Service.Door")
	c := &s.Client
	c.Pool.check(m, "Service.Client.Pool")
	m.duration("Service.Client.Deadline", c.Deadline, time.Microsecond, maxTime, "a client without a deadline waits for ever")
	m.optional("Service.Client.Attempt", c.Attempt)
	m.count("Service.Client.Attempts", c.Attempts, 1, 100, "it counts the first attempt too")
	m.share("Service.Client.RetryShare", c.RetryShare, "it is a share of calls; 0 is no budget")
	m.optional("Service.Client.Backoff", c.Backoff)
	if s.Busy > Answer429 {
		m.add("Service.Busy", "a request that found no place has waited already", "Answer429 would do")
	}
	if s.Warming > Wait {
		m.add("Service.Warming", fmt.Sprintf("there is no answer %d", s.Warming), "Wait would do")
	}
	m.optional("Service.Start", s.Start)
	m.optional("Service.WarmUp", s.WarmUp)
	m.optional("Service.EndpointDelay", s.EndpointDelay)
	m.optional("Service.PreStop", s.PreStop)
	if s.Grace < s.PreStop {
		m.add("Service.Grace", fmt.Sprintf("%v ends before PreStop, which takes %v", s.Grace, s.PreStop), fmt.Sprintf("%v would do", s.PreStop+kubeGrace))
	}
	l := &s.Liveness
	m.optional("Service.Liveness.Period", l.Period)
	m.duration("Service.Liveness.Timeout", l.Timeout, time.Microsecond, maxTime, "a probe without a timeout never fails")
	m.count("Service.Liveness.Failures", l.Failures, 1, 100, "it counts failures in a row")
	m.optional("Service.Liveness.Restart", l.Restart)
}

func (g *Gate) check(m *mistakes, at string) {
	m.count(at+".Places", g.Places, 0, maxPlaces, "0 is no limit")
	if g.Queue != Unbounded {
		m.count(at+".Queue", int(g.Queue), capacity.NoQueue, maxPlaces, "0 is as many as Places, NoQueue is none, Unbounded has no end")
	}
	m.optional(at+".Wait", g.Wait)
}

func (u *Upstream) check(m *mistakes) {
	u.Latency.check(m, "Upstream.Latency")
	m.count("Upstream.Limit", u.Limit, 0, maxPlaces, "0 is no limit")
	m.share("Upstream.Errors", u.Errors, "it is a share of requests")
	m.share("Upstream.Hang", u.Hang, "it is a share of requests")
	if u.Refusal > Answer429 {
		m.add("Upstream.Refusal", "what is over the limit is refused at once", "Answer429 would do")
	}
}

func (l *Latency) check(m *mistakes, at string) {
	forms := 0
	for _, given := range []bool{l.P50 != 0 || l.P99 != 0, l.Mean != 0 || l.CV != 0, l.Exponential != 0, len(l.Samples) > 0} {
		if given {
			forms++
		}
	}
	if forms != 1 {
		m.add(at, fmt.Sprintf("it has %d of its four forms", forms), "P50 with P99, Mean with CV, Exponential, or Samples would do")
		return
	}
	for _, d := range append([]time.Duration{l.P50, l.P99, l.Mean, l.Exponential}, l.Samples...) {
		m.optional(at, d)
	}
	m.number(at+".CV", l.CV, 0, 100, "it is the standard deviation as a multiple of the mean")
	switch {
	case l.CV != 0 && l.Mean == 0:
		m.add(at+".Mean", "there is a CV and no mean to multiply", "1s would do")
	case l.P99 < l.P50 || l.P50 == 0 && l.P99 > 0:
		m.add(at+".P99", fmt.Sprintf("%v does not go with a P50 of %v", l.P99, l.P50), fmt.Sprintf("%v would do", 3*max(l.P50, l.P99/3)))
	}
}

func (s *Scenario) checkEvent(m *mistakes, i int) {
	ev := &s.Events[i]
	at := func(name string) string { return fmt.Sprintf("Events[%d].%s", i, name) }
	if end := s.Settle + s.Duration; ev.At < 0 || ev.At >= end {
		m.add(at("At"), fmt.Sprintf("%v is not within the run, which ends at %v", ev.At, end), fmt.Sprintf("%v would do", s.Settle))
	}
	if ev.Latency != nil {
		ev.Latency.check(m, at("Latency"))
	}
	if ev.Limit != nil {
		m.count(at("Limit"), *ev.Limit, 0, maxPlaces, "0 is no limit")
	}
	if ev.Errors != nil {
		m.share(at("Errors"), *ev.Errors, "it is a share of requests")
	}
	if ev.Hang != nil {
		m.share(at("Hang"), *ev.Hang, "it is a share of requests")
	}
	for _, list := range []struct {
		name    string
		numbers []int
	}{{"Wedge", ev.Wedge}, {"Break", ev.Break}, {"Heal", ev.Heal}, {"Restart", ev.Restart}} {
		for j, n := range list.numbers {
			m.count(fmt.Sprintf("%s[%d]", at(list.name), j), n, 1, maxCount, "replicas count from 1")
		}
	}
	if slow := ev.Slow; slow != nil {
		m.count(at("Slow.Replicas"), slow.Replicas, 1, maxCount, "it is how many replicas become slow, oldest first")
		m.number(at("Slow.By"), slow.By, 1, 1e6, "it is how many times slower they are; 1 is as fast as the others")
	}
	if r := ev.Rollout; r != nil {
		r.check(m, at("Rollout"), s.Service.Replicas)
	}
}

func (r *Rollout) check(m *mistakes, at string, replicas int) {
	m.count(at+".Replicas", r.Replicas, 0, max(0, replicas), "0 is all of them")
	m.optional(at+".MinReady", r.MinReady)
	checkPods(m, at+".MaxSurge", r.MaxSurge)
	checkPods(m, at+".MaxUnavailable", r.MaxUnavailable)
}

func checkPods(m *mistakes, at string, p capacity.Pods) {
	m.count(at, p.Count, 0, maxCount, "it is a number of replicas")
	m.count(at, p.Percent, 0, 100, "it is a percentage of replicas")
	if p.Count != 0 && p.Percent != 0 {
		m.add(at, "it has a count and a percentage", "one of them would do")
	}
}
