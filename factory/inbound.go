package factory

import (
	"errors"
	"fmt"
	"time"
)

// Inbound bounds what the connections of callers may do. Zero fields are defaults.
// The bodies of requests and answers are bounded by the door: see package
// admission.
type Inbound struct {
	// HeaderTime is how long a request's headers may take, and the first bytes of a
	// connection. The default is 10 s.
	HeaderTime time.Duration

	// Idle is how long a connection is kept that carries nothing. It must be longer
	// than the proxies in front keep theirs, or their requests meet its close on the
	// way. The default is 2 min; AWS's and nginx's balancers keep connections for 60 s.
	Idle time.Duration

	// HeaderBytes bounds a request's headers. The default is 64 KiB, since Envoy lets
	// 60 KiB pass.
	HeaderBytes int

	// Streams is how many requests one HTTP/2 connection may carry at a time. The
	// default is 250, net/http's own.
	Streams int
}

const (
	defaultHeaderTime  = 10 * time.Second
	defaultInboundIdle = 2 * time.Minute
	defaultHeaderBytes = 64 << 10
	defaultStreams     = 250

	mostHeaderBytes = 16 << 20
	mostStreams     = 100_000
)

// resolve fills in the defaults, or returns all mistakes.
func (in *Inbound) resolve() error {
	var errs []error
	for _, f := range []struct {
		name  string
		value *time.Duration
		usual time.Duration
	}{{"HeaderTime", &in.HeaderTime, defaultHeaderTime}, {"Idle", &in.Idle, defaultInboundIdle}} {
		if *f.value == 0 {
			*f.value = f.usual
		}
		if *f.value < 0 || *f.value > longestTime {
			errs = append(errs, fmt.Errorf("Options.Inbound.%s: %v is not in [0s, %v]; %v would do", f.name, *f.value, longestTime, f.usual))
		}
	}
	for _, f := range []struct {
		name        string
		value       *int
		usual, most int
	}{{"HeaderBytes", &in.HeaderBytes, defaultHeaderBytes, mostHeaderBytes}, {"Streams", &in.Streams, defaultStreams, mostStreams}} {
		if *f.value == 0 {
			*f.value = f.usual
		}
		if *f.value < 0 || *f.value > f.most {
			errs = append(errs, fmt.Errorf("Options.Inbound.%s: %d is not in [0, %d]; %d would do", f.name, *f.value, f.most, f.usual))
		}
	}
	return errors.Join(errs...)
}
