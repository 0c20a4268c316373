package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

var (
	sqlConnectionWait = definition{name: "offtake_sql_connection_wait_seconds", help: "Wait of a call that has a place for its connection; 0 for an idle one."}
	sqlHold           = definition{name: "offtake_sql_hold_seconds", help: "Time that a connection was held: by a statement with its rows, a transaction, or a Conn; around the queue too.", labels: nil}
	sqlClosed         = definition{"offtake_sql_connections_closed_total", "Connections closed, by why.", prometheus.CounterValue, []string{"reason"}}
	sqlAround         = definition{"offtake_sql_around_queue_total", "Connections taken without a place, through the *sql.DB itself.", prometheus.CounterValue, nil}
	sqlPoolWait       = definition{"offtake_sql_pool_waits_total", "Waits in database/sql's own queue, which has no bound.", prometheus.CounterValue, nil}
	sqlPoolWaited     = definition{"offtake_sql_pool_wait_seconds_total", "Time waited in database/sql's own queue.", prometheus.CounterValue, nil}
)

// SQLState is what a pool of database/sql is asked for at each scrape.
type SQLState struct {
	Closed            map[string]uint64 // by reason
	Around, PoolWaits uint64
	PoolWaited        time.Duration
}

// SQL records what a database has beside a Client. It is safe for concurrent use.
type SQL struct {
	registerer                        prometheus.Registerer
	wait                              waits
	hold                              prometheus.Histogram
	closed, around, poolWait, poolFor *prometheus.Desc
	state                             func() SQLState
}

// NewSQL registers these metrics of an upstream. State is read at each scrape.
func NewSQL(upstream string, registerer prometheus.Registerer, state func() SQLState) (*SQL, error) {
	labels := prometheus.Labels{"upstream": upstream}
	s := &SQL{
		wait: newWaits(sqlConnectionWait, labels), hold: prometheus.NewHistogram(histogram(sqlHold, labels)),
		closed: sqlClosed.desc(labels), around: sqlAround.desc(labels),
		poolWait: sqlPoolWait.desc(labels), poolFor: sqlPoolWaited.desc(labels), state: state,
	}
	var err error
	s.registerer, err = register(registerer, (*sqlCollector)(s), "client", upstream)
	return s, err
}

// Close takes the metrics off the registry.
func (s *SQL) Close() { s.registerer.Unregister((*sqlCollector)(s)) }

// ConnectionWait records how long a call with a place waited for its connection.
func (s *SQL) ConnectionWait(d time.Duration) { s.wait.observe(d) }

// Held records how long a connection was held.
func (s *SQL) Held(d time.Duration) { s.hold.Observe(d.Seconds()) }

// sqlCollector is an SQL as Prometheus sees it.
type sqlCollector SQL

// Describe implements prometheus.Collector.
func (s *sqlCollector) Describe(out chan<- *prometheus.Desc) {
	s.wait.Describe(out)
	s.hold.Describe(out)
	for _, d := range []*prometheus.Desc{s.closed, s.around, s.poolWait, s.poolFor} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (s *sqlCollector) Collect(out chan<- prometheus.Metric) {
	s.wait.Collect(out)
	s.hold.Collect(out)
	state := s.state()
	for reason, n := range state.Closed {
		counter(out, s.closed, n, reason)
	}
	counter(out, s.around, state.Around)
	counter(out, s.poolWait, state.PoolWaits)
	out <- prometheus.MustNewConstMetric(s.poolFor, prometheus.CounterValue, state.PoolWaited.Seconds())
}
