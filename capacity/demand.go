package capacity

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// A Demand states the traffic of a whole service to one upstream, and what the
// upstream allows. Plan derives the sizes of one replica from it, Explain shows
// how.
//
// A Demand is a plain value. Rate, Replicas and a latency are required; every
// other zero field is a default.
type Demand struct {
	// Rate is the peak rate of all replicas together, in requests per second.
	// Required.
	Rate float64

	// Latency is the mean time from the request to the end of its body. Either it
	// or both of P50 and P99 are required.
	Latency time.Duration

	// P50 and P99 are percentiles of the same time, from which a lognormal fit
	// takes the mean. A median is no mean: where P50 is 0.3 s and P99 1.2 s the
	// mean is 19 % higher.
	P50, P99 time.Duration

	// Degraded is the mean latency that the service promises to survive at its peak,
	// when the upstream is slow; the default is none.
	Degraded time.Duration

	// Replicas is the least number of replicas that the peak can meet. Required.
	Replicas int

	// MaxReplicas is the most an autoscaler may run; the default is Replicas. The
	// limit is divided among these.
	MaxReplicas int

	// Surge and Unavailable are the rolling update's maxSurge and maxUnavailable.
	// The default is no rollout: Kubernetes' own default of 25% each must be stated,
	// since it takes places from every replica.
	Surge, Unavailable Pods

	// Draining is how many replaced pods still hold their connections while new
	// ones run; the default is none.
	Draining int

	// Headroom is which multiple of the peak there must be places for; the default
	// is 2, the least 1.
	Headroom float64

	// WaitChance is the chance, in (0, 1), that a call at peak has to wait for a
	// place. If it is stated, a demand that can not keep it is infeasible. The
	// default, 0.05, is aimed at as far as the limit allows.
	WaitChance float64

	// Limit is how many connections the upstream allows to all replicas together;
	// 0 if it states none.
	Limit int

	// Streams is how many requests share one connection; the default is 1.
	Streams int

	// Deadline is when the caller gives up; the default is 10 s. A plan keeps to
	// nine tenths of it, so that the answer finds the caller there.
	Deadline time.Duration

	// Idempotent says that every call may be repeated, by its nature or by a key; see
	// [Plan.Idempotent]. The default is what each call's method promises.
	Idempotent bool
}

const (
	defaultHeadroom   = 2
	defaultWaitChance = 0.05

	maxReplicas = 100_000
	maxHeadroom = 1000
)

// Plan returns the sizes of one replica, resolved.
//
// It fails with an [*Infeasible] if no number of places per replica satisfies the
// demand, and with a [*Mistake] for each field that can not stand otherwise.
func (d Demand) Plan() (Plan, error) {
	x, err := d.Complete(Plan{})
	if err != nil {
		return Plan{}, err
	}
	return x.Plan, nil
}

// resolve fills in the defaults, or returns all mistakes, those of the sizes
// stated by hand included.
func (d Demand) resolve(stated Plan) (Demand, error) {
	m := &mistakes{of: "Demand"}
	d.checkTraffic(m)
	d.checkReplicas(m)
	byHand := stated.checkStated()
	d.MaxReplicas = max(d.MaxReplicas, d.Replicas)
	if d.Headroom == 0 {
		d.Headroom = defaultHeadroom
	}
	if stated.Streams != 0 {
		d.Streams = stated.Streams
	}
	if d.Streams == 0 {
		d.Streams = 1
	}
	if d.Deadline == 0 {
		d.Deadline = defaultDeadline
	}
	if m.good("Rate", "Latency", "P50", "P99", "Degraded", "Replicas", "Headroom", "Surge", "Unavailable") && len(byHand.errs) == 0 {
		d.checkSize(m, stated)
	}
	return d, errors.Join(append(m.errs, byHand.errs...)...)
}

