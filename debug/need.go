package debug

import (
	"fmt"
	"math"
	"strings"
)

// places says whether there are enough of them. The rate and the hold beside the
// need tell whether there is more traffic than planned, or a slower upstream. Crowded
// is the word for the first: a client is then mis-sized, and a door is busy.
func (f *findings) places(flow Flow, w window, crowded string) {
	p95 := w.wait.quantile(0.95)
	queueing := flow.Queued > 0 || p95 > longWait.Seconds() || w.turnedAway() > 0
	need := fmt.Sprintf("needs %s places, has %d", places(flow.Required), flow.Places)
	switch {
	case flow.Draining || flow.Places <= 0:
	case flow.Required > float64(flow.Places) && queueing:
		word, cause := grown(flow, crowded)
		f.explain(because(flow, waiting(flow.Queued)+waitOf(p95)), bad, word, "queueing: %s%s", need, cause)
	case flow.Required > float64(flow.Places):
		word, cause := grown(flow, crowded)
		f.explain(because(flow), warn, word, "%s%s", need, cause)
	case p95 > longWait.Seconds():
		f.explain(because(flow), warn, "busy", "bursts wait: the p95 is %s, and on average it %s", seconds(p95), need)
	case flow.Required > nearLimit*float64(flow.Places):
		_, cause := grown(flow, crowded)
		f.explain(because(flow), warn, "near its limit", "%s%s", need, cause)
	}
}

// because is Little's law with its two factors beside the planned ones, and what
// else there is to say.
func because(flow Flow, more ...string) string {
	var parts []string
	if flow.Rate > 0 && flow.Hold > 0 {
		parts = append(parts, fmt.Sprintf("%s/s that hold a place for %s each", number(flow.Rate), seconds(flow.Hold.Seconds())))
	}
	if flow.Rate > 0 && flow.Plan.Rate > 0 {
		parts = append(parts, "planned: "+planned(flow))
	}
	return strings.Join(append(parts, more...), "; ")
}

// planned are the two factors as the plan has them. Without a latency, its places say
// how long a call may take at most.
func planned(flow Flow) string {
	if flow.Plan.Latency > 0 {
		return fmt.Sprintf("%s/s of %s", number(flow.Plan.Rate), brief(flow.Plan.Latency))
	}
	return fmt.Sprintf("%s/s for %s at most", number(flow.Plan.Rate), seconds(allowed(flow)))
}

// allowed is the time that each call may hold its place at the planned rate.
func allowed(flow Flow) float64 { return float64(flow.Places) / flow.Plan.Rate }

// grown says which factor is above its plan, and so whether the size is wrong or the
// upstream is slow: if both are, by that which is the more. Where the plan knows no
// latency, all that is known is that one of them must be if the need exceeds the places.
func grown(flow Flow, crowded string) (word, cause string) {
	if flow.Plan.Rate <= 0 {
		return crowded, ""
	}
	const noise = 1.1
	more, slower, least := flow.Rate/flow.Plan.Rate, flow.Hold.Seconds()/allowed(flow), 1.0
	slow := "slower than planned"
	if flow.Plan.Latency > 0 {
		slower, least = slowdown(flow), noise
		slow = fmt.Sprintf("%s a call, planned %s", brief(flow.Hold), brief(flow.Plan.Latency))
	}
	traffic := fmt.Sprintf("%s/s, planned %s/s", number(flow.Rate), number(flow.Plan.Rate))
	switch {
	case more > noise && slower > max(least, more):
		return "slow", " (" + slow + ", and more traffic)"
	case more > noise && slower > least:
		return crowded, " (" + traffic + ", and slower)"
	case more > noise:
		return crowded, " (" + traffic + ")"
	case slower > least:
		return "slow", " (" + slow + ")"
	}
	return crowded, ""
}

// slowdown is how many times the planned latency a call takes; 0 if none is planned.
func slowdown(flow Flow) float64 {
	if flow.Plan.Latency <= 0 {
		return 0
	}
	return flow.Hold.Seconds() / flow.Plan.Latency.Seconds()
}

func waitOf(p95 float64) string {
	if p95 > 0 {
		return ", the p95 of the wait is " + seconds(p95)
	}
	return ""
}

func waiting(n int) string {
	switch n {
	case 0:
		return "nobody waits just now"
	case 1:
		return "1 waits"
	}
	return fmt.Sprintf("%d wait", n)
}

// places rounds a need for places up, but for less than one, where "1" would hide
// that it is next to nothing.
func places(required float64) string {
	if required < 1 {
		return number(required)
	}
	return fmt.Sprintf("%d", int64(math.Ceil(required)))
}
