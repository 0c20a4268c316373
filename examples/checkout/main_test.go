package main

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

// small is a fifteenth of the incident, with the same ratios: so little work that
// a machine busy with other tests keeps its times.
func small() Incident {
	in := incident()
	in.rate, in.replicas, in.limit, in.copiedPool = 8, 2, 14, 2
	in.morning, in.midday = 2*time.Second, 20*time.Second
	return in
}

func TestAPlannedClientCompletesWhatACopiedOneLoses(t *testing.T) {
	registry := prometheus.NewRegistry()
	var out strings.Builder
	var one, two *tally
	err := replay(t.Context(), small(), registry, &out, func(copied, planned *tally) {
		one, two = copied, planned
		if n := testutil.CollectAndCount(registry, "offtake_client_queue_wait_seconds"); n != 2 {
			t.Errorf("the two replicas of round two show %d histograms of the queue wait, want 2", n)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, tally := range map[string]*tally{"one": one, "two": two} {
		completed := tally.orders()
		if got, want := completed+tally.failed.Load()+tally.refused.Load(), tally.offered.Load(); got != want || want < 50 {
			t.Errorf("round %s: completed + failed + refused = %d, want all of the %d offered, and 50 at least", name, got, want)
		}
	}
	if got, want := two.offered.Load(), one.offered.Load(); got != want {
		t.Errorf("round two had %d orders, want the %d of round one", got, want)
	}
	if got, than := two.orders(), one.orders(); got <= than {
		t.Errorf("round two completed %d orders, want more than round one's %d", got, than)
	}
	if got, than := two.wasted.Load(), one.wasted.Load(); got >= than {
		t.Errorf("round two wasted %d requests, want less than round one's %d", got, than)
	}
	if !strings.Contains(out.String(), "refused with 429") {
		t.Errorf("the report has no table:\n%s", out.String())
	}
	if n := testutil.CollectAndCount(registry); n != 0 {
		t.Errorf("%d metrics are left on the registry after the clients are closed, want 0", n)
	}
}

// orders is how many are completed.
func (t *tally) orders() int64 {
	latencies, _ := t.times()
	return int64(len(latencies))
}

func TestCtrlCEndsTheReplay(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(200*time.Millisecond, cancel)
	in := small()
	in.midday = time.Hour - in.morning
	if err := replay(ctx, in, prometheus.NewRegistry(), io.Discard, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("replay(cancelled) = %v, want %v", err, context.Canceled)
	}
}

func TestCtrlCIsHowServingEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	in := small()
	in.morning, in.midday = 0, time.Second
	err := replay(ctx, in, prometheus.NewRegistry(), io.Discard, func(_, _ *tally) { cancel() })
	if err != nil {
		t.Errorf("replay(cancelled at its end) = %v, want nil", err)
	}
}

func TestFlagsOutOfRangeAreAllNamed(t *testing.T) {
	err := run(t.Context(), []string{"-rate", "NaN", "-scale", "0", "-midday", "-1s"}, io.Discard)
	for _, name := range []string{"-rate", "-scale", "-midday"} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("run() = %v, want it to name %s", err, name)
		}
	}
}

func TestTheComparisonSaysThatTheMachineWasBusy(t *testing.T) {
	for late, want := range map[time.Duration]bool{mostLate: false, time.Second: true} {
		one, two := new(tally), new(tally)
		two.late.Store(int64(late))
		var out strings.Builder
		compare(&out, incident(), one, two)
		if got := strings.Contains(out.String(), "busy: it placed an order 1s late"); got != want {
			t.Errorf("with an order %v late the comparison says so: %v, want %v:\n%s", late, got, want, out.String())
		}
	}
}
