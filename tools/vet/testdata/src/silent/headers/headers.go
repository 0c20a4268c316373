// Package headers bounds the wait for an answer's header in the default transport.
package headers

import (
	"net/http"
	"time"
)

func init() { http.DefaultTransport.(*http.Transport).ResponseHeaderTimeout = time.Second }

func get(u string) { http.Get(u) }
