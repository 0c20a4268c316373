package registry

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/offtake-go/offtake/debug"
)

// Source reads the clients and doors that have their metrics in a registry. Each
// reading gathers the whole registry, so that one with only this module's metrics
// costs less. What could not be gathered is missing, as it is in a scrape.
//
// Labels beside this module's own, as prometheus.WrapRegistererWith adds them,
// become part of the name: "card-processor (replica 0)".
func Source(g prometheus.Gatherer) debug.Source {
	return func() debug.Snapshot {
		families, _ := g.Gather() // the error is of some; the others are there
		r := reading{upstreams: make(map[string]*debug.Upstream), doors: make(map[string]*debug.Door)}
		for _, f := range families {
			client, isClient := strings.CutPrefix(f.GetName(), "offtake_client_")
			server, isServer := strings.CutPrefix(f.GetName(), "offtake_server_")
			if !isClient && !isServer {
				continue
			}
			for _, m := range f.GetMetric() {
				l := labelsOf(m.GetLabel())
				v := value{
					number:    m.GetGauge().GetValue() + m.GetCounter().GetValue(), // it is one of them
					histogram: histogramOf(m.GetHistogram().GetBucket(), m.GetHistogram().GetSampleCount()),
				}
				if isClient {
					r.client(client, l, v)
				} else {
					r.server(server, l, v)
				}
			}
		}
		return r.snapshot()
	}
}

// value is one metric of a family; which of the two it has is known by the name.
type value struct {
	number    float64
	histogram debug.Histogram
}

// reading puts metrics together that are of the same client or door.
type reading struct {
	upstreams map[string]*debug.Upstream
	doors     map[string]*debug.Door
}

func (r *reading) snapshot() debug.Snapshot {
	var s debug.Snapshot
	for _, name := range slices.Sorted(maps.Keys(r.upstreams)) {
		s.Upstreams = append(s.Upstreams, *r.upstreams[name])
	}
	for _, name := range slices.Sorted(maps.Keys(r.doors)) {
		s.Doors = append(s.Doors, *r.doors[name])
	}
	return s
}

func (r *reading) client(metric string, l labels, v value) {
	name := l.name("upstream")
	u := r.upstreams[name]
	if u == nil {
		u = &debug.Upstream{Name: name, Flow: newFlow(), Retries: make(map[string]uint64), Dials: make(map[string]uint64)}
		r.upstreams[name] = u
	}
	n := uint64(max(0, v.number))
	switch metric {
	case "attempts_total":
		u.Attempts += n
	case "retries_total":
		u.Retries[l["reason"]] = n
	case "retry_budget_balance":
		u.RetryBalance = v.number
	case "dials_total":
		u.Dials[l["outcome"]] = n
	case "leaked_bodies_total":
		u.Leaked = n
	case "connect_wait_seconds":
		u.ConnectWait = v.histogram
	case "header_wait_seconds":
		u.HeaderWait = v.histogram
	case "body_seconds":
		u.BodyRead = v.histogram
	case "connections":
		switch l["state"] {
		case "idle":
			u.Idle = int(n)
		case "active":
			u.Active = int(n)
		}
	default:
		flow(&u.Flow, metric, l, v)
	}
}

func (r *reading) server(metric string, l labels, v value) {
	name := l.name("door")
	d := r.doors[name]
	if d == nil {
		d = &debug.Door{Name: name, Flow: newFlow()}
		r.doors[name] = d
	}
	flow(&d.Flow, metric, l, v)
}

func newFlow() debug.Flow {
	return debug.Flow{Outcomes: make(map[string]uint64), Refused: make(map[string]uint64), Observed: make(map[string]uint64)}
}

// flow takes in what clients and doors both have.
func flow(f *debug.Flow, metric string, l labels, v value) {
	switch metric {
	case "in_flight":
		f.InFlight = int(v.number)
	case "queue_length":
		f.Queued = int(v.number)
	case "places":
		f.Places = int(v.number)
	case "required_places":
		f.Required = v.number
	case "refused_total":
		if l["observed"] == "true" {
			f.Observed[l["reason"]] = uint64(max(0, v.number))
		} else {
			f.Refused[l["reason"]] = uint64(max(0, v.number))
		}
	case "queue_wait_seconds":
		f.QueueWait = v.histogram
	case "request_duration_seconds":
		f.Duration = add(f.Duration, v.histogram)
		if c := v.histogram.Counts; len(c) > 0 {
			f.Outcomes[l["outcome"]] += c[len(c)-1]
		}
	}
}

// add sums two histograms of the same bounds.
func add(a, b debug.Histogram) debug.Histogram {
	if len(a.Counts) != len(b.Counts) {
		return debug.Histogram{Bounds: b.Bounds, Counts: slices.Clone(b.Counts)}
	}
	for i, n := range b.Counts {
		a.Counts[i] += n
	}
	return a
}

// labels of one metric.
type labels map[string]string

// name is that of an upstream or a door, with the labels that are not this
// module's.
func (l labels) name(label string) string {
	var more []string
	for _, k := range slices.Sorted(maps.Keys(l)) {
		switch k {
		case label, "method", "outcome", "reason", "observed", "state", "limit":
		default:
			more = append(more, k+" "+l[k])
		}
	}
	if len(more) == 0 {
		return l[label]
	}
	return l[label] + " (" + strings.Join(more, ", ") + ")"
}

// pair and bucket are what is needed of the types that Gather returns. Naming
// those would make the module they come from a dependency of its own.
type pair interface {
	GetName() string
	GetValue() string
}

type bucket interface {
	GetUpperBound() float64
	GetCumulativeCount() uint64
}

func labelsOf[P pair](pairs []P) labels {
	l := make(labels, len(pairs))
	for _, p := range pairs {
		l[p.GetName()] = p.GetValue()
	}
	return l
}

func histogramOf[B bucket](buckets []B, n uint64) debug.Histogram {
	if len(buckets) == 0 {
		return debug.Histogram{}
	}
	buckets = slices.SortedFunc(slices.Values(buckets), func(a, b B) int { return cmp.Compare(a.GetUpperBound(), b.GetUpperBound()) })
	var h debug.Histogram
	for _, b := range buckets {
		h.Bounds = append(h.Bounds, b.GetUpperBound())
		h.Counts = append(h.Counts, b.GetCumulativeCount())
	}
	h.Counts = append(h.Counts, n)
	return h
}
