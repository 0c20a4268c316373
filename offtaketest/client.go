package offtaketest

import (
	"net/http"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/httpclient"
)

// Small is a plan with times that a test can wait for: 4 places, 2 s for a call, 500 ms
// for an attempt.
func Small() capacity.Plan {
	return capacity.Plan{InFlight: 4, Wait: 50 * time.Millisecond, Attempt: 500 * time.Millisecond, Deadline: 2 * time.Second}
}

// Client returns a client of the upstream, which ends with the test. Its metrics
// are on a registry of its own. The zero plan is [Small]. Options are taken as they
// are, but for the registry, the protocols and Base's dial.
func (u *Upstream) Client(t testing.TB, plan capacity.Plan, options *httpclient.Options) *httpclient.Client {
	t.Helper()
	if plan == (capacity.Plan{}) {
		plan = Small()
	}
	var o httpclient.Options
	if options != nil {
		o = *options
	}
	base := new(http.Transport)
	if o.Base != nil {
		base = o.Base.Clone()
	}
	base.DialContext = u.Dial
	o.Base, o.Registerer = base, prometheus.NewRegistry()
	if u.http2 {
		o.Protocols = u.protocols()
	}
	c, err := httpclient.New(u.URL(), plan, &o)
	if err != nil {
		t.Fatalf("httpclient.New() = %v, want nil", err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}
