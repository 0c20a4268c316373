package admission

import (
	"time"

	"github.com/offtake-go/offtake/internal/gate"
	"github.com/offtake-go/offtake/internal/telemetry"
)

// Stats is a door at one instant.
type Stats struct {
	Name             string
	InFlight, Places int // Places is 0 while the door is shut
	Queued, Queue    int

	// Required is the number of places that the traffic of the last minute needs:
	// its rate, refused requests included, times its mean time in flight. Compare
	// it with Places; it is the figure for an autoscaler too, since the CPU of a
	// server that refuses is low.
	Required float64

	// RetryAfter is what a refused request would be told at this moment.
	RetryAfter time.Duration

	Shut      bool // not yet opened: see Options.Early
	Observing bool
	Draining  bool // draining or closed

	// Entered counts the requests that had a place, and Waited those of them and of
	// the refused that stood in the queue, since New.
	Entered, Waited uint64

	// Refused and Observed count by reason: "queue_full", "wait" (the longest wait
	// was over), "late" (the expected wait was longer than the caller's time) and
	// "closed". Observed is what observe mode let pass.
	Refused, Observed map[string]uint64
}

// Stats reads the door.
func (d *Door) Stats() Stats {
	d.mu.Lock()
	shut := d.shut
	d.mu.Unlock()
	now := time.Now()
	s := d.gate.Snapshot()
	stats := Stats{
		Name:     d.name,
		InFlight: s.InFlight, Places: s.Places,
		Queued: s.Waiting, Queue: s.Limits.Queue,
		Required:   d.flow.Required(now),
		RetryAfter: d.retryAfter(now),
		Shut:       shut, Observing: s.Observing, Draining: s.Draining,
		Entered: s.Entered, Waited: s.Counts.Queued,
		Refused: make(map[string]uint64), Observed: make(map[string]uint64),
	}
	for r := range gate.Reasons {
		stats.Refused[r.String()] = s.Refused[r]
		stats.Observed[r.String()] = s.Observed[r]
	}
	return stats
}

// state is what the metrics show at each scrape.
func (d *Door) state() telemetry.State {
	s := d.gate.Snapshot()
	state := telemetry.State{InFlight: s.InFlight, Queued: s.Waiting, Places: s.Places, Required: d.flow.Required(time.Now())}
	for r := range gate.Reasons {
		state.Refusals = append(state.Refusals, telemetry.Refusals{Reason: r.String(), Refused: s.Refused[r], Observed: s.Observed[r]})
	}
	return state
}

// longestRetryAfter caps what the door asks for. An estimate that is further out
// says only that something has stopped, and whoever obeyed it would stay away
// long after it runs again.
const longestRetryAfter = 30 * time.Second

// retryAfter estimates when one more request would have a place: from the rate at
// which the queue is served, or, where nobody queues, from the mean time in
// flight, of which each place is free once. It is 0 if nothing is known.
func (d *Door) retryAfter(now time.Time) time.Duration {
	s := d.gate.Snapshot()
	wait := s.RetryAfter
	if wait == 0 && s.Places > 0 {
		_, hold := d.flow.Measure(now)
		wait = time.Duration(float64(hold) * float64(s.Waiting+1) / float64(s.Places))
	}
	return min(wait, longestRetryAfter)
}
