package fleet

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/offtake-go/offtake/capacity"
)

func TestNewDNSNamesEveryMistakeAtOnce(t *testing.T) {
	_, err := NewDNS("", capacity.Plan{InFlight: 200}, 300, &Options{Interval: -1, Lag: 2 * time.Hour, Grace: 1})
	if err == nil {
		t.Fatal("NewDNS(mistakes) = nil, want an error")
	}
	for _, want := range []string{"host: it is empty", "maxReplicas: 300", "Options.Interval: -1ns", "Options.Lag: 2h0m0s", "Options.Grace: 1ns", "30s would do"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("NewDNS(mistakes) = %q, want it to name %q", err, want)
		}
	}
	if _, err := NewCounted(nil, capacity.Plan{InFlight: 200}, 12, nil); err == nil || !strings.Contains(err.Error(), "count: it is nil") {
		t.Errorf("NewCounted(nil) = %v, want it to name count", err)
	}
}

func TestSettleCoversLagDeadlineAndGrace(t *testing.T) {
	none := func(context.Context) (Count, error) { return Count{}, nil }
	for _, c := range []struct {
		deadline time.Duration
		options  *Options
		want     time.Duration
	}{
		{10 * time.Second, nil, 60 * time.Second},
		{10 * time.Second, &Options{Grace: 2 * time.Minute}, 140 * time.Second},
		{5 * time.Second, &Options{Interval: time.Second, Lag: 6 * time.Second, Grace: time.Second}, 15 * time.Second},
	} {
		s, err := NewCounted(none, capacity.Plan{InFlight: 200, Deadline: c.deadline}, 12, c.options)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Settle(); got != c.want {
			t.Errorf("Settle() with deadline %v and %+v = %v, want %v", c.deadline, c.options, got, c.want)
		}
	}
}
