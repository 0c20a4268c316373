package simulate

import (
	"math"
	"testing"
	"time"

	"github.com/offtake-go/offtake/capacity"
)

// The formula that rules are made of and the experiment tell the same of a probe that
// shares the door: how often one fails, from which follows how often a replica that
// fails its first is restarted.
func TestTheFormulaOfAProbeIsWhatTheExperimentShows(t *testing.T) {
	for _, c := range []struct {
		queue int
		rate  float64
	}{{2, 30}, {2, 60}, {8, 45}, {30, 30}, {30, 35}} {
		const places, latency, timeout = 4, 0.1, 1.0
		const period, replicas, lasts = 20 * time.Second, 20, 10 * time.Minute
		r := run(t, Scenario{
			Name: "probes", Settle: time.Minute, Duration: lasts, // a restart takes no time, and so hardly disturbs the rest
			Callers: Callers{Rate: Rate(c.rate * replicas), Timeout: time.Minute},
			Proxy:   Proxy{Pick: Random},
			Service: Service{
				Replicas: replicas, Door: Gate{Places: places, Queue: Queue(c.queue)}, Client: Client{Deadline: time.Minute}, Busy: Answer429,
				Liveness: Liveness{Period: period, Timeout: time.Second, Failures: 1, SharesPool: true},
			},
			Upstream: Upstream{Latency: Latency{Exponential: 100 * time.Millisecond}},
		}, 1)
		probes := float64(replicas * lasts / period)
		want := capacity.ProbeFails(places, c.queue, c.rate, latency, timeout)
		want /= 1 - want/2 // the first probe of a process comes after half a period on average
		got := float64(r.Restarts) / probes
		if math.Abs(got-want) > 0.06 {
			t.Errorf("with a queue of %d at %v/s %.3f restarts for each of %v probes, want about %.3f", c.queue, c.rate, got, probes, want)
		}
	}
}
