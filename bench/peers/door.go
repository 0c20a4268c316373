package peers

import (
	"net/http"

	"github.com/failsafe-go/failsafe-go/bulkhead"
	"github.com/failsafe-go/failsafe-go/failsafehttp"
	"github.com/go-chi/chi/v5/middleware"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/offtake-go/offtake/admission"
	"github.com/offtake-go/offtake/capacity"
)

// Door is one way to bound what a server takes on.
type Door struct {
	Name   string
	Module string
	Does   string
	New    func(next http.Handler, inFlight int) (http.Handler, error)
}

// Doors are all of them, none first.
func Doors() []Door {
	return []Door{
		{"bare handler", "", "nothing", func(next http.Handler, _ int) (http.Handler, error) { return next, nil }},
		{"chi, Throttle", "github.com/go-chi/chi/v5", "a limit", func(next http.Handler, inFlight int) (http.Handler, error) {
			return middleware.Throttle(inFlight)(next), nil
		}},
		{"failsafe-go, bulkhead", "github.com/failsafe-go/failsafe-go", "a limit", func(next http.Handler, inFlight int) (http.Handler, error) {
			return failsafehttp.NewHandler(next, bulkhead.New[*http.Response](uint(inFlight))), nil
		}},
		{"offtake", "github.com/offtake-go/offtake", "a limit, a queue, all metrics", func(next http.Handler, inFlight int) (http.Handler, error) {
			door, err := admission.New(capacity.Plan{InFlight: inFlight}, &admission.Options{Registerer: prometheus.NewRegistry()})
			if err != nil {
				return nil, err
			}
			return door.Handler(next), nil
		}},
	}
}
