// Package clients is where clients are made. // want package:"factory"
//
//offtake:factory -- the one place that derives pool sizes
package clients

import "net/http"

func New() *http.Client { // want New:`unboundedClient\(0\)`
	return &http.Client{Transport: http.DefaultTransport}
}
