package capacity

import (
	"fmt"
	"math"
	"time"
)

// Bounds against slips of the keyboard, not against use: each is far above what
// one process can do.
const (
	maxPlaces   = 1_000_000     // sockets of one process end far below
	maxStreams  = math.MaxInt32 // stream identifiers have 31 bits: RFC 9113, section 5.1.1
	maxAttempts = 10            // grpc-go stops at 5
	maxRate     = 1e9           // requests per second
	maxTime     = time.Hour     // a longer call holds a place through a whole rollout

	leastDeadline = time.Millisecond
	leastTime     = time.Microsecond
)

const (
	defaultDeadline   = 10 * time.Second
	defaultAttempts   = 2
	defaultRetryShare = 0.1
	defaultWait       = 100 * time.Millisecond
	defaultBodyIdle   = 5 * time.Second

	// leastRepeated is the least Deadline in which a demand's calls are sent twice:
	// its last tenth holds the longest first pause, 25 ms.
	leastRepeated = 250 * time.Millisecond
)

// Resolve returns the plan with every default filled in, or all of its mistakes
// at once, each a [*Mistake]. Resolving a resolved plan changes nothing.
//
// Resolve never clamps: a plan whose times do not nest is an error that names
// both fields.
func (p Plan) Resolve() (Plan, error) {
	m := &mistakes{of: "Plan"}
	p.checkSizes(m)
	p.checkTimes(m)
	p.fillTimes()
	p.checkNesting(m)
	if m.good("InFlight", "Streams") {
		p.fillSizes()
		p.checkConnections(m)
	}
	if err := m.err(); err != nil {
		return Plan{}, err
	}
	return p, nil
}

func (p Plan) checkSizes(m *mistakes) {
	if p.InFlight < 1 || p.InFlight > maxPlaces {
		m.add("InFlight", fmt.Sprintf("%d is not in [1, %d]: each call in flight needs a place", p.InFlight, maxPlaces),
			"peak rate × mean latency × 2 would do, or let Demand.Plan derive it")
	}
	m.count("Connections", p.Connections, 1, maxPlaces, "calls need a connection to go out on")
	m.count("Streams", p.Streams, 1, maxStreams, "a connection carries at least one request")
	if p.Queue != NoQueue {
		m.count("Queue", p.Queue, 1, maxPlaces, "a longer queue outlives every deadline, and NoQueue is none")
	}
	if p.Attempts != NoRetry {
		m.count("Attempts", p.Attempts, 1, maxAttempts, "more attempts add load and no answers, and NoRetry is one")
	}
	m.count("Warm", p.Warm, 1, maxPlaces, "a service is warm with some connections up")
	m.number("RetryShare", p.RetryShare, 1, "it is a share of requests, 0 for the default of 0.1")
	m.number("Rate", p.Rate, maxRate, "it is in requests per second, 0 if unknown")
}

func (p Plan) checkTimes(m *mistakes) {
	m.duration("Wait", p.Wait, leastTime)
	m.duration("Deadline", p.Deadline, leastDeadline)
	m.duration("Attempt", p.Attempt, leastTime)
	m.duration("Once", p.Once, leastTime)
	m.duration("BodyIdle", p.BodyIdle, leastTime)
	m.duration("Latency", p.Latency, leastTime)
}

// fillTimes sets the times, and the attempts that must fit into them.
func (p *Plan) fillTimes() {
	if p.Deadline == 0 {
		p.Deadline = defaultDeadline
	}
	switch {
	case p.Attempts == NoRetry:
		p.Attempts = 1
	case p.Attempts == 0 && defaultAttempts*p.Attempt <= p.Deadline:
		p.Attempts = defaultAttempts
	case p.Attempts == 0:
		p.Attempts = 1
	}
	if p.Once == 0 {
		p.Once = p.Attempt
	}
	if p.Once == 0 {
		p.Once = p.Deadline / 10 * 9
	}
	if p.Attempt == 0 {
		p.Attempt = min(p.Deadline/10*9/time.Duration(p.Attempts), p.Once)
	}
	if p.Wait == 0 {
		p.Wait = min(defaultWait, p.Attempt/4)
	}
	if p.BodyIdle == 0 {
		p.BodyIdle = min(defaultBodyIdle, p.Deadline)
	}
	if p.RetryShare == 0 {
		p.RetryShare = defaultRetryShare
	}
}

// checkNesting compares the times that are not already known bad.
func (p Plan) checkNesting(m *mistakes) {
	if m.good("Deadline", "Attempt", "Attempts") && p.Attempt > p.Deadline/time.Duration(p.Attempts) {
		m.add("Attempt", fmt.Sprintf("%d Attempts of %v do not fit into the Deadline of %v: the last would be cut off",
			p.Attempts, p.Attempt, p.Deadline),
			fmt.Sprintf("an Attempt of %v would do, or a Deadline of %v", p.Deadline/10*9/time.Duration(p.Attempts), p.Attempt*time.Duration(p.Attempts)))
	}
	if m.good("Deadline", "Attempt", "Attempts", "Once") && (p.Once < p.Attempt || p.Once > p.Deadline) {
		m.add("Once", fmt.Sprintf("%v is not in [%v, %v], from Attempt to Deadline: a call that is sent once has at least the time of one that may be repeated", p.Once, p.Attempt, p.Deadline),
			fmt.Sprintf("%v would do, or 0 for the default", max(p.Attempt, p.Deadline/10*9)))
	}
	if !m.good("Wait") {
		return
	}
	switch {
	case m.good("Deadline") && p.Wait >= p.Deadline:
		m.add("Wait", fmt.Sprintf("%v in the queue leaves nothing of the Deadline of %v", p.Wait, p.Deadline),
			fmt.Sprintf("%v would do", min(defaultWait, p.Deadline/8)))
	case m.good("Attempt", "Attempts", "Once", "Deadline") && p.Wait >= p.Attempt:
		m.add("Wait", fmt.Sprintf("%v is not less than the Attempt of %v: a call would stand in the queue for longer than it may be out", p.Wait, p.Attempt),
			fmt.Sprintf("%v would do", min(defaultWait, p.Attempt/4)))
	}
}

// fillSizes sets the counts that follow from InFlight and Streams.
func (p *Plan) fillSizes() {
	if p.Streams == 0 {
		p.Streams = 1
	}
	if p.Connections == 0 {
		p.Connections = ceilDiv(p.InFlight, p.Streams)
	}
	if p.Queue == 0 {
		p.Queue = p.InFlight
	}
	if p.Warm == 0 {
		p.Warm = p.Connections
	}
}

func (p Plan) checkConnections(m *mistakes) {
	if !m.good("Connections") {
		return
	}
	if least := ceilDiv(p.InFlight, p.Streams); p.Connections < least || p.Connections > p.InFlight {
		m.add("Connections", fmt.Sprintf("%d is not in [%d, %d] for InFlight %d with Streams %d: fewer would queue calls that hold a place, more would never be used",
			p.Connections, least, p.InFlight, p.InFlight, p.Streams),
			fmt.Sprintf("%d would do, or 0 for the default", least))
	}
	if m.good("Connections", "Warm") && p.Warm > p.Connections {
		m.add("Warm", fmt.Sprintf("%d is more than the %d Connections: the service would never be ready", p.Warm, p.Connections),
			fmt.Sprintf("%d would do, or 0 for the default", p.Connections))
	}
}

// ceilDiv is a/b rounded up, for positive a and b, without overflow.
func ceilDiv(a, b int) int { return (a-1)/b + 1 }
