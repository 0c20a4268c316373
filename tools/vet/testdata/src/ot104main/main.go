// Command ot104main sets up what is its own.
package main

import (
	"net/http"
	"time"
)

func main() {
	http.DefaultClient.Timeout = time.Second
	http.DefaultTransport.(*http.Transport).MaxIdleConnsPerHost = 50

	c := http.DefaultClient
	c.Timeout = time.Minute // want `OT104: .*c is not a copy`
}
