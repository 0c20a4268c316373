package debug

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// window is what happened between two snapshots: a little over the last minute,
// or the life of the process if that is shorter.
type window struct {
	seconds           float64
	outcomes          map[string]uint64
	refused, observed map[string]uint64
	wait, duration    Histogram

	// Of an upstream alone.
	attempts         uint64
	retries, dials   map[string]uint64
	connect, headers Histogram
	body             Histogram
	leaked           uint64
}

func (f Flow) since(old Flow, seconds float64) window {
	return window{
		seconds:  seconds,
		outcomes: since(f.Outcomes, old.Outcomes),
		refused:  since(f.Refused, old.Refused),
		observed: since(f.Observed, old.Observed),
		wait:     f.QueueWait.since(old.QueueWait).within(f.Plan.Wait),
		duration: f.Duration.since(old.Duration).within(f.Plan.Deadline),
	}
}

func (u Upstream) since(old Upstream, seconds float64) window {
	w := u.Flow.since(old.Flow, seconds)
	w.attempts = less(u.Attempts, old.Attempts)
	w.retries = since(u.Retries, old.Retries)
	w.dials = since(u.Dials, old.Dials)
	w.connect = u.ConnectWait.since(old.ConnectWait)
	w.headers = u.HeaderWait.since(old.HeaderWait)
	w.body = u.BodyRead.since(old.BodyRead)
	w.leaked = less(u.Leaked, old.Leaked)
	return w
}

// since is what each counter gained; those that gained nothing are left out.
func since(now, old map[string]uint64) map[string]uint64 {
	gained := make(map[string]uint64)
	for name, n := range now {
		if d := less(n, old[name]); d > 0 {
			gained[name] = d
		}
	}
	return gained
}

// less is now - old, or now if the counter began anew.
func less(now, old uint64) uint64 {
	if now < old {
		return now
	}
	return now - old
}

// The outcomes by whose fault they are. What is in neither list is a response
// that its caller has to deal with, or a caller that left.
var (
	failures = []string{
		"5xx", "connect", "tls", "dns", "reset", "body", "protocol",
		"UNKNOWN", "DEADLINE_EXCEEDED", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS", // of gRPC
	}
	saidBusy = []string{"429", "RESOURCE_EXHAUSTED", "proxy_busy"} // by the other side
)

func (w window) calls() uint64    { return sum(w.outcomes) }
func (w window) timeouts() uint64 { return w.outcomes["timeout"] }
func (w window) failed() uint64   { return sum(only(w.outcomes, failures)) }

// turnedAway counts the refused, but for those that a shutdown refused. The gate's
// own counters and the outcomes tell of the same calls, and a source may have only
// one of them.
func (w window) turnedAway() uint64 {
	return max(sum(w.refused)-w.refused["closed"], w.outcomes["busy"])
}

// answeredBusy counts the other side's refusals, those among them that were sent
// again.
func (w window) answeredBusy() uint64 {
	return sum(only(w.outcomes, saidBusy)) + w.retries["busy"] + w.retries["proxy_busy"]
}

// hurt is the share of the calls that did not get what they came for.
func (w window) hurt() float64 {
	return share(w.failed()+w.timeouts()+w.turnedAway()+sum(only(w.outcomes, saidBusy)), w.came())
}

// made are the dials, those that went well not by the label of a response.
func (w window) made() map[string]uint64 {
	dials := maps.Clone(w.dials)
	if n := dials["2xx"]; n > 0 {
		delete(dials, "2xx")
		dials["connected"] = n
	}
	return dials
}

// came is all that wanted a place.
func (w window) came() uint64 {
	return max(w.calls(), w.turnedAway())
}

// factors fills in the rate and the hold where a source knows only their product.
func (w window) factors(f Flow) Flow {
	if f.Rate == 0 && f.Hold == 0 && f.Required > 0 && w.came() > 0 && w.seconds > 0 {
		f.Rate = float64(w.came()) / w.seconds
		f.Hold = time.Duration(f.Required / f.Rate * float64(time.Second))
	}
	return f
}

func sum(counts map[string]uint64) (n uint64) {
	for _, c := range counts {
		n += c
	}
	return n
}

func only(counts map[string]uint64, names []string) map[string]uint64 {
	some := make(map[string]uint64)
	for _, name := range names {
		if n := counts[name]; n > 0 {
			some[name] = n
		}
	}
	return some
}

// list writes counts with the largest first: "36 reset, 2 5xx".
func list(counts map[string]uint64) string {
	names := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	parts := make([]string, 0, len(names))
	for _, name := range names {
		if counts[name] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", counts[name], plain(name)))
		}
	}
	return strings.Join(parts, ", ")
}

// plain is a label in words: "53 wait" would read as if they still did.
func plain(label string) string {
	switch label {
	case "wait":
		return "waited in vain"
	case "late":
		return "too late to begin"
	}
	return strings.ReplaceAll(label, "_", " ")
}
