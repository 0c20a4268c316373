package admission

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"
)

// Options is how a door is wired. Nil, and every zero field, is a default that is
// safe; sizes are in the capacity.Plan.
type Options struct {
	// Name labels metrics and errors. The default is "door". Two doors on one
	// Registerer must not share a name.
	Name string

	// Early is how long a request may wait that comes before the service is ready,
	// at most a minute. A door with an Early time starts shut: requests wait in its
	// queue, in turn, as many as the plan has places and queue, until [Door.Open];
	// who waits longer is refused as busy. The default, 0, is a door that is open
	// from the start.
	//
	//	go func() {
	//		if ready.Run(ctx) == nil { // a readiness.Gate
	//			door.Open()
	//		}
	//	}()
	Early time.Duration

	// Observe starts the door in observe mode: refusals are counted and not applied.
	// See [Door.Observe].
	Observe bool

	// Registerer takes the metrics. The default is prometheus.DefaultRegisterer.
	Registerer prometheus.Registerer
}

const (
	defaultName = "door"

	// A proxy in front waits no longer than this for an answer: 15 s is Envoy's
	// default, 60 s that of most balancers.
	longestEarly = time.Minute
)

// resolve fills in the defaults, or returns all mistakes.
func (o *Options) resolve() (Options, []error) {
	var r Options
	if o != nil {
		r = *o
	}
	var errs []error
	if r.Name == "" {
		r.Name = defaultName
	}
	if !utf8.ValidString(r.Name) {
		errs = append(errs, fmt.Errorf("Options.Name: %q is not UTF-8, as labels must be; %q would do", r.Name, strings.ToValidUTF8(r.Name, "_")))
	}
	if r.Early < 0 || r.Early > longestEarly {
		errs = append(errs, fmt.Errorf("Options.Early: %v is not in [0s, %v]: the proxy in front gives up sooner; 2s would do, or 0 for none", r.Early, longestEarly))
	}
	return r, errs
}
