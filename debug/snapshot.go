package debug

import "time"

// Source reads what there is to show at one instant. The page calls its sources
// one after the other, at most twice in a [Tick], and not at all while nobody looks
// and Run does not run. A source must not block, and must not change afterwards
// what it returned. One that panics is shown as such.
type Source func() Snapshot

// Snapshot is what a source read.
type Snapshot struct {
	Upstreams []Upstream
	Doors     []Door
	Gates     []Gate
}

// Plan is what an upstream or a door was made for. Its fields are those of
// capacity.Plan, so that a plan converts: debug.Plan(plan). Zero fields are not
// shown.
type Plan struct {
	InFlight    int
	Connections int
	Streams     int
	Queue       int
	Wait        time.Duration
	Deadline    time.Duration
	Attempt     time.Duration
	Once        time.Duration
	Attempts    int
	Idempotent  bool
	RetryShare  float64
	BodyIdle    time.Duration
	Warm        int
	Rate        float64
	Latency     time.Duration
}

// Flow is the traffic through places: of the calls to an upstream, or of the
// requests through a door. Its counters are since the start, and never fall but
// for a restart.
type Flow struct {
	Plan Plan

	InFlight int // hold a place
	Places   int // that there are
	Queued   int // wait for a place

	// Required is the number of places that the traffic of the last minute needs:
	// Rate, per second, times Hold, the mean time in a place: Little's law. Where
	// Rate and Hold are both 0, the page takes the rate from Outcomes and Refused,
	// and the hold from Required.
	Required float64
	Rate     float64
	Hold     time.Duration

	QueueWait Histogram // of every call, 0 for one that did not wait
	Duration  Histogram // whole calls

	// Outcomes counts whole calls by how they ended: "2xx", "timeout", "reset". The
	// set is that of offtake_client_request_duration_seconds.
	Outcomes map[string]uint64

	// Refused counts calls refused here by reason, and Observed those that observe
	// mode let pass.
	Refused, Observed map[string]uint64

	Observing bool // in observe mode: decisions are counted and not applied
	Draining  bool // shut down, or about to be
}

// Upstream is one client, or connection, of one upstream.
type Upstream struct {
	Name   string
	Target string // where it is, as "https://processor.example"; may be empty
	Flow

	Attempts     uint64            // requests sent, retries included
	Retries      map[string]uint64 // attempts after the first, by reason
	RetryBalance float64           // retries that the budget allows now

	Idle, Active int           // connections
	Oldest       time.Duration // age of the oldest connection; 0 if not known
	Dials        map[string]uint64
	ConnectWait  Histogram // of every attempt, 0 for a reused connection
	HeaderWait   Histogram // from the connection to the response's headers
	BodyRead     Histogram // from there to the end of the body, if there is one

	Leaked uint64 // bodies that nobody closed

	// Degraded is why it is not warm though the process takes traffic; empty if it is
	// warm, or nobody knows.
	Degraded string

	// Failures are the last errors, one for each outcome that occurred, the latest
	// first.
	Failures []Failure
}

// Failure is the last error of one outcome. Its fields are those of
// offtake.Failure, so that one converts: debug.Failure(failure).
type Failure struct {
	Outcome string // "connect", "tls", "dns", "timeout"
	Text    string
	At      time.Time
}

// Door is one bound on what a server takes on.
type Door struct {
	Name string
	Flow
	RetryAfter time.Duration // what a refused request would be told now
	Shut       bool          // not yet opened
}

// Gate is a readiness gate.
type Gate struct {
	Name   string // "readiness" if empty
	State  string // "warming", "ready" or "draining"
	Checks []Check
}

// Check is one condition for a gate to open.
type Check struct {
	Name     string
	Passed   bool
	Degraded bool // the gate does without what it is about; Err says why
	Attempts int
	Took     time.Duration // until it passed, or so far
	Err      string        // the last failure
}
