package contract

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/offtake-go/offtake/capacity"
)

// A Rate is a number of requests per second. The file writes it as 120/s, 7200/m
// or 1000/h.
type Rate float64

// String writes "120/s".
func (r Rate) String() string { return strconv.FormatFloat(float64(r), 'g', -1, 64) + "/s" }

// MarshalText writes what String does.
func (r Rate) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads a rate with its unit.
func (r *Rate) UnmarshalText(b []byte) error {
	digits, unit, ok := strings.Cut(string(b), "/")
	x, err := strconv.ParseFloat(digits, 64)
	if err != nil || !decimal(digits) {
		return fmt.Errorf("%q is not a rate; 120/s would do", b)
	}
	per := map[string]float64{"s": 1, "m": 60, "h": 3600}[unit]
	if !ok || per == 0 {
		return fmt.Errorf("%q has no unit of time; %s/s would do, or /m, or /h", b, digits)
	}
	if x/per > maxNumber {
		return fmt.Errorf("%q is more than a billion a second; 120/s would do", b)
	}
	*r = Rate(x / per)
	return nil
}

// A Share is a part of a whole. The file writes it as 10%.
type Share float64

// String writes "10%".
func (s Share) String() string { return strconv.FormatFloat(float64(s)*100, 'g', 6, 64) + "%" }

// MarshalText writes what String does.
func (s Share) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads a percentage.
func (s *Share) UnmarshalText(b []byte) error {
	digits, ok := strings.CutSuffix(string(b), "%")
	x, err := strconv.ParseFloat(digits, 64)
	if err != nil || !decimal(digits) {
		return fmt.Errorf("%q is not a share; 10%% would do", b)
	}
	if !ok {
		return fmt.Errorf("%q has no unit; %s%% would do, or %s%%", b, digits, strconv.FormatFloat(x*100, 'g', 6, 64))
	}
	if x > 100 {
		return fmt.Errorf("%q is more than the whole; 100%% would do", b)
	}
	*s = Share(x / 100)
	return nil
}

// decimal reports whether s is a plain number: ParseFloat also takes "Inf",
// "0x1p-2" and "1_000".
func decimal(s string) bool { return strings.Trim(s, "0123456789.eE+") == "" }

// A Queue is a number of waiting calls, or capacity.NoQueue. The file writes that
// as none.
type Queue int

// UnmarshalText reads a number or "none".
func (q *Queue) UnmarshalText(b []byte) error {
	if string(b) == "none" {
		*q = capacity.NoQueue
		return nil
	}
	n, err := strconv.Atoi(string(b))
	if err != nil || n < 1 || n > maxNumber {
		return fmt.Errorf("%q is not a number of calls; 10 would do, or none", b)
	}
	*q = Queue(n)
	return nil
}

// A Date is a day, as 2006-01-02.
type Date struct{ time.Time }

// UnmarshalText reads a day.
func (d *Date) UnmarshalText(b []byte) error {
	t, err := time.Parse(time.DateOnly, string(b))
	if err != nil {
		return fmt.Errorf("%q is not a day; 2027-01-31 would do", b)
	}
	d.Time = t
	return nil
}

// String writes the day.
func (d Date) String() string { return d.Format(time.DateOnly) }

// The words that a field may have. The zero value of each is its default.
type (
	// Protocol is how an upstream is spoken to.
	Protocol string
	// Answer is what a caller gets instead of an answer.
	Answer string
	// Probes says where probes are answered.
	Probes string
	// Ready says when a readiness probe passes.
	Ready string
	// ControlPlane is what configures the proxies.
	ControlPlane string
)

// The protocols.
const (
	HTTP1 Protocol = "http1"
	HTTP2 Protocol = "http2"
	GRPC  Protocol = "grpc"
)

func (Protocol) words() []string { return []string{"http1", "http2", "grpc"} }
func (Answer) words() []string {
	return []string{"429", "500", "502", "503", "504", "RESOURCE_EXHAUSTED", "UNAVAILABLE", "INTERNAL", "DEADLINE_EXCEEDED", "UNKNOWN", "queue"}
}
func (Probes) words() []string { return []string{"separate", "shared"} }
func (Ready) words() []string  { return []string{"gate", "process"} }
func (ControlPlane) words() []string {
	return []string{"istio", "envoy", "envoy-gateway", "contour", "consul", "grpc"}
}
