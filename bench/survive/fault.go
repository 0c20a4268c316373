package survive

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"time"
)

// A Fault is what is wrong with an upstream for a while.
type Fault struct {
	Name   string
	Slower int  // the latency is so many times the stated one; 0 is as stated
	Hang   bool // it takes requests and never answers
	Errors bool // every second answer is a 503
	Method string
}

// Faults are those of the table.
func Faults() []Fault {
	return []Fault{
		{Name: "none", Method: "POST"},
		{Name: "slow ×3", Slower: 3, Method: "POST"},
		{Name: "slow ×10", Slower: 10, Method: "POST"},
		{Name: "slow ×100", Slower: 100, Method: "POST"},
		{Name: "hang", Hang: true, Method: "POST"},
		{Name: "50 % errors", Errors: true, Method: "POST"},
		{Name: "50 % errors, GET", Errors: true, Method: "GET"},
	}
}

// upstream is one server on a socket. Every client has its own, so that none pays
// for another's calls.
type upstream struct {
	*httptest.Server
	fault   atomic.Pointer[Fault]
	latency time.Duration
	n       atomic.Int64
}

func newUpstream(latency time.Duration) *upstream {
	u := &upstream{latency: latency}
	u.fault.Store(&Fault{})
	u.Server = httptest.NewServer(u)
	return u
}

// ServeHTTP answers after the latency, or as the fault has it.
func (u *upstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f := u.fault.Load()
	if f.Hang {
		<-r.Context().Done()
		return
	}
	select {
	case <-time.After(u.latency * time.Duration(max(f.Slower, 1))):
	case <-r.Context().Done():
		return
	}
	if f.Errors && u.n.Add(1)%2 == 0 {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	io.WriteString(w, "ok\n")
}
