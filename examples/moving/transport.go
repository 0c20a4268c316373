package moving

import (
	"net/http"
	"time"

	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/httpclient"
)

// Before is a client with a transport that was set by hand.
//
//offtake:allow OT201,OT203 -- what is moved away from
func Before() *http.Client {
	return &http.Client{
		Timeout: 5 * time.Second,
		Transport: &http.Transport{
			MaxConnsPerHost:     64,
			MaxIdleConnsPerHost: 64,
			IdleConnTimeout:     45 * time.Second,
		},
	}
}

// After is the same upstream: 64 calls at a time, each of 5 s at most with its
// attempts and its body. Code that took the *http.Client takes the one inside, as
// Client.
//
//offtake:allow OT802 -- the size that was there before, until there is a demand
func After(target string, options *httpclient.Options) (*httpclient.Client, error) {
	return httpclient.New(target, capacity.Plan{InFlight: 64, Deadline: 5 * time.Second}, options)
}
