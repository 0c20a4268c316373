package simulate

import (
	"fmt"
	"strings"
	"time"
)

// play does what a scripted event says.
func (e *engine) play(ev *Event) {
	e.m.marks = append(e.m.marks, Moment{At: time.Duration(e.now), Text: ev.text()})
	if ev.Latency != nil {
		e.latency = ev.Latency.sampler()
	}
	if ev.Limit != nil {
		e.upstream.Limit = *ev.Limit
	}
	if ev.Errors != nil {
		e.upstream.Errors = *ev.Errors
	}
	if ev.Hang != nil {
		e.upstream.Hang = *ev.Hang
	}
	e.each(ev.Wedge, func(rep *replica) { rep.wedged = true })
	e.each(ev.Break, func(rep *replica) { rep.broken = true })
	e.each(ev.Heal, func(rep *replica) { rep.wedged, rep.broken, rep.slow = false, false, 1 })
	if ev.Slow != nil {
		e.slow(*ev.Slow)
	}
	e.each(ev.Restart, e.restart)
	if ev.Rollout != nil {
		e.startRollout(*ev.Rollout)
	}
}

// slow slows the oldest replicas that are not on their way out.
func (e *engine) slow(s Slow) {
	left := s.Replicas
	for _, rep := range e.replicas {
		if left > 0 && !rep.leaving {
			rep.slow = s.By
			left--
		}
	}
}

// each calls f with the replicas of these numbers that exist and are not on their
// way out.
func (e *engine) each(numbers []int, f func(*replica)) {
	for _, n := range numbers {
		if n <= len(e.replicas) && !e.replicas[n-1].leaving {
			f(e.replicas[n-1])
		}
	}
}

// text is the note, or else what changes.
func (ev *Event) text() string {
	if ev.Note != "" {
		return ev.Note
	}
	var parts []string
	say := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	if ev.Latency != nil {
		say("the upstream's latency becomes %v", ev.Latency)
	}
	if ev.Limit != nil {
		say("the upstream's limit becomes %d", *ev.Limit)
	}
	if ev.Errors != nil {
		say("%.3g %% of upstream answers are errors", 100**ev.Errors)
	}
	if ev.Hang != nil {
		say("%.3g %% of upstream requests hang", 100**ev.Hang)
	}
	for _, list := range []struct {
		what    string
		numbers []int
	}{{"wedged", ev.Wedge}, {"broken", ev.Break}, {"healed", ev.Heal}, {"restarted", ev.Restart}} {
		if len(list.numbers) > 0 {
			say("%s: %s", list.what, strings.Trim(fmt.Sprint(list.numbers), "[]"))
		}
	}
	if ev.Slow != nil {
		say("%d replicas become %g times slower", ev.Slow.Replicas, ev.Slow.By)
	}
	if ev.Rollout != nil {
		say("a rollout")
	}
	return strings.Join(parts, "; ")
}
