package telemetry

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

func TestOnlyTheUpstreamsErrorsAreKept(t *testing.T) {
	c := newTestClient(t, prometheus.NewRegistry(), State{})
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	c.Failed(Timeout, now, nil)
	for o := range Outcomes {
		c.Failed(o, now.Add(time.Duration(o)*time.Second), errors.New(strings.Repeat("x", 1000)))
	}
	kept := map[string]bool{}
	last := now.Add(time.Hour)
	for _, f := range c.Failures() {
		kept[f.Outcome] = true
		if f.At.After(last) || len(f.Text) > 310 {
			t.Errorf("failure %v at %v with %d bytes, want the latest first, and 300 bytes or so", f.Outcome, f.At, len(f.Text))
		}
		last = f.At
	}
	for o := range Outcomes {
		if want := o.Failed() || o == Status429 || o == ProxyBusy || o.String() == "RESOURCE_EXHAUSTED"; kept[o.String()] != want {
			t.Errorf("an error of outcome %v is kept: %v, want %v", o, kept[o.String()], want)
		}
	}
	if n := testing.AllocsPerRun(100, func() { c.Failed(Busy, now, errUnread) }); n != 0 {
		t.Errorf("allocations of a refusal = %v, want 0", n)
	}
}

// errUnread is an error whose text nobody must ask for.
var errUnread error = unread{}

type unread struct{}

func (unread) Error() string { panic("the text of a refusal was made") }
