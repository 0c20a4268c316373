package simulate

import "time"

// A Result is what one run showed. Counts are of what ended in the measured time,
// without Settle; series are of the whole run.
type Result struct {
	Name     string
	Seed     uint64
	Settle   time.Duration
	Duration time.Duration
	Events   int64 // that the engine took, a measure of its work

	Calls    Calls
	Requests Requests
	Mesh     Mesh

	// Wait is the wait for places, 0 for those that found one free; QueueMean and
	// QueuePeak how many waited in all replicas together.
	Wait                 Times
	QueueMean, QueuePeak float64

	// GatesRefused is how many requests found no place in a door or client, or
	// would have, under Gate.Observe.
	GatesRefused int64

	// Restarts is how many processes were killed and started again.
	Restarts int64

	Failing Failing
	Series  []Series
	Moments []Moment
}

// Calls are what the callers saw.
type Calls struct {
	Ended, Served int64

	// Failed counts by cause of the last attempt; only causes that occurred are
	// there.
	Failed map[Cause]int64

	// FailedShare is of Ended.
	FailedShare float64

	// TriesPerCall is how many requests the proxies sent, or could not send, for
	// each call.
	TriesPerCall float64

	// RetriesRefused is how many retries Proxy.RetryPercent saved.
	RetriesRefused int64

	Latency Times // from the call to its end, good or bad
}

// Requests are what the replicas saw of them.
type Requests struct {
	Ended, Served int64
	Failed        map[Cause]int64
	FailedShare   float64

	// Rate is of those that ended, Goodput of those served, in requests per second.
	Rate, Goodput float64

	Latency Times // from arrival at the replica to its answer

	// Late is how many were served when their caller had gone. Gateway success is
	// not caller success.
	Late int64

	// WastedShare is the share of the time held in places of the client that went
	// into requests that failed or were late.
	WastedShare float64

	// Attempts is how many requests went to the upstream; InFlightMean and
	// InFlightPeak are of all replicas together.
	Attempts                   int64
	InFlightMean, InFlightPeak float64
}

// Mesh is what the proxies did. Numbers are of all proxies together where they
// say nothing else.
type Mesh struct {
	Ejections, Detected, CapRefused int64

	// MostEjected and LeastHealthyPercent are of the one proxy that had it worst.
	MostEjected         int
	LeastHealthyPercent float64

	// PanicTime is the mean over proxies; PanicPicks how many tries were balanced
	// in panic.
	PanicTime                time.Duration
	PanicEntries, PanicPicks int64

	// LeftOut is how often a client left a replica out by Proxy.LeaveOut, CheckedOut
	// how often one was taken out by Proxy.HealthCheck.
	LeftOut, CheckedOut int64
}

// result sums up the run.
func (e *engine) result(seed uint64) *Result {
	m := e.m
	for _, g := range m.gauges() {
		g.advance(e.now)
	}
	m.closeStep()
	measured := e.s.Duration
	r := &Result{
		Name: e.s.Name, Seed: seed, Settle: e.s.Settle, Duration: measured, Events: e.events,
		Wait:      m.wait.times(),
		QueueMean: m.queue.area / float64(measured), QueuePeak: m.queue.peak,
		GatesRefused: m.gatesRefused,
		Restarts:     m.restarts.total,
		Mesh: Mesh{
			Ejections: m.ejections.total, Detected: m.detected, CapRefused: m.capRefused.total,
			MostEjected: m.mostOut, LeastHealthyPercent: m.leastHealthy,
			PanicTime:    time.Duration(m.panicking.area) / time.Duration(len(e.proxies)),
			PanicEntries: m.panicEntries, PanicPicks: m.panicPicks,
			LeftOut: m.leftOut, CheckedOut: m.checkedOut,
		},
	}
	var byCause [causes]int64
	for c := range m.ended {
		byCause[c] = m.ended[c].total
	}
	r.Calls.Ended, r.Calls.Served, r.Calls.Failed, r.Calls.FailedShare = sumUp(byCause)
	r.Calls.TriesPerCall = share(m.tries.total, m.calls.total)
	r.Calls.RetriesRefused = m.retriesSaved
	r.Calls.Latency = m.latency.times()

	q := &r.Requests
	q.Ended, q.Served, q.Failed, q.FailedShare = sumUp(m.requestsEnded)
	q.Rate, q.Goodput = float64(q.Ended)/measured.Seconds(), float64(q.Served)/measured.Seconds()
	q.Latency, q.Late, q.WastedShare = m.sojourn.times(), m.late, share(m.wasted, m.held)
	q.Attempts = m.attempts
	q.InFlightMean, q.InFlightPeak = m.inFlight.area/float64(measured), m.inFlight.peak

	r.Series = e.series()
	r.Failing = m.whenFailing(r.Find(SeriesFailed), r.Find(SeriesServed))
	r.Moments = m.moments(r.Failing, time.Duration(e.end))
	return r
}

