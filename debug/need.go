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
		f.explain(because(flow), warn, "near its limit", "%s", need)
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
		parts = append(parts, fmt.Sprintf("planned: %s/s for %s at most", number(flow.Plan.Rate), seconds(allowed(flow))))
	}
	return strings.Join(append(parts, more...), "; ")
}

// allowed is the time that each call may hold its place at the planned rate.
func allowed(flow Flow) float64 { return float64(flow.Places) / flow.Plan.Rate }

// grown says which factor is above its plan, and so whether the size is wrong or the
// upstream is slow: if both are, by that which is the more. The need exceeds the
// places only if one is.
func grown(flow Flow, crowded string) (word, cause string) {
	if flow.Plan.Rate <= 0 {
		return crowded, ""
	}
	const noise = 1.1
	more, slower := flow.Rate/flow.Plan.Rate, flow.Hold.Seconds()/allowed(flow)
	switch {
	case more > noise && slower > max(1, more):
		return "slow", " (slower than planned, and more traffic)"
	case more > noise && slower > 1:
		return crowded, " (more traffic than planned, and slower)"
	case more > noise:
		return crowded, " (more traffic than planned)"
	case slower > 1:
		return "slow", " (slower than planned)"
	}
	return crowded, ""
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
