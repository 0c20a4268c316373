package debug

import (
	"fmt"
	"strings"
	"time"

	"github.com/offtake-go/offtake/internal/redact"
)

func upstreamSubject(u Upstream, w window, now time.Time) *subject {
	s := &subject{Kind: "upstream", Name: u.Name, Target: redact.Text(u.Target), Findings: judgeUpstream(u, w), Live: liveOf(u.Flow, w), tenths: int(10 * w.hurt())}
	s.Live.Retries = w.retries
	s.Facts = append(flowFacts(u.Flow, w, "calls"), upstreamFacts(u, w)...)
	for _, f := range u.Failures {
		s.Errors = append(s.Errors, failed{Outcome: f.Outcome, Text: redact.Text(f.Text), Ago: ago(now.Sub(f.At))})
	}
	return s
}

func doorSubject(d Door, w window) *subject {
	s := &subject{Kind: "door", Name: d.Name, Findings: judgeDoor(d, w), Live: liveOf(d.Flow, w), tenths: int(10 * w.hurt())}
	s.Facts = append(flowFacts(d.Flow, w, "requests"), fact{"tells the refused to come back in", "", brief(d.RetryAfter)})
	return s
}

func gateSubject(g Gate, shown func(upstream string) bool) *subject {
	s := &subject{Kind: "gate", Name: g.Name, Findings: judgeGate(g, shown)}
	for _, c := range g.Checks {
		now := fmt.Sprintf("passed after %s, at attempt %d", brief(c.Took), c.Attempts)
		switch {
		case c.Degraded:
			now = "passed over, to do without it: " + redact.Text(c.Err)
		case !c.Passed:
			now = fmt.Sprintf("not yet, after %s and %s", brief(c.Took), count(uint64(max(0, c.Attempts)), "failed attempt"))
			if c.Err != "" {
				now += ": " + redact.Text(c.Err)
			}
		}
		s.Facts = append(s.Facts, fact{c.Name, "passes once", now})
	}
	return s
}

func liveOf(f Flow, w window) *live {
	return &live{
		InFlight: f.InFlight, Places: f.Places, Required: sample(f.Required), Queued: f.Queued,
		Window: sample(w.seconds), Wait: w.wait.percentiles(), Duration: w.duration.percentiles(),
		Outcomes: w.outcomes, Refused: w.refused, Observed: w.observed,
	}
}

// flowFacts has the plan beside what is, in the order of a call's life.
func flowFacts(f Flow, w window, calls string) []fact {
	p := f.Plan
	facts := []fact{
		{"places", whole(p.InFlight) + fullAt(p), fmt.Sprintf("%d of %d in flight; the traffic needs %s", f.InFlight, f.Places, places(f.Required))},
		{"queue", whole(p.Queue), waiting(f.Queued)},
		{"wait for a place", brief(p.Wait), spread(w.wait)},
		{"whole " + strings.TrimSuffix(calls, "s"), deadlineOf(p), spread(w.duration)},
		{calls + " by outcome", "", tally(w.outcomes, w)},
		{"refused", "", tally(w.refused, w)},
	}
	if f.Rate > 0 || p.Rate > 0 {
		planned := "–"
		if p.Rate > 0 {
			planned = number(p.Rate) + "/s"
			if p.Latency > 0 {
				planned += " of " + brief(p.Latency)
			}
		}
		facts = append(facts, fact{"rate", planned, fmt.Sprintf("%s/s, %s in a place", number(f.Rate), seconds(f.Hold.Seconds()))})
	}
	if f.Observing {
		facts = append(facts, fact{"observe mode", "", "would have refused: " + tally(w.observed, w)})
	}
	return facts
}

func upstreamFacts(u Upstream, w window) []fact {
	p := u.Plan
	attempts := "–"
	if p.Attempts > 0 {
		attempts = fmt.Sprintf("%d at most, of %s each", p.Attempts, brief(p.Attempt))
		if p.Once > p.Attempt {
			attempts += ", or one of " + brief(p.Once)
		}
	} else if p.Attempts < 0 {
		attempts = "1, no retry"
	}
	retryShare := "–"
	if p.RetryShare > 0 {
		retryShare = number(100*p.RetryShare) + " % of calls"
	}
	connections := fmt.Sprintf("%d idle, %d active", u.Idle, u.Active)
	if u.Oldest > 0 {
		connections += ", the oldest " + brief(u.Oldest)
	}
	return []fact{
		{"attempts", attempts, number(float64(w.attempts)/max(w.seconds, 1)) + "/s"},
		{"retries", retryShare, fmt.Sprintf("%s; the budget allows %s now", tally(w.retries, w), number(u.RetryBalance))},
		{"wait for a connection", "", spread(w.connect)},
		{"wait for headers", brief(max(p.Attempt, p.Once)), spread(w.headers)},
		{"reading the body", progress(p), spread(w.body)},
		{"connections", connectionPlan(p), connections},
		{"dials by outcome", "", tally(w.made(), w)},
		{"bodies left open", "", tally(map[string]uint64{"leaked": w.leaked}, w)},
	}
}

// fullAt is the mean latency at which the plan's own rate takes all places: Little's
// law, solved for it.
func fullAt(p Plan) string {
	if !(p.Rate > 0) || p.InFlight < 1 {
		return ""
	}
	return fmt.Sprintf(", full at a mean of %s", seconds(float64(p.InFlight)/p.Rate))
}

func connectionPlan(p Plan) string {
	if p.Connections == 0 {
		return "–"
	}
	s := count(uint64(max(0, p.Connections)), "connection")
	if p.Streams > 1 {
		s += " of " + count(uint64(p.Streams), "stream")
	}
	if p.Warm > 0 {
		s += fmt.Sprintf(", %d warm", p.Warm)
	}
	return s
}

func progress(p Plan) string {
	if p.BodyIdle == 0 {
		return "–"
	}
	return "some each " + brief(p.BodyIdle)
}

func deadlineOf(p Plan) string {
	if p.Deadline == 0 {
		return "–"
	}
	return brief(p.Deadline) + " at most"
}

// whole writes a planned size. Negative ones are the plan's named nothings.
func whole(n int) string {
	switch {
	case n < 0:
		return "none"
	case n == 0:
		return "–"
	}
	return fmt.Sprint(n)
}

// spread writes the percentiles of a histogram.
func spread(h Histogram) string {
	if h.count() == 0 {
		return "–"
	}
	return fmt.Sprintf("p50 %s, p95 %s, p99 %s", h.text(0.5), h.text(0.95), h.text(0.99))
}

// tally writes counts with the time in which they came.
func tally(counts map[string]uint64, w window) string {
	if sum(counts) == 0 {
		return "none"
	}
	return fmt.Sprintf("%s in the %s", list(counts), w.span())
}

func ago(d time.Duration) string {
	if d < time.Second {
		return "just now"
	}
	return seconds(d.Round(time.Second).Seconds()) + " ago"
}
