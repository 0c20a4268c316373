package debug

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// level is how urgent a finding is.
type level int

const (
	fine level = iota
	note       // worth knowing, nothing to do
	warn       // will hurt callers, or hurts a few
	bad        // hurts callers now
)

// String is the level as the page and its JSON name it.
func (l level) String() string { return [...]string{"ok", "note", "warn", "bad"}[l] }

// MarshalText implements encoding.TextMarshaler.
func (l level) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// finding is one thing to say about a subject: what kind of trouble it is, the
// numbers that show it, and those that tell where it comes from.
type finding struct {
	Level  level  `json:"level"`
	Word   string `json:"word"`
	Text   string `json:"text"`
	Detail string `json:"detail,omitempty"`
}

// The shares from which something is said. They are those of the alerts in
// observability/prometheus, so that the page and the pager agree.
const (
	fewFailures = 0.01
	badFailures = 0.05
	badRefusals = 0.01
	nearLimit   = 0.8
	longWait    = 100 * time.Millisecond // the p95 of the queue wait
	amplified   = 1.25                   // attempts for each call
	churning    = 0.1                    // dials for each attempt
	longWarming = time.Minute
)

// findings collects what is said about one subject.
type findings []finding

func (f *findings) say(l level, word, format string, args ...any) {
	f.explain("", l, word, format, args...)
}

func (f *findings) explain(detail string, l level, word, format string, args ...any) {
	*f = append(*f, finding{l, word, fmt.Sprintf(format, args...), detail})
}

// sorted has the worst first, and among equals the order in which they were
// said: causes before symptoms.
func (f findings) sorted() findings {
	slices.SortStableFunc(f, func(a, b finding) int { return cmp.Compare(b.Level, a.Level) })
	return f
}

// judgeUpstream says what is wrong with the calls to an upstream.
func judgeUpstream(u Upstream, w window) findings {
	var f findings
	f.places(u.Flow, w)
	f.failures(w)
	f.slowness(u, w)
	f.refusals(w)
	f.retries(u, w)
	f.upstreamBusy(w)
	if n := sum(w.dials); n >= 10 && float64(n) > churning*float64(w.attempts) {
		f.say(warn, "reconnecting", "%s for %s", count(n, "dial"), count(w.attempts, "attempt"))
	}
	if w.leaked > 0 {
		f.say(warn, "leaking", "%s nobody closed; each held its place until the deadline", count(w.leaked, "body", "bodies"))
	}
	f.modes(u.Flow, w)
	f.rest(u.Flow, w)
	return f.sorted()
}

// judgeDoor says what is wrong at a door.
func judgeDoor(d Door, w window) findings {
	var f findings
	if d.Shut {
		f.say(warn, "shut", "not opened yet; %s", waiting(d.Queued))
	} else {
		f.places(d.Flow, w)
	}
	f.failures(w)
	if n, all := w.timeouts(), w.calls(); share(n, all) >= fewFailures {
		f.say(levelOf(n, all), "slow", "%d of %s ran out of time in the %s", n, count(all, "request"), w.span())
	}
	f.refusals(w)
	f.modes(d.Flow, w)
	f.rest(d.Flow, w)
	return f.sorted()
}

// judgeGate says why a gate is not open.
func judgeGate(g Gate) findings {
	var f findings
	switch g.State {
	case "ready":
	case "draining":
		f.say(note, "draining", "closed for good; the balancer sends no more")
	default:
		open := 0
		for _, c := range g.Checks {
			switch {
			case c.Passed:
			case c.Err != "":
				f.explain(clean(c.Err), bad, "not ready", "%s has failed %s in %s", c.Name, count(uint64(max(0, c.Attempts)), "time"), brief(c.Took))
				open++
			case c.Took >= longWarming:
				f.say(bad, "not ready", "%s has been warming for %s", c.Name, brief(c.Took))
				open++
			default:
				f.say(warn, "warming", "%s, for %s so far", c.Name, brief(c.Took))
				open++
			}
		}
		if open == 0 {
			f.say(warn, "warming", "every check has passed; Run has not opened the gate")
		}
	}
	if len(f) == 0 {
		f.say(fine, "ready", "%s passed", count(uint64(len(g.Checks)), "check"))
	}
	return f.sorted()
}