func sumUp(byCause [causes]int64) (ended, good int64, failed map[Cause]int64, failedShare float64) {
	failed = make(map[Cause]int64)
	for c, n := range byCause {
		ended += n
		if Cause(c) != Served && n > 0 {
			failed[Cause(c)] = n
		}
	}
	good = byCause[Served]
	return ended, good, failed, share(ended-good, ended)
}

func share(n, of int64) float64 {
	if of == 0 {
		return 0
	}
	return float64(n) / float64(of)
}

// Names of the series that every run has, in the order of Result.Series. After
// them comes one for each cause by which calls failed, named FailedBy(cause).
const (
	SeriesCalls     = "calls"
	SeriesServed    = "served"
	SeriesFailed    = "failed"
	SeriesTries     = "tries"
	SeriesPerCall   = "tries per call"
	SeriesLatency   = "p95 of calls"
	SeriesInFlight  = "in flight upstream"
	SeriesQueue     = "waiting for a place"
	SeriesReady     = "ready replicas"
	SeriesEjected   = "ejected, mean of proxies"
	SeriesPanicking = "proxies in panic"
	SeriesCapped    = "ejections refused by the cap"
	SeriesRestarts  = "restarts"
)

// FailedBy is the name of the series of calls that failed by cause c.
func FailedBy(c Cause) string { return "failed: " + c.String() }

func (e *engine) series() []Series {
	m := e.m
	calls, tries := m.calls.series(SeriesCalls), m.tries.series(SeriesTries)
	failed := Series{Name: SeriesFailed, Unit: "1/s", Step: calls.Step, Values: make([]float64, points)}
	var byCause []Series
	for c := range m.ended {
		s := m.ended[c].series(FailedBy(Cause(c)))
		some := false
		for i, v := range s.Values {
			if Cause(c) != Served {
				failed.Values[i] += v
				some = some || v > 0
			}
		}
		if some {
			byCause = append(byCause, s)
		}
	}
	ejected := m.ejected.series(SeriesEjected, "")
	for i := range ejected.Values {
		ejected.Values[i] /= float64(len(e.proxies))
	}
	return append([]Series{
		calls, m.ended[Served].series(SeriesServed), failed, tries,
		ratio(SeriesPerCall, "", tries, calls),
		{Name: SeriesLatency, Unit: "s", Step: calls.Step, Values: m.p95[:]},
		m.inFlight.series(SeriesInFlight, ""), m.queue.series(SeriesQueue, ""),
		m.ready.series(SeriesReady, ""), ejected, m.panicking.series(SeriesPanicking, ""),
		m.capRefused.series(SeriesCapped), m.restarts.series(SeriesRestarts),
	}, byCause...)
}

// Causes lists the causes by which calls failed at any time of the run, Settle
// included, in the order of their constants.
func (r *Result) Causes() []Cause {
	var all []Cause
	for c := Served + 1; c < causes; c++ {
		if len(r.Find(FailedBy(c)).Values) > 0 {
			all = append(all, c)
		}
	}
	return all
}

// Find returns the series of that name, or an empty one.
func (r *Result) Find(name string) Series {
	for _, s := range r.Series {
		if s.Name == name {
			return s
		}
	}
	return Series{Name: name}
}
