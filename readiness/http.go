package readiness

import (
	"encoding/json"
	"io"
	"net/http"
	"time"
)

// ServeHTTP answers a readiness probe: 200 when the gate is open, and 503 while
// it warms and once it drains. The body is the state in a word.
//
// With ?verbose it is a JSON object of the state and each check: its name,
// whether it passed, and if so whether the process is open without what it is about
// ("degraded"), its attempts, the time it took (or has taken so far), as "1.25s",
// and its last error. Errors name hosts: keep the route off the public network, as
// one would any debug page.
func (g *Gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	stats := g.Stats()
	w.Header().Set("Cache-Control", "no-store")
	status := http.StatusServiceUnavailable
	if stats.State == Ready {
		status = http.StatusOK
	}
	if r.URL.Query().Has("verbose") {
		if body, err := json.Marshal(verbose(stats)); err == nil { // strings and counts always encode
			say(w, status, "application/json", string(body))
			return
		}
	}
	say(w, status, "text/plain; charset=utf-8", stats.State.String())
}

// Live returns a handler that always answers 200. A liveness probe restarts the
// process, and that helps only if it can not answer at all: while it is busy,
// warms or drains, a restart would throw warm pools and running work away.
func Live() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		say(w, http.StatusOK, "text/plain; charset=utf-8", "live")
	})
}

func say(w http.ResponseWriter, status int, contentType, line string) {
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(status)
	_, _ = io.WriteString(w, line+"\n") // the prober may have left
}

// report and checkReport are the verbose answer.
type report struct {
	State  string        `json:"state"`
	Checks []checkReport `json:"checks"`
}

type checkReport struct {
	Name     string `json:"name"`
	Passed   bool   `json:"passed"`
	Degraded bool   `json:"degraded,omitempty"`
	Attempts int    `json:"attempts"`
	Took     string `json:"took"`
	Error    string `json:"error,omitempty"`
}

func verbose(s Stats) report {
	r := report{State: s.State.String(), Checks: make([]checkReport, len(s.Checks))}
	for i, c := range s.Checks {
		r.Checks[i] = checkReport{Name: c.Name, Passed: c.Passed, Degraded: c.Degraded, Attempts: c.Attempts, Took: c.Took.Round(time.Millisecond).String()}
		if c.Err != nil {
			r.Checks[i].Error = c.Err.Error()
		}
	}
	return r
}