func (d Demand) checkTraffic(m *mistakes) {
	if !(d.Rate > 0 && d.Rate <= maxRate) {
		m.add("Rate", fmt.Sprintf("%g is not in (0, %g]: it is the peak, in requests per second", d.Rate, float64(maxRate)), "100 would do")
	}
	m.duration("Latency", d.Latency, leastTime)
	m.duration("P50", d.P50, leastTime)
	m.duration("P99", d.P99, leastTime)
	m.duration("Degraded", d.Degraded, leastTime)
	m.duration("Deadline", d.Deadline, leastDeadline)
	switch {
	case d.Latency == 0 && d.P50 == 0 && d.P99 == 0:
		m.add("Latency", "it is missing: Little's law needs the mean", "Latency: 300*time.Millisecond would do, or P50 and P99")
	case d.Latency != 0 && (d.P50 != 0 || d.P99 != 0):
		m.add("Latency", "it is stated beside P50 and P99, which give another mean", "Latency alone would do, or P50 and P99")
	case d.P50 == 0 && d.P99 != 0:
		m.add("P50", "it is missing beside P99: one percentile has no mean", "the median of the same times would do")
	case d.P50 != 0 && d.P99 == 0:
		m.add("P99", "it is missing beside P50: one percentile has no mean", "the 99th percentile of the same times would do")
	case d.P99 < d.P50 && m.good("P50", "P99"):
		m.add("P99", fmt.Sprintf("%v is less than the P50 of %v", d.P99, d.P50), fmt.Sprintf("%v would do", d.P50))
	case d.P50 != 0 && m.good("P50", "P99") && d.mean() > d.P99.Seconds():
		m.add("P99", fmt.Sprintf("%v is %.3g × the P50 of %v: a lognormal fit to both has its mean beyond the P99", d.P99, float64(d.P99)/float64(d.P50), d.P50),
			"the measured mean as Latency would do")
	}
	if d.Headroom != 0 && !(d.Headroom >= 1 && d.Headroom <= maxHeadroom) {
		m.add("Headroom", fmt.Sprintf("%g is not in [1, %d]: it multiplies the peak", d.Headroom, maxHeadroom), "1.3 would do, or 0 for the default of 2")
	}
	if d.WaitChance != 0 && !(d.WaitChance > 0 && d.WaitChance < 1) {
		m.add("WaitChance", fmt.Sprintf("%g is not in (0, 1): it is a chance", d.WaitChance), "0.05 would do, or 0 for the default")
	}
	m.count("Limit", d.Limit, 1, math.MaxInt32, "it is in connections, 0 if the upstream states none")
	m.count("Streams", d.Streams, 1, maxStreams, "a connection carries at least one request")
}

func (d Demand) checkReplicas(m *mistakes) {
	if d.Replicas < 1 || d.Replicas > maxReplicas {
		m.add("Replicas", fmt.Sprintf("%d is not in [1, %d]: the limit and the load are divided among them", d.Replicas, maxReplicas), "the deployment's least replicas would do")
	}
	m.count("MaxReplicas", d.MaxReplicas, 1, maxReplicas, "it is the autoscaler's most")
	if m.good("Replicas", "MaxReplicas") && d.MaxReplicas != 0 && d.MaxReplicas < d.Replicas {
		m.add("MaxReplicas", fmt.Sprintf("%d is less than Replicas, %d", d.MaxReplicas, d.Replicas), fmt.Sprintf("%d would do, or 0", d.Replicas))
	}
	m.count("Draining", d.Draining, 1, maxReplicas, "it is a number of pods")
	d.Surge.check(m, "Surge")
	d.Unavailable.check(m, "Unavailable")
	if m.good("Replicas", "Surge", "Unavailable") {
		if _, missing := RolloutPods(d.Replicas, d.Surge, d.Unavailable); missing >= d.Replicas {
			m.add("Unavailable", fmt.Sprintf("%v takes away all of %s", d.Unavailable, count(d.Replicas, "replica")), "0 would do, with a Surge of 1")
		}
	}
}

func (p Pods) check(m *mistakes, field string) {
	switch {
	case p.Count != 0 && p.Percent != 0:
		m.add(field, fmt.Sprintf("it is both %d pods and %d%%", p.Count, p.Percent), "one of the two would do")
	case p.Count < 0 || p.Count > maxReplicas:
		m.add(field, fmt.Sprintf("%d is not in [0, %d] pods", p.Count, maxReplicas), "1 would do")
	case p.Percent < 0 || p.Percent > 100:
		m.add(field, fmt.Sprintf("%d%% is not in [0%%, 100%%]", p.Percent), "25% would do")
	}
}

