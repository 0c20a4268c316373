package telemetry

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"
)

// buckets are for waits and durations in seconds. The first holds what did not
// wait at all: a wait of none, a connection reused.
var buckets = []float64{0, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}

// histogram has native buckets, 10 % apart, beside the classic ones.
func histogram(d definition, labels prometheus.Labels) prometheus.HistogramOpts {
	return prometheus.HistogramOpts{
		Name:                            d.name,
		Help:                            d.help,
		ConstLabels:                     labels,
		Buckets:                         buckets,
		NativeHistogramBucketFactor:     1.1,
		NativeHistogramMaxBucketNumber:  100,
		NativeHistogramMinResetDuration: time.Hour,
	}
}

// definition is a metric that is read when it is scraped.
type definition struct {
	name, help string
	kind       prometheus.ValueType // unused for histograms
	labels     []string
}

func (d definition) desc(labels prometheus.Labels) *prometheus.Desc {
	return prometheus.NewDesc(d.name, d.help, d.labels, labels)
}

// Refusals counts the decisions of a gate, or of another limit, for one reason.
type Refusals struct {
	Reason            string
	Refused, Observed uint64
}

// State is what a client or a door is asked for at each scrape.
type State struct {
	InFlight, Queued, Places int
	Required                 float64 // places needed, by the measured traffic
	Refusals                 []Refusals
	Limited                  []Refusals // by limits other than the gate's
	RetryBalance             float64    // retries that the budget would allow now
	Idle, Active, Upgraded   int        // connections
	Endpoints, LeftOut       int        // addresses of the upstream; of both together
	Left                     []Refusals // how often one was left out
}

// register adds c to a registry; a nil one is the default. An error names the
// owner of the name that is already taken.
func register(r prometheus.Registerer, c prometheus.Collector, kind, name string) (prometheus.Registerer, error) {
	if !utf8.ValidString(name) {
		return nil, fmt.Errorf("Name: %q is not UTF-8, as labels must be; %q would do", name, strings.ToValidUTF8(name, "_"))
	}
	if r == nil {
		r = prometheus.DefaultRegisterer
	}
	err := r.Register(c)
	if _, taken := errors.AsType[prometheus.AlreadyRegisteredError](err); taken {
		return nil, fmt.Errorf("Name: a %s named %q has metrics on this registry already; share that one, give this one another name, or give it its own Registerer, as a test does", kind, name)
	}
	return r, err
}
