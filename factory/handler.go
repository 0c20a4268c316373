package factory

import (
	"net/http"

	"github.com/offtake-go/offtake/admission"
	"github.com/offtake-go/offtake/readiness"
)

// Ready is the readiness gate. Checks of one's own are added before Run.
func (s *Service) Ready() *readiness.Gate { return &s.ready }

// Door is the door, nil if the file has none.
func (s *Service) Door() *admission.Door { return s.door }

// Handler is app behind the door, and beside it, unless Options.Admin has them,
// /readyz and /livez. It is what Run serves. A nil app is
// http.DefaultServeMux, as for an http.Server.
func (s *Service) Handler(app http.Handler) http.Handler {
	if app == nil {
		app = http.DefaultServeMux
	}
	if s.door != nil {
		app = s.door.Handler(app)
	}
	if s.options.Admin != "" {
		return app
	}
	probes := s.probes()
	// It is tempting to give the mux app as its "/". But it would then redirect
	// what has "//" or ".." in its path, which is for app to judge.
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, pattern := probes.Handler(r); pattern != "" {
			probes.ServeHTTP(w, r)
			return
		}
		app.ServeHTTP(w, r)
	})
}