// checkStated checks the fields that were stated by hand, each for itself.
func (p Plan) checkStated() *mistakes {
	m := &mistakes{of: "Plan"}
	if p.InFlight == 0 {
		p.InFlight = 1
	}
	p.checkSizes(m)
	p.checkTimes(m)
	return m
}

// checkSize refuses what no plan can hold: more places than a process has, or a
// deadline that the mean call does not meet.
func (d Demand) checkSize(m *mistakes, stated Plan) {
	_, missing := RolloutPods(d.Replicas, d.Surge, d.Unavailable)
	if each := d.Headroom * d.load() / float64(d.Replicas-missing); each > maxPlaces/2 {
		remedy := fmt.Sprintf("%.3g/s would do", atMost(d.Rate*maxPlaces/2/each, 3))
		if replicas := math.Ceil(float64(d.Replicas) * each / (maxPlaces / 2)); replicas <= maxReplicas {
			remedy += fmt.Sprintf(", or %.0f replicas", replicas)
		}
		m.add("Rate", fmt.Sprintf("%g/s of %v each are %.3g in flight per replica, more than a process can hold", d.Rate, seconds(d.mean()), each), remedy)
	}
	if d.Degraded != 0 && d.Degraded.Seconds() < d.mean() {
		m.add("Degraded", fmt.Sprintf("%v is less than the mean latency of %v", d.Degraded, seconds(d.mean())), fmt.Sprintf("%v would do", seconds(2*d.mean())))
		return
	}
	if stated.Attempt != 0 || !m.good("Deadline") {
		return
	}
	p, slowest := d.times(stated), d.slowest()
	if p.Attempt.Seconds() >= slowest {
		return
	}
	late := &Mistake{Type: "Demand", Field: "Deadline", Remedy: enough(slowest, p.Attempts)}
	deadline := d.Deadline
	if stated.Deadline != 0 {
		late.Type, deadline = "Plan", stated.Deadline
	}
	late.Problem = fmt.Sprintf("%v leaves %v for an attempt, less than the mean latency of %v", deadline, p.Attempt, seconds(slowest))
	m.errs = append(m.errs, late)
}

// enough says which deadline has room for attempts of a latency in seconds: twice
// their sum, if a call may last so long.
func enough(latency float64, attempts int) string {
	deadline := seconds(math.Ceil(latency*float64(attempts)*20) / 10)
	most := maxTime * 81 / 100 / time.Duration(attempts) // nine tenths of nine tenths: see times
	switch {
	case deadline <= maxTime:
		return fmt.Sprintf("%v would do", deadline)
	case latency <= most.Seconds():
		return fmt.Sprintf("%v would do", maxTime)
	}
	return fmt.Sprintf("a latency of %v at most would do: no call may last longer than %v", most, maxTime)
}

// spread is the stated latency: fitted if percentiles are known, and otherwise
// exponential, which is what Erlang's formulas take it for.
func (d Demand) spread() Spread {
	if d.P50 != 0 {
		return FitLognormal(d.P50.Seconds(), d.P99.Seconds())
	}
	return Exponential(d.Latency.Seconds())
}

// mean is the mean latency in seconds, load the mean number in flight of all
// replicas at peak.
func (d Demand) mean() float64 { return d.spread().Mean() }
func (d Demand) load() float64 { return Little(d.Rate, d.mean()) }

// slowest is the longer of the mean and the degraded latency, in seconds.
func (d Demand) slowest() float64 { return max(d.mean(), d.Degraded.Seconds()) }

// p99 is the stated or, for a mean alone, the exponential 99th percentile.
func (d Demand) p99() time.Duration {
	if d.P99 != 0 {
		return d.P99
	}
	return seconds(d.mean() * math.Log(100))
}

// seconds is a duration for people: four digits are more than is known.
func seconds(s float64) time.Duration {
	if s <= 0 {
		return 0
	}
	unit := math.Pow(10, math.Floor(math.Log10(s))-3)
	return time.Duration(math.Round(math.Round(s/unit) * unit * 1e9))
}
