package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

var (
	serverQueueWait = definition{name: "offtake_server_queue_wait_seconds", help: "Wait of a request at the door for a place; 0 for one that did not wait."}
	serverDuration  = definition{name: "offtake_server_request_duration_seconds", help: "Whole request, from the door to the end of its handler.", labels: []string{"method", "outcome"}}

	serverInFlight    = definition{"offtake_server_in_flight", "Requests that hold a place.", prometheus.GaugeValue, nil}
	serverQueueLength = definition{"offtake_server_queue_length", "Requests that wait for a place.", prometheus.GaugeValue, nil}
	serverPlaces      = definition{"offtake_server_places", "Places there are.", prometheus.GaugeValue, nil}
	serverRequired    = definition{"offtake_server_required_places", "Places that the traffic of the last minute needs: rate times time in flight.", prometheus.GaugeValue, nil}
	serverRefused     = definition{"offtake_server_refused_total", "Requests refused at the door; observed ones were let pass.", prometheus.CounterValue, []string{"reason", "observed"}}
)

// Server records the requests through one door. It is safe for concurrent use.
type Server struct {
	state      func() State
	registerer prometheus.Registerer
	queueWait  waits
	duration   *durations
	read       serverDescs
}

type serverDescs struct {
	inFlight, queueLength, places, required, refused *prometheus.Desc
}

// NewServer registers the metrics of a door. A second door with the same name on
// the same registry is an error. State is read at each scrape.
func NewServer(name string, registerer prometheus.Registerer, state func() State) (*Server, error) {
	labels := prometheus.Labels{"door": name}
	s := &Server{
		state:     state,
		queueWait: newWaits(serverQueueWait, labels),
		duration:  newDurations(serverDuration, labels),
		read: serverDescs{
			serverInFlight.desc(labels), serverQueueLength.desc(labels), serverPlaces.desc(labels),
			serverRequired.desc(labels), serverRefused.desc(labels),
		},
	}
	var err error
	if s.registerer, err = register(registerer, (*serverCollector)(s), "door", name); err != nil {
		return nil, err
	}
	return s, nil
}

// Close takes the metrics off the registry.
func (s *Server) Close() { s.registerer.Unregister((*serverCollector)(s)) }

// QueueWait records how long a request waited for a place.
func (s *Server) QueueWait(d time.Duration) { s.queueWait.observe(d) }

// Request records a whole request.
func (s *Server) Request(m Method, o Outcome, d time.Duration) { s.duration.observe(m, o, d) }

// serverCollector is a Server as Prometheus sees it.
type serverCollector Server

// Describe implements prometheus.Collector.
func (s *serverCollector) Describe(out chan<- *prometheus.Desc) {
	s.queueWait.Describe(out)
	s.duration.vec.Describe(out)
	for _, d := range []*prometheus.Desc{s.read.inFlight, s.read.queueLength, s.read.places, s.read.required, s.read.refused} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (s *serverCollector) Collect(out chan<- prometheus.Metric) {
	s.queueWait.Collect(out)
	s.duration.vec.Collect(out)
	state := s.state()
	for _, g := range []struct {
		desc  *prometheus.Desc
		value float64
	}{
		{s.read.inFlight, float64(state.InFlight)},
		{s.read.queueLength, float64(state.Queued)},
		{s.read.places, float64(state.Places)},
		{s.read.required, state.Required},
	} {
		out <- prometheus.MustNewConstMetric(g.desc, prometheus.GaugeValue, g.value)
	}
	collectRefusals(out, s.read.refused, state.Refusals)
}
