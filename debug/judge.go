package debug

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/offtake-go/offtake/internal/redact"
)

// judgeUpstream says what is wrong with the calls to an upstream.
func judgeUpstream(u Upstream, w window) findings {
	var f findings
	f.leaks(w) // first: a place that a body holds looks like a slow upstream and a small pool
	f.failures(w, u.Failures)
	f.places(u.Flow, w, "mis-sized")
	f.upstreamBusy(w)
	f.slowness(u, w)
	f.refusals(u.Flow, w)
	f.retries(u, w)
	f.churn(u, w)
	if u.Degraded != "" {
		f.explain(redact.Text(u.Degraded), warn, "degraded", "the process takes traffic without it: it is not warm")
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
		f.places(d.Flow, w, "busy")
	}
	f.failures(w, nil)
	if n, all := w.timeouts(), w.calls(); share(n, all) >= fewFailures {
		f.say(levelOf(n, all), "slow", "%d of %s ran out of time in the %s", n, count(all, "request"), w.span())
	}
	f.refusals(d.Flow, w)
	f.modes(d.Flow, w)
	f.rest(d.Flow, w)
	return f.sorted()
}

// judgeGate says why a gate is not open, or what it is open without: that is trouble
// of the upstream's own if it is on the page.
func judgeGate(g Gate, shown func(upstream string) bool) findings {
	var f findings
	switch g.State {
	case "ready":
		for _, c := range g.Checks {
			if c.Degraded {
				l := warn
				if shown(c.Name) {
					l = note
				}
				f.explain(redact.Text(c.Err), l, "degraded", "open without %s", c.Name)
			}
		}
	case "draining":
		f.say(note, "draining", "closed for good; the balancer sends no more")
	default:
		open := 0
		for _, c := range g.Checks {
			switch {
			case c.Passed:
			case c.Err != "":
				f.explain(redact.Text(c.Err), bad, "not ready", "%s has failed %s in %s", c.Name, count(uint64(max(0, c.Attempts)), "time"), brief(c.Took))
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

// leaks speaks of bodies that this process did not close. Each holds its place until
// its deadline, so that the hold and the need grow although the upstream answers as
// ever: its headers tell how fast it is.
func (f *findings) leaks(w window) {
	if w.leaked == 0 {
		return
	}
	var detail string
	if w.headers.count() > 0 {
		detail = "the upstream answers: the p95 to its headers is " + w.headers.text(0.95)
	}
	l := warn
	if share(w.leaked, w.calls()) >= fewFailures {
		l = bad
	}
	f.explain(detail, l, "leaking", "%s nobody closed; each held its place until the deadline", count(w.leaked, "body", "bodies"))
}

// failures has the text of the latest one beside the counts: it is what tells whom
// to call.
func (f *findings) failures(w window, last []Failure) {
	n, all := w.failed(), w.calls()
	if n > 0 && share(n, all) >= fewFailures {
		detail := list(only(w.outcomes, failures))
		for _, e := range last {
			if w.outcomes[e.Outcome] > 0 && slices.Contains(failures, e.Outcome) {
				detail += "; the last: " + redact.Text(e.Text)
				break
			}
		}
		f.explain(detail, levelOf(n, all), "broken", "%d of %s failed in the %s", n, count(all, "call"), w.span())
	}
}

// slowness speaks of deadlines that ran out, or will: a p95 above half of it
// leaves no time for a second attempt. And of calls that take far longer than was
// planned, though there still are places enough for them.
func (f *findings) slowness(u Upstream, w window) {
	n, all := w.timeouts(), w.calls()
	p95 := w.duration.quantile(0.95)
	deadline := u.Plan.Deadline.Seconds()
	switch {
	case n > 0 && share(n, all) >= fewFailures:
		f.explain("the p95 of a call is "+w.duration.text(0.95), levelOf(n, all), "slow", "%d of %s ran out of time in the %s", n, count(all, "call"), w.span())
	case deadline > 0 && p95 > deadline/2:
		f.say(warn, "slow", "the p95 is %s, more than half of the deadline of %s", seconds(p95), seconds(deadline))
	case slowdown(u.Flow) >= slowed && u.Hold-u.Plan.Latency >= felt && all >= enough && u.Required <= nearLimit*float64(u.Places):
		f.explain(because(u.Flow), warn, "slow", "%s a call, planned %s; there are places enough", brief(u.Hold), brief(u.Plan.Latency))
	}
}

// refusals says so where the places would do on average: what came too thick is no
// reason for more.
func (f *findings) refusals(flow Flow, w window) {
	n, all := w.turnedAway(), w.came()
	if n == 0 {
		return
	}
	l := warn
	if share(n, all) >= badRefusals {
		l = bad
	}
	reasons := maps.Clone(w.refused)
	delete(reasons, "closed")
	parts := slices.DeleteFunc([]string{list(reasons)}, func(s string) bool { return s == "" })
	switch {
	case flow.Required <= 0 || flow.Required > nearLimit*float64(flow.Places):
	case slowdown(flow) >= slowed: // a steady load of slow calls fills the places, too
		parts = append(parts, fmt.Sprintf("%s a call, planned %s", brief(flow.Hold), brief(flow.Plan.Latency)))
	default:
		parts = append(parts, fmt.Sprintf("they came in bursts: on average it needs %s of %d places", places(flow.Required), flow.Places))
	}
	f.explain(strings.Join(parts, "; "), l, "busy", "%d of %s refused here in the %s", n, count(all, "call"), w.span())
}

// retries compares attempts with first attempts, and not with calls: of those many
// may still be under way.
func (f *findings) retries(u Upstream, w window) {
	n := sum(w.retries)
	if n == 0 {
		return
	}
	if first := less(w.attempts, n); first >= 10 && float64(w.attempts) > amplified*float64(first) {
		f.say(bad, "amplifying", "%s attempts for each call", number(float64(w.attempts)/float64(first)))
	}
	if u.RetryBalance < 1 {
		f.explain(list(w.retries), warn, "out of retries", "%s in the %s, and the budget allows no more", count(n, "retry", "retries"), w.span())
	}
}

// churn is far more dials than there are connections. As many as there are is a
// pool that warms, and some of them one that ages.
func (f *findings) churn(u Upstream, w window) {
	n := sum(w.dials)
	if n >= 10 && float64(n) > churning*float64(w.attempts) && n > 2*uint64(max(0, u.Idle+u.Active)) {
		f.say(warn, "reconnecting", "%s for %s", count(n, "dial"), count(w.attempts, "attempt"))
	}
}

// upstreamBusy speaks of the other side's own refusals: those that calls ended with,
// and those that were sent again.
func (f *findings) upstreamBusy(w window) {
	n := w.answeredBusy()
	if all := max(n, w.attempts); n > 0 {
		f.say(levelOf(n, all), "busy", "the upstream said so to %d of %s in the %s", n, count(all, "attempt"), w.span())
	}
}

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