// places says whether there are enough of them. The rate and the hold beside the
// need tell whether there is more traffic than planned, or a slower upstream.
func (f *findings) places(flow Flow, w window) {
	p95 := w.wait.quantile(0.95)
	queueing := flow.Queued > 0 || p95 > longWait.Seconds() || w.turnedAway() > 0
	need := fmt.Sprintf("needs %s places, has %d", places(flow.Required), flow.Places)
	switch {
	case flow.Draining || flow.Places <= 0:
	case flow.Required > float64(flow.Places) && queueing:
		f.explain(because(flow, waiting(flow.Queued)+waitOf(p95)), bad, "queueing", "%s%s", need, grown(flow))
	case flow.Required > float64(flow.Places):
		f.explain(because(flow), warn, "too small", "%s%s", need, grown(flow))
	case p95 > longWait.Seconds():
		f.explain(because(flow), warn, "queueing", "bursts wait: the p95 is %s, and on average it %s", seconds(p95), need)
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

// grown says which factor is above its plan: the answer to whether the size is
// wrong or the upstream is slow. The need exceeds the places only if one is.
func grown(flow Flow) string {
	if flow.Plan.Rate <= 0 {
		return ""
	}
	const noise = 1.1
	switch more, slower := flow.Rate > noise*flow.Plan.Rate, flow.Hold.Seconds() > allowed(flow); {
	case more && slower:
		return ": more traffic and slower than planned"
	case more:
		return ": more traffic than planned"
	case slower:
		return ": slower than planned"
	}
	return ""
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

func (f *findings) failures(w window) {
	n, all := w.failed(), w.calls()
	if n > 0 && share(n, all) >= fewFailures {
		f.explain(list(only(w.outcomes, failures)), levelOf(n, all), "broken", "%d of %s failed in the %s", n, count(all, "call"), w.span())
	}
}

// slowness speaks of deadlines that ran out, or will: a p95 above half of it
// leaves no time for a second attempt.
func (f *findings) slowness(u Upstream, w window) {
	n, all := w.timeouts(), w.calls()
	p95 := w.duration.quantile(0.95)
	deadline := u.Plan.Deadline.Seconds()
	switch {
	case n > 0 && share(n, all) >= fewFailures:
		f.explain("the p95 of a call is "+seconds(p95), levelOf(n, all), "slow", "%d of %s ran out of time in the %s", n, count(all, "call"), w.span())
	case deadline > 0 && p95 > deadline/2:
		f.say(warn, "slow", "the p95 is %s, more than half of the deadline of %s", seconds(p95), seconds(deadline))
	}
}

func (f *findings) refusals(w window) {
	n, all := w.turnedAway(), w.came()
	if n == 0 {
		return
	}
	l := warn
	if share(n, all) >= badRefusals {
		l = bad
	}
	reasons := w.refused
	if len(reasons) == 0 {
		reasons = only(w.outcomes, refusals)
	}
	f.explain(list(reasons), l, "busy", "%d of %s refused in the %s", n, count(all, "call"), w.span())
}

func (f *findings) retries(u Upstream, w window) {
	n := sum(w.retries)
	if n == 0 {
		return
	}
	if sent := w.calls() - w.sentNothing(); sent >= 10 && float64(w.attempts) > amplified*float64(sent) {
		f.say(bad, "amplifying", "%s attempts for each call", number(float64(w.attempts)/float64(sent)))
	}
	if u.RetryBalance < 1 {
		f.explain(list(w.retries), warn, "out of retries", "%s in the %s, and the budget allows no more", count(n, "retry", "retries"), w.span())
	}
}

// upstreamBusy speaks of the other side's own refusals. Over HTTP they are among
// 4xx, and only those that were sent again can be told apart.
func (f *findings) upstreamBusy(w window) {
	if n := sum(only(w.outcomes, saidBusy)) + w.retries["busy"] + w.retries["proxy_busy"]; n > 0 {
		f.say(warn, "upstream busy", "it said so %s in the %s", count(n, "time"), w.span())
	}
}

// sentNothing counts the calls that were refused before any attempt.
func (w window) sentNothing() uint64 { return min(w.calls(), sum(only(w.outcomes, refusals))) }

func (f *findings) modes(flow Flow, w window) {
	if flow.Observing {
		if n := sum(w.observed); n > 0 {
			f.explain(list(w.observed), note, "observe mode", "would have refused %d of %s in the %s", n, count(w.calls(), "call"), w.span())
		} else {
			f.say(note, "observe mode", "decides and counts, and refuses nobody")
		}
	}
	if flow.Draining {
		f.say(note, "draining", "takes no more; %d in flight", flow.InFlight)
	}
}

// rest is for a subject of which there is nothing else to say.
func (f *findings) rest(flow Flow, w window) {
	switch {
	case len(*f) > 0:
	case w.calls() == 0 && flow.InFlight == 0 && w.seconds > 0:
		f.say(fine, "idle", "no calls in the %s", w.span())
	default:
		f.say(fine, "ok", "needs %s of %d places", places(flow.Required), flow.Places)
	}
}

// levelOf is bad for a share that callers notice.
func levelOf(n, all uint64) level {
	if share(n, all) >= badFailures {
		return bad
	}
	return warn
}

func share(n, all uint64) float64 {
	if all == 0 {
		return 0
	}
	return float64(n) / float64(all)
}

// places rounds a need for places up, but for small ones, where "1" would hide
// that it is next to nothing.
func places(required float64) string {
	if required < 10 {
		return number(required)
	}
	return fmt.Sprintf("%d", int64(math.Ceil(required)))
}
