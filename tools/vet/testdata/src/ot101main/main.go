// Command ot101main gives the default client a timeout of its own.
package main

import (
	"net/http"
	"time"
)

func main() {
	http.DefaultClient.Timeout = time.Second
	http.Get("https://peer.example")
}
