package simulate

// A meter counts what happens in a run. Totals are of what is measured, series of
// the whole run.
type meter struct {
	calls   tally // begun
	ended   [causes]tally
	latency histogram
	step    int // of the calls in recent
	recent  histogram
	p95     [points]float64 // seconds

	tries         tally // begun
	triesEnded    [causes]int64
	requestsEnded [causes]int64
	sojourn       histogram // of requests
	late          int64     // requests served when their caller had gone
	held, wasted  int64     // nanoseconds of the client's places
	attempts      int64     // put on the wire

	wait         histogram
	gatesRefused int64
	retriesSaved int64 // refused by Proxy.RetryPercent

	queue, inFlight                 gauge
	ready, ejected, panicking       gauge
	ejections, capRefused, restarts tally
	detected, leftOut, checkedOut   int64
	panicPicks, panicEntries        int64
	mostOut                         int
	leastHealthy                    float64 // percent
	marks                           []Moment
}

func newMeter(width int64) *meter {
	m := &meter{leastHealthy: 100}
	for _, t := range m.tallies() {
		t.width = width
	}
	for _, g := range m.gauges() {
		*g = newGauge(width)
	}
	return m
}

func (m *meter) tallies() []*tally {
	all := []*tally{&m.calls, &m.tries, &m.ejections, &m.capRefused, &m.restarts}
	for i := range m.ended {
		all = append(all, &m.ended[i])
	}
	return all
}

func (m *meter) gauges() []*gauge {
	return []*gauge{&m.queue, &m.inFlight, &m.ready, &m.ejected, &m.panicking}
}

// begin starts the measurement.
func (m *meter) begin(now int64) {
	for _, t := range m.tallies() {
		t.total = 0
	}
	for _, g := range m.gauges() {
		g.reset(now)
	}
	m.latency, m.sojourn, m.wait = histogram{}, histogram{}, histogram{}
	m.triesEnded, m.requestsEnded = [causes]int64{}, [causes]int64{}
	m.late, m.held, m.wasted, m.attempts = 0, 0, 0, 0
	m.gatesRefused, m.retriesSaved = 0, 0
	m.detected, m.panicPicks, m.panicEntries = 0, 0, 0
	m.leftOut, m.checkedOut = 0, 0
	m.mostOut, m.leastHealthy = 0, 100
}

func (m *meter) callEnded(now int64, c Cause, took int64) {
	m.ended[c].add(now, 1)
	m.latency.add(took)
	for m.step < m.ended[c].stepOf(now) {
		m.closeStep()
	}
	m.recent.add(took)
}

// closeStep keeps the latency of a step that is over.
func (m *meter) closeStep() {
	m.p95[m.step] = m.recent.quantile(0.95).Seconds()
	m.recent = histogram{}
	m.step++
}

func (m *meter) requestEnded(c Cause, took, held int64, late bool) {
	m.requestsEnded[c]++
	m.sojourn.add(took)
	m.held += held
	if late || c != Served {
		m.wasted += held
	}
	if late && c == Served {
		m.late++
	}
}

// waited counts the wait for a place in g.
func (m *meter) waited(g *gate, ns int64) {
	if g.places > 0 {
		m.wait.add(ns)
	}
}

// hosts notes the health of n hosts of one proxy.
func (m *meter) hosts(ejected, n int) {
	m.mostOut = max(m.mostOut, ejected)
	if n > 0 {
		m.leastHealthy = min(m.leastHealthy, 100*float64(n-ejected)/float64(n))
	}
}
